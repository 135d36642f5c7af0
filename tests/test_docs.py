"""Every snippet of the README and the docs runs; the API reference is what the docstrings say."""

import doctest
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from slova_bench.results_folder import ResultsFolder
from torch import nn

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page.name != "api.md"
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))
]


def given() -> dict:
    """What the README's snippets take for granted: a trained network, images and labels; a table and its species."""
    torch.manual_seed(0)
    images, labels = torch.randn(600, 8), torch.arange(600) % 3
    images[torch.arange(600), labels] += 1.5
    network = nn.Sequential(nn.Linear(8, 3))
    with torch.no_grad():
        network[0].weight.copy_(3 * torch.eye(8)[:3])
        network[0].bias.fill_(-5)
    table, species = images.numpy(), np.array(["ash", "elm", "oak"])[labels.numpy()]
    return {
        "network": network, "images": images[:300], "labels": labels[:300],
        "val_images": images[300:], "val_labels": labels[300:], "table": table, "species": species,
    }  # fmt: skip


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippets_run(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = given()
    exec(compile(snippet, "snippet", "exec"), names)
    assert names.keys() > given().keys()


def test_the_commands_of_the_readme_run(tmp_path):
    readme = (ROOT / "README.md").read_text()
    commands = [line for line in readme.splitlines() if line.startswith("slova ")]
    assert len(commands) == 4
    generator = np.random.default_rng(0)
    for name in ("val", "test", "other"):
        labels = generator.integers(0, 3, 2000)
        logits = generator.normal(-3, 1, (2000, 3))
        logits[np.arange(2000), labels] += generator.normal(5, 3, 2000)
        np.savez(tmp_path / f"{name}.npz", logits=logits.astype(np.float32), labels=labels)
    for command in commands:
        words = [sys.executable, "-m", "slova", *shlex.split(command, comments=True)[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
        assert done.returncode == 0, done.stderr
    assert {"model.slova", "answers.csv", "report.html"} <= {path.name for path in tmp_path.iterdir()}


def maker(name):
    """A script of the docs as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_docstrings_say():
    make_api = maker("make_api")
    assert make_api.PAGE.read_text() == make_api.page() + "\n", "docs/api.md is stale: run `make docs`"


def test_the_numbers_of_the_readme_are_those_of_the_rows():
    make_readme = maker("make_readme")
    assert make_readme.table(ResultsFolder.read(ROOT / "bench" / "results")).count("\n") == len(make_readme.METHODS) + 1
    assert make_readme.PAGE.read_text() == make_readme.page(), "README.md is stale: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert [link for link in links if not link.startswith("http") and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.stem)
def test_examples_run_and_are_short(script):
    assert len(script.read_text().splitlines()) <= 40
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


LIBRARY = [path for path in (ROOT / "src" / "slova").rglob("*.py") if ">>>" in path.read_text()]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_doctests_say_what_happens(path):
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0

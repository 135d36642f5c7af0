"""Every snippet of the README and the docs runs, links lead somewhere, and the architecture is what it says."""

import doctest
import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import nn

from slova.cli import main

ROOT = Path(__file__).parents[1]
FOLDERS = [
    ROOT,
    *(
        ROOT / name
        for name in ("docs", "docs/measurements", "docs/tutorials", "bench", "bench/models", "bench/results")
    ),
]
PAGES = [page for folder in FOLDERS for page in sorted(folder.glob("*.md"))]
SNIPPETS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    if page.parent.name != "tutorials"  # test_tutorials.py runs these, block by block
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL))
    if "slova_bench" not in block  # the tests of the comparison run these
]


def given(*, images: bool) -> dict:
    """What snippets take for granted: a trained network, images and labels; a table and its species. Only snippets of
    `slova.vision` need images to be pictures; elsewhere they are rows of features."""
    torch.manual_seed(0)
    labels, rows = torch.arange(1300) % 3, torch.randn(1300, 8)
    rows[torch.arange(1300), labels] += 3.0
    network = nn.Sequential(nn.Linear(8, 3))
    with torch.no_grad():
        network[0].weight.copy_(3 * torch.eye(8)[:3])
        network[0].bias.fill_(-5)
    table, species = rows.numpy(), np.array(["ash", "elm", "oak"])[labels.numpy()]
    if images:
        rows = (0.1 * rows + 0.4).clamp(0, 1)[:, None, None].expand(-1, 1, 8, 8).contiguous()
        network = nn.Sequential(nn.Conv2d(1, 4, 1), nn.AvgPool2d((8, 1)), nn.Flatten(), nn.Linear(32, 3))
        with torch.no_grad():
            network[0].weight.fill_(10)
            network[0].bias.fill_(-4)  # the features again, in each of four channels
            network[3].weight.copy_(0.75 * torch.eye(8)[:3].repeat(1, 4))
            network[3].bias.fill_(-5)
    return {
        "network": network, "images": rows[:300], "labels": labels[:300],
        "val_images": rows[300:], "val_labels": labels[300:], "table": table, "species": species,
    }  # fmt: skip


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippets_run(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = given(images="slova.vision" in snippet)
    before = set(names)
    exec(compile(snippet, "snippet", "exec"), names)
    assert set(names) > before


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    readme = (ROOT / "README.md").read_text()
    commands = [line for line in readme.splitlines() if line.startswith("slova ")]
    assert len(commands) == 4
    generator = np.random.default_rng(0)
    for name in ("val", "test", "other"):
        labels = generator.integers(0, 3, 2000)
        logits = generator.normal(-3, 1, (2000, 3))
        logits[np.arange(2000), labels] += generator.normal(5, 3, 2000)
        np.savez(tmp_path / f"{name}.npz", logits=logits.astype(np.float32), labels=labels)
    monkeypatch.chdir(tmp_path)
    for command in commands:
        done = CliRunner().invoke(main, shlex.split(command, comments=True)[1:])
        assert done.exit_code == 0, done.stderr
    assert {"model.slova", "answers.csv", "report.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("name", ["make_measurements", "make_paper"])
def test_the_measurements_are_what_the_rows_say(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.PAGE.read_text() == made.page(), f"{made.PAGE} is stale"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)", page.read_text())
    made = ("http", "../reference/")  # the reference is made when the site is built, which checks links to it
    assert [link for link in links if not link.startswith(made) and not (page.parent / link).exists()] == []


def test_every_page_is_in_the_navigation_once():
    named = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    made = {"examples.md", "contributing.md", "changelog.md", "security.md"}  # by docs/site_hooks.py
    assert sorted(named) == sorted(pages | made)


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def paths_of_the_tree() -> list[str]:
    """The paths of the first block of architecture.md, whose indentation is that of the folders."""
    parents, found = {-1: ""}, []
    for line in re.findall(r"```\n(.*?)```", ARCHITECTURE, flags=re.DOTALL)[0].splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        found.append(parents[depth - 1] + line.split()[0])
        parents[depth] = found[-1]
    return found


def test_every_path_of_the_architecture_exists():
    named = re.findall(r"`((?:src|bench|docs|tests)/[^`]*)`", ARCHITECTURE)
    files = [re.sub(r"<\w+>\.(py|md)$", "", path) for path in named]
    assert len(named) > 20
    assert [path for path in (*paths_of_the_tree(), *files) if not (ROOT / path).exists()] == []


def test_every_module_of_the_library_is_in_the_architecture():
    top = {path.name for path in (ROOT / "src" / "slova").iterdir() if path.suffix == ".py" or path.is_dir()}
    tree = {Path(path).name for path in paths_of_the_tree()}
    assert top - tree - {"__main__.py", "__pycache__"} == set()


def test_additions_touch_at_most_two_files_and_a_data_set_three():
    table = ARCHITECTURE.partition("| … | files |")[2].partition("\n\n")[0]
    counts = {
        row.split("|")[1].strip(): len(re.findall(r"`(?:src|bench|docs)/", row)) for row in table.splitlines()[2:]
    }
    assert max(counts.pop("a data set"), 3) == 3
    assert {what: count for what, count in counts.items() if not 1 <= count <= 2} == {}


LIBRARY = [path for path in (ROOT / "src" / "slova").rglob("*.py") if ">>>" in path.read_text()]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_doctests_say_what_happens(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    names, flags = given(images="vision" in name), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(importlib.import_module(name), extraglobs=names, optionflags=flags)
    assert found.attempted > 0
    assert found.failed == 0

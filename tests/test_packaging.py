"""The two distributions as they are installed: the library is small and has nothing of the comparison."""

import configparser
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[1]
LIBRARY, COMPARISON = (tomllib.loads((ROOT / part / "pyproject.toml").read_text()) for part in (".", "bench"))
VERSION = LIBRARY["project"]["version"]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of both distributions by name, built from this tree."""
    folder = tmp_path_factory.mktemp("wheels")
    options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet", "-w", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT), str(ROOT / "bench")], check=True)
    return {path.name.split("-")[0]: path for path in folder.glob("*.whl")}


def names(wheel: Path) -> list[str]:
    return zipfile.ZipFile(wheel).namelist()


def entry_points(wheel: Path) -> dict[str, dict[str, str]]:
    [path] = [name for name in names(wheel) if name.endswith("entry_points.txt")]
    parser = configparser.ConfigParser()
    parser.read_string(zipfile.ZipFile(wheel).read(path).decode())
    return {section: dict(parser[section]) for section in parser.sections()}


def test_the_wheel_of_the_library_is_small_and_has_nothing_of_the_comparison(wheels):
    assert wheels["slova"].stat().st_size < 600_000
    assert {name.split("/")[0] for name in names(wheels["slova"])} == {"slova", f"slova-{VERSION}.dist-info"}
    assert [name for name in names(wheels["slova"]) if re.search("bench|cifar|embedded|[.]safetensors", name)] == []


def test_the_wheel_of_the_library_has_what_the_page_and_the_server_show(wheels):
    suffixes = {Path(name).suffix for name in names(wheels["slova"])}
    assert {".js", ".css", ".html", ".typed"} <= suffixes


def test_the_comparison_adds_its_command_to_the_library_s(wheels):
    assert entry_points(wheels["slova"]) == {"console_scripts": {"slova": "slova.cli:main"}}
    assert entry_points(wheels["slova_bench"]) == {"slova.commands": {"bench": "slova_bench.cli:bench"}}
    assert {"slova_bench/paper.csv", "slova_bench/report/templates/comparison.html"} <= set(
        names(wheels["slova_bench"])
    )


@pytest.fixture(scope="module")
def installed(wheels, tmp_path_factory):
    """The commands of a new environment with the two wheels; what they require is lent by this one."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    options = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "--python", str(binaries / "python")]
    subprocess.run([*pip, "install", *options, *map(str, wheels.values())], check=True)
    [site] = folder.glob("**/site-packages")
    (site / "lent.pth").write_text(str(Path(numpy.__file__).parents[1]))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words):
        command = [binaries / words[0], *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_both_wheels_work_in_a_clean_environment(installed):
    assert installed("slova", "--version").split()[-1] == VERSION
    assert "softmax" in installed("slova", "bench", "list")
    found = installed("python", "-c", "import slova, slova_bench; print(slova.__file__, slova_bench.__file__)")
    assert all("clean" in path and "site-packages" in path for path in found.split())


def test_an_installed_wheel_fits_scores_and_reports(installed):
    code = """
import numpy as np
labels = np.arange(600) % 3
logits = np.random.default_rng(0).normal(-3, 1, (600, 3)) + 4 * np.eye(3)[labels]
np.savez("val.npz", logits=logits, labels=labels)
"""
    installed("python", "-c", code)
    installed("slova", "fit", "val.npz", "-o", "model.slova")
    installed("slova", "score", "val.npz", "--model", "model.slova", "--risk", "0.1", "-o", "answers.csv")
    installed("slova", "report", "val.npz", "--model", "model.slova")
    said = installed("python", "-c", "print(open('answers.csv').readline(), open('report.html').read(15))")
    assert said.split()[:2] == ["label,confidence,none,ambiguous", "<!doctype"]


def test_the_installed_comparison_runs_anywhere(installed):
    """In any folder, with no checkout in sight, and it leaves its results and its store there."""
    code = "import os; os.mkdir('away'); os.chdir('away'); from slova.cli import main; main(prog_name='slova')"
    installed("python", "-c", code, "bench", "run", "ood", "--quick", "--methods", "slova")
    code = """
import csv, os
print(sorted(os.listdir("away")))
print({row["method"] for row in csv.DictReader(open("away/results/ood-digits-quick.csv", newline=""))})
"""
    assert installed("python", "-W", "ignore", "-c", code).splitlines() == ["['.slova', 'results']", "{'slova'}"]


def test_the_citation_names_this_version():
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


def test_workflows_run_targets_that_exist_on_every_declared_python():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    workflows = [path.read_text() for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    called = re.findall(r"run: make ([a-z-]+)", "".join(workflows))
    assert {"test", "site", "dist"} <= set(called) <= targets
    declared = re.findall(r"Python :: (3\.\d+)", str(LIBRARY["project"]["classifiers"]))
    [tested] = [re.findall(r'"(3\.\d+)"', line) for text in workflows for line in re.findall(r"python: \[.*", text)]
    assert tested == declared == ["3.11", "3.12", "3.13"]


def test_both_distributions_have_one_version():
    assert COMPARISON["project"]["version"] == VERSION
    [needed] = [name for name in COMPARISON["project"]["dependencies"] if name.startswith("slova")]
    assert needed.endswith(f"=={VERSION}")


def test_the_library_needs_four_packages_and_no_extra_needs_the_comparison():
    project = LIBRARY["project"]
    needed = [re.match("[a-z]+", name)[0] for name in project["dependencies"]]
    assert needed == ["numpy", "scipy", "click", "safetensors"]
    assert "slova-bench" not in str(project["optional-dependencies"])


def test_everything_that_tests_install_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    extras = [name for part in (LIBRARY, COMPARISON) for name in part["project"]["dependencies"]]
    extras += [name for names in LIBRARY["project"]["optional-dependencies"].values() for name in names]
    wanted = {re.match(r"[\w-]+", name)[0].lower().replace("_", "-") for name in extras} - {"slova", "slova-bench"}
    assert wanted - pins == set()

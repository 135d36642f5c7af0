"""The two distributions as they are installed: the library is small and has nothing of the comparison."""

import configparser
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

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

"""Other distributions add commands by entry points; one that is broken breaks nothing else."""

import sys

import pytest
from click.testing import CliRunner

from slova.cli import main

BUILT_IN = ["demo", "fit", "score", "metrics", "report", "export", "serve"]


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A distribution on the path, with one module and its entry point."""

    def install(command: str, code: str) -> None:
        module = f"plugin_{command}"
        (tmp_path / f"{module}.py").write_text(code)
        info = tmp_path / f"{module}-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(f"[slova.commands]\n{command} = {module}:command\n")
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.syspath_prepend(tmp_path)

    return install


def listed() -> list[str]:
    said = CliRunner().invoke(main, ["--help"])
    assert said.exit_code == 0, said.stderr
    return [line.split()[0] for line in said.stdout.partition("Commands:\n")[2].splitlines()]


@pytest.mark.parametrize("words", [[], ["bake"]])
def test_a_group_alone_prints_its_help(install, words):
    install("bake", "import click\n@click.group()\ndef command():\n    '''Bake it.'''\n")
    alone, asked = (CliRunner().invoke(main, [*words, *more]) for more in ([], ["--help"]))
    assert (alone.exit_code, alone.stderr, alone.stdout) == (0, "", asked.stdout)


def test_a_plug_in_adds_a_command(install):
    install("bake", "import click\n@click.command()\ndef command():\n    '''Bake it.'''\n    click.echo('baked')\n")
    assert listed()[: len(BUILT_IN)] == BUILT_IN
    assert "bake" in listed()
    assert CliRunner().invoke(main, ["bake"]).stdout == "baked\n"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import nowhere", "cannot be imported (ModuleNotFoundError: No module named 'nowhere')"),
        ("command = 3", "is not a click command"),
        ("other = 3", "cannot be imported (AttributeError: "),
        ("1 / 0", "cannot be imported (ZeroDivisionError: division by zero)"),
    ],
)
@pytest.mark.parametrize("words", [[], ["--help"], ["--fast", "file"]])
def test_a_broken_plug_in_is_one_sentence(install, code, problem, words):
    install("bake", code)
    assert "bake" in listed()
    said = CliRunner().invoke(main, ["bake", *words])
    assert (said.exit_code, said.stdout, len(said.stderr.splitlines())) == (2, "", 1)
    assert said.stderr.startswith("slova: error: the command bake of plugin_bake 2.0 is broken: plugin_bake:command ")
    assert problem in said.stderr


def test_a_plug_in_cannot_replace_a_command(install):
    install("fit", "1 / 0")
    assert listed().count("fit") == 1
    assert "Fit a scorer" in CliRunner().invoke(main, ["fit", "--help"]).stdout

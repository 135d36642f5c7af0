"""The commands of the comparison are found by entry point, and importing them is cheap."""

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from slova.cli import main

COMMANDS = ["run", "images", "list", "report", "paper", "demo"]


def test_the_commands_are_listed():
    done = CliRunner().invoke(main, ["bench", "--help"])
    listed = [line.split()[0] for line in done.stdout.partition("Commands:\n")[2].splitlines()]
    assert listed == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example_that_parses(command):
    printed = CliRunner().invoke(main, ["bench", command, "--help"]).stdout
    line = next(line for line in printed.splitlines() if "Example: slova bench " in line)
    words = line.split("Example: slova bench ")[1].split()
    bench = main.get_command(None, "bench")
    assert bench.get_command(None, words[0]).make_context("slova bench", words[1:]).params is not None
    assert words[0] == command


def test_help_imports_nothing_heavy():
    code = """
import atexit, json, sys
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
from slova.cli import main
main(["bench", "--help"], prog_name="slova")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "altair", "matplotlib", "pandas"} & set(json.loads(done.stderr))


def test_statistics_never_import_torch():
    code = "import slova_bench.compare, sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "matplotlib"} & set(json.loads(done.stdout))


@pytest.mark.parametrize("before", [None, "elsewhere"])
def test_the_frost_pictures_are_looked_for_in_the_folder_of_the_data_while_a_command_runs(
    before, tmp_path, monkeypatch
):
    from slova_bench.cli.options import data_dir
    from slova_bench.data.download import data_folder

    monkeypatch.delenv("SLOVA_DATA", raising=False)
    if before:
        monkeypatch.setenv("SLOVA_DATA", before)
    usual = data_folder()

    @click.command()
    @data_dir
    def command(data):
        click.echo(data_folder() / "frost")

    def folder(*words):
        return CliRunner().invoke(command, words).stdout.strip()

    assert folder("--data-dir", str(tmp_path)) == str(tmp_path / "frost")
    assert data_folder() == usual
    assert folder() == str(usual / "frost")

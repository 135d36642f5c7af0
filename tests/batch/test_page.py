"""docs/batch-scoring.md: its snippets for Ray and Spark, and its commands, run; test_docs.py runs the plain one."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from slova.cli import main

pq = pytest.importorskip("pyarrow.parquet")

PAGE = (Path(__file__).parents[2] / "docs" / "batch-scoring.md").read_text()


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_snippets_for_data_in_an_engine_run(request, rows, tmp_path, monkeypatch, engine):
    request.getfixturevalue(engine)
    monkeypatch.chdir(tmp_path)
    pq.write_table(pq.read_table(rows.folder), tmp_path / "rows.parquet")
    [snippet] = re.findall(rf"```python {engine}\n(.*?)```", PAGE, flags=re.DOTALL)
    snippet = snippet.replace('"rows.parquet"', repr(str(tmp_path / "rows.parquet")))  # workers have a folder of theirs
    names: dict = {}
    exec(compile(snippet, "snippet", "exec"), names)
    assert names["scorer"].classes == 4


def test_commands_run(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("validation", "rows"):
        (tmp_path / name).symlink_to(rows.folder)
    commands = [line for line in PAGE.splitlines() if line.startswith("slova ")]
    assert len(commands) == 3
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
    assert pq.read_table(tmp_path / "answers").num_rows == 6000

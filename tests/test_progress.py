"""One progress bar: a bar with notes on a terminal; elsewhere notes are lines, and nothing else is written."""

import sys

from slova._progress import progress, tracked
from slova.io import Block


def test_a_terminal_shows_a_bar_and_the_last_note(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("running") as report:
        report(0.25, "the first set")
        report(1.0, "the second set")
    said = capsys.readouterr().err
    assert "running" in said
    assert "25%" in said
    assert "100%" in said
    assert "the second set" in said


def test_elsewhere_notes_are_lines_at_most_one_per_second(monkeypatch, capsys):
    clock = iter([10.0, 10.0, 10.5, 11.5, 11.5])
    monkeypatch.setattr("slova._progress.time.monotonic", lambda: next(clock))
    with progress("running") as report:
        for note in ("one", "two", "three"):
            report(0.5, note)
        report(1.0)
    assert capsys.readouterr() == ("", "one\nthree\n")


def test_blocks_are_passed_on(capsys):
    blocks = [Block(None, None, 0.5), Block(None, None, 1.0)]
    assert list(tracked(blocks, "reading")) == blocks
    assert capsys.readouterr() == ("", "")

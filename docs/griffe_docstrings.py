"""Docstrings as markdown for the reference: doctests become code, and lists of arguments become lists."""

from __future__ import annotations

import re
from typing import Any

import griffe

ARGUMENT = re.compile(r"(`?[a-z_*][\w.]*`?(?:, `?[a-z_*][\w.]*`?)*): (.*)")


class Docstrings(griffe.Extension):
    """Changes the docstring of every object that is loaded."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Doctests are fenced; lines that begin with names and a colon, in a row of their own, are list items."""
    return "\n\n".join(paragraph(part) for part in text.split("\n\n"))


def paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return f"```pycon\n{text}\n```"
    lines = text.splitlines()
    if not lines or not ARGUMENT.fullmatch(lines[0]):
        return text
    items = [f"- **{found[1]}**: {found[2]}" if (found := ARGUMENT.fullmatch(line)) else line for line in lines]
    return "\n".join(item if item.startswith("- ") else f"    {item.strip()}" for item in items)

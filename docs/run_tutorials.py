"""Run the tutorials, docs/tutorials/*.md, and write what their code prints and draws below it: `make docs`.

A page is markdown. Its python blocks run in one namespace, one after the other, as in a notebook; lines of bash blocks
that call `slova` run as commands. The text block and the pictures after a block are its output. A page whose first line
is `<!-- requires: NAME -->` is left as it is where that module is missing.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent / "tutorials"
BLOCK = re.compile(
    r"```(python|bash)\n(.*?)```\n((?:\n```text\n.*?```\n)?)((?:\n!\[[^\]]*\]\(figures/[^)]*\)\n)*)", re.DOTALL
)


def executed(page: Path, figures: Path) -> str:
    """The page with its present output; its pictures are drawn into the folder `figures`."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("agg")
    pyplot.close("all")  # those that somebody else left open are not of this page
    names: dict[str, object] = {"__name__": "__main__"}
    count = iter(range(1, 100))

    def run(block: re.Match[str]) -> str:
        language, code, _, pictures = block.groups()
        said = printed(code, names) if language == "python" else answered(code)
        text = f"\n```text\n{said.rstrip()}\n```\n" if said.strip() else ""
        return f"```{language}\n{code}```\n{text}{drawn(figures, f'{page.stem}-', count, pictures)}"

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        os.chdir(folder)
        try:
            return BLOCK.sub(run, page.read_text(encoding="utf-8"))
        finally:
            os.chdir(here)


def printed(code: str, names: dict[str, object]) -> str:
    """What a block prints, and the repr of its last line if that is an expression."""
    tree, out = ast.parse(code), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, "tutorial", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "tutorial", "eval"), names)
        if value is not None and not type(value).__name__.endswith("Display"):
            print(repr(value))
    return out.getvalue()


def answered(code: str) -> str:
    """What the commands of a block print, on stdout and stderr."""
    said = []
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["slova"]:
            command = [sys.executable, "-m", "slova", *words[1:]]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"{line}: {done.stdout}")
            said.append(done.stdout)
    return "".join(said)


def drawn(figures: Path, stem: str, count: Iterator[int], before: str) -> str:
    """Links to the pictures of the open figures, with the words that described them before."""
    from matplotlib import pyplot

    words = iter(re.findall(r"!\[([^\]]*)\]", before))
    links = ""
    for number in pyplot.get_fignums():
        name = f"{stem}{next(count)}.png"
        figures.mkdir(exist_ok=True)
        pyplot.figure(number).savefig(figures / name, dpi=90)
        links += f"\n![{next(words, 'What the code above draws')}](figures/{name})\n"
    pyplot.close("all")
    return links


def missing(page: Path) -> str | None:
    """The module that the page requires and that is not installed."""
    found = re.match(r"<!-- requires: (\w+) -->", page.read_text(encoding="utf-8"))
    return found[1] if found and importlib.util.find_spec(found[1]) is None else None


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("*.md")):
        if absent := missing(page):
            print(f"{page.name} is left as it is: {absent} is not installed")
            continue
        page.write_text(executed(page, page.parent / "figures"), encoding="utf-8", newline="\n")
        print(page)

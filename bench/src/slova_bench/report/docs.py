"""`docs/results.md`: what the rows in a folder of results say, with every table and figure, for people who read.

The text depends on the results, on the code they are compared with, and on which figures have been drawn; so the same
folder gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from slova_bench import labels
from slova_bench.claims import Finding, Verdict, findings, tally
from slova_bench.exhibits import PAPER_ITEMS, Exhibit, bullets, draw, exhibits, experiment_for
from slova_bench.results_folder import ResultsFolder
from slova_bench.staleness import Freshness, freshness
from slova_bench.tables import READING, Table, runs
from slova_bench.tables.table import Column, text
from slova_bench.tables.writing import plain

__all__ = ["results_page", "write_docs"]

COMMAND = "slova bench report --docs docs"
FIGURES = "figures"
ELSEWHERE = {"Fig. 3": "[the method, formula by formula](method.md)"}


def write_docs(evidence: ResultsFolder, folder: Path) -> list[Path]:
    """Draws what can be drawn into `folder/figures`, then writes `folder/results.md`."""
    drawn = draw(evidence, folder / FIGURES)
    page = folder / "results.md"
    page.write_text(results_page(evidence, folder / FIGURES), encoding="utf-8", newline="\n")
    return [page, *drawn]


def results_page(
    evidence: ResultsFolder, figures: Path | None, fresh: Mapping[str, Sequence[Freshness]] | None = None
) -> str:
    """The whole page. It shows the figures that lie in a folder, and asks the code which rows are stale unless told."""
    fresh = freshness(evidence) if fresh is None else fresh
    shown = exhibits(evidence, figures)
    parts = [*_beginning(), *_found(evidence), *_counterparts(shown), *_run(evidence, fresh), *_sections(shown)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _beginning() -> list[str]:
    made = (
        f"Made from `results/` by `{COMMAND}`: every number and every verdict is computed from rows. Not to be edited."
    )
    marks = "In these tables **bold** is the best and *italics* cannot be told from it."
    return ["# Results", made, bullets((*READING, marks))]


def _found(evidence: ResultsFolder) -> list[str]:
    """Claims with their verdicts, then what was only measured, then what is to be run."""
    sets = {row.train.removesuffix("-train") for row in evidence.paper}
    found = findings(evidence)
    own = [one for one in found if not one.on or one.on in sets]
    others = _judged(one for one in found if one not in own)
    counts = {verdict: count for verdict, count in tally(own).items() if count and verdict is not Verdict.MEASURED}
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return [
        "## What was found",
        f"Claims of the paper, on the sets it used: {total}." if total else "",
        _claims(_judged(own)),
        f"<details><summary>On other sets</summary>\n\n{_claims(others)}\n</details>" if others else "",
        *_measured(one for one in found if one.verdict is Verdict.MEASURED),
        *_waiting(one for one in found if one.verdict is Verdict.OPEN),
    ]


def _judged(found: Iterable[Finding]) -> list[Finding]:
    return [one for one in found if one.verdict not in (Verdict.MEASURED, Verdict.OPEN)]


def _measured(found: Iterable[Finding]) -> list[str]:
    lines = [plain(one.sentence) for one in found]
    return ["Beyond the paper:", bullets(lines)] if lines else []


def _claims(found: Sequence[Finding]) -> str:
    heads = ("Claim", "Trained on", "Verdict", "Paper", "Here", "Answers to")
    rows = [(one.claim, one.where, one.verdict.value, one.paper, one.ours, one.answers) for one in found]
    entries = tuple(tuple(text(words) for words in row) for row in rows)
    return Table("claims", "Claims", tuple(Column(head) for head in heads), entries).markdown() if found else ""


def _waiting(found: Iterable[Finding]) -> list[str]:
    """Claims without rows, by what to run for them."""
    claims: dict[str, list[str]] = {}
    for one in found:
        claims.setdefault(f"`{one.ours.partition('run ')[2]}`", []).append(one.claim)
    lines = [f"{command}: {_few(list(dict.fromkeys(those)))}" for command, those in claims.items()]
    return ["Claims that wait for rows, by what to run:", bullets(lines)] if lines else []


def _few(claims: Sequence[str]) -> str:
    return plain("; ".join(claims)) if len(claims) < 4 else f"{len(claims)} claims"


def _counterparts(shown: Sequence[Exhibit]) -> list[str]:
    lines = ["| In the paper | What it shows | Here |", "| --- | --- | --- |"]
    for item, what in PAPER_ITEMS.items():
        links = dict.fromkeys(f"[{plain(one.heading)}](#{one.anchor})" for one in shown if one.is_for(item))
        lines.append(f"| {item} | {plain(what)} | {', '.join(links) or ELSEWHERE.get(item) or _missing(item)} |")
    return ["## The paper's figures and tables", "\n".join(lines)]


def _missing(item: str) -> str:
    """What to run for something of the paper that has no counterpart yet."""
    experiment = experiment_for(item)
    return f"not run yet: `slova bench run {experiment} --on cifar10`" if experiment else f"not drawn: `{COMMAND}`"


def _run(evidence: ResultsFolder, fresh: Mapping[str, Sequence[Freshness]]) -> list[str]:
    table = runs.make(evidence, fresh).markdown() if evidence.names else "Nothing: `slova bench run shift --on digits`"
    return ["## What was run", table, bullets(map(plain, runs.remarks(evidence, fresh)))]


def _sections(shown: Sequence[Exhibit]) -> Iterator[str]:
    for on in sorted({one.on for one in shown}, key=lambda on: (not on, on)):
        yield f"## Trained on {labels.set_name(on)}" if on else "## Beyond one training set"
        own = [one for one in shown if one.on == on]
        for heading in dict.fromkeys(one.heading for one in own):
            same = [one for one in own if one.heading == heading]
            yield f"### {plain(heading)}"
            yield f"Answers to: {', '.join(dict.fromkeys(one.answers for one in same))}."
            yield from (one.body for one in same)

"""`docs/results.md`: the claims, tables and figures of a results folder.

The text depends only on the results, on the code they are compared with, and on the figures that have been drawn, so
the same folder gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from slova_bench import labels
from slova_bench.claims import JudgedClaim, Verdict, judged_claims, verdict_counts
from slova_bench.exhibits import draw
from slova_bench.report.paper import COMMAND, paper_section
from slova_bench.report.sections import Section, bullets, sections
from slova_bench.results_folder import ResultsFolder
from slova_bench.staleness import Staleness, check_staleness
from slova_bench.tables import READING, Table, runs
from slova_bench.tables.table import Column, plain, text

__all__ = ["results_page", "write_docs"]

FIGURES = "figures"
HOW_JUDGED = (
    "A claim has parts, such as metrics, sets or seeds: reproduced if all of them hold here, partly if some do. Ranks "
    "are plain mean ranks, judged seed by seed. Thresholds that the paper does not state are in the claim or beside it."
)


def write_docs(results: ResultsFolder, folder: Path) -> list[Path]:
    """Draw the figures that have rows into `folder/figures`, then write `folder/results.md`."""
    drawn, _ = draw(results, folder / FIGURES, ("svg",))
    page = folder / "results.md"
    page.write_text(results_page(results, folder / FIGURES), encoding="utf-8", newline="\n")
    return [page, *drawn]


def results_page(
    results: ResultsFolder, figures: Path | None, states: Mapping[str, Sequence[Staleness]] | None = None
) -> str:
    """The page, with the figures in a folder. Staleness is checked unless `states` is given."""
    states = check_staleness(results) if states is None else states
    shown = sections(results, figures)
    parts = [*_beginning(), *_found(results), *paper_section(results, shown), *_run(results, states), *_sections(shown)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _beginning() -> list[str]:
    made = f"Made from `results/` by `{COMMAND}`: every number and every verdict is computed from rows."
    marks = "In these tables **bold** is the best and *italics* cannot be distinguished from it."
    return ["# Results", made, bullets((*READING, marks))]


def _found(results: ResultsFolder) -> list[str]:
    """Claims with their verdicts, then measurements beyond the paper, then claims without rows."""
    sets = set(results.paper["train"].str.removesuffix("-train"))
    found = judged_claims(results)
    own = [one for one in found if not one.on or one.on in sets]
    others = _judged(one for one in found if one not in own)
    counts = {
        verdict: count for verdict, count in verdict_counts(own).items() if count and verdict is not Verdict.MEASURED
    }
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return [
        "## Claims",
        f"Claims of the paper about SLOVA, on the sets it used: {total}. {HOW_JUDGED}" if total else "",
        _claims([one for one in _judged(own) if one.counted]),
        *_not_counted([one for one in _judged(own) if not one.counted]),
        f"<details><summary>On other sets</summary>\n\n{_claims(others)}\n</details>" if others else "",
        *_measured(one for one in found if one.verdict is Verdict.MEASURED),
        *_waiting(one for one in found if one.verdict is Verdict.OPEN),
    ]


def _not_counted(found: Sequence[JudgedClaim]) -> list[str]:
    return ["About other methods, which are not counted:", _claims(found)] if found else []


def _judged(found: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    return [one for one in found if one.verdict not in (Verdict.MEASURED, Verdict.OPEN)]


def _measured(found: Iterable[JudgedClaim]) -> list[str]:
    lines = [plain(one.sentence) for one in found]
    return ["Beyond the paper:", bullets(lines)] if lines else []


def _claims(found: Sequence[JudgedClaim]) -> str:
    heads = ("Claim", "Trained on", "Seeds", "Verdict", "Paper", "Here", "Part of the paper")
    rows = [(one.claim, one.where, one.seeds, one.verdict.value, one.paper, one.ours, one.answers) for one in found]
    entries = tuple(tuple(text(words) for words in row) for row in rows)
    return Table("claims", "Claims", tuple(Column(head) for head in heads), entries).markdown() if found else ""


def _waiting(found: Iterable[JudgedClaim]) -> list[str]:
    """Claims without rows, by the command to run."""
    claims: dict[str, list[str]] = {}
    for one in found:
        claims.setdefault(f"`{one.ours.partition('run ')[2]}`", []).append(one.claim)
    lines = [f"{command}: {_few(list(dict.fromkeys(those)))}" for command, those in claims.items()]
    return ["Claims without rows, by the command to run:", bullets(lines)] if lines else []


def _few(claims: Sequence[str]) -> str:
    return plain("; ".join(claims)) if len(claims) < 4 else f"{len(claims)} claims"


def _run(results: ResultsFolder, states: Mapping[str, Sequence[Staleness]]) -> list[str]:
    table = runs.make(results, states).markdown() if results.names else "Nothing: `slova bench run shift --on digits`"
    return ["## Runs", table, bullets(map(plain, runs.remarks(results, states)))]


def _sections(shown: Sequence[Section]) -> Iterator[str]:
    for on in sorted({one.on for one in shown}, key=lambda on: (not on, on)):
        yield f"## Trained on {labels.set_name(on)}" if on else "## Beyond one training set"
        own = [one for one in shown if one.on == on]
        for heading in dict.fromkeys(one.heading for one in own):
            same = [one for one in own if one.heading == heading]
            yield f"### {plain(heading)}"
            parts = ", ".join(dict.fromkeys(one.exhibit.answers for one in same if one.exhibit.answers))
            yield f"Part of the paper: {parts}." if parts else "Not in the paper."
            yield from (one.body for one in same)

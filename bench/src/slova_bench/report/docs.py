"""`docs/results.md`: the claims, tables and figures of a results folder, and the paper, part by part: where each part
is, with how many seeds, and what differs.

The text depends only on the results, on the code they are compared with, and on the figures that have been drawn, so
the same folder gives the same bytes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from slova_bench import labels
from slova_bench.claims import JudgedClaim, Verdict, judged_claims, verdict_counts
from slova_bench.exhibit import Exhibit, Kind
from slova_bench.exhibits import draw, exhibits, experiment_for, file_name
from slova_bench.frame import seed_counts
from slova_bench.paper_parts import DRAWN, Part, paper_parts
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.staleness import Staleness, check_staleness
from slova_bench.tables import READING, Table, runs
from slova_bench.tables.seeds import span
from slova_bench.tables.table import Column, plain, text

__all__ = ["results_page", "seeds", "write_docs"]

FIGURES = "figures"
COMMAND = "slova bench report --docs docs"
ORDER = ("recipes", "shift", "noise", "ood", "ablation", "stability", "maps", "directions", "plane", "appendix", "")
HOW_JUDGED = (
    "A claim has parts, such as metrics, sets or seeds: reproduced if all of them hold here, partly if some do. Better "
    "than a rival means by the mean and distinguished by the seeds, where there are three; counts are by the means. "
    "Places, plain mean ranks and confidences far from the data are judged seed by seed, among the methods of the "
    "paper at their common seeds. Claims about OOD data are judged on the pairs of a training and an OOD set of the "
    "paper that have rows. Thresholds that the paper does not state are in the claim or beside it."
)
HEADS = ("Claim", "Verdict", "Paper", "Here")
ABOUT_PARTS = (
    "Everything that the paper defines, states, draws, compares with or plans. Seeds are counted in rows, from the "
    "method with the fewest to the one with the most. More on the differences: [deviations](deviations.md)."
)
PARTS_HEAD = "| In the paper | What it is | Here | Seeds | What differs |\n| --- | --- | --- | --- | --- |"
SKETCH = "Fig. 3"  # of the method: drawn elsewhere


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
    shown = sorted(_sections(results, figures), key=lambda one: ORDER.index(one.exhibit.experiment))
    marks = "In these tables **bold** is the best and *italics* cannot be distinguished from it."
    parts = [
        "# Results",
        f"Made from `results/` by `{COMMAND}`: every number and every verdict is computed from rows.",
        _bullets((*READING, marks)),
        *_of_claims(results),
        *_of_paper(results, shown),
        "## Runs",
        runs.make(results, states).markdown() if results.names else "Nothing: `slova bench run shift --on digits`",
        _bullets(map(plain, runs.remarks(results, states))),
        *_of_sections(shown),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _of_claims(results: ResultsFolder) -> Iterator[str]:
    """Claims with their verdicts, then measurements beyond the paper, then claims without rows."""
    sets = {"", *results.paper["train"].str.removesuffix("-train")}
    found = judged_claims(results)
    judged = [one for one in found if one.verdict not in (Verdict.MEASURED, Verdict.OPEN)]
    own = [one for one in judged if one.on in sets]
    counts = verdict_counts([one for one in found if one.on in sets])
    total = ", ".join(f"{n} {name}" for name, n in counts.items() if n and name is not Verdict.MEASURED)
    yield "## Claims"
    yield f"Claims of the paper about SLOVA, on the sets it used: {total}. {HOW_JUDGED}" if total else ""
    yield _claims([one for one in own if one.counted])
    if not_counted := [one for one in own if not one.counted]:
        yield "Not counted: about other methods, or about what a claim above counts."
        yield _claims(not_counted)
    if others := [one for one in judged if one not in own]:
        yield f"<details><summary>On other sets</summary>\n\n{_claims(others)}\n</details>"
    if measured := [plain(one.sentence) for one in found if one.verdict is Verdict.MEASURED]:
        yield "Beyond the paper:"
        yield _bullets(measured)
    waiting: dict[str, dict[str, None]] = {}
    for one in found:
        if one.verdict is Verdict.OPEN:
            waiting.setdefault(f"`{one.ours.partition('run ')[2]}`", {})[one.claim] = None
    if waiting:
        few = {run: plain("; ".join(own)) if len(own) < 4 else f"{len(own)} claims" for run, own in waiting.items()}
        yield "Claims without rows, by the command to run:"
        yield _bullets(f"{command}: {claims}" for command, claims in few.items())


def _claims(found: Sequence[JudgedClaim]) -> str:
    rows = [(f"{one.claim} ({_about(one)})", one.verdict.value, one.paper, one.ours) for one in found]
    entries = tuple(tuple(text(words) for words in row) for row in rows)
    return Table("claims", "Claims", tuple(Column(head) for head in HEADS), entries).markdown() if found else ""


def _about(one: JudgedClaim) -> str:
    seeds = f"{one.seeds} seed{'s' * (str(one.seeds) != '1')}" if one.seeds else ""
    return "; ".join(part for part in (one.answers, one.where, seeds) if part)


class Section(NamedTuple):
    """A table or a figure for one training set as markdown."""

    exhibit: Exhibit
    on: str
    heading: str
    body: str

    @property
    def anchor(self) -> str:
        """The anchor that GitHub derives from the heading."""
        return re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")


def _sections(results: ResultsFolder, figures: Path | None) -> Iterator[Section]:
    """All tables with rows, and of the figures those in the folder."""
    for exhibit in exhibits(Kind.TABLE, Kind.FIGURE):
        for on in exhibit.sets(results):
            body = _picture(exhibit, on, figures) if exhibit.kind is Kind.FIGURE else _tables(exhibit, results, on)
            title = exhibit.title + exhibit.mark(results, on)
            inside = title if title[1:2].isupper() else title[:1].lower() + title[1:]  # abbreviations keep their case
            if body:
                yield Section(exhibit, on, f"{labels.set_name(on)}: {inside}" if on else title, body)


def _tables(exhibit: Exhibit, results: ResultsFolder, on: str) -> str:
    try:
        tables = exhibit.make(results, on)
    except MissingRowsError:
        return ""
    shown = []
    for table in tables:
        title, parts = plain(table.title), (table.markdown().strip(), _bullets(map(plain, table.notes)))
        content = "\n\n".join(part for part in parts if part)
        folded = f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"
        shown.append(folded if table.aside else f"**{title}**\n\n{content}")
    return "\n\n".join(shown)


def _picture(exhibit: Exhibit, on: str, folder: Path | None) -> str:
    name = f"{file_name(exhibit, on)}.svg"
    if folder is None or not (folder / name).exists():
        return ""
    return f"![{plain(exhibit.title)}]({folder.name}/{name})\n\n*{plain(exhibit.about)}*"


def _of_sections(shown: Sequence[Section]) -> Iterator[str]:
    for on in sorted({one.on for one in shown}, key=lambda on: (not on, on)):
        yield f"## Trained on {labels.set_name(on)}" if on else "## Beyond one training set"
        own = [one for one in shown if one.on == on]
        for heading in dict.fromkeys(one.heading for one in own):
            same = [one for one in own if one.heading == heading]
            parts = ", ".join(dict.fromkeys(one.exhibit.answers for one in same if one.exhibit.answers))
            yield f"### {plain(heading)}"
            yield f"Part of the paper: {parts}." if parts else "Not in the paper."
            yield from (one.body for one in same)


def _of_paper(results: ResultsFolder, shown: Sequence[Section]) -> Iterator[str]:
    """The paper, part by part."""
    yield "## The paper, part by part"
    yield ABOUT_PARTS
    for name, parts in groupby(paper_parts(), lambda part: part.group):
        found = (_drawn(part, shown) if name == DRAWN else part for part in parts)
        lines = (
            (one.name, plain(one.what), one.here, seeds(results, one.counted), plain(one.differs) or "–")
            for one in found
        )
        yield "\n".join([f"**{name}**\n", PARTS_HEAD, *(f"| {' | '.join(line)} |" for line in lines)])


def _drawn(part: Part, shown: Sequence[Section]) -> Part:
    """A figure or table of the paper, with links to its counterparts or the command that makes them."""
    links = dict.fromkeys(f"[{plain(one.heading)}](#{one.anchor})" for one in shown if one.exhibit.is_for(part.name))
    experiment = experiment_for(part.name)
    run = f"not run yet: `slova bench run {experiment} --on cifar10`" if experiment else f"not drawn: `{COMMAND}`"
    here = ", ".join(links) or ("[the method](method.md)" if part.name == SKETCH else run)
    counted = (experiment,) if experiment else ()
    return part._replace(here=here, counted=counted)


def seeds(results: ResultsFolder, counted: Iterable[str]) -> str:
    """The numbers of seeds by training set: `CIFAR-10 3 to 5` of one experiment or file, `Softmax, shift: CIFAR-10 5`
    of a method, with the name of each where several are counted."""
    found = {one: words for one in counted if (words := _seeds(results, one))}
    alone = len(found) == 1 and not any("/" in one for one in found)
    return "; ".join(words if alone else f"{_counted(one)}: {words}" for one, words in found.items()) or "–"


def _seeds(results: ResultsFolder, counted: str) -> str:
    if counted.endswith(".csv"):  # of the measurements
        path = results.folder.resolve().parents[1] / "benchmarks" / "results" / counted
        rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
        return str(len({row["seed"] for row in rows}) or "")
    what, _, preset = counted.partition("@")
    experiment, _, method = what.partition("/")
    words = []
    for on in results.sets(experiment):
        rows = results.rows(experiment, on, preset=preset or None)
        counts = seed_counts(rows[rows["train"] != ""], "method")  # a curve without a network has no seeds
        those = counts.index.isin([method]) if method else ~counts.index.isin(labels.VARIANTS)  # no further fits
        if those.any():
            words.append(f"{labels.set_name(on)} {span(counts[those].tolist())}")
    return ", ".join(words)


def _counted(counted: str) -> str:
    """`Softmax, shift` of a method, the experiment or file itself otherwise, and the preset."""
    what, _, preset = counted.partition("@")
    experiment, _, method = what.partition("/")
    name = f"{labels.look(method).name}, {experiment}" if method else experiment
    return f"{name}, preset {preset}" if preset else name

"""Write the results into README.md, from the rows: `make docs`. A test fails when they are stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slova_bench.claims import Verdict, judged_claims, verdict_counts
from slova_bench.labels import look
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import overview, recipes
from slova_bench.tables.assembly import label
from slova_bench.tables.table import Entry, Table, text

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BEGIN, END = "<!-- made by `make docs` from bench/results/ -->\n", "<!-- until here -->\n"
METHODS = (
    *("softmax", "temperature", "ensemble", "ova", "slova"),
    *("slova_distance", "slova_mirror", "slova_distance_ensemble", "slova_none"),
)
OURS, RIVAL = "slova_image_mixed", "softmax_mixed"
RECIPES = (
    *(OURS, RIVAL, "softmax_mixed_degraded", "softmax_mixed_fit", "augmix"),
    *("slova_image", "softmax_augmented", "softmax_augmented_degraded"),
)
LARGER = (OURS, RIVAL, "softmax_mixed_degraded", "softmax_mixed_fit")  # with ResNet-18
SHOWN = ("Method", "Seeds", "clean", "shifted", "held-out shifts", "near OOD", "far OOD")
CONTESTS = (("slova_mirror", "temperature"), ("slova_mirror", "ensemble"), ("slova_distance_ensemble", "ensemble"))


PITCH, PITCH_END = "<!-- the sentence is made by `make docs` -->\n", "<!-- end of the sentence -->\n"
OTHERS = (
    "**Without the augmentation**: the clean test set, medians over it and 16 shifts at 5 severities, the median over "
    "three held-out shifts, and means over real OOD sets; noise is apart, because two of its three kinds are in the "
    "outliers of NONE in training. The sixteen shifts were in view while the distance-aware methods were developed. "
    "Flip test-time augmentation is two passes. A second number of seeds is that on OOD images. Of all methods with "
    "three seeds or more, bold is the best and italics cannot be distinguished from it."
)


def page(results: ResultsFolder | None = None) -> str:
    """The README with the present results."""
    results = results or ResultsFolder.read(ROOT / "bench" / "results")
    parts = (of_recipes(results), OTHERS, table(results), words(results))
    text = _between(PAGE.read_text(encoding="utf-8"), PITCH, PITCH_END, pitch(results))
    return _between(text, BEGIN, END, "\n\n".join(parts))


def _between(text: str, begin: str, end: str, content: str) -> str:
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{PAGE} must contain the lines {begin.strip()} and {end.strip()}")
    return f"{before}{begin}{content}\n{end}{after}"


def pitch(results: ResultsFolder) -> str:
    """What the image recipe has and softmax with a temperature has not."""
    whole = recipes.main_table(results, "cifar10")
    ours, theirs = (_row(whole, method) for method in (OURS, RIVAL))
    places = {column.group: place for place, column in enumerate(whole.columns) if column.name.startswith("AUROC")}

    def pair(group: str) -> str:
        return " and ".join(f"{row[places[group]].value:.3f}" for row in (theirs, ours))

    return (
        f"Why not softmax with a temperature? On CIFAR-10, ResNet-20, {_seeds(whole)}, both trained with the same "
        "degraded and mixed images, it is as accurate and as well calibrated, but it detects unknown inputs less well. "
        f"The AUROC of softmax and of slova: {pair('near OOD')} for other classes of the same kind, {pair('far OOD')} "
        f"for other pictures, {pair('noise')} for noise ([results](#results))."
    )


def of_recipes(results: ResultsFolder) -> str:
    """The image recipe and softmax with the same augmentation, without the columns of mixtures and noise. Marks refer
    to all methods with the same network."""
    tables = {preset: recipes.main_table(results, "cifar10", preset) for preset in ("", "resnet18")}
    columns = [column for column in tables[""].columns if (column.group or column.name) in SHOWN]
    rows = []
    for preset, whole in tables.items():
        there = {row[0].text for row in whole.rows}
        for method in (name for name in (LARGER if preset else RECIPES) if label((name, "")) in there):
            entries = dict(zip(whole.columns, _row(whole, method), strict=True))
            rows.append((text(label((method, preset))), *(entries[column] for column in columns[1:])))
    return replace(tables[""], columns=tuple(columns), rows=tuple(rows)).markdown().strip("\n")


def _row(whole: Table, method: str) -> tuple[Entry, ...]:
    return next(row for row in whole.rows if row[0].text == label((method, "")))


def _seeds(whole: Table) -> str:
    place = next(place for place, column in enumerate(whole.columns) if column.name == "Seeds")
    counts = sorted({_row(whole, method)[place].text for method in (OURS, RIVAL)})
    return "one seed" if counts == ["1"] else f"{' and '.join(counts)} seeds"


def table(results: ResultsFolder) -> str:
    """The best-known methods of the overview, and ours; marks refer to all methods."""
    (whole,) = overview.make(results, "cifar10")
    wanted = [look(method).name for method in METHODS]
    return replace(whole, rows=tuple(row for row in whole.rows if row[0].text in wanted)).markdown().strip("\n")


def words(results: ResultsFolder) -> str:
    """How many of the nine quartiles of ECE, NLL and Brier score a method wins, and the paper's claims by verdict."""
    found = judged_claims(results)
    lines = ["By the quartiles of ECE, NLL and Brier score over the shifts, means over seeds:\n"]
    for pair in CONTESTS:
        ours, theirs = (look(method).name for method in pair)
        (contest,) = [one for one in found if one.claim.startswith(f"{ours}, against {theirs.lower()}")]
        lines.append(f"- **{ours}**, against {theirs.lower()}: {contest.ours.partition(': ECE')[0]}.")
    counts = verdict_counts(found)
    verdicts = [f"{counts[verdict]} {verdict}" for verdict in (Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT)]
    return "\n".join([*lines, f"\nThe paper's claims: {', '.join(verdicts)}; [each of them](docs/results.md)."])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")

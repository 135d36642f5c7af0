"""Write the results into README.md, from the rows: `make docs`. A test fails when they are stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slova_bench import labels
from slova_bench.claims import Verdict, judged_claims, verdict_counts
from slova_bench.frame import Column as Values
from slova_bench.frame import Frame, per_seed, shift_groups, where
from slova_bench.labels import look
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import contests, overview, recipes
from slova_bench.tables.assembly import label, shown
from slova_bench.tables.seeds import better, mean
from slova_bench.tables.table import Entry, Table, text

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BEGIN, END = "<!-- made by `make docs` from bench/results/ -->\n", "<!-- until here -->\n"
METHODS = (
    *("softmax", "temperature", "ensemble", "ensemble_temperature", "ova", "slova"),
    *("slova_distance", "slova_mirror", "slova_distance_ensemble", "slova_none"),
)
OURS, RIVAL = "slova_image_mixed", "softmax_mixed"
RECIPES = (
    *(OURS, RIVAL, "softmax_mixed_degraded", "softmax_mixed_fit", "augmix"),
    *("slova_image", "softmax_augmented", "softmax_augmented_degraded"),
)
LARGER = (OURS, RIVAL, "softmax_mixed_degraded", "softmax_mixed_fit")  # with ResNet-18
SHOWN = ("Method", "Seeds", "clean", "shifted", "held-out shifts", "near OOD", "far OOD")
CONTESTS = (
    *(("slova_distance", "temperature"), ("slova_mirror", "temperature"), ("slova_mirror", "ensemble")),
    *(("slova_mirror", "ensemble_temperature"), ("slova_distance_ensemble", "ensemble")),
    ("slova_distance_ensemble", "ensemble_temperature"),
)
ABOUT_CONTESTS = (
    "Of the nine quartiles of ECE, NLL and Brier score over shifts, those in which the method is better or worse than "
    "another; the rest cannot be distinguished. Quartiles over the 16 shifts include the clean test set, those over "
    "held-out shifts do not. With one seed the means decide. Temperatures are fitted on clean validation images, "
    "distance-aware methods on clean and degraded ones."
)

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
    """What softmax with a temperature has and the image recipe has not, and the other way round."""
    whole = recipes.main_table(results, "cifar10")
    ours, theirs = (_row(whole, method) for method in (OURS, RIVAL))
    places = {column.group: place for place, column in enumerate(whole.columns) if column.name.startswith("AUROC")}

    def pair(group: str) -> str:
        return " and ".join(f"{row[places[group]].value:.3f}" for row in (theirs, ours))

    return (
        "Why not softmax with a temperature? It detects unknown inputs less well. CIFAR-10, ResNet-20, "
        f"{_seeds(whole)}, both trained with the same degraded and mixed images: the AUROC of softmax and of slova is "
        f"{pair('near OOD')} for other classes of the same kind, {pair('far OOD')} for other pictures and "
        f"{pair('noise')} for noise ([results](#results)). {calibration(results)}"
    )


def calibration(results: ResultsFolder) -> str:
    """In which metrics softmax is better, and in which slova is, on clean and shifted images."""
    rows = where(results.rows("recipes", "cifar10"), method=(OURS, RIVAL), variant="", test="cifar10-test")
    shifts, sides = shift_groups(rows)[0], {"softmax": (RIVAL, OURS), "slova": (OURS, RIVAL)}
    others = {*rows["shift"]} - {"", *shifts}
    places = {"on clean images": "", "under the sixteen shifts": shifts, "under held-out shifts": others}
    words = []
    for name, pair in sides.items():
        won = {place: _won(where(rows, shift=those), *pair) for place, those in places.items()}
        if parts := [f"{place} in {_listed(metrics)}" for place, metrics in won.items() if metrics]:
            words.append(f"{name.capitalize()} is better {', and '.join(parts)}.")
    ties = (
        "In all else of accuracy, ECE, NLL and Brier score, on clean and shifted images, they cannot be distinguished."
    )
    return " ".join([*words, ties])


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _won(rows: Frame, one: str, other: str) -> list[str]:
    """The metrics in which the first method is better, and both values."""
    found: dict[str, Values] = {
        metric: per_seed(where(rows, metric=metric), whole=True) for metric in ("accuracy", "ece", "nll", "brier")
    }
    names = (one, ""), (other, "")
    return [
        f"{labels.metric(metric).name if metric != 'accuracy' else metric} "
        f"({' against '.join(shown(metric, mean(values[name])).text for name in names)})"
        for metric, values in found.items()
        if better(values, *names, metric)
    ]


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
    """In how many quartiles methods beat their rivals, and the paper's claims by verdict."""
    (whole,) = contests.make(results, "cifar10")
    wanted = [tuple(look(method).name for method in pair) for pair in CONTESTS]
    rows = tuple(row for row in whole.rows if tuple(entry.text for entry in row[:2]) in wanted)
    judged, three = judged_claims(results), (Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT)
    counts, places = (verdict_counts(found) for found in (judged, [one for one in judged if one.answers == "App. C"]))
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in three)
    split = ", ".join(f"{places[verdict]} {verdict}" for verdict in three)
    of_places = f"{sum(places.values())} of them are SLOVA's places in its Appendix C ({split})"
    claims = f"The paper's claims: {verdicts}; {of_places}; [each of them](docs/results.md)."
    return f"{ABOUT_CONTESTS}\n\n{replace(whole, rows=rows).markdown()}\n{claims}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")

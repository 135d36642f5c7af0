"""Tables of times and of long runs (`benchmarks/results`), for docs/make_tables.py. Each begins with when and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
from tables_of_benchmarks import ROWS, markdown, short

STAMP = ("date", "commit", "machine")
PARTS = {"loss": "loss and gradients, D = 128", "score": "`score`", "memory of the loss": "memory of the loss, D = 128"}


def as_written(name: str, what: str = "One run") -> str:
    """The rows as they are."""
    found = pd.read_csv(ROWS / f"{name}.csv", dtype=str, keep_default_na=False)
    shown = [column for column in found if column not in STAMP or found[column].nunique() > 1]
    return f"{when(found, what)}{markdown(shown, iter(found[shown].to_numpy().tolist()))}"


def when(found: pd.DataFrame, what: str) -> str:
    """The date, the commit and the machine, if they are the same in all rows."""
    same = [found[column].iloc[0] for column in STAMP if column in found and found[column].nunique() == 1]
    return f"{what} of {same[0]}, commit {', '.join(same[1:])}.\n\n" if same else ""


def over_softmax(name: str) -> str:
    found = pd.read_csv(ROWS / f"{name}.csv")
    repeated = found.groupby(["calibrator", "classes"], sort=False)["ratio"]
    sizes = list(dict.fromkeys(found["classes"]))
    cells = repeated.agg(span).unstack(fill_value="").reindex(found["calibrator"].unique())
    rows = ([calibrator, *(line[size] for size in sizes)] for calibrator, line in cells.iterrows())
    return f"{_measured(found, repeated)}{markdown(('calibrator, head', *(f'K = {one}' for one in sizes)), rows)}"


def answer_cost() -> str:
    found = pd.read_csv(ROWS / "answer_cost.csv")
    shares = 100 * found.groupby("answer", sort=False)["share"].agg(["median", "min", "max"])
    rows = ([answer, *(f"{share:.2f} %" for share in line)] for answer, *line in shares.itertuples())
    titles = ("", "share of the forward pass, median", "smallest", "largest")
    return f"{_measured(found, found.groupby('answer'))}{markdown(titles, rows)}"


def many_classes() -> str:
    found = pd.read_csv(ROWS / "extreme-cpu.csv")

    def rows() -> Iterator[list[str]]:
        for what, title in PARTS.items():
            for (size, classes), some in found[found["what"] == what].groupby(["rows", "classes"], sort=False):
                numbers = [span(some["ratio"]), "", ""]
                if what.startswith("memory"):
                    numbers = ["", *(f"{some[one].iloc[0]:.2f} ×" for one in ("ours", "dense"))]
                yield [title, f"{size:,}", f"{classes:,}", *numbers]

    titles = ("", "N", "K", "time of the dense form / time", "memory", "memory of the dense form")
    return f"{_measured(found, found[found['what'] == 'loss'].groupby('classes'))}{markdown(titles, rows())}"


def _measured(found: pd.DataFrame, repeated: object) -> str:
    times = repeated.size().max()  # type: ignore[attr-defined]
    return when(found, "One run" if times == 1 else f"{times} repetitions")


def span(ratios: pd.Series) -> str:
    """The smallest and the largest ratio."""
    return " to ".join(dict.fromkeys(map(_two_digits, (ratios.min(), ratios.max()))))


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 9.95 else f"{number:.1f}" if number >= 0.995 else short(number, 2)


TABLES: dict[str, Callable[[], str]] = {
    "over softmax on a cpu": partial(over_softmax, "scoring-cpu"),
    "over softmax on a gpu": partial(over_softmax, "scoring-gpu"),
    "answer beside a network": answer_cost,
    "many classes on a cpu": many_classes,
    "many classes scored on a gpu": partial(as_written, "extreme-gpu-score"),
    "many classes trained on a gpu": partial(as_written, "extreme-gpu-loss"),
    "engines": partial(as_written, "engines"),
    "long runs": partial(as_written, "suites"),
    "soak": partial(as_written, "soak"),
    "large bodies": partial(as_written, "large_bodies"),
    "killed node": partial(as_written, "cluster"),
    "connections": partial(as_written, "serving-connections", "Two runs"),
    "rows of a request": partial(as_written, "serving-rows"),
}

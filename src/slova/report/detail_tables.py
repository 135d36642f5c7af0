"""The tables that advise: thresholds for promised risks, classes, subgroups, examples of rows, drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from slova.heads import NONE
from slova.metrics import Selection
from slova.report.advice import RISKS, covered
from slova.report.details import KINDS, Details, Usage
from slova.report.sheets import Entry, count, number, sheet

__all__ = ["detail_tables", "drift_table"]

MOST = 200  # rows of a table of classes or subgroups
WHY = {
    "Confident and wrong": "The wrong answers with the highest confidence: wrong labels, or what the model mistakes.",
    "Nothing fits": "The rows with the largest P(none).",
    "Several fit": "The rows with the largest probability of another class.",
}


def detail_tables(
    details: Details,
    selection: Selection,
    names: Sequence[str] | None = None,
    picture: Callable[[int], str | None] = lambda row: None,
) -> list[dict[str, Any]]:
    """All tables of labelled rows; `names` are the classes, and `picture` gives the image of a row, if there is one."""
    cuts = list(dict.fromkeys(cut for cut, _ in details.cuts))
    return [
        _guarantees(selection),
        _classes(details, names),
        *(_subgroups(details, cut) for cut in cuts),
        *(_examples(details, kind, names, picture) for kind in KINDS if details.examples[kind]),
    ]


def _guarantees(selection: Selection) -> dict[str, Any]:
    rows = []
    for risk in RISKS:
        found = covered(selection, risk)
        if found is None:
            rows.append([_percent(risk), Entry("not possible"), Entry("–"), Entry("–")])
        else:
            threshold, coverage, errors = found
            rows.append([_percent(risk), number(threshold), _percent(coverage), _percent(errors)])
    heads = ("At most wrong", "Threshold (reject)", "Answered", "Wrong in this file")
    note = "Guaranteed with 95 % certainty for rows like these, if no fit has used them. Not possible: too few rows."
    return sheet("thresholds", "Thresholds for a promised risk", heads, rows, [note])


def _classes(details: Details, names: Sequence[str] | None) -> dict[str, Any]:
    answers = details.usage.answers
    gaps = (details.confidence - details.right) / np.maximum(answers, 1)
    chosen = np.argsort(-np.abs(gaps) * answers, kind="stable")[:MOST]
    rows = [
        [
            Entry(_name(int(k), names)),
            count(details.labels[k]),
            _percent(details.right[k] / details.labels[k] if details.labels[k] else None),
            count(answers[k]),
            *_gap(answers[k], details.right[k], details.confidence[k]),
        ]
        for k in chosen
    ]
    heads = ("Class", "Rows", "Found (recall)", "Answers", "Right (precision)", "Mean confidence", "Difference")
    note = "Largest effect first. The difference is confidence minus precision: positive is overconfident."
    return sheet("classes", "By class", heads, rows, [note])


def _subgroups(details: Details, cut: str) -> dict[str, Any]:
    found = [(value, each) for (name, value), each in details.cuts.items() if name == cut]
    found.sort(key=lambda pair: -abs(pair[1][2] - pair[1][1]))
    rows = [[Entry(value), count(each[0]), *_gap(*each)] for value, each in found[:MOST]]
    heads = (cut, "Rows", "Accuracy", "Mean confidence", "Difference")
    return sheet(f"by-{cut}", f"By {cut}", heads, rows, ["Largest effect first. Positive is overconfident."])


def _gap(rows: float, right: float, confidence: float) -> list[Entry]:
    """Accuracy with its standard error, mean confidence, and their difference in points."""
    if not rows:
        return [Entry("–"), Entry("–"), Entry("–")]
    share, error = right / rows, np.sqrt(max(right / rows * (1 - right / rows), 1 / rows) / rows)
    points = 100 * (confidence / rows - share)
    accuracy = Entry(f"{100 * share:.1f} ± {100 * error:.1f} %", float(share))
    return [accuracy, _percent(confidence / rows), Entry(f"{points:+.1f}", float(points))]


def _examples(
    details: Details, kind: str, names: Sequence[str] | None, picture: Callable[[int], str | None]
) -> dict[str, Any]:
    rows = [
        [
            Entry(f"row {each.row}", each.row, picture(each.row)),
            Entry(_name(each.label, names)),
            Entry(_name(each.top, names)),
            *(_percent(share) for share in (each.confidence, each.none, each.ambiguous)),
        ]
        for _, each in details.examples[kind]
    ]
    heads = ("Row", "Label", "Most probable", "Confidence", "None", "Ambiguous")
    return sheet(kind.lower().replace(" ", "-"), kind, heads, rows, [WHY[kind]])


def drift_table(before: Usage, now: Usage, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Means and the shares of the answers in two files; the ten classes that changed most."""
    both = (before, now)
    rows = [[Entry("Rows"), *(count(usage.rows) for usage in both), Entry("–")]]
    sums = {"Mean confidence": "histogram", "P(none)": "none", "Ambiguous": "ambiguous"}
    for title, field in sums.items():
        totals = [getattr(usage, field) for usage in both]
        shares = [float(total.total.sum() if field == "histogram" else total) for total in totals]
        rows.append(_changed(title, [share / usage.rows for share, usage in zip(shares, both, strict=True)]))
    parts = np.array([usage.answers / usage.rows for usage in both])
    for k in np.argsort(-np.abs(parts[1] - parts[0]), kind="stable")[:10]:
        rows.append(_changed(f"Answers: {_name(int(k), names)}", parts[:, k].tolist()))
    return sheet("drift", "Drift", ("Quantity", "Before", "Now", "Change"), rows, ["No labels are used."])


def _changed(title: str, shares: Sequence[float]) -> list[Entry]:
    points = 100 * (shares[1] - shares[0])
    return [Entry(title), *(_percent(share) for share in shares), Entry(f"{points:+.1f}", points)]


def _name(k: int, names: Sequence[str] | None) -> str:
    return "NONE" if k == NONE else f"class {k}" if names is None else str(names[k])


def _percent(share: float | None) -> Entry:
    return Entry("–") if share is None else Entry(f"{100 * share:.1f} %", float(share))

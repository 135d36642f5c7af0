"""How often the guarantees of thresholds and prediction sets are broken on real tables, and how many rows they answer.

    python benchmarks/guarantees.py --data FOLDER --splits 20        # or SLOVA_TABULAR=FOLDER, see tabular.py

Per table and split a model is fitted to 30 % of the rows (at most 1,500), calibrated by `SlovaClassifier` on 25 % (at
most 1,000), and 20 % (at most 1,000) are held out for the exact guarantees; the approximate ones use the cross-fitted
scores of the calibration rows. Risk and coverage of a threshold are those among all rows that neither the model nor the
calibrator has seen: the rows held out are a random part of them, so that "broken" has no error of its own in the exact
case. Prediction sets are measured on the rows that are left (at most 6,000).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tabular import front, read

from slova.sklearn import SlovaClassifier

Array = np.ndarray
Row = dict[str, Any]

RISKS, COVERAGE, DELTA, SET_COVERAGE = (0.05, 0.1), 0.8, 0.05, 0.9
SHARES, MOST = (0.3, 0.25, 0.2), (1500, 1000, 1000, 6000)
MODELS = {
    "logistic regression": lambda seed: LogisticRegression(max_iter=300),
    "random forest": lambda seed: RandomForestClassifier(100, random_state=seed),
}
RESULTS = Path(__file__).parent / "results" / "guarantees.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("SLOVA_TABULAR"), help="folder of the tables")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--tables", type=lambda names: names.split(","), help="names, all by default")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.data is None or not Path(options.data).is_dir():
        parser.error("give the folder of the tables: --data or SLOVA_TABULAR")
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    start = time.perf_counter()
    for path in sorted(Path(options.data).glob("*.csv.gz")):
        name = path.name.split(".")[0]
        if options.tables is None or name in options.tables:
            table = read(path)
            for split in range(options.splits):
                rows += [{"table": name, "split": split} | row for row in measured(*table, split)]
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    pd.DataFrame(rows).to_csv(options.output, index=False)


def measured(inputs: Array, labels: Array, split: int) -> Iterator[Row]:
    order = np.random.default_rng(split).permutation(len(labels))
    ends = np.cumsum([0, *(int(share * len(labels)) for share in SHARES), len(labels)])
    ends[-1] = len(labels)
    parts = [order[first:end][:most] for first, end, most in zip(ends, ends[1:], MOST, strict=False)]
    train, calibration, held, test = parts
    for name, make in MODELS.items():
        base = make_pipeline(front(inputs, split), make(split)).fit(inputs[train], labels[train])
        known = np.isin(labels, base.classes_)
        model = SlovaClassifier(FrozenEstimator(base)).fit(
            *(part[calibration[known[calibration]]] for part in (inputs, labels))
        )
        kept = [rows[known[rows]] for rows in (held, test)]
        for row in (*thresholds(model, inputs, labels, *kept), *sets(model, inputs, labels, *kept)):
            yield {"model": name, **row}


def thresholds(model: SlovaClassifier, inputs: Array, labels: Array, held: Array, test: Array) -> Iterator[Row]:
    """The risk and the share of answers among the rows that fitted nothing."""
    unseen = np.concatenate([held, test])
    confidence, hits = model.confidence(inputs[unseen]), model.predict(inputs[unseen]) == labels[unseen]
    for kind, given in (("exact", (inputs[held], labels[held])), ("approximate", ())):
        for target in ({"risk": RISKS[0]}, {"risk": RISKS[1]}, {"coverage": COVERAGE}):
            try:
                answered = confidence >= model.threshold(*given, **target, delta=DELTA)
            except ValueError:  # no threshold guarantees this risk
                answered = np.zeros(len(unseen), bool)
            risk, share = float(1 - hits[answered].mean()) if answered.any() else 0.0, float(answered.mean())
            broken = risk > target["risk"] if "risk" in target else share < COVERAGE
            about = {"kind": kind, "guarantee": "risk" if "risk" in target else "coverage"}
            yield about | {"target": next(iter(target.values())), "broken": int(broken), **_rounded(risk, share)}


def _rounded(risk: float, share: float) -> Row:
    return {"risk": round(risk, 4), "answered": round(share, 4)}


def sets(model: SlovaClassifier, inputs: Array, labels: Array, held: Array, test: Array) -> Iterator[Row]:
    """The share of the sets that contain the label, over all rows and per class, and their mean size."""
    logits, codes = model.models_.logits(inputs[test]), np.searchsorted(model.classes_, labels[test])
    known = {
        "calibration_logits": model.models_.logits(inputs[held]),
        "calibration_labels": np.searchsorted(model.classes_, labels[held]),
    }
    for kind, given in (("exact", known), ("approximate", {})):
        for per_class in (False, True):
            members = model.scorer_.predict_set(logits, coverage=SET_COVERAGE, per_class=per_class, **given)
            inside = members[np.arange(len(codes)), codes]
            name = "class-conditional sets" if per_class else "marginal sets"
            row = {"kind": kind, "guarantee": name, "target": SET_COVERAGE, "covered": round(float(inside.mean()), 4)}
            classes = " ".join(f"{inside[codes == k].mean():.3f}" for k in np.unique(codes)) if per_class else ""
            yield row | {"size": round(float(members.sum(axis=1).mean()), 3), "classes": classes}


if __name__ == "__main__":
    main()

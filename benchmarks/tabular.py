"""Calibrators on tables and text: the posterior calibrator beside those of scikit-learn and probmetrics.

    python benchmarks/tabular.py --data FOLDER                       # or SLOVA_TABULAR=FOLDER
    python benchmarks/tabular.py --data FOLDER --splits 1 --tables vehicle,segment -o rows.csv

Rows: benchmarks/results/tabular.csv, from which `docs/make_tables.py` makes the tables of
docs/measurements/calibrators.md. FOLDER holds gzipped CSV files whose last column is `label`; a column `text` is text.
Per table, model and split, a base model is fitted once per mode and every calibrator sees the same scores: `held-out`,
the model is fitted to 60 % of the training rows and calibrated on the others; `out-of-fold`, it is fitted to all of
them and calibrated on five-fold predictions. Test rows (40 %, at most 3,000) are seen by neither; at most 2,400 rows
train. Models with probabilities are calibrated from these, LinearSVC from its decision function (SVS, SMS and beta from
its softmax).
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.svm import LinearSVC

from slova import metrics
from slova.calibration.posterior import PosteriorCalibration, log_odds_from_log_probs
from slova.heads import log_softmax

Array = np.ndarray
Calibrate = Callable[[Array, Array, Array], Array]  # scores, labels, test scores -> test probabilities

RESULTS = Path(__file__).parent / "results" / "tabular.csv"
TRAIN, TEST = 2400, 3000
LEAST = 1e-12  # of a probability in the log-loss, so that a calibrator that gives zero is not infinitely bad
MODELS: dict[str, Callable[[int], Any]] = {
    "logistic regression": lambda seed: LogisticRegression(max_iter=300),
    "LinearSVC": lambda seed: LinearSVC(random_state=seed),
    "GaussianNB": lambda seed: GaussianNB(),
    "random forest": lambda seed: RandomForestClassifier(100, random_state=seed),
    "MLP": lambda seed: MLPClassifier((64,), max_iter=60, random_state=seed),
}
METRICS: dict[str, Callable[[Array, Array], float]] = {
    "log-loss": lambda probs, labels: metrics.nll(np.log(probs.clip(LEAST)), labels),
    "Brier": metrics.brier,
    "ECE": metrics.ece,
    "class-wise ECE": metrics.classwise_ece,
    "AURC": metrics.aurc,
    "error": lambda probs, labels: float(np.mean(probs.argmax(axis=1) != labels)),
}


def main() -> None:
    options = arguments()
    warnings.simplefilter("ignore")
    rows, calibrators, start = [], dict(rivals()), time.perf_counter()
    names = options.tables or sorted(path.name.split(".")[0] for path in options.data.glob("*.csv.gz"))
    tables = {name: read(options.data / f"{name}.csv.gz") for name in names}
    for split, name in itertools.product(range(options.splits), names):
        for model, mode, scores in scored(*tables[name], split):
            where = {"table": name, "model": model, "mode": mode, "split": split}
            rows += list(measured(calibrators, scores, where))
        print(f"split {split}, {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        pd.DataFrame(rows).to_csv(options.output, index=False, float_format="%.6g")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("SLOVA_TABULAR"), help="folder of the tables")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="CSV file for the rows")
    parser.add_argument("--tables", type=lambda names: names.split(","), help="names, all by default")
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    if options.data is None or not Path(options.data).is_dir():
        parser.error("give the folder of the tables: --data or SLOVA_TABULAR")
    options.data = Path(options.data)
    return options


def read(path: Path) -> tuple[Array, Array]:
    table = pd.read_csv(path)
    labels = LabelEncoder().fit_transform(table.pop("label").astype(str))
    return (table["text"].to_numpy() if "text" in table else table.to_numpy(np.float64)), labels


Scores = tuple[Array, Array, Array, Array]  # of the calibration rows with their labels, of the test rows with theirs


def scored(inputs: Array, labels: Array, split: int) -> Iterator[tuple[str, str, Scores]]:
    """What each model makes of its calibration rows and of the test rows, held-out and out-of-fold."""
    every, test = train_test_split(np.arange(len(labels)), test_size=0.4, stratify=labels, random_state=split)
    if len(every) > TRAIN:
        every, _ = train_test_split(every, train_size=TRAIN, stratify=labels[every], random_state=split)
    train, held = train_test_split(every, test_size=0.4, stratify=labels[every], random_state=split)
    test = test[:TEST]
    for name, make in MODELS.items():
        base = make_pipeline(front(inputs, split), make(split))
        method = "predict_proba" if hasattr(base, "predict_proba") else "decision_function"

        def answer(fitted: Any, rows: Array, method: str = method) -> Array:
            return np.asarray(getattr(fitted, method)(inputs[rows]))

        base.fit(inputs[train], labels[train])
        yield name, "held-out", (answer(base, held), labels[held], answer(base, test), labels[test])
        folds = StratifiedKFold(5, shuffle=True, random_state=split)
        unseen = cross_val_predict(base, inputs[every], labels[every], cv=folds, method=method)
        base.fit(inputs[every], labels[every])
        yield name, "out-of-fold", (unseen, labels[every], answer(base, test), labels[test])


def front(inputs: Array, seed: int) -> Any:
    if inputs.ndim == 2:
        return StandardScaler()
    vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    return make_pipeline(vectors, TruncatedSVD(100, random_state=seed), StandardScaler())


def measured(calibrators: dict[str, Calibrate], scores: Scores, where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    known, labels, test, truth = scores
    for name, calibrate in calibrators.items():
        start = time.process_time()
        probs = calibrate(known, labels, test)
        found = {metric: float(function(probs, truth)) for metric, function in METRICS.items()}
        yield {**where, "method": name, "rows": len(labels), "seconds": time.process_time() - start, **found}


def rivals() -> Iterator[tuple[str, Calibrate]]:
    yield "posterior", posterior
    for method in ("temperature", "sigmoid", "isotonic"):
        yield f"sklearn {method}", lambda *rows, method=method: by_sklearn(method, *rows)
    if find_spec("probmetrics"):
        yield "probmetrics SVS", lambda *rows: by_probmetrics("svs", *rows)
        yield "probmetrics SMS", lambda *rows: by_probmetrics("sms", *rows)
    if find_spec("betacal"):
        yield "one-vs-rest beta", beta


def posterior(scores: Array, labels: Array, test: Array) -> Array:
    fitted = PosteriorCalibration.fit(log_odds(scores), labels)
    return np.asarray(np.exp(fitted(log_odds(test))[:, :-1]))


def log_odds(scores: Array) -> Array:
    """Of probabilities; of decision values, these."""
    if is_decision(scores):
        return scores if scores.ndim == 2 else np.stack([-scores, scores], axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(log_odds_from_log_probs(np.log(scores)))


def is_decision(scores: Array) -> bool:
    return scores.ndim == 1 or bool(scores.min() < 0)


def probabilities(scores: Array) -> Array:
    """Clipped as scikit-learn does, so that zeros of a forest harm nobody more than they harm its temperature."""
    probs = np.exp(log_softmax(log_odds(scores))) if is_decision(scores) else scores
    probs = np.clip(probs, np.finfo(np.float64).eps, None)
    return np.asarray(probs / probs.sum(axis=1, keepdims=True))


class Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose inputs are its scores."""

    def fit(self, inputs: Array, labels: Array) -> Scored:
        self.classes_ = np.unique(labels)
        return self

    def predict(self, inputs: Array) -> Array:
        return self.classes_[inputs.argmax(axis=1)]


class Decisions(Scored):
    def decision_function(self, inputs: Array) -> Array:
        return inputs[:, 0] if inputs.shape[1] == 1 else inputs


class Probabilities(Scored):
    def predict_proba(self, inputs: Array) -> Array:
        return inputs


def by_sklearn(method: str, scores: Array, labels: Array, test: Array) -> Array:
    kind = Decisions if is_decision(scores) else Probabilities
    scores, test = (rows[:, None] if rows.ndim == 1 else rows for rows in (scores, test))
    base = FrozenEstimator(kind().fit(scores, labels))
    return np.asarray(CalibratedClassifierCV(base, method=method).fit(scores, labels).predict_proba(test))


def by_probmetrics(name: str, scores: Array, labels: Array, test: Array) -> Array:
    from probmetrics.calibrators import get_calibrator

    calibrator = get_calibrator(name, **{f"{name}_print_init_info": False})
    calibrator.fit(probabilities(scores), labels)
    return np.asarray(calibrator.predict_proba(probabilities(test)))


def beta(scores: Array, labels: Array, test: Array) -> Array:
    from betacal import BetaCalibration

    known, asked = probabilities(scores), probabilities(test)
    columns = [
        BetaCalibration("abm").fit(known[:, [k]], labels == k).predict(asked[:, [k]]) for k in range(known.shape[1])
    ]
    probs = np.clip(np.stack(columns, axis=1), LEAST, None)
    return np.asarray(probs / probs.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main()

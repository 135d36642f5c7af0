"""Tables from the rows of scripts (`benchmarks/results`), for docs/make_tables.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

ROWS = Path(__file__).parents[1] / "benchmarks" / "results"
TABULAR = ("log-loss", "Brier", "ECE", "class-wise ECE", "AURC", "error")
CLASSES = {
    "SLOVA, raw": "SLOVA, raw",
    "exponential, all pairs": "exponential, all N K pairs",
    "exponential, top pairs": "**exponential, top pairs (`extreme.fit`)**",
    "isotonic, top pairs": "isotonic, top pairs",
    "beta, top pairs": "beta, top pairs",
    "affine": "affine calibration of the logits, then SLOVA",
    "affine, exponential, top pairs": "affine, then exponential, top pairs",
    "affine, beta, top pairs": "affine, then beta, top pairs",
    "softmax": "softmax of the same logits",
    "softmax, temperature": "its temperature fitted (500 rows)",
}
RETROFIT = {
    "softmax": "softmax",
    "temperature": "temperature scaling",
    "rescaled log-odds": "1. rescaled log-odds",
    "new last layer, decay 0.01": "2. new last layer, decay 1e-2",
    "new last layer, decay 0.001": "2. new last layer, decay 1e-3",
    "new last layer, decay 0.0001": "2. new last layer, decay 1e-4",
    "new last layer, decay 0": "2. new last layer, no decay",
    "trained one-vs-all": "trained one-vs-all",
}
RETROFIT_METRICS = {
    "accuracy": "accuracy", "ece": "clean ECE", "ece_q25": "ECE, lower quartile", "ece_q50": "median",
    "ece_q75": "upper quartile", "mmc": "MMC, OOD", "auroc": "AUROC, OOD",
}  # fmt: skip
LEVELS = {
    "logits": "unchanged: `f`",
    "centred logits": "`f` minus its mean",
    "log-probabilities": "`log p`",
    "log-odds": "`log p / (1 - p)`",
}


def markdown(titles: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = (f"| {' | '.join(line)} |" for line in (titles, ["---"] * len(titles), *rows))
    return re.sub(r"\|  (?=\|)", "| ", "\n".join(lines))


def short(number: float, digits: int = 3) -> str:
    text = "" if pd.isna(number) else f"{number:.{digits}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(ROWS / f"{name}.csv")


def tabular(mode: str) -> str:
    """Means with mean ranks, and in log-loss how often the posterior calibrator is ahead and behind."""
    found = read("tabular")
    part = found[found["mode"] == mode]
    methods = list(dict.fromkeys(part["method"]))
    wide = {name: part.pivot(index=["table", "model", "split"], columns="method", values=name) for name in TABULAR}
    ranks = {name: values.rank(axis=1).mean() for name, values in wide.items()}
    losses = wide["log-loss"].groupby(level=["table", "model"]).mean()

    def rows() -> Iterator[list[str]]:
        for method in methods:
            cells = (f"{wide[name][method].mean():.4f} ({ranks[name][method]:.1f})" for name in TABULAR)
            gaps = losses[method] - losses["posterior"]
            duel = "" if method == "posterior" else f"{(gaps > 0).sum()}-{(gaps < 0).sum()}"
            yield [method, *cells, duel, f"{part[part['method'] == method]['seconds'].mean():.2f}"]

    return markdown(("", *TABULAR, "log-loss, posterior ahead-behind", "s"), rows())


def classes_heads() -> str:
    found = read("many_classes")
    titles = (
        "K", "accuracy (with the true centres)", "sigmoid of the top class, mean", "sum of the others, mean",
        "confidence, raw, mean",
    )  # fmt: skip
    rows = (
        [f"{one.classes:,}", f"{short(one.accuracy)} ({short(one.true_centres)})"]
        + [short(number) for number in (one.top_sigmoid, one.other_sigmoids, one.mmc)]
        for one in found[found["method"] == "SLOVA, raw"].itertuples()
    )
    return markdown(titles, rows)


def classes_top() -> str:
    return _by_classes(CLASSES, {"ece": ("ECE", 3), "top_nll": ("NLL", 2), "top_brier": ("Brier", 3)})


def classes_rows() -> str:
    shown = ("SLOVA, raw", "exponential, top pairs", "beta, top pairs", "affine, beta, top pairs")
    names = {name: CLASSES[name].replace("*", "") for name in shown}
    names["softmax, temperature"] = "softmax of the same logits, temperature fitted"
    return _by_classes(names, {"nll": ("NLL", 2), "brier": ("Brier", 3)})


def _by_classes(names: dict[str, str], metrics: dict[str, tuple[str, int]]) -> str:
    found = read("many_classes").set_index(["method", "classes"]).sort_index()

    def cell(key: str, metric: str) -> str:
        return " / ".join(short(one, metrics[metric][1]) for one in found.loc[key][metric])

    rows = ([name, *(cell(key, metric) for metric in metrics)] for key, name in names.items())
    return markdown(("", *(title for title, _ in metrics.values())), rows)


def retrofit_digits() -> str:
    found = read("retrofit")
    means = found[found["data"] == "digits"].groupby("method")[list(RETROFIT_METRICS)].mean()
    rows = ([name, *map(short, means.loc[key])] for key, name in RETROFIT.items())
    return markdown(("", *RETROFIT_METRICS.values()), rows)


def levels() -> str:
    found = read("retrofit")
    means = found[found["data"] == "digits"].groupby("method").mean(numeric_only=True)
    columns = {"loss": ("validation loss", 3), "scale": ("scale", 2), "offset": ("offset", 2)}
    columns |= {"ece": ("clean test ECE", 3), "ece_q50": ("median ECE under shift", 3)}
    rows = (
        [name, *(short(means.loc[f"rescaled {key}", column], digits) for column, (_, digits) in columns.items())]
        for key, name in LEVELS.items()
    )
    return markdown(("level of a row", *(title for title, _ in columns.values())), rows)


def pretrained() -> str:
    means = read("pretrained").groupby(["calibration", "test"]).mean(numeric_only=True)

    def numbers(calibration: str) -> list[str]:
        own, degraded = (means.loc[calibration, name] for name in ("ImageNet", "ImageNet, degraded"))
        sets = (("svhn", "cifar10", "cifar100"), ("noise224", "noise32"))
        areas = [", ".join(short(means.loc[(calibration, one), "auroc"]) for one in some) for some in sets]
        return [f"{short(own.ece)}, {short(own.nll)}", f"{short(degraded.ece)}, {degraded.nll:.2f}", *areas]

    titles = ("", "`Classifier.fit`", "temperature on the same 500 images")
    names = (
        "ECE, NLL, other ImageNet images", "ECE, NLL, degraded ones, of kinds that the fit does not use",
        "AUROC of SVHN, CIFAR-10, CIFAR-100", "AUROC of uniform noise, of 224 pixels and enlarged",
    )  # fmt: skip
    return markdown(titles, iter(zip(names, numbers("posterior"), numbers("temperature"), strict=True)))


def fine_tuned() -> str:
    found = read("fine_tune")
    clean, held = found["test"] == "clean", found["held_out"] == 1
    other = (found["level"] > 0) & ~held
    sets = ["cifar100-test", "tinyimagenet-test", "svhn-test", "uniform noise"]
    columns = {
        "image recipe, `Classifier.fit`": ("image recipe", "posterior"),
        "softmax, `Classifier.fit`": ("softmax, degradations", "posterior"),
        "softmax, temperature": ("softmax, degradations", "temperature"),
    }

    def numbers(network: str, calibration: str) -> list[str]:
        own = (found["network"] == network) & (found["calibration"] == calibration)
        cells = [found[own & part] for part in (clean, held, other)]
        areas = (found[own & (found["test"] == name)]["auroc"].mean() for name in sets)
        parts = [f"{100 * cell['accuracy'].mean():.1f} %, {short(cell['ece'].mean())}" for cell in cells]
        return [*parts, ", ".join(map(short, areas))]

    names = (
        "accuracy, ECE, clean", "accuracy, ECE: motion blur, snow, JPEG", "accuracy, ECE: noise, glass blur, fog",
        "AUROC of CIFAR-100, Tiny-ImageNet, SVHN, noise",
    )  # fmt: skip
    return markdown(("", *columns), iter(zip(names, *(numbers(*one) for one in columns.values()), strict=True)))


TABLES: dict[str, Callable[[], str]] = {
    "tabular held-out": partial(tabular, "held-out"),
    "tabular out-of-fold": partial(tabular, "out-of-fold"),
    "classes heads": classes_heads,
    "classes top": classes_top,
    "classes rows": classes_rows,
    "retrofit digits": retrofit_digits,
    "levels": levels,
    "pretrained": pretrained,
    "fine-tuned": fine_tuned,
}

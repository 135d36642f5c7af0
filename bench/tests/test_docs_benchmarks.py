"""Sentences of the pages with numbers of scripts are made from the rows of the scripts, `benchmarks/results`."""

import importlib.util
import json
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "benchmarks" / "results"
spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables_of_benchmarks.py")
tables = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tables)
short = tables.short


def absent(page: str, *sentences: str) -> list[str]:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    return [sentence for sentence in sentences if sentence not in text]


@pytest.mark.parametrize("mode", ["held-out", "out-of-fold"])
def test_calibrators_on_tables(mode):
    found = tables.read("tabular")
    found = found[found["mode"] == mode]
    means = found.groupby("method")[list(tables.TABULAR)].mean()
    assert len(means) == 7
    lowest = {name for name in tables.TABULAR if means[name].idxmin() == "posterior"}
    assert lowest == {"log-loss", "Brier", "ECE", "AURC", "error"}
    assert means["class-wise ECE"].idxmin() == "sklearn isotonic"
    losses = found.groupby(["method", "table", "model"])["log-loss"].mean().unstack(0)
    ahead = [(losses[name] > losses["posterior"]).sum() for name in losses if name.startswith("sklearn")]
    assert len(ahead) == 3
    assert min(ahead) >= 22


def test_calibrators_by_rank():
    found = tables.read("tabular")
    keys = ["mode", "table", "model", "split"]
    ranks = {
        metric: found.pivot(index=keys, columns="method", values=metric).rank(axis=1).groupby("mode").mean()
        for metric in tables.TABULAR
    }
    ours, theirs = (
        [f"{ranks['log-loss'].loc[mode, name]:.1f}" for mode in ("held-out", "out-of-fold")]
        for name in ("posterior", "probmetrics SMS")
    )
    page = "docs/measurements/calibrators.md"
    assert not absent(
        page, f"(log-loss {ours[0]} against {theirs[0]} held-out, {ours[1]} against {theirs[1]} out-of-fold)"
    )
    for metric in ("Brier", "AURC"):
        assert (ranks[metric]["probmetrics SMS"] < ranks[metric]["posterior"]).all()
    for metric in ("ECE", "class-wise ECE"):
        assert (ranks[metric].idxmin(axis=1) == "posterior").all()
    assert not absent(page, "in ECE and class-wise ECE it is ahead of all")


def test_the_caution_of_the_default_calibrator():
    found = pd.read_json(ROWS / "front_door-softmax.json")
    some = found[found["network"].str.startswith("softmax-cifar100") & (found["rows"] == 500)]
    means = some.groupby("calibration")["nll"].mean()
    gap = means["posterior"] - means["temperature"]
    assert not absent("docs/measurements/calibrators.md", f"the NLL is that of a temperature to {short(gap, 4)} (")


EXTREME = "docs/measurements/extreme.md"


def test_very_many_classes():
    found = tables.read("many_classes").set_index(["method", "classes"]).sort_index()
    sizes = sorted(found.index.get_level_values("classes").unique())
    assert sizes == [1_000, 10_000, 100_000]
    raw, top = (found.loc[name] for name in ("SLOVA, raw", "exponential, top pairs"))
    assert (raw["mmc"] / raw["accuracy"]).between(0.5, 0.6).all()
    low, high = (short(value, 2) for value in (top["ece"].min(), top["ece"].max()))
    one, two, three = (short(value, 2) for value in raw["mmc"])
    others = [short(value, 2) for value in raw["other_sigmoids"]][1:]
    assert not absent(
        EXTREME,
        "The raw confidence is little more than half of the accuracy at every K",
        f"the raw confidence is {one}, {two} and {three}",
        f"from {others[0]} to {others[1]} between K = 10,000 and 100,000",
    )
    best = found.loc[["exponential, top pairs", "beta, top pairs", "affine, beta, top pairs"]]
    assert (best["ece"] > 0.015).all()
    assert (best["ece"] < 0.045).all()
    assert (low, high) == (".02", ".03")
    assert not absent(EXTREME, "a calibrator fitted to the top pairs gives an ECE of .02 to .04")
    assert not absent("docs/extreme.md", f"an ECE of .02 to .04, where the raw confidence has {_about(raw['ece'])}")


def _about(values) -> str:
    return f"{short(values.min(), 2)} to {short(values.max(), 2)}"


def test_what_fails_with_very_many_classes():
    found = tables.read("many_classes").set_index(["method", "classes"]).sort_index()
    raw, pairs = found.loc["SLOVA, raw"], found.loc["exponential, all pairs"]
    assert (pairs["ece"] > raw["ece"]).all()
    assert (pairs["top_brier"] > raw["top_brier"]).all()
    assert (found.loc["affine"]["mmc"] < raw["mmc"]).all()
    gains = found.loc["beta, top pairs"]["top_nll"] - found.loc["affine, beta, top pairs"]["top_nll"]
    softmax, ours = found.loc["softmax, temperature"], found.loc["exponential, top pairs"]
    assert (ours["top_nll"] - found.loc["affine, exponential, top pairs"]["top_nll"]).max() < 0.015
    rows = [found.loc[(name, 100_000), "nll"] for name in ("exponential, top pairs", "SLOVA, raw")]
    other = min(found.loc[(name, 100_000), "nll"] for name in ("beta, top pairs", "affine, beta, top pairs"))
    assert not absent(
        EXTREME,
        f"it decreases the NLL by {short(gains.min(), 2)} to {short(gains.max(), 2)}",
        f"(NLL {short(softmax['top_nll'][100_000], 2)} against {short(ours['top_nll'][100_000], 2)}, and "
        f"{softmax['nll'][100_000]:.2f} against {other:.2f} and more)",
        f"({rows[0]:.2f} against {rows[1]:.2f})",
    )


MULTILABEL = "docs/measurements/multilabel.md"


def test_several_labels():
    found = tables.read("multilabel")
    means = found.groupby(["data", "calibrated"])[["subset_accuracy", "ece", "nll", "mmc"]].mean()

    def number(data: str, calibrated: str, metric: str) -> str:
        return short(means.loc[(data, calibrated), metric])

    ece = {data: [number(data, one, "ece") for one in ("nothing", "set")] for data in ("emotions", "scene")}
    assert not absent(
        MULTILABEL,
        f"ECE {' → '.join(ece['emotions'])} on emotions and {' → '.join(ece['scene'])} on scene",
        f"({number('yeast', 'labels', 'mmc')} for {number('yeast', 'labels', 'subset_accuracy')})",
        f"`BetaCalibration` ({number('yeast', 'labels, set beta', 'ece')}) is better here than a sum of powers "
        f"({number('yeast', 'labels and set', 'ece')})",
    )
    assert not absent(
        "docs/multilabel.md",
        f"from {' to '.join(ece['emotions'])} on emotions and from {' to '.join(ece['scene'])} on scene",
    )
    nll = means["nll"].unstack()
    lost = 100 * (1 - nll["labels"] / nll["nothing"])
    assert not absent(MULTILABEL, f"(by {lost.min():.0f} to {lost.max():.0f} %)")
    accuracy = means["subset_accuracy"].unstack()
    assert {name for name in accuracy.index if accuracy["labels"][name] < accuracy["nothing"][name] - 0.01} == {
        "emotions",
        "scene",
    }
    digits = means.loc["digits"]["ece"]
    assert not absent(MULTILABEL, f"is between {short(digits.min(), 2)} and {short(digits.max(), 2)} whatever")


def test_trials_of_the_image_recipe():
    """The sentences below the table of trials in docs/measurements/defaults.md."""
    found = [json.loads(line) for line in (ROWS / "recipes.jsonl").read_text(encoding="utf-8").splitlines()]
    trials = {(line["epochs"], line["variant"]): line for line in found if "epochs" in line}
    half, plain, quarter, operations, consistent = (
        trials[30, name]
        for name in (
            *("with mixing, half", "with cross-entropy", "with mixing"),
            *("with mixing, operations alone", "with mixing, consistency"),
        )
    )
    assert half["shifted"]["nll"] < plain["shifted"]["nll"] < quarter["shifted"]["nll"]
    assert half["auroc"] >= plain["auroc"]
    assert operations["clean"]["nll"] < half["clean"]["nll"]
    assert operations["shifted"]["nll"] > half["shifted"]["nll"]
    fallen = 100 * (quarter["clean"]["accuracy"] - consistent["clean"]["accuracy"])
    assert not absent("docs/which-recipe.md", f"fell by {fallen:.1f} points and the NLL on degraded ones hardly")
    assert abs(consistent["shifted"]["nll"] / quarter["shifted"]["nll"] - 1) < 0.02
    usual = trials[50, "image recipe"]
    fewer, more = (trials[50, f"image recipe, {name}"] for name in ("outliers 0.25", "cross-entropy 4, outliers 0.25"))
    assert all(0.01 < 1 - fewer[place]["nll"] / usual[place]["nll"] < 0.02 for place in ("clean", "shifted"))
    assert 1 - more["shifted"]["nll"] / usual["shifted"]["nll"] == pytest.approx(0.03, abs=0.005)
    others = [line["auroc"] for (epochs, name), line in trials.items() if epochs == 50 and name != "image recipe"]
    assert max(others) < usual["auroc"]


RETROFIT = "docs/measurements/retrofit.md"


def test_retrofits_of_digits():
    found = tables.read("retrofit")
    means = found[found["data"] == "digits"].groupby("method").mean(numeric_only=True)
    softmax, trained = means.loc["softmax"], means.loc["trained one-vs-all"]
    shares = (means - softmax) / (trained - softmax)
    two, layer = shares.loc["rescaled log-odds"], shares.loc["new last layer, decay 0.001"]
    assert two["ece_q50"] == pytest.approx(1 / 3, abs=0.02)
    assert layer["ece_q25"] == pytest.approx(1 / 3, abs=0.02)
    assert abs(two["auroc"]) < 0.01
    shown = means.loc[list(tables.RETROFIT)]
    strong = "new last layer, decay 0.01"
    assert (shown["ece_q50"].idxmin(), shown["ece_q75"].idxmin(), shown["ece"].idxmax()) == (strong, strong, strong)
    assert means["loss"].idxmin() == "rescaled log-odds"
    assert not absent(
        RETROFIT,
        f"a third of the gain in the median ECE under shift, {100 * two['mmc']:.0f} % of that in MMC, none of that in",
        f"{100 * layer['ece_q50']:.0f} % of the gain in the median ECE, {100 * layer['ece_q75']:.0f} % in the upper "
        f"quartile, {100 * layer['mmc']:.0f} % in MMC, {100 * layer['auroc']:.0f} % in AUROC, and the accuracy",
        f"the clean ECE is {short(means.loc['new last layer, decay 0.001', 'ece'])} instead of {short(trained['ece'])}",
    )

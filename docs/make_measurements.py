"""Write docs/measurements/defaults.md from the rows of benchmarks/results: python docs/make_measurements.py."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

PAGE = Path(__file__).parent / "measurements" / "defaults.md"
ROWS = Path(__file__).parents[1] / "benchmarks" / "results"
METRICS = {"ece": "ECE", "nll": "NLL", "brier": "Brier", "accuracy": "accuracy"}
SETS = {"svhn": "SVHN", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}
SETS |= {"noise224": "uniform noise, 224 pixels", "noise32": "uniform noise, 32 pixels"}
RANKED = {"posterior": "P(none)", "temperature": "temperature", "energy": "energy"}
NETWORKS = {"softmax": "softmax", "ova": "one-vs-all", "slova_none": "one-vs-all, NONE in training"}

TEXT = """# Measurements of the defaults

What `Classifier.fit`, `slova fit` and `SlovaClassifier` give without any option, beside other calibrators of the same networks. Made by `docs/make_measurements.py` from the rows in `benchmarks/results`; tables and text are in [calibrators](calibrators.md). NLL and Brier score are those of the classes, with P(none) left out; probabilities below 1e-12 count as 1e-12, because isotonic regression gives zeros. `posterior` is the default.

## Small networks

Digits, the README as written: `slova.prepare`, `ova_loss`, `Classifier.fit` on 400 images; means over five seeds (`python benchmarks/front_door.py digits`). The goal is an ECE at most .015 and an NLL at most .02 above the best of the others. The default gave {warnings} warnings in 15 fits.

{digits}

## Softmax logits in a file

`slova fit` on a file of logits against temperature scaling, on the same rows: twenty draws of 500 or 5,000 rows out of the validation and test images of ResNet-20 networks, and of 200 or 500 rows out of 1,000 ImageNet images of EfficientNet-Lite0 (1,000 classes); the other rows test (`front_door.py softmax`, `front_door.py imagenet`). The head was recognised as softmax in all {fits} fits. ± is the standard error over draws, which overlap.

{softmax}

## CIFAR-10, clean images

ResNet-20 networks of `bench/models`, 5,000 validation images, 10,000 test images, means over five seeds (`front_door.py cifar10`). A perfect model has an ECE of about .005 on 10,000 images.

{cifar10}

## A pretrained network

EfficientNet-Lite0 with its ImageNet weights as it is: 500 of 1,000 ImageNet images calibrate 1,000 classes, the other 500 test; means over ten splits (`python benchmarks/pretrained.py`). `posterior` is `Classifier.fit` without options. Degraded images are of kinds that are not in the fit. "Temperature, degraded images too" is fitted to the same degraded images as the default.

{pretrained}

Images of no class: SVHN and CIFAR are enlarged to 224 pixels, as is the noise of 32 pixels; CIFAR shows some of the 1,000 classes. The default ranks by P(none), whose prior is .05, the temperature by its confidence, "energy" by the log-sum-exp of the logits. "Detected" is the share beyond the value at which 5 % of the ImageNet test images are refused. The last columns are the mean of P(none), and the share of images with P(none) above a half.

{unknown}
{fine_tuned}
## Trials of the image recipe

What was tried for the recipe: ResNet-20 on CIFAR-10, one seed (`python benchmarks/recipes.py 30`, or 50). Judged on validation images alone: the default calibrator is fitted on half of them, the other half is scored, clean, by five degradations and by five kinds of outliers that neither training nor calibration use. With one seed each, small differences say little. "Softmax" is trained with the same images and without outliers. "With cross-entropy" is the recipe without mixed images; "image recipe" has half as much cross-entropy again.

{trials}

**Mixed images** (30 epochs). Where half of the images are mixed and a quarter is degraded, the NLL of degraded images is lower than without mixed ones, at nearly the same NLL of clean ones and with the outliers detected as well: this became the recipe. A quarter of mixed images with half degraded is worse; mixtures of operations alone, without fractals, are better on clean images and not on degraded ones. A consistency loss did not pay, and outliers in evaluation mode made the training diverge.

**Before that** (50 epochs, no mixed images). Half of the outliers lower both NLLs by 1 to 2 %, with more weight on the cross-entropy that of degraded images by 3 % and not that of clean ones; the weight decay and the learning rate are right as they are, for both losses. Every variant detects outliers less well than the recipe.

## The order of classes under shift

May a fit on degraded images correct single classes, which changes some labels? Four kinds of degradations are in the fit, the fifth is left out and scored, on a fifth of the validation images that the fit has not seen; means over the five kinds, networks of CIFAR-10 (`python benchmarks/order.py`). "Auto" corrects single classes where that pays on the clean images of the fit, as `Classifier.fit` does; "keep" keeps the top class, as with `keep_order=True`. "Corrected" counts the fits of "auto" that correct classes.

{order}

{order_words} The differences are small, and the default stays. Before, a correction had to pay on all rows of the fit, degraded ones included; with that rule the fine-tuned network [above](#fine-tuned) lost accuracy under shift on test images.

## Guarantees

Twenty random splits of each of five tables (letter, phoneme, segment, trec, vehicle): 100 splits per model, calibrated on at most 1,000 rows (`python benchmarks/guarantees.py`). "Exact" uses at most 1,000 rows that fitted nothing, "approximate" the cross-fitted scores of the calibration rows. A risk or coverage threshold may be broken in 5 of 100 splits (delta = .05). "Broken" is judged on the rows that fitted nothing (380 to 7,000): for approximate thresholds this has a sampling error of its own. Where no threshold guarantees the risk, no row is answered.

{thresholds}

Prediction sets promise a coverage of .9 on average over draws, over all rows (marginal) or given each class (class-conditional). The last column is the class with the lowest mean coverage, of all tables; such a minimum lies below .9 by chance, and classes with fewer than 9 calibration rows have no guarantee of their own.

{sets}
"""  # noqa: E501

FINE_TUNED = """
## Fine-tuned

The same network, fine-tuned on CIFAR-10 enlarged to 128 pixels, with the image recipe and with softmax and the same degraded images; number of seeds: {seeds} (`python benchmarks/fine_tune.py`). 5,000 validation images calibrate. Shifts are made of the images of 32 pixels, severities 1, 3 and 5, 5,000 images each. The weights it starts from have seen ImageNet, so that Tiny-ImageNet is not new to it.

{classes}

The AUROC is that of P(none), and of the confidence where the calibration is a temperature. "Detected" is the share beyond the value at which 5 % of the clean test images are refused.

{others}
"""  # noqa: E501


def page() -> str:
    digits = rows("digits")
    softmax = pd.concat([rows("softmax"), rows("imagenet")])
    fits = softmax[softmax["calibration"] == "posterior"]
    assert set(fits["head"]) == {"softmax"}
    guarantees = pd.read_csv(ROWS / "guarantees.csv")
    return TEXT.format(
        warnings=int(digits[digits["calibration"] == "posterior"]["warnings"].sum()),
        digits=by_calibration(digits, "steps"),
        fits=len(fits),
        softmax=paired(softmax),
        cifar10=by_calibration(cifar10(), "network"),
        pretrained=pretrained(found := pd.read_csv(ROWS / "pretrained.csv")),
        unknown=unknown(found),
        fine_tuned=fine_tuned(ROWS / "fine_tune.csv"),
        trials=trials(),
        order=order(pd.read_csv(ROWS / "order.csv")),
        order_words=order_words(pd.read_csv(ROWS / "order.csv")),
        thresholds=thresholds(guarantees),
        sets=sets(guarantees),
    )


def rows(name: str) -> pd.DataFrame:
    return pd.read_json(ROWS / f"front_door-{name}.json")


def cifar10() -> pd.DataFrame:
    found = rows("cifar10")
    return found.assign(network=found["network"].str.split("-").str[0].map(NETWORKS))


def by_calibration(found: pd.DataFrame, key: str) -> str:
    """Means per group and calibration, and how far the default is above the best of the others."""
    lines = [f"| {key} | calibration | {' | '.join(METRICS.values())} |", "|---" * (2 + len(METRICS)) + "|"]
    for group, part in found.groupby(key, sort=False):
        means = part.groupby("calibration", sort=False)[list(METRICS)].mean()
        lines += [f"| {group} | {name} | {_cells(mean)} |" for name, mean in means.iterrows()]
        gaps = means.loc["posterior"] - means.drop("posterior").min()
        above = " | ".join(f"{gaps[name]:+.4f}" for name in ("ece", "nll", "brier"))
        lines.append(f"| {group} | *posterior above the best of the others* | {above} | |")
    return "\n".join(lines)


def _cells(means: pd.Series) -> str:
    return " | ".join(f"{means[name]:.4f}" for name in METRICS)


def paired(found: pd.DataFrame) -> str:
    lines = ["| network | rows | NLL, temperature | NLL, posterior | difference | ECE, temperature | ECE, posterior |"]
    lines.append("|---" * 7 + "|")
    for (network, size), part in found.groupby(["network", "rows"], sort=False):
        nll, ece = (part.pivot(index="split", columns="calibration", values=name) for name in ("nll", "ece"))
        gap = nll["posterior"] - nll["temperature"]
        means = [f"{nll[name].mean():.4f}" for name in ("temperature", "posterior")]
        means += [f"{gap.mean():+.4f} ± {gap.sem():.4f}"]
        means += [f"{ece[name].mean():.4f}" for name in ("temperature", "posterior")]
        lines.append(f"| {network} | {size} | {' | '.join(means)} |")
    return "\n".join(lines)


def pretrained(found: pd.DataFrame) -> str:
    lines = ["| images | calibration | ECE | NLL | Brier | accuracy |", "|---" * 6 + "|"]
    part = found[found["accuracy"].notna()]
    for (test, name), some in part.groupby(["test", "calibration"], sort=False):
        lines.append(f"| {test} | {name} | {_cells(some[list(METRICS)].mean())} |")
    return "\n".join(lines)


def unknown(found: pd.DataFrame) -> str:
    lines = [f"| images | {' | '.join(f'AUROC, {name}' for name in RANKED.values())} | "]
    lines[0] += f"{' | '.join(f'detected, {name}' for name in RANKED.values())} | mean P(none) | above a half |"
    lines.append("|---" * 9 + "|")
    means = found.groupby(["calibration", "test"])[["auroc", "detected", "none", "refused"]].mean()
    for test, name in ({name: name for name in ("ImageNet", "ImageNet, degraded")} | SETS).items():
        numbers = [means[column].get((one, test)) for column in ("auroc", "detected") for one in RANKED]
        numbers += list(means.loc[("posterior", test), ["none", "refused"]])
        lines.append(f"| {name} | {' | '.join('' if pd.isna(one) else f'{one:.3f}' for one in numbers)} |")
    return "\n".join(lines)


def fine_tuned(path: Path) -> str:
    """The section, empty as long as there are no rows."""
    if not path.exists():
        return ""
    found = pd.read_csv(path)
    kinds = {"clean": found["test"] == "clean", "motion blur, snow, JPEG": found["held_out"] == 1}
    kinds["noise, glass blur, fog"] = (found["level"] > 0) & (found["held_out"] == 0)
    classes = ["| network | calibration | images | ECE | NLL | Brier | accuracy |", "|---" * 7 + "|"]
    others = ["| network | calibration | images | AUROC | detected | mean confidence |", "|---" * 6 + "|"]
    for kind, chosen in kinds.items():
        for names, some in found[chosen].groupby(["network", "calibration"], sort=False):
            classes.append(f"| {' | '.join(names)} | {kind} | {_cells(some[list(METRICS)].mean())} |")
    for (test, *names), some in found[found["auroc"].notna()].groupby(["test", "network", "calibration"], sort=False):
        numbers = " | ".join(f"{some[name].mean():.4f}" for name in ("auroc", "detected", "confidence"))
        others.append(f"| {' | '.join(names)} | {test.removesuffix('-test')} | {numbers} |")
    return FINE_TUNED.format(seeds=found["seed"].nunique(), classes="\n".join(classes), others="\n".join(others))


def trials() -> str:
    found = [json.loads(line) for line in (ROWS / "recipes.jsonl").read_text().splitlines()]
    names = [(line.get("epochs", 100), line.get("variant") or line["method"]) for line in found]
    titles = ("epochs", "variant", "clean: accuracy", "NLL", "degraded: accuracy", "ECE", "NLL", "outliers: AUROC")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for (epochs, name), one in sorted(zip(names, found, strict=True), key=lambda pair: pair[0]):
        clean, shifted = one["clean"], one["shifted"]
        numbers = (clean["accuracy"], clean["nll"], *(shifted[metric] for metric in ("accuracy", "ece", "nll")))
        lines.append(f"| {epochs} | {name} | {' | '.join(f'{number:.4f}' for number in (*numbers, one['auroc']))} |")
    return "\n".join(lines)


def order(found: pd.DataFrame) -> str:
    titles = (
        "network",
        "seed",
        "corrected",
        "images",
        "accuracy, auto",
        "keep",
        "ECE, auto",
        "keep",
        "NLL, auto",
        "keep",
    )
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    images = found["test"].where(found["test"] == "clean", "degraded by the kind left out")
    for (network, seed, test), some in found.groupby(["network", "seed", images], sort=False):
        means = some.groupby("order")[["accuracy", "ece", "nll"]].mean()
        numbers = (means[metric][name] for metric in means for name in ("auto", "keep"))
        counts = f"{int(_corrected(some).sum())} of {some['left_out'].nunique()}"
        lines.append(
            f"| {network} | {seed} | {counts} | {test} | {' | '.join(f'{number:.4f}' for number in numbers)} |"
        )
    return "\n".join(lines)


def order_words(found: pd.DataFrame) -> str:
    clean = found["test"] == "clean"
    means = [found[part].groupby("order")["nll"].mean() for part in (clean, ~clean)]
    own, other = (f"{means[i]['auto']:.4f} and {means[i]['keep']:.4f}" for i in range(2))
    counts = f"{int(_corrected(found[clean]).sum())} of {int((found[clean]['order'] == 'auto').sum())} fits"
    words = f"The mean NLL, auto and keep: {own} on clean images, {other} on degraded ones."
    return f"Classes are corrected in {counts}. {words}"


def _corrected(found: pd.DataFrame) -> pd.Series:
    return (found["order"] == "auto") & found["part"].isin(["classes", "pairs"])


def thresholds(found: pd.DataFrame) -> str:
    lines = ["| guarantee | kind | model | broken, of 100 | risk | rows answered |", "|---" * 6 + "|"]
    part = found[found["guarantee"].isin(["risk", "coverage"])]
    for (guarantee, target, kind, model), some in part.groupby(["guarantee", "target", "kind", "model"]):
        numbers = f"{some['broken'].sum():.0f} | {some['risk'].mean():.3f} | {some['answered'].mean():.3f}"
        lines.append(f"| {guarantee} {target:g} | {kind} | {model} | {numbers} |")
    return "\n".join(lines)


def sets(found: pd.DataFrame) -> str:
    lines = ["| sets | kind | model | covered | mean size | lowest class |", "|---" * 6 + "|"]
    part = found[found["covered"].notna()]
    for (name, kind, model), some in part.groupby(["guarantee", "kind", "model"]):
        lowest = f"{_lowest(some):.3f}" if some["classes"].notna().any() else ""
        numbers = f"{some['covered'].mean():.3f} | {some['size'].mean():.2f} | {lowest}"
        lines.append(f"| {name} | {kind} | {model} | {numbers} |")
    return "\n".join(lines)


def _lowest(some: pd.DataFrame) -> float:
    """The lowest mean coverage of a class, over the splits in which all classes of its table were tested."""
    lowest = []
    for _, table in some.groupby("table"):
        shares = table["classes"].str.split(expand=True).astype(float)
        lowest.append(shares.dropna().mean().min())
    return float(min(lowest))


if __name__ == "__main__":
    PAGE.write_text(page())

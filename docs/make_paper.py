"""Write docs/measurements/paper.md, what the paper names and leaves open, from rows: python docs/make_paper.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from scipy.stats import ttest_rel

sys.path.insert(0, str(Path(__file__).parent))
from paper_active_learning import section as active_learning
from paper_table_1 import section as table_1

PAGE = Path(__file__).parent / "measurements" / "paper.md"
ROWS = Path(__file__).parents[1] / "benchmarks" / "results"
OURS, THEIRS = "slova_image", "softmax_augmented"
SETS = ("clean", "sixteen shifts", "held-out shifts")

TEXT = """# Measurements: what the paper names

The paper proves a theorem about far inputs, and names work for the future (semi-supervised learning, active learning, conditional computation, several labels) and a limitation with its remedy (label vectors of fewer dimensions for very many classes). Each is measured here on real data, and its Table 1 with the networks that Hein et al. released. Made by `docs/make_paper.py` from the rows in `benchmarks/results`; the verdicts are computed.

## The theorem on ReLU networks

Theorem 3.1 is about ReLU networks without batch norm along a ray αx, for α → ∞. The limit is known exactly: it is decided by the signs of the outputs of the network without its biases. The theorem assumes that these signs are independent and fair; then SLOVA's confidence goes to 1 on K / 2^K of the rays, that of OVA on 1 - 1 / 2^K. Digits of scikit-learn, the first K classes, five seeds; random rays, and rays through test images (`python benchmarks/theorem.py`). Share of the rays with a confidence that goes to 1:

{theorem}

**Verdict**: {theorem_verdict} At α = 10^6 the shares are those of the limit, to three decimals.

## Conditional computation

A small network (ResNet-20) answers what it is sure of and hands on the rest to a large one (ResNet-18): CIFAR-10, the image recipe and softmax trained with the same degraded images, calibrated on clean and degraded validation images and on clean ones. Three small networks and one large one of each method (`python benchmarks/cascade.py`). Handed on are the images with the lowest calibrated confidence. A pass of the small network costs {small:.0f} million multiply-adds, one of the large network {large:.0f}. "Gap closed" is the share of the difference in accuracy between the two.

{cascade}

With a threshold from validation images, which handed on a fifth of them, the share adapts to the images:

{thresholds}

**Verdict**: {cascade_verdict}

## Semi-supervised learning

A network of one hidden layer learns from 10 labelled rows per class (10 more calibrate), gives labels to the rows of a pool of which it is sure (confidence at least .95), and learns again, four times. "Open" pools contain classes that have no labelled row: a fifth of the classes, whose pseudo-labels are all wrong. Five seeds (`python benchmarks/pseudo_labels.py`). Accuracy before and after, the share of the pool that was used in the last round, and how much of it was right:

{pseudo}

**Verdict**: {pseudo_verdict}
{active}
## Labels in fewer dimensions

676 classes, pairs of two real letters (UCI letter recognition). Each class has a random code of D bits, and the network has D outputs instead of 676. SLOVA's formula over the bits, P(k) = prod_j p_j^c_kj (1 - p_j)^(1 - c_kj), is SLOVA itself if the code is the identity. Three seeds (`python benchmarks/label_codes.py`); calibrated on the top class.

{codes}

**Verdict**: {codes_verdict}

## Several labels

Three standard sets of the Mulan collection (music by mood, genes by function, photographs by scene), and two digits of scikit-learn side by side. One hidden layer of 128, half of the rows to train on, a quarter to calibrate, a quarter to test; means of five splits ± standard error (`python benchmarks/multilabel.py`).

{multilabel}

**Verdict**: {multilabel_verdict} What each calibration does: [several labels at a time](multilabel.md).
{released}"""  # noqa: E501


def page() -> str:
    parts = theorem() | cascade() | pseudo() | codes() | multilabel()
    active, released = active_learning(ROWS / "active_learning.csv"), table_1(ROWS / "hein.csv")
    return TEXT.format(**parts, active=active, released=released)


def theorem() -> dict[str, object]:
    found = pd.read_csv(ROWS / "theorem.csv")
    means = found.groupby(["network", "classes", "trained", "rays"])[["slova", "ova"]].mean()
    shown = "untrained, random | trained, random | trained, images | OVA: 1 - 1 / 2^K | OVA, trained, random"
    lines = [f"| network | K | K / 2^K | {shown} |"]
    lines.append("|---" * 8 + "|")
    for network, k in dict.fromkeys(zip(found["network"], found["classes"], strict=True)):
        cells = [means.loc[network, k, *which]["slova"] for which in ((0, "random"), (1, "random"), (1, "images"))]
        fair, ova = [k / 2**k, *cells], [1 - 1 / 2**k, means.loc[network, k, 1, "random"]["ova"]]
        lines.append(f"| {network} | {k} | {' | '.join(f'{value:.3f}' for value in (*fair, *ova))} |")
    ten = means.xs(10, level="classes").xs("random", level="rays")["slova"]
    trained, raw = ten.xs(1, level="trained"), ten.xs(0, level="trained")
    assert raw.max() < 3 * 10 / 2**10 < 10 * 10 / 2**10 < trained.min()
    few = found[(found["trained"] == 0) & (found["rays"] == "random")].set_index(["network", "classes"])["slova"]
    five = few["MLP", 5]
    verdict = (
        "before training the means over five networks are near it, and single networks are not, as the rays of one "
        f"network share its weights: at K = 5 the five untrained MLPs have {_span(five)}, where K / 2^K is "
        f"{5 / 2**5:.3f}. After training it does not hold. With ten classes the confidence of SLOVA goes to 1 on "
        f"{_span(raw)} of the random rays of untrained networks (means), near {10 / 2**10:.3f}, and on "
        f"{_span(trained)} of those of trained ones: training makes the outputs exclusive, so exactly one of them is "
        "positive far more often than by chance. "
        "Along rays through test images it is the rule. Far inputs are not rejected by SLOVA on the ground of this "
        "theorem; NONE in training, or distances, are needed."
    )
    assert (found["slova"] - found["slova_far"]).abs().max() < 0.0005
    return {"theorem": "\n".join(lines), "theorem_verdict": verdict}


def cascade() -> dict[str, object]:
    found = pd.read_csv(ROWS / "cascade.csv")
    small, both = found["multiply_adds"].min(), found["multiply_adds"].max()
    shown = found[(found["rule"] == "share") & found["share"].isin([0, 0.1, 0.2, 0.3, 1])]
    head = (
        "| handed on | cost | "
        + " | ".join(f"{s}, softmax | {s}, SLOVA" for s in SETS)
        + " | gap closed, clean: softmax, SLOVA |"
    )
    lines = [head, "|---" * 9 + "|"]
    closed = _closed(found[found["rule"] == "share"])
    for share, part in shown.groupby("share"):
        means = part.groupby(["images", "method"])["accuracy"].mean()
        cells = [f"{means[images, method]:.4f}" for images in SETS for method in (THEIRS, OURS)]
        gap = f"{closed.loc['clean', THEIRS, share].mean():.2f}, {closed.loc['clean', OURS, share].mean():.2f}"
        lines.append(f"| {share:.0%} | {part['multiply_adds'].mean():.0f} | {' | '.join(cells)} | {gap} |")
    saved = 1 - shown[shown["share"] == 0.2]["multiply_adds"].mean() / (both - small)
    wins = [f"{images} {_gap(closed, images)}" for images in SETS]
    verdict = (
        f"conditional computation works with both. Handing on a fifth of the clean images gives the accuracy of the "
        f"large network to {_lost(shown):.4f} and saves {saved:.0%} of its cost. SLOVA's confidence is "
        f"{_guide(closed)} better guide on all three groups of images: gap closed at a fifth, SLOVA minus softmax, per "
        f"small network: {'; '.join(wins)}."
    )
    return {
        "cascade": "\n".join(lines), "thresholds": _thresholds(found), "cascade_verdict": verdict,
        "small": small, "large": both - small,
    }  # fmt: skip


def _thresholds(found: pd.DataFrame) -> str:
    rule = found[(found["rule"] == "threshold") & (found["share"] == 0.2)]
    means = rule.groupby(["images", "method"])[["handed_on", "accuracy"]].mean()
    lines = ["| images | handed on, softmax | SLOVA | accuracy, softmax | SLOVA |", "|---" * 5 + "|"]
    for images in SETS:
        numbers = [means.loc[(images, method), part] for part in means for method in (THEIRS, OURS)]
        lines.append(f"| {images} | {' | '.join(f'{number:.3f}' for number in numbers)} |")
    return "\n".join(lines)


def _closed(found: pd.DataFrame) -> pd.Series:
    """images, method, share, seed -> the share of the gap between the two networks that is closed."""
    table = found.set_index(["images", "method", "share", "seed"])["accuracy"].sort_index()
    low, high = (table.xs(share, level="share") for share in (0.0, 1.0))
    return ((table - low) / (high - low)).reorder_levels(table.index.names).sort_index()


def _guide(closed: pd.Series) -> str:
    gaps = [closed.loc[images, OURS, 0.2].mean() - closed.loc[images, THEIRS, 0.2].mean() for images in SETS]
    return "a" if min(gaps) > 0 else "not a"


def _gap(closed: pd.Series, images: str) -> str:
    gaps = closed.loc[images, OURS, 0.2] - closed.loc[images, THEIRS, 0.2]
    return ", ".join(f"{gap:+.2f}" for gap in gaps)


def _lost(shown: pd.DataFrame) -> float:
    clean = shown[shown["images"] == "clean"].groupby(["method", "share"])["accuracy"].mean()
    return float((clean.xs(1.0, level="share") - clean.xs(0.2, level="share")).max())


def pseudo() -> dict[str, object]:
    found = pd.read_csv(ROWS / "pseudo_labels.csv")
    lines = ["| data | pool | method | before | after | change | used | right |", "|---" * 8 + "|"]
    last = found["round"].max()
    order = list(dict.fromkeys(zip(found["data"], found["pool"], found["method"], strict=True)))
    table = found.set_index(["data", "pool", "method", "seed"]).sort_index()
    first, after = table[table["round"] == 0], table[table["round"] == last]
    for key in order:
        part = after.loc[key]
        change = part["accuracy"] - first.loc[key]["accuracy"].to_numpy()
        numbers = f"{first.loc[key]['accuracy'].mean():.3f} | {part['accuracy'].mean():.3f} | {change.mean():+.3f} ± {change.sem():.3f}"  # noqa: E501
        lines.append(f"| {' | '.join(key)} | {numbers} | {part['used'].mean():.2f} | {part['right'].mean():.3f} |")
    settings = list(dict.fromkeys(zip(found["data"], found["pool"], strict=True)))
    wins, losses = _paired(after, settings, "accuracy")
    right = [
        after.loc[(*one, "SLOVA")]["right"].mean() - after.loc[(*one, "softmax, temperature")]["right"].mean()
        for one in settings
    ]
    helped = sum(
        after.loc[(*one, "SLOVA")]["accuracy"].mean() > first.loc[(*one, "SLOVA")]["accuracy"].mean()
        for one in settings
    )
    gain = "a gain" if wins > losses else "no gain"
    verdict = (
        f"{gain} from SLOVA here. After the last round its accuracy differs significantly from that of softmax with a "
        f"temperature in {wins + losses} of {len(settings)} settings (better in {wins}; paired t-test over seeds, p < "
        f".05). Its pseudo-labels are right more often in {sum(gap > 0 for gap in right)} of {len(settings)}. "
        f"Pseudo-labels helped SLOVA in {helped} of {len(settings)} settings."
    )
    return {"pseudo": "\n".join(lines), "pseudo_verdict": verdict}


def _paired(after: pd.DataFrame, settings: list[tuple[str, str]], column: str) -> tuple[int, int]:
    """In how many settings SLOVA is significantly better, and worse, than softmax with a temperature."""
    wins = losses = 0
    for one in settings:
        ours, theirs = (after.loc[(*one, name)][column].to_numpy() for name in ("SLOVA", "softmax, temperature"))
        if ttest_rel(ours, theirs).pvalue < 0.05:
            wins, losses = wins + (ours.mean() > theirs.mean()), losses + (ours.mean() < theirs.mean())
    return wins, losses


def codes() -> dict[str, object]:
    found = pd.read_csv(ROWS / "label_codes.csv")
    parts = {"accuracy": "accuracy", "ece_raw": "ECE, raw", "ece": "ECE, calibrated", "sum": "mean sum of P(k)"}
    lines = [f"| outputs D | weights of the last layer | {' | '.join(parts.values())} |", "|---" * 6 + "|"]
    for width, part in found.groupby("outputs"):
        cells = " | ".join(f"{part[name].mean():.3f} ± {part[name].sem():.3f}" for name in parts)
        lines.append(f"| {width} | {part['weights'].iloc[0]:,.0f} | {cells} |")
    means = found.groupby("outputs")["accuracy"].mean()
    whole = means.index.max()
    enough = [width for width in means.index if width < whole and means[width] > means[whole] - 0.005]
    word = (
        f"{min(enough)} outputs in place of {whole} are as accurate, to half a point"
        if enough
        else (
            "no code is as accurate as one output per class, to half a point; "
            f"the best has {means.drop(whole).max():.3f} against {means[whole]:.3f}"
        )
    )
    best, full = found.groupby("outputs")["ece"].mean().drop(whole).min(), found.groupby("outputs")["ece"].mean()[whole]
    verdict = (
        f"{word}. The calibrated ECE of the best code is {best:.3f}, that of one output per class {full:.3f}. "
        "Random bits are harder to learn than classes; learned projections were not tried."
    )
    return {"codes": "\n".join(lines), "codes_verdict": verdict}


def multilabel() -> dict[str, object]:
    found = pd.read_csv(ROWS / "multilabel.csv")
    parts = {
        "subset_accuracy": "subset accuracy",
        "hamming": "Hamming",
        "ece": "set ECE",
        "nll": "set NLL",
        "mmc": "mean confidence",
    }
    lines = [f"| data | calibrated | {' | '.join(parts.values())} |", "|---" * 7 + "|"]
    for (data, rows, labels, kind), part in found.groupby(["data", "rows", "labels", "calibrated"], sort=False):
        who = f"{data}: {rows} rows, {labels} labels" if kind == "nothing" else ""
        cells = " | ".join(f"{part[name].mean():.3f} ± {part[name].sem():.3f}" for name in parts)
        lines.append(f"| {who} | {kind} | {cells} |")
    ece = found.groupby(["data", "calibrated"], sort=False)["ece"].mean().unstack()
    better = [name for name in ece.index if ece.loc[name, "set"] < ece.loc[name, "nothing"] - 0.01]
    verdict = (
        f"the confidence of the set, calibrated, has a lower ECE on {len(better)} of {len(ece)} sets "
        f"({', '.join(better)}); the largest increase is {(ece['set'] - ece['nothing']).max():.3f}."
    )
    return {"multilabel": "\n".join(lines), "multilabel_verdict": verdict}


def _span(values: pd.Series) -> str:
    return f"{values.min():.3f} to {values.max():.3f}"


if __name__ == "__main__":
    PAGE.write_text(page())

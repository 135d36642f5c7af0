"""The section of docs/measurements/paper.md on the networks that Hein et al. released, on our test sets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from slova_bench.labels import look, set_name
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables.seeds import span

TEXT = """
## Table 1 with the networks of Hein et al.

Softmax, CEDA and ACET of the paper's Table 1 have, on images of CIFAR and SVHN, the numbers that Hein et al. (2019) published. The networks that they released are evaluated here on our test sets (`python benchmarks/hein.py`), with ReAct of their softmax as the comparison has it, beside the SLOVA of the comparison, uncalibrated as in the paper's table ({seeds} networks). Their ACET was trained for 100 epochs, with as many noise images as clean ones and an attack of 40 steps. The terms are not equal: theirs have the recipe that they published, ours the one for all methods. Mean confidence (MMC), in the paper and here:

{mmc}

The AUROC here, which the paper does not have:

{auroc}

**Verdict**: {verdict}
"""  # noqa: E501
RELEASED, OURS = ("softmax", "ceda", "acet", "react"), "slova_raw"
PUBLISHED = RELEASED[:3]  # in Hein et al. 2019, where ReAct is not
RESULTS = Path(__file__).parents[1] / "bench" / "results"
HEAD = "| trained on | images |"
PICTURES = "imagenet224-test"


def section(path: Path) -> str:
    found = cells(path)
    return TEXT.format(
        seeds=span(found["seeds"].dropna().astype(int).tolist()),
        mmc=table(found, lambda cell: f"{cell.paper:.3f} / {cell.mmc:.3f}"),
        auroc=table(found, lambda cell: f"{cell.auroc:.3f}"),
        verdict=verdict(found),
    )


def cells(path: Path) -> pd.DataFrame:
    """A line per training set, OOD set of the paper and method: the MMC of the paper, MMC and AUROC here."""
    results = ResultsFolder.read(RESULTS)
    rows = pd.concat([results.rows("ood", on) for on in results.sets("ood")])
    rows = rows[(rows["method"] == OURS) & (rows["variant"] == "")]
    groups = rows.groupby(["train", "test", "method", "metric"])["value"]
    ours = groups.mean().unstack()[["mmc", "auroc"]].assign(seeds=groups.size().unstack()["mmc"]).reset_index()
    released = pd.read_csv(path)
    released = released.assign(train=released["on"] + "-train")[["train", "test", "method", "mmc", "auroc"]]
    paper = results.paper[results.paper["metric"] == "mmc"][["train", "test", "method", "value"]]
    paper = paper.replace({"method": {"slova": OURS}}).rename(columns={"value": "paper"})
    return pd.concat([released, ours]).merge(paper, on=["train", "test", "method"])


def table(found: pd.DataFrame, shown) -> str:
    methods = [*RELEASED, OURS]
    lines = [f"{HEAD} {' | '.join(look(method).name for method in methods)} |", "|---" * (2 + len(methods)) + "|"]
    for (train, test), own in found.groupby(["train", "test"], sort=False):
        by_method = {cell.method: shown(cell) for cell in own.itertuples()}
        lines.append(f"| {set_name(train)} | {set_name(test)} | {' | '.join(by_method[one] for one in methods)} |")
    return "\n".join(lines)


def verdict(found: pd.DataFrame) -> str:
    released, pairs = found[found["method"].isin(PUBLISHED)], found.groupby(["train", "test"])
    gaps = (released["mmc"] - released["paper"]).abs()
    pictures = released["test"] == PICTURES
    lowest, theirs = (
        sum(own.set_index("method")[column].idxmin() == OURS for _, own in pairs) for column in ("mmc", "paper")
    )
    best = [own.set_index("method")["auroc"].idxmax() for _, own in pairs]
    counts = "; ".join(f"{look(name).name} on {best.count(name)}" for name in (*RELEASED, OURS) if name in best)
    return (
        f"on CIFAR and SVHN images the released networks have the paper's confidence, to {gaps[~pictures].max():.3f}, "
        "so these sets and the measure are the same here. On pictures of ImageNet "
        f"they differ by {gaps[pictures].min():.3f} to {gaps[pictures].max():.3f}: other pictures or other networks. "
        f"SLOVA has the lowest MMC on {lowest} of {len(pairs)} pairs, in the paper on {theirs}. By the AUROC, which, "
        f"unlike the MMC, gains nothing from a low confidence on in-distribution images, the best is {counts}."
    )

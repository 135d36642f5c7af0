"""Everything the paper defines, states, draws, compares with or plans, where it is here, and what differs.

Seeds are counted in rows: `counted` lists experiments, methods as "experiment/method", both also with a preset as in
"shift@authors", or files of the measurements.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["BASELINES", "DIFFERENCES", "FORMULAS", "PLANS", "SETTINGS", "UNJUDGED", "Part"]


class Part(NamedTuple):
    """One part of the paper. `here` is markdown with links relative to `docs/`."""

    name: str
    what: str
    here: str
    differs: str = ""
    counted: tuple[str, ...] = ()


METHOD, DEVIATIONS = "method.md", "deviations.md"
TABLE = "[quartiles](#cifar-10-quartiles-over-shifts)"
OOD = "[out of distribution](#cifar-10-out-of-distribution)"

FORMULAS = (
    Part("Sec. 3.3", "p(k given x), a sigmoid per class", f"[one-vs-all]({METHOD}#1-one-vs-all), `slova.log_ova`"),
    Part(
        "Eq. 1",
        "the loss",
        f"[one-vs-all]({METHOD}#1-one-vs-all), `slova.ova_loss`",
        "also for rows of no class (NONE); the authors' code adds 1e-6 inside the logarithms",
    ),
    Part("Eq. 2", "the confidence of OVA", f"[the readout]({METHOD}#2-the-readout-this-class-and-no-other), `log_ova`"),
    Part(
        "Eq. 3, 4",
        "P_SLOVA and its maximum",
        f"[the readout]({METHOD}#2-the-readout-this-class-and-no-other), `slova.log_slova`",
        "in log space from the top class, exact for any K",
    ),
    Part(
        "Remark 3.1",
        "confidence of a set of labels, P(none)",
        "[several labels](multilabel.md), `slova.log_multilabel`, `slova.log_none`",
        "both are calibrated here; the paper leaves them to future work",
    ),
    Part(
        "Theorem 3.1",
        "confidence far from the data",
        "[far from the data](measurements/paper.md#the-theorem-on-relu-networks), "
        "[random directions](#cifar-10-confidence-along-random-directions)",
        "K / 2^K in place of 1 / 2^K; an assumption of its proof does not hold for trained networks; far out softmax "
        "is sure, one-vs-all on two of five networks",
        ("directions", "theorem.csv"),
    ),
    Part("Eq. 5", "calibrated: P(k given p) = p", f"[metrics]({METHOD}#6-metrics), `slova.metrics.ece`"),
    Part(
        "Eq. 6",
        "exponential calibration",
        f"[exponential calibration]({METHOD}#3-exponential-calibration), `slova.ExponentialCalibration`",
        "the fit is the global optimum; the paper's Adam is slova_bench.paper_fit",
    ),
    Part(
        "Sec. 3.6",
        "pairs, sliding windows, n_b points, noise labelled NONE",
        f"[the data]({METHOD}#3-exponential-calibration), [calibrators](#cifar-10-calibrators-and-their-data)",
        "equal probabilities share their hits; noise is uniform in pixels",
        ("maps",),
    ),
    Part(
        "Sec. 4.1",
        "ECE, NLL, Brier score",
        f"[metrics]({METHOD}#6-metrics)",
        "the ECE divides by the number of rows, the paper prints the number of bins; 15 bins as in the authors' code, "
        "the paper states no number",
    ),
    Part("Sec. 4.2", "MMC", f"{OOD}, `mmc` of the rows", "next to the MMC of the test set, AUROC and FPR95"),
    Part(
        "Sec. 4.1, 4.2",
        "Friedman's test, Bonferroni-Dunn",
        "[ranks](#cifar-10-ranks-under-shift), `slova_bench.ranks`",
        "per seed; the cells are not independent, so the distances are too small",
    ),
    Part(
        "Eq. 7, 8",
        "complete ignorance (App. A)",
        "[the curve](#cifar-10-the-calibration-curve-of-complete-ignorance), `bench/tests/test_paper.py`",
        "K! in place of (K - 1)! in the expansion",
    ),
)

COMPARISON = f"[in the comparison]({DEVIATIONS}#in-the-comparison)"
APPENDIX_C = f"[App. C]({DEVIATIONS}#why-the-numbers-differ-from-appendix-c)"
TABLE_1 = f"[Table 1]({DEVIATIONS}#why-the-numbers-differ-from-table-1)"

SETTINGS = (
    Part(
        "Sec. 3.6, 4.1",
        "calibration: M = 20, 20 epochs, n_b = 4000, windows of a hundredth of the pairs, a tenth of noise",
        "`slova_bench.paper_fit`, [stability](#cifar-10-stability-of-the-fit)",
        "the optimal fit has no M and no epochs; it uses all windows",
        ("shift/slova_paper_fit", "stability"),
    ),
    Part(
        "Sec. 4.1",
        "training: ResNet-20, Adam, 250 epochs, batches of 512, drops of the rate after 125 and 185",
        f"{COMPARISON}, preset `authors` in {APPENDIX_C}",
        "one recipe for all methods: SGD, 100 epochs, batches of 512; as in the authors' code beside it",
        ("shift@authors",),
    ),
    Part(
        "Sec. 4.1",
        "random search: 20 trials, ranges of rate, beta_1 and epsilon",
        f"preset `searched` in {APPENDIX_C}",
        "of rate and weight decay; in the paper's ranges beside it, where the best network diverges",
        ("shift@searched",),
    ),
    Part(
        "Sec. 4.2",
        "training for OOD data: rates .02, .03, .02, decays .01, .02, .01, crops and flips",
        f"preset `paper` in {TABLE_1}",
        "one recipe for all methods; as published beside it, with one convention of the decay",
        ("ood@paper",),
    ),
)

DIFFERENCES = {  # of the figures and tables, whose links and seeds are found
    "Fig. 2": "far out both have the same confidence, so the contrast is absent; 50 triplets per seed, not 100",
    "Fig. 3": "a drawing of our own",
    "Fig. 4": "the far end depends on the network: OVA is near 1 on two of five, SLOVA near 0 on three",
    "Fig. 5": "one recipe for all methods, 10,000 images, our own corruptions with the published strengths, the "
    "sixteen kinds of the authors' code",
    "Fig. 6": "plain mean ranks, per seed",
    "Table 1": "no LSUN images: 15 of 60 cells open; ACET with a short attack; SLOVA with and without calibration; "
    "Hein's network beside; reasons by cells, measured or open, in the deviations",
    "Fig. 7": "9 of the 12 pairs of the paper, and six of ours",
    "Fig. 8": "",
    "Fig. 9": "with the optimal sum of powers beside",
    "Fig. 10": "with and without noise in the calibration set, and the optimal fit beside",
    "App. C": "medians and upper quartiles of all three metrics are mostly larger than in the paper; the reason for "
    "each method, measured or open, in the deviations",
}

RECIPE = "the recipe of all methods"
BASELINES = (
    Part("Softmax", "maximal softmax probability", TABLE, RECIPE, ("shift/softmax", "ood/softmax")),
    Part("Temp Scaling", "one temperature", TABLE, RECIPE, ("shift/temperature",)),
    Part("Dropout", "dropout at test time", TABLE, "8 passes; a larger ECE: open", ("shift/dropout",)),
    Part(
        "Ensemble",
        "networks trained independently",
        TABLE,
        "5 networks, no adversarial training; not calibrated, and with a temperature; ten networks: open",
        ("shift/ensemble", "shift/ensemble_temperature", "ood/ensemble", "ood/ensemble_temperature"),
    ),
    Part("SVI", "variational weights", TABLE, "8 passes; prior in the deviations", ("shift/svi",)),
    Part("LL SVI", "variational last layer", TABLE, "16 passes; prior in the deviations", ("shift/ll_svi",)),
    Part("LL Dropout", "dropout before the last layer", TABLE, "16 passes", ("shift/ll_dropout",)),
    Part("OVA DM", "distances as logits", TABLE, "less accurate than in the paper: open", ("shift/ova_dm",)),
    Part("CEDA", "noise with low confidence in training", OOD, RECIPE, ("ood/ceda",)),
    Part(
        "ACET",
        "adversarial noise in training",
        OOD,
        "fewer epochs and noise images; the full attack once, on CIFAR-10; as published: open",
        ("ood/acet", "ood/acet_short"),
    ),
    Part("ReAct", "clipped features", OOD, "threshold from training images", ("ood/react",)),
    Part("OVA", "ablation: maximal sigmoid", "[ablation](#cifar-10-effect-of-each-step)", RECIPE, ("ablation/ova",)),
    Part(
        "SLOVA",
        "the method, calibrated and not",
        f"{TABLE}, {OOD}",
        "the optimal fit in place of Adam, and the paper's fit beside it; a larger ECE: noise in part, otherwise open",
        ("shift/slova", "shift/slova_paper_fit", "ood/slova", "ood/slova_raw"),
    ),
)

UNJUDGED = (
    Part(
        "Sec. 4.1, 5.2",
        "the only method that is satisfactory on all three tasks",
        "[at a glance](#cifar-10-at-a-glance)",
        "no verdict: the paper states no threshold and compares different methods on each task",
    ),
    Part(
        "Sec. 1, 2.4",
        "the map approximates any monotonic function",
        f"[errata]({DEVIATIONS}#errata-of-the-paper)",
        "an erratum: completely monotone functions of -log p",
    ),
    Part(
        "Sec. 4.2",
        "it is safe to replace softmax by SLOVA",
        "[claims](#claims)",
        "no verdict: its error and its MMC are judged",
    ),
    Part(
        "Sec. 4.1",
        "under strong shift SLOVA profits from detecting OOD inputs",
        "[claims](#claims)",
        "no verdict: that it does is judged, the reason was not tested",
    ),
    Part(
        "Sec. 4.3",
        "the ECE gains most, as calibration minimises a kind of it",
        "[ablation](#cifar-10-effect-of-each-step)",
        "no verdict: the gains are there, the reason was not tested",
    ),
    Part(
        "Sec. 3.6",
        "uniform noise works adequately in calibration",
        APPENDIX_C,
        "no verdict: it lowers the MMC and the ECE under strong shift, and raises the ECE on clean images",
    ),
    Part(
        "App. A",
        "the more classes, the farther the curve is from the diagonal",
        "[the curve](#cifar-10-the-calibration-curve-of-complete-ignorance)",
        "follows from Eq. 7 and 8, which are tested for two and three classes and drawn for ten",
    ),
    Part(
        "Sec. 3.6",
        "the cost of calibration is negligible",
        "[speed](speed.md)",
        "less than 0.1 % of the time of ResNet-20 on one thread; no rows, so no verdict",
    ),
)

PLANS = (
    Part(
        "Sec. 5.2",
        "a network of one-vs-all is needed; most are trained with softmax",
        "[trained networks](retrofit.md)",
        "a network of softmax gets a head of one-vs-all without training it again",
        ("shift/retrofit",),
    ),
    Part(
        "Sec. 5.3",
        "several labels",
        "[several labels](measurements/paper.md#several-labels)",
        "three real sets",
        ("multilabel.csv",),
    ),
    Part(
        "Sec. 5.3",
        "active learning",
        "[active learning](measurements/paper.md#active-learning)",
        "CIFAR-10 by features of a network of CIFAR-100",
        ("active_learning.csv",),
    ),
    Part(
        "Sec. 5.3",
        "semi-supervised learning",
        "[pseudo-labels](measurements/paper.md#semi-supervised-learning)",
        "digits and three tables",
        ("pseudo_labels.csv",),
    ),
    Part(
        "Sec. 5.3",
        "conditional computation",
        "[a cascade](measurements/paper.md#conditional-computation)",
        "ResNet-20 and ResNet-18, one seed of the latter",
        ("cascade.csv",),
    ),
    Part(
        "Sec. 5.3",
        "ensembles of SLOVA",
        TABLE,
        "mean logits, or distance-aware networks",
        ("shift/slova_ensemble", "shift/slova_distance_ensemble"),
    ),
    Part(
        "Sec. 5.3",
        "outlier exposure",
        "[NONE in training](measurements/none.md)",
        "synthetic outliers in the rows, real ones in the measurements",
        ("ood/slova_none",),
    ),
    Part("Sec. 5.2", "very many classes", "[very many classes](extreme.md)", "exact, without the N x K array"),
    Part(
        "Sec. 5.2",
        "labels projected to fewer dimensions",
        "[label codes](measurements/paper.md#labels-in-fewer-dimensions)",
        "676 classes, pairs of real letters",
        ("label_codes.csv",),
    ),
)

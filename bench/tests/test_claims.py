"""Judged claims: every verdict follows from rows, and changes with them."""

import numpy as np
import pytest
from slova_bench.claims import CLAIMS, Verdict, verdict_counts
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.results import Cell, Row

CELL = Cell("shift", "slova", "", "cifar10-train", "cifar10-test", "", 0.0, 0, 100)
METRICS = ("accuracy", "ece", "nll", "brier")
# From the best to the worst, as the paper's medians of the ECE have it.
ORDER = ["ensemble", "slova", "dropout", "temperature", "svi", "ova_dm", "softmax", "ll_svi", "ll_dropout"]


def shift_rows(order: list[str], *, seeds: int = 1, experiment: str = "shift", on: str = "cifar10") -> list[Row]:
    """The first method is the best everywhere, in all metrics, the next the second, by far more than the seeds vary."""
    generator, rows = np.random.default_rng(0), []
    for place, method in enumerate(order):
        for seed in range(seeds):
            for shift, level in [("", 0), *((s, n) for s in PAPER_SHIFTS for n in range(1, 6))]:
                cell = CELL._replace(experiment=experiment, method=method, seed=seed, shift=shift, level=float(level))
                cell = cell._replace(train=f"{on}-train", test=f"{on}-test")
                loss = 0.05 * place + 0.02 * level + generator.uniform(0, 1e-3)
                rows += [Row.of(cell, metric, 0.9 - loss if metric == "accuracy" else loss) for metric in METRICS]
    return rows


def test_slova_must_have_the_place_it_has_in_the_paper_or_a_better_one(tmp_path, found, verdict):
    claim = "SLOVA's place by the 50 % quartile of the ECE"
    one = found(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER))[claim, "cifar10"]
    assert one.verdict is Verdict.REPRODUCED
    assert one.paper == "Ensemble 0.024, SLOVA 0.027 (2nd of 9)"
    assert one.ours.startswith("Ensemble 0.0")
    assert one.ours.endswith("(2nd of 9); 2nd at 1 seed")
    first, third = ["slova", "ensemble", *ORDER[2:]], ["ensemble", "dropout", "slova", *ORDER[3:]]
    assert verdict(tmp_path / "b", claim, shift_cifar10=shift_rows(first)) is Verdict.REPRODUCED
    assert verdict(tmp_path / "c", claim, shift_cifar10=shift_rows(third)) is Verdict.NOT


def test_the_place_of_slova_by_a_quartile_is_judged_at_each_seed(tmp_path, found):
    claim = "SLOVA's place by the 50 % quartile of the ECE"
    rows = shift_rows(["ensemble", "dropout", "slova", *ORDER[3:]], seeds=4)
    shifts = {("slova", seed): -0.04 + 0.03 * (-1) ** seed for seed in range(4)}  # one time before, one time behind
    rows = [row._replace(value=row.value + shifts.get((row.method, row.seed), 0.0)) for row in rows]
    one = found(tmp_path / "a", claim, shift_cifar10=rows)[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY
    assert one.ours.endswith("; 3rd, 2nd, 3rd, 2nd at 4 seeds; not distinguished from it: Dropout")


def test_places_are_compared_at_the_seeds_that_all_methods_of_the_paper_have(tmp_path, found):
    """SLOVA has two more seeds than its rivals, at which it would be far behind."""
    claim = "SLOVA's place by the 50 % quartile of the ECE"
    rows = [row for row in shift_rows(ORDER, seeds=3) if row.method == "slova" or row.seed == 0]
    rows = [row._replace(value=row.value + (row.seed > 0)) for row in rows]
    one = found(tmp_path, claim, shift_cifar10=rows)[claim, "cifar10"]
    assert one.verdict is Verdict.REPRODUCED
    assert one.ours.endswith("(2nd of 9); 2nd at 1 seed")


def test_the_command_for_a_rival_that_was_not_run_is_given(tmp_path, found):
    one = found(tmp_path, shift_cifar10=shift_rows(["slova", "softmax"]))[
        "SLOVA's place by the 50 % quartile of the ECE", "cifar10"
    ]
    assert one.verdict is Verdict.OPEN
    assert "slova bench run shift --on cifar10 --methods " in one.ours


def test_the_order_of_methods_holds_in_whole_in_part_or_not(tmp_path, found, verdict):
    claim = "Order of the methods by the median ECE"
    assert verdict(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER)) is Verdict.REPRODUCED
    swapped = [ORDER[1], ORDER[0], *ORDER[2:]]
    one = found(tmp_path / "b", claim, shift_cifar10=shift_rows(swapped))[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY
    assert "35 of 36 pairs" in one.ours
    assert verdict_counts([one])[Verdict.PARTLY] == 0, "a claim about all methods is not counted"
    assert verdict(tmp_path / "c", claim, shift_cifar10=shift_rows(ORDER[::-1])) is Verdict.NOT


def test_ranks_are_compared_with_the_statements_of_the_paper(tmp_path, found):
    claim = "Methods whose mean ranks do not differ significantly from SLOVA's"
    one = found(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER))[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY, "next to SLOVA are others than in the paper, far away the same"
    assert one.paper == "Dropout; Temperature scaling, of 7 rivals"
    best = found(tmp_path / "b", claim, shift_cifar10=shift_rows(["softmax", "svi", "slova"]))[claim, "cifar10"]
    assert best.verdict is Verdict.NOT, "a rival that is better contradicts a claim that it is worse"
    assert "better than it: Softmax" in best.ours


def test_only_the_ensemble_may_rank_before_slova(tmp_path, found, verdict):
    claim = "By ranks SLOVA is second to the ensemble alone, and one of the three best methods"
    assert verdict(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER)) is Verdict.REPRODUCED
    third, fourth = (
        ["dropout", "ensemble", "slova", *ORDER[3:]],
        ["dropout", *ORDER[3:5], "slova", *ORDER[5:], "ensemble"],
    )
    assert verdict(tmp_path / "b", claim, shift_cifar10=shift_rows(third)) is Verdict.PARTLY
    assert verdict(tmp_path / "d", claim, shift_cifar10=shift_rows(fourth)) is Verdict.NOT
    short = found(tmp_path / "c", claim, shift_cifar10=shift_rows(ORDER[:3]))[claim, "cifar10"]
    assert short.verdict is Verdict.OPEN, "second of three is no second of nine"
    assert "there are no rows of" in short.ours


def test_the_place_by_ranks_is_judged_at_each_seed_by_plain_means(tmp_path, found):
    """In the second of two seeds SLOVA is best by one metric and in the middle by the others."""
    rows = shift_rows(ORDER, seeds=2)
    places = {("slova", 1): {"ece": -1, "nll": 0.3, "brier": 0.3}, ("dropout", 1): {"ece": 0.3, "nll": -1, "brier": -1}}
    rows = [row._replace(value=row.value + places.get((row.method, row.seed), {}).get(row.metric, 0.0)) for row in rows]
    claim = "By ranks SLOVA is second to the ensemble alone, and one of the three best methods"
    one = found(tmp_path, claim, shift_cifar10=rows)[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY
    assert one.ours.startswith("2nd, 6th of 9 at 2 seeds (mean ranks Ensemble 1.")


def test_strong_shifts_are_counted_one_by_one_and_by_every_metric(tmp_path, found, verdict):
    claim = "Strong shift: SLOVA is better calibrated than the ensemble"
    rows = shift_rows(["ensemble", "slova"])
    assert verdict(tmp_path / "a", claim, shift_cifar10=rows) is Verdict.NOT
    lucky = set(PAPER_SHIFTS[:8])

    def won(metrics):
        return [
            row._replace(value=0.0)
            if row.method == "slova" and row.shift in lucky and row.level > 3 and row.metric in metrics
            else row
            for row in rows
        ]

    one = found(tmp_path / "b", claim, shift_cifar10=won(METRICS))[claim, "cifar10"]
    assert one.ours.startswith("ECE in 16 of 32, NLL in 16 of 32, Brier score in 16 of 32 pairs of shift and severity")
    assert one.verdict is Verdict.REPRODUCED
    assert verdict(tmp_path / "c", claim, shift_cifar10=won(["ece"])) is Verdict.PARTLY


def test_slova_is_compared_with_softmax_and_ova_dm(tmp_path, found):
    """Three of four rivals with an accuracy that falls by five points from one to the next."""
    own = found(tmp_path, shift_cifar10=shift_rows(["ensemble", "slova", "softmax", "temperature", "ova_dm"]))
    wanted = {
        "Clean data: SLOVA is as well calibrated as softmax, to a tenth": Verdict.REPRODUCED,
        "SLOVA is as accurate as softmax at every severity, to half a point": Verdict.REPRODUCED,
        "Clean data: OVA DM is less accurate than softmax, by more than half a point": Verdict.REPRODUCED,
        "Strong shift: SLOVA is better than OVA DM": Verdict.REPRODUCED,
        "SLOVA costs as much as softmax, and less than the ensemble": Verdict.REPRODUCED,
        "SLOVA has a low Brier score at every severity": Verdict.OPEN,  # of nine methods
    }
    assert {claim: own[claim, "cifar10"].verdict for claim in wanted} == wanted
    turned = found(tmp_path / "b", shift_cifar10=shift_rows(["ova_dm", "softmax", "slova", "ensemble"]))
    assert {turned[claim, "cifar10"].verdict for claim in list(wanted)[:4]} == {Verdict.NOT}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["slova", "slova_normalised", "slova_raw"], Verdict.REPRODUCED),
        (["slova_normalised", "slova", "slova_raw"], Verdict.PARTLY),
        (["slova_raw", "slova", "slova_normalised"], Verdict.PARTLY),
        (["slova_raw", "slova_normalised", "slova"], Verdict.NOT),
    ],
)
def test_normalising_should_help_and_calibrating_should_help_more(order, expected, tmp_path, verdict):
    claim = "Normalising lowers the ECE of SLOVA on clean data, and calibrating lowers the median one more"
    assert verdict(tmp_path, claim, shift_cifar10=shift_rows(order)) is expected


@pytest.mark.parametrize(
    ("order", "verdicts"),
    [
        (["slova", "slova_raw", "ova"], (Verdict.REPRODUCED, Verdict.REPRODUCED)),
        (["slova_raw", "slova", "ova"], (Verdict.PARTLY, Verdict.NOT)),
        (["ova", "slova_raw", "slova"], (Verdict.NOT, Verdict.NOT)),
    ],
)
def test_steps_have_to_improve_one_after_the_other(order, verdicts, tmp_path, found):
    rows = found(tmp_path, ablation_cifar10=shift_rows(order, experiment="ablation"))
    claims = (
        "Readout and then calibration lower the median ECE of OVA",
        "The complete method has the lowest median NLL of its steps",
    )
    assert tuple(rows[claim, "cifar10"].verdict for claim in claims) == verdicts
    assert rows["Readout and then calibration lower the median Brier score of OVA", "cifar10"].verdict is verdicts[0]
    assert rows["No step changes the accuracy", "cifar10"].verdict is Verdict.NOT


@pytest.mark.parametrize(("late", "verdict_"), [(0.1, Verdict.REPRODUCED), (0.3, Verdict.PARTLY)])
def test_a_fit_is_stable_if_it_hardly_changes_beyond_the_sizes_of_the_paper(late, verdict_, tmp_path, verdict):
    cell = CELL._replace(experiment="stability", method="slova_clean")
    values = {("M", 1): 0.9, ("M", 10): 0.9, ("M", 20): 0.1, ("M", 30): 0.1, ("M", 50): late}
    values |= {("n_b", 20): 0.9, ("n_b", 400): 0.5, ("n_b", 1000): 0.1, ("", 0): 0.7}
    cells = {cell._replace(parameter=name, parameter_value=float(n)): value for (name, n), value in values.items()}
    cells |= {one._replace(preset="paper"): 9 * value for one, value in cells.items()}  # which the claim is not about
    rows = [Row.of(one, metric, value) for one, value in cells.items() for metric in ("ece", "nll", "brier")]
    claim = "The fit is stable beyond M = 10 terms and n_b = 400 points, to a tenth"
    assert verdict(tmp_path, claim, stability_cifar10=rows) is verdict_
    noisy = [row._replace(method="slova", value=0.5) for row in rows]
    assert verdict(tmp_path / "noisy", claim, stability_cifar10=[*rows, *noisy]) is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("slova", "ova", "expected"),
    [(0.01, 0.95, Verdict.REPRODUCED), (0.6, 0.95, Verdict.PARTLY), (0.3, 0.5, Verdict.NOT)],
)
def test_far_from_the_data_the_confidence_of_slova_should_vanish_and_that_of_ova_should_not(
    slova, ova, expected, tmp_path, verdict
):
    cell = CELL._replace(experiment="directions", shift="direction")
    values = [("slova_raw", 0.0, 0.95), ("ova", 0.0, 0.99), ("slova_raw", 1000.0, slova), ("ova", 1000.0, ova)]
    rows = [Row.of(cell._replace(method=m, level=level), "mmc", x) for m, level, x in values]
    claim = "Along random directions SLOVA's confidence goes to 0, OVA's to 1"
    assert verdict(tmp_path, claim, directions_cifar10=rows) is expected


@pytest.mark.parametrize("experiment", ["directions", "plane"])
def test_far_from_the_data_each_network_is_judged_and_not_their_mean(experiment, tmp_path, found):
    """On one network both confidences go to 1, on the other both to 0; the mean of neither is near one of these."""
    cell = CELL._replace(experiment=experiment, shift=experiment, level=1000.0)
    cells = [cell._replace(method=method, seed=seed) for method in ("slova_raw", "ova") for seed in (0, 1)]
    claim = {
        "directions": "Along random directions SLOVA's confidence goes to 0, OVA's to 1",
        "plane": "Far out on planes through images OVA is confident and SLOVA is not",
    }[experiment]
    rows = [Row.of(one, "mmc", float(one.seed)) for one in cells]
    one = found(tmp_path / "a", claim, **{f"{experiment}_cifar10": rows})[claim, "cifar10"]
    both = "on planes neither network has the contrast, along directions each has a half of it"
    assert one.verdict is {"directions": Verdict.PARTLY, "plane": Verdict.NOT}[experiment], both
    values = "OVA 0.000, 1.000; SLOVA, uncalibrated 0.000, 1.000"
    assert one.ours.startswith(f"{values} at distance 1000, one number per seed; required: ")
    rows = [row._replace(value=0.0) if row.method == "slova_raw" else row for row in rows]
    one = found(tmp_path / "b", claim, **{f"{experiment}_cifar10": rows})[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY


def test_the_nll_that_varies_least_over_the_sets_is_found(tmp_path, verdict):
    claim, rows = "The NLL of the complete method varies least", shift_rows(["ova", "slova_raw", "slova"])
    steady = [row._replace(value=0.5 * row.value) if row.method == "slova" else row for row in rows]
    assert verdict(tmp_path / "a", claim, ablation_cifar10=steady) is Verdict.REPRODUCED
    wild = [row._replace(value=2 * row.value) if row.method == "slova" else row for row in rows]
    assert verdict(tmp_path / "b", claim, ablation_cifar10=wild) is Verdict.NOT


@pytest.mark.parametrize(
    ("slova", "ova", "expected"),
    [
        ([0.9, 0.4, 0.5, 0.1], [0.9, 0.6, 0.8, 0.5], Verdict.REPRODUCED),
        ([0.9, 0.4, 0.5, 0.1], [0.9, 0.9, 0.9, 0.9], Verdict.PARTLY),
        ([0.9, 0.9, 0.9, 0.9], [0.9, 0.9, 0.9, 0.9], Verdict.NOT),
        ([0.5, 0.6, 0.7, 0.8], [0.5, 0.6, 0.7, 0.8], Verdict.PARTLY),
    ],
)
def test_the_shape_along_directions_is_judged_part_by_part(slova, ova, expected, tmp_path, verdict):
    cell = CELL._replace(experiment="directions", shift="direction")
    curves = {"slova_raw": slova, "ova": ova}
    rows = [
        Row.of(cell._replace(method=method, level=float(level)), "mmc", value)
        for method, values in curves.items()
        for level, value in enumerate(values)
    ]
    claim = "The confidence along random directions has the shape of Fig. 4"
    assert verdict(tmp_path, claim, directions_cifar10=rows) is expected


@pytest.mark.parametrize("level", [0, 1])
def test_an_interrupted_run_is_not_judged_by_severities_that_it_has_not_reached(level, tmp_path, found):
    rows = [row for row in shift_rows(ORDER) if row.level <= level]
    judged = found(tmp_path, shift_cifar10=rows)
    for claim in (
        "SLOVA has a low Brier score at every severity",
        "SLOVA is as accurate as softmax at every severity, to half a point",
        "SLOVA's ECE and NLL are no worse than with several passes at every severity, to a tenth",
        "SLOVA loses less than most methods as shifts become stronger",
        "Strong shift: SLOVA is better calibrated than the ensemble",
    ):
        one = judged[claim, "cifar10"]
        assert one.verdict is Verdict.OPEN
        assert one.ours == "there are no rows of several severities: run slova bench run shift --on cifar10"


def test_steps_without_a_common_seed_are_not_judged(tmp_path, found):
    steps = ["slova", "slova_raw", "ova"]
    rows = [row._replace(seed=steps.index(row.method)) for row in shift_rows(steps, experiment="ablation")]
    judged = found(tmp_path, ablation_cifar10=rows)
    of_steps = [claim.title for claim in CLAIMS if claim.experiment == "ablation"]
    assert {judged[claim, "cifar10"].verdict for claim in of_steps} == {Verdict.OPEN}


def test_the_nll_of_a_seed_without_every_set_is_not_compared(tmp_path, verdict):
    """With the clean set alone the NLL of a seed would not vary at all."""
    claim, rows = "The NLL of the complete method varies least", shift_rows(["ova", "slova_raw", "slova"], seeds=2)
    wild = [row._replace(value=1.1 * row.value) if row.method == "slova" else row for row in rows]
    some = [row for row in wild if (row.method, row.seed) != ("slova", 1) or not row.shift]
    assert verdict(tmp_path, claim, ablation_cifar10=some) is Verdict.NOT


def test_curves_of_different_networks_are_not_compared(tmp_path, found):
    cell = CELL._replace(experiment="directions", shift="direction")
    cells = [cell._replace(method=method, seed=seed) for seed, method in enumerate(("ova", "slova_raw"))]
    claim = "The confidence along random directions has the shape of Fig. 4"
    rows = [Row.of(one._replace(level=float(level)), "mmc", 0.5) for one in cells for level in range(4)]
    assert found(tmp_path, claim, directions_cifar10=rows)[claim, "cifar10"].verdict is Verdict.OPEN


def test_without_rows_every_claim_states_the_command_to_run(tmp_path, found):
    waiting = [one for one in found(tmp_path).values() if one.verdict is Verdict.OPEN]
    theirs = {claim.title for claim in CLAIMS if claim.answers}
    assert {one.claim for one in waiting} >= theirs
    assert all("slova bench run " in one.ours for one in waiting)


def test_on_a_set_without_numbers_of_the_paper_only_claims_of_its_text_are_judged(tmp_path, found):
    rows = shift_rows(["slova", "ensemble", "softmax", "temperature"], on="digits")
    own = found(tmp_path, shift_digits=rows)
    judged = {on for (_, on), one in own.items() if one.verdict is not Verdict.OPEN}
    assert judged <= {"digits", ""}
    assert ("SLOVA's place by the 50 % quartile of the ECE", "digits") not in own
    assert own["SLOVA is as accurate as softmax at every severity, to half a point", "digits"].verdict


def test_the_place_of_slova_on_clean_data_is_judged_at_each_seed_and_by_every_metric(tmp_path, found):
    claim = "Clean data: SLOVA is competitive, one of the three best methods by each metric"
    rows = shift_rows(["ensemble", "dropout", "slova", *ORDER[3:]], seeds=3)

    def behind(seed):
        return [
            row._replace(value=1.0 if (row.method, row.seed) == ("slova", seed) else row.value)
            for row in rows
            if row.method == "slova" or row.seed < 2
        ]

    third = found(tmp_path / "a", claim, shift_cifar10=behind(2))[claim, "cifar10"]
    assert third.verdict is Verdict.REPRODUCED, "only SLOVA has the last seed"
    assert third.ours.startswith("ECE: Ensemble 0.0")
    last = found(tmp_path / "b", claim, shift_cifar10=behind(1))[claim, "cifar10"]
    assert last.verdict is Verdict.PARTLY
    assert "(9th of 9), 3rd, 9th at 2 seeds" in last.ours
    shifted = [row._replace(value=9.0) if row.shift and row.method == "slova" else row for row in rows]
    assert found(tmp_path / "c", claim, shift_cifar10=shifted)[claim, "cifar10"].verdict is Verdict.REPRODUCED


def test_the_accuracy_of_slova_against_softmax_is_counted_once(tmp_path, found):
    """Two points less on clean and shifted images change the verdict of one counted claim."""

    def judged(lost):
        rows = [row for row in shift_rows(ORDER) if row.method != "slova" or row.metric != "accuracy"]
        softmax = [row for row in rows if row.method == "softmax" and row.metric == "accuracy"]
        rows += [row._replace(method="slova", value=row.value - lost - 1e-4 * row.level) for row in softmax]
        cell, errors = CELL._replace(experiment="ood"), {"slova": 0.1 + lost, "softmax": 0.1}
        outside = [Row.of(cell._replace(method=method), "error", error) for method, error in errors.items()]
        return found(tmp_path / str(lost), shift_cifar10=rows, ood_cifar10=outside)

    before, after = judged(0.0), judged(0.02)
    changed = {claim: one.counted for (claim, on), one in before.items() if one.verdict is not after[claim, on].verdict}
    assert changed == {
        "SLOVA is as accurate as softmax at every severity, to half a point": True,
        "SLOVA's error is softmax's, to half a point": False,
    }


def test_verdict_counts_cover_every_claim_about_slova_once(tmp_path, found):
    every = [one for one in found(tmp_path, shift_cifar10=shift_rows(ORDER)).values() if one.counted]
    assert sum(verdict_counts(every).values()) == len(every)
    texts = [claim.title for claim in CLAIMS]
    assert len(set(texts)) == len(texts)


def test_what_cannot_be_distinguished_is_neither_better_nor_worse(tmp_path, found, verdict):
    """At two of four seeds SLOVA's NLL is before that of the rival, at two behind it, with the better mean."""
    gaps = {0: -0.9, 1: 0.3, 2: -0.9, 3: 0.3}
    rows = [
        row._replace(value=row.value + gaps[row.seed]) if (row.method, row.metric) == ("ova_dm", "nll") else row
        for row in shift_rows(["slova", "ova_dm"], seeds=4)
    ]
    claim = "Strong shift: SLOVA is better than OVA DM"
    one = found(tmp_path / "a", claim, shift_cifar10=rows)[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY
    assert "not distinguished from it: OVA DM; Brier" in one.ours


def test_before_calibration_the_confidence_should_be_lower_than_the_accuracy(tmp_path, verdict):
    claim, raw = "Clean data: uncalibrated SLOVA is less confident than accurate", shift_rows(["slova_raw"])
    for confidence, expected in ((0.5, Verdict.REPRODUCED), (0.95, Verdict.NOT)):
        rows = [*raw, *(row._replace(metric="mmc", value=confidence) for row in raw if row.metric == "accuracy")]
        assert verdict(tmp_path / str(confidence), claim, shift_cifar10=rows) is expected


def test_slova_is_compared_with_methods_of_several_passes_by_severity(tmp_path, found, verdict):
    claim = "SLOVA's ECE and NLL are no worse than with several passes at every severity, to a tenth"
    assert (
        verdict(tmp_path / "a", claim, shift_cifar10=shift_rows(["slova", *ORDER[2:], ORDER[0]])) is Verdict.REPRODUCED
    )
    one = found(tmp_path / "b", claim, shift_cifar10=shift_rows(["ensemble", "dropout", "slova", "svi"]))[
        claim, "cifar10"
    ]
    assert one.verdict is Verdict.PARTLY
    assert one.ours.startswith("ECE, Ensemble: 0 of 5; ECE, Dropout: 0 of 5; ECE, SVI: 5 of 5; NLL, ")


@pytest.mark.parametrize(("slope", "expected"), [(0.5, Verdict.REPRODUCED), (2.0, Verdict.NOT)])
def test_slova_should_lose_less_than_most_methods_from_the_first_severity_to_the_last(
    slope, expected, tmp_path, verdict
):
    def steeper(row):
        sign = -1 if row.metric == "accuracy" else 1
        return row._replace(value=row.value + sign * 0.02 * (slope - 1) * row.level) if row.method == "slova" else row

    rows = [steeper(row) for row in shift_rows(ORDER)]
    assert (
        verdict(tmp_path, "SLOVA loses less than most methods as shifts become stronger", shift_cifar10=rows)
        is expected
    )


def test_one_vs_all_must_lower_the_median_ece_and_the_excess_of_confidence(tmp_path, verdict):
    claim, rows = "The one-vs-all loss reduces overconfidence", shift_rows(["softmax", "ova"])
    rows += [row._replace(metric="mmc", value=row.value + 0.2) for row in rows if row.metric == "accuracy"]
    lower = [row._replace(value=row.value / 2) if row.method == "ova" and row.metric == "ece" else row for row in rows]
    less = [row._replace(value=row.value - 0.1) if row[1] == "ova" and row.metric == "mmc" else row for row in lower]
    files = {"a": (rows, Verdict.NOT), "b": (lower, Verdict.PARTLY), "c": (less, Verdict.REPRODUCED)}
    assert [verdict(tmp_path / name, claim, ablation_cifar10=own) for name, (own, _) in files.items()] == [
        expected for _, expected in files.values()
    ]

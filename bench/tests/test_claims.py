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


def test_the_papers_winner_has_to_win_here(tmp_path, found, verdict):
    claim = "Best method by the 50 % quartile of the ECE"
    assert verdict(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER)) is Verdict.REPRODUCED
    turned = ["slova", "ensemble", *ORDER[2:]]
    one = found(tmp_path / "b", shift_cifar10=shift_rows(turned))[claim, "cifar10"]
    assert one.verdict is Verdict.NOT
    assert one.paper == "Ensemble 0.024, SLOVA 0.027 (2nd of 9)"
    assert one.ours.startswith("SLOVA 0.0")
    assert one.ours.endswith("(1st of 9)")


def test_a_winner_that_cannot_be_distinguished_from_the_best_counts_in_part(tmp_path, found, verdict):
    claim = "Best method by the 50 % quartile of the ECE"
    rows = shift_rows(["slova", "ensemble", "softmax"], seeds=4)
    shifts = {("slova", seed): 0.05 + 0.03 * (-1) ** seed for seed in range(4)}  # one time before, one time behind
    rows = [row._replace(value=row.value + shifts.get((row.method, row.seed), 0.0)) for row in rows]
    one = found(tmp_path / "a", shift_cifar10=rows)[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY
    assert one.ours.endswith("Ensemble cannot be distinguished from it")
    two = [row for row in rows if row.seed < 2 or row.method != "ensemble"]
    two = [row._replace(value=row.value - 0.01) if row.method == "slova" else row for row in two]
    assert verdict(tmp_path / "b", claim, shift_cifar10=two) is Verdict.NOT, "two seeds make no tie"


def test_the_command_for_a_winner_that_was_not_run_is_given(tmp_path, found):
    one = found(tmp_path, shift_cifar10=shift_rows(["slova", "softmax"]))[
        "Best method by the 50 % quartile of the ECE", "cifar10"
    ]
    assert one.verdict is Verdict.OPEN
    assert "slova bench run shift --on cifar10 --methods ensemble" in one.ours


def test_the_order_of_methods_holds_in_whole_in_part_or_not(tmp_path, found, verdict):
    claim = "Order of the methods by the median ECE"
    assert verdict(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER)) is Verdict.REPRODUCED
    swapped = [ORDER[1], ORDER[0], *ORDER[2:]]
    one = found(tmp_path / "b", shift_cifar10=shift_rows(swapped))[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY
    assert "35 of 36 pairs" in one.ours
    assert verdict(tmp_path / "c", claim, shift_cifar10=shift_rows(ORDER[::-1])) is Verdict.NOT


def test_ranks_are_compared_with_the_statements_of_the_paper(tmp_path, found):
    claim = "By ranks SLOVA cannot be distinguished from"
    one = found(tmp_path / "a", shift_cifar10=shift_rows(ORDER))[claim, "cifar10"]
    assert one.verdict is Verdict.PARTLY, "next to SLOVA are others than in the paper, far away the same"
    assert one.paper == "Dropout; Temperature scaling, of 7 rivals"
    best = found(tmp_path / "b", shift_cifar10=shift_rows(["softmax", "svi", "slova"]))[claim, "cifar10"]
    assert best.verdict is Verdict.NOT, "a rival that is better contradicts a claim that it is worse"
    assert "better than it: Softmax" in best.ours


def test_only_the_ensemble_may_rank_before_slova(tmp_path, found, verdict):
    claim = "By ranks SLOVA is second to the ensemble alone"
    assert verdict(tmp_path / "a", claim, shift_cifar10=shift_rows(ORDER)) is Verdict.REPRODUCED
    assert (
        verdict(
            tmp_path / "b", claim, shift_cifar10=shift_rows(["dropout", *(name for name in ORDER if name != "dropout")])
        )
        is Verdict.NOT
    )
    short = found(tmp_path / "c", shift_cifar10=shift_rows(ORDER[:3]))[claim, "cifar10"]
    assert short.verdict is Verdict.OPEN, "second of three is no second of nine"
    assert "there are no rows of" in short.ours


def test_strong_shifts_are_counted_one_by_one(tmp_path, found, verdict):
    claim = "Under strong shift SLOVA is better calibrated than the ensemble"
    rows = shift_rows(["ensemble", "slova"])
    assert verdict(tmp_path / "a", claim, shift_cifar10=rows) is Verdict.NOT
    lucky = set(PAPER_SHIFTS[:8])
    rows = [
        row._replace(value=0.0) if row.method == "slova" and row.shift in lucky and row.level > 3 else row
        for row in rows
    ]
    one = found(tmp_path / "b", shift_cifar10=rows)[claim, "cifar10"]
    assert one.ours.startswith("ECE in 16 of 32, NLL in 16 of 32, Brier score in 16 of 32 pairs of shift and severity")
    assert one.verdict is Verdict.REPRODUCED


def test_the_effect_of_noise_is_measured_and_not_judged(tmp_path, found):
    one = found(tmp_path, shift_cifar10=shift_rows(["slova", "slova_clean"]))[
        "Effect of noise in the calibration set on SLOVA's ECE", "cifar10"
    ]
    assert one.verdict is Verdict.MEASURED
    assert one.ours.count("(better with)") == 4
    assert one.sentence.startswith("Effect of noise in the calibration set on SLOVA's ECE (CIFAR-10): with noise")


def test_methods_beyond_the_paper_are_compared_with_its_baselines_at_common_seeds(tmp_path, found):
    claim = "SLOVA, NONE in training, against {}, by quartiles over shifts", "cifar10"
    rows = shift_rows(["ensemble", "slova_none", "temperature"], seeds=3)
    rows = [row for row in rows if row.method != "slova_none" or row.seed < 2]
    seen = found(tmp_path, shift_cifar10=rows)
    better, worse = (seen[claim[0].format(rival), claim[1]] for rival in ("temperature scaling", "ensemble"))
    assert better.ours.startswith("better in 9 of 9 quartiles (2 seeds): ECE 0.0")
    assert worse.ours.startswith("better in 0 of 9 quartiles (2 seeds)")
    assert better.verdict is Verdict.MEASURED
    assert not [name for name, _ in found(tmp_path / "none") if "NONE in training" in name]


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


@pytest.mark.parametrize(
    ("slova", "ova", "expected"),
    [(0.01, 0.8, Verdict.REPRODUCED), (0.6, 0.8, Verdict.PARTLY), (0.9, 0.8, Verdict.NOT)],
)
def test_far_from_the_data_the_confidence_of_slova_should_vanish(slova, ova, expected, tmp_path, verdict):
    cell = CELL._replace(experiment="directions", shift="direction")
    values = [("slova_raw", 0.0, 0.95), ("ova", 0.0, 0.99), ("slova_raw", 1000.0, slova), ("ova", 1000.0, ova)]
    rows = [Row.of(cell._replace(method=m, level=level), "mmc", x) for m, level, x in values]
    assert (
        verdict(tmp_path, "Along random directions SLOVA's confidence goes to 0", directions_cifar10=rows) is expected
    )


def test_without_rows_every_claim_states_the_command_to_run(tmp_path, found):
    waiting = [one for one in found(tmp_path).values() if one.verdict is Verdict.OPEN]
    theirs = {claim.text for claim in CLAIMS if claim.answers and "own Table" not in claim.text}
    assert {one.claim for one in waiting} >= theirs
    assert all("slova bench run " in one.ours for one in waiting)


def test_on_a_set_without_numbers_of_the_paper_only_claims_of_its_text_are_judged(tmp_path, found):
    rows = shift_rows(["slova", "ensemble", "softmax", "temperature"], on="digits")
    own = found(tmp_path, shift_digits=rows)
    judged = {on for (_, on), one in own.items() if one.verdict is not Verdict.OPEN}
    assert judged <= {"digits", ""}
    assert ("Best method by the 50 % quartile of the ECE", "digits") not in own
    assert own["On clean data SLOVA is as accurate as softmax, to half a point", "digits"].verdict is Verdict.REPRODUCED


def test_verdict_counts_cover_every_claim(tmp_path, found):
    every = list(found(tmp_path, shift_cifar10=shift_rows(ORDER)).values())
    assert sum(verdict_counts(every).values()) == len(every)
    assert verdict_counts(every)[Verdict.OPEN] == sum(one.verdict is Verdict.OPEN for one in every)


def test_a_run_that_is_half_done_is_compared_at_the_seeds_it_has_finished(tmp_path, found):
    claim = "SLOVA, NONE in training, against temperature scaling, by quartiles over shifts"
    rows = shift_rows(["slova_none", "temperature"], seeds=2)
    unfinished = [row for row in rows if row.method == "temperature" or row.shift != PAPER_SHIFTS[0]]
    assert (claim, "cifar10") not in found(tmp_path / "a", shift_cifar10=unfinished)
    second = [row for row in rows if (row.method, row.seed) != ("slova_none", 1) or row.shift != PAPER_SHIFTS[0]]
    one = found(tmp_path / "b", shift_cifar10=second)[claim, "cifar10"]
    assert one.ours.startswith("better in 9 of 9 quartiles (1 seed)")

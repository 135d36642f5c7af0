"""The posterior calibrator as a value: what it computes, what its fit keeps to."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import torch

from slova import artifact
from slova.calibration.module import CalibratorModule
from slova.calibration.posterior import PosteriorCalibration, log_odds_from_log_probs
from slova.heads import NONE, log_none, log_softmax


def rows_of(seed=0, rows=600, classes=5, none=0.0, tilt=0.6):
    """One-vs-all log-odds that are overconfident, tilted to some classes, and confuse neighbours."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    log_odds = generator.normal(-3, 1.5, (rows, classes)) + tilt * np.linspace(-1, 1, classes)
    log_odds[np.arange(rows), labels] += 4
    log_odds[np.arange(rows), (labels + 1) % classes] += 1.5
    outside = generator.random(rows) < none
    log_odds[outside] -= 2
    log_odds[outside] = np.minimum(log_odds[outside], 1)
    return 2 * log_odds, np.where(outside, NONE, labels)


def distances_of(log_odds, seed=0):
    return np.random.default_rng(seed).exponential(size=(len(log_odds), 2))


def fit_with(parts, seed=0, **options):
    log_odds, labels = rows_of(seed, none=0.2 if "none" in parts else 0.0)
    if "distances" in parts:
        options["distances"] = distances_of(log_odds)
    return PosteriorCalibration.fit(log_odds, labels, **options)


FITTED = {
    "classes and pairs": fit_with(()),
    "order kept": fit_with((), order="keep"),
    "none": fit_with(("none",)),
    "distances": fit_with(("distances",)),
    "none and distances": fit_with(("none", "distances")),
    "few rows": PosteriorCalibration.fit(*rows_of(rows=12)),
    "many classes": PosteriorCalibration.fit(*rows_of(rows=400, classes=210)),
}


@pytest.fixture(params=FITTED)
def fitted(request):
    return FITTED[request.param]


def inputs_of(fitted, seed=1, rows=50):
    log_odds = rows_of(seed, rows, fitted.classes)[0]
    return (log_odds, distances_of(log_odds)) if len(fitted.positive_weights) > 1 else (log_odds,)


def nll(log_probs, labels):
    return -log_probs[np.arange(len(labels)), labels].mean()


def test_a_row_is_a_distribution_over_the_classes_and_none(fitted):
    log_probs = fitted(*inputs_of(fitted))
    assert log_probs.shape == (50, fitted.classes + 1)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1)


def test_numpy_and_torch_are_one_function_in_both_precisions(fitted):
    exact = fitted(*inputs_of(fitted))
    for dtype in (torch.float32, torch.float64):
        found = fitted(*(torch.as_tensor(part, dtype=dtype) for part in inputs_of(fitted)))
        assert found.dtype == dtype
        np.testing.assert_allclose(np.exp(found.numpy()), np.exp(exact), atol=2e-6)
    ours = fitted(*(part.astype(np.float32) for part in inputs_of(fitted)))
    assert ours.dtype == np.float32
    np.testing.assert_allclose(np.exp(ours), np.exp(exact), atol=2e-6)


def test_extreme_log_odds_are_answered_without_nan_in_float32(fitted):
    classes = fitted.classes
    log_odds = np.zeros((6, classes))
    log_odds[1], log_odds[2], log_odds[3, 0], log_odds[4, 1], log_odds[5] = -1e4, 1e4, np.inf, -np.inf, -np.inf
    inputs = (log_odds, np.full((6, 2), 50.0)) if len(fitted.positive_weights) > 1 else (log_odds,)
    for found in (fitted(*inputs), fitted(*(torch.as_tensor(part, dtype=torch.float32) for part in inputs)).numpy()):
        assert not np.isnan(found).any()
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-5)


def test_nan_stays_nan(fitted):
    inputs = inputs_of(fitted)
    inputs[0][0, 0] = np.nan
    found = fitted(*inputs)
    assert np.isnan(found[0, 0])
    assert not np.isnan(found[1:]).any()


def test_any_batch_shape_is_answered():
    fitted = FITTED["none"]
    log_odds = rows_of()[0]
    assert fitted(log_odds[0]).shape == (6,)
    assert fitted(log_odds[:0]).shape == (0, 6)
    np.testing.assert_allclose(fitted(log_odds[:6].reshape(2, 3, 5)).reshape(6, 6), fitted(log_odds[:6]))


def test_gradients_flow_through_it(fitted):
    inputs = [torch.as_tensor(part, dtype=torch.float32).requires_grad_() for part in inputs_of(fitted)]
    fitted(*inputs)[:, 0].sum().backward()
    assert all(part.grad.isfinite().all() for part in inputs)
    assert inputs[0].grad.abs().sum() > 0


def test_it_can_be_exported_with_its_numbers_as_buffers(fitted):
    inputs = tuple(torch.as_tensor(part, dtype=torch.float32) for part in inputs_of(fitted))

    class Exported(torch.nn.Module):
        def forward(self, *inputs):
            return fitted(*inputs)

    module = CalibratorModule(fitted) if len(inputs) == 1 else Exported()
    program = torch.export.export(module, inputs)
    torch.testing.assert_close(program.module()(*inputs), fitted(*inputs))
    if len(inputs) == 1:
        np.testing.assert_array_equal(module.value(inputs_of(fitted)[0]), fitted(inputs_of(fitted)[0]))


def test_copies_pickles_and_files_are_the_same_calibrator(fitted, tmp_path):
    tensors, meta = artifact.pack(fitted, "m", {"posterior": PosteriorCalibration})
    artifact.save(tmp_path / "m.slova", "map", tensors, {"m": meta})
    tensors, meta = artifact.load(tmp_path / "m.slova", "map")
    loaded = artifact.unpack(tensors, meta["m"], "m", {"posterior": PosteriorCalibration})
    for same in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), loaded):
        np.testing.assert_array_equal(same(*inputs_of(fitted)), fitted(*inputs_of(fitted)))
        assert repr(same) == repr(fitted)


def test_integer_weights_are_repeated_rows():
    log_odds, labels = rows_of(none=0.2)
    weight = np.random.default_rng(5).integers(0, 4, len(labels))
    options = {"distances": distances_of(log_odds)}
    weighted = PosteriorCalibration.fit(log_odds, labels, weight=weight, **options)
    again = np.repeat(np.arange(len(labels)), weight)
    repeated = PosteriorCalibration.fit(log_odds[again], labels[again], distances=options["distances"][again])
    assert weighted.part == repeated.part
    inputs = inputs_of(weighted)
    np.testing.assert_allclose(weighted(*inputs), repeated(*inputs), rtol=1e-4, atol=1e-4)


def test_the_order_of_the_rows_does_not_matter():
    log_odds, labels = rows_of()
    shuffled = np.random.default_rng(0).permutation(len(labels))
    found = PosteriorCalibration.fit(log_odds[shuffled], labels[shuffled])
    assert found.part == FITTED["classes and pairs"].part
    np.testing.assert_allclose(found(log_odds), FITTED["classes and pairs"](log_odds), rtol=1e-4, atol=1e-4)


def test_weights_that_sum_to_one_are_a_fit():
    log_odds, labels = rows_of(none=0.2)
    found = PosteriorCalibration.fit(log_odds, labels, weight=np.full(len(labels), 1 / len(labels)))
    assert found.part == "temperature"
    assert np.isfinite(found(log_odds)).all()


def test_the_same_seed_gives_the_same_calibrator():
    first, second = (PosteriorCalibration.fit(*rows_of(), seed=3) for _ in range(2))
    np.testing.assert_array_equal(first(rows_of()[0]), second(rows_of()[0]))


@pytest.mark.parametrize("order", ["auto", "keep"])
def test_a_fit_like_another_takes_its_part_and_finds_the_same_numbers(order):
    log_odds, labels = rows_of(rows=3000)
    chosen = PosteriorCalibration.fit(log_odds, labels, order=order)
    again = PosteriorCalibration.fit(log_odds, labels, like=chosen)
    assert again.part == chosen.part
    assert (again.scale, again.smoothing) == (chosen.scale, chosen.smoothing)
    assert nll(again(log_odds), labels) == pytest.approx(nll(chosen(log_odds), labels), abs=2e-4)
    few = PosteriorCalibration.fit(log_odds[:100], labels[:100], like=chosen)
    assert few.part == chosen.part
    assert np.abs(few(log_odds)[:, :-1] - chosen(log_odds)[:, :-1]).max() > 0.01


def test_confusions_and_class_frequencies_are_learned():
    """The tilt and the confused neighbours are beyond one temperature."""
    log_odds, labels = rows_of(1, 3000)
    fitted, temperature = (PosteriorCalibration.fit(*rows_of(0, rows)) for rows in (3000, 25))
    assert fitted.part in ("classes", "pairs")
    assert temperature.part == "temperature"
    assert nll(fitted(log_odds), labels) < nll(temperature(log_odds), labels) - 0.02


@pytest.mark.parametrize("order", ["auto", "keep"])
def test_no_class_falls_with_its_own_log_odds(order):
    for seed in range(3):
        fitted = fit_with(("distances",), seed, order=order)
        log_odds, distances = inputs_of(fitted)
        for k in range(fitted.classes):
            raised = log_odds.copy()
            raised[:, k] += 0.5
            assert np.all(fitted(raised, distances)[:, k] >= fitted(log_odds, distances)[:, k] - 1e-9)


def test_order_keep_keeps_the_order_of_the_classes():
    fitted = FITTED["order kept"]
    assert fitted.part in ("temperature", "shared")
    log_odds = rows_of(1)[0]
    sorted_by = np.argsort(log_odds, axis=1)
    assert np.all(np.diff(np.take_along_axis(fitted(log_odds)[:, :-1], sorted_by, axis=1), axis=1) >= -1e-9)


def test_without_none_rows_none_is_impossible_and_the_repr_tells():
    fitted = FITTED["classes and pairs"]
    assert np.isneginf(fitted(rows_of()[0])[:, -1]).all()
    assert "no model of NONE" in repr(fitted)
    assert f"part={fitted.part!r}" in repr(fitted)


def test_p_none_is_calibrated_and_ranks_none_rows():
    fitted = FITTED["none"]
    log_odds, labels = rows_of(1, 4000, none=0.2)
    none = np.exp(fitted(log_odds)[:, -1])
    assert abs(none.mean() - 0.2) < 0.03
    assert none[labels == NONE].mean() > none[labels != NONE].mean() + 0.2
    assert (fitted.none[1:] >= 0).all()


def rows_where_one_class_may_fit(seed, rows=4000):
    """One logit f is not negligible, and its class is right with probability sigmoid(f / 1.5); otherwise none is."""
    generator = np.random.default_rng(seed)
    log_odds = generator.normal(-12, 2, (rows, 4))
    top, labels = generator.normal(2, 4, rows), generator.integers(0, 4, rows)
    log_odds[np.arange(rows), labels] = top
    right = generator.random(rows) < 1 / (1 + np.exp(-top / 1.5))
    return log_odds, np.where(right, labels, NONE), 1 / (1 + np.exp(top / 1.5))


def test_p_none_has_no_upper_bound_where_no_class_fits():
    """log P_raw(none) is nearly 0 for all rows whose log-odds are below -4: with one term they are all alike."""
    log_odds, labels, _ = rows_where_one_class_may_fit(0)
    fitted = PosteriorCalibration.fit(log_odds, labels)
    assert fitted.none_negative > 0.1
    log_odds, _, wanted = rows_where_one_class_may_fit(1)
    none, few = np.exp(fitted(log_odds)[:, -1]), log_odds.max(axis=1) < -4
    assert abs(none[few].mean() - wanted[few].mean()) < 0.02
    assert np.abs(none - wanted).mean() < 0.03


def test_where_the_second_term_of_none_gains_little_it_is_left_out():
    log_odds, labels = rows_of()
    by_chance = np.where(np.random.default_rng(2).random(len(labels)) < 0.2, NONE, labels)
    assert PosteriorCalibration.fit(log_odds, by_chance).none_negative == 0


def test_none_rows_do_not_move_the_class_part():
    log_odds, labels = rows_of(none=0.2)
    known = labels != NONE
    alone = PosteriorCalibration.fit(log_odds[known], labels[known])(log_odds)[:, :-1]
    together = FITTED["none"](log_odds)
    np.testing.assert_allclose(log_softmax(together[:, :-1]), alone, atol=1e-9)


def test_none_share_is_the_prior_of_none():
    log_odds, labels = rows_of(none=0.2)
    often, rarely = (PosteriorCalibration.fit(log_odds, labels, none_share=share) for share in (0.2, 0.05))
    assert np.isclose(often.none[0] - rarely.none[0], np.log(0.2 / 0.8) - np.log(0.05 / 0.95))
    assert "NONE share 0.05" in repr(rarely)


def test_raw_evidence_of_none_is_kept():
    """Where the evidence of the network decides, P(none) rises with it."""
    log_odds, _ = rows_of(1)
    none = FITTED["none"](log_odds)[:, -1]
    assert np.corrcoef(none, log_none(log_odds))[0, 1] > 0.5


def test_further_away_nothing_is_surer():
    log_odds, labels = rows_of()
    distances = distances_of(log_odds)
    wrong = np.random.default_rng(0).random(len(labels)) < np.clip(distances[:, 0] / 4, 0, 0.8)
    labels = np.where(wrong, np.random.default_rng(1).integers(0, 5, len(labels)), labels)
    fitted = PosteriorCalibration.fit(log_odds, labels, distances=distances, order="keep")
    assert fitted.positive_weights[1] + fitted.negative_weights[1] > 0
    confidence = [np.exp(fitted(log_odds, np.full((len(labels), 2), far))).max(axis=1) for far in (0, 1, 3, 100)]
    assert all(np.all(near >= far - 1e-9) for near, far in itertools.pairwise(confidence))
    assert confidence[-1].max() < 0.25  # all classes nearly alike, and in the same order
    far = fitted(log_odds, np.full((len(labels), 2), 100.0))
    assert np.mean(far.argmax(axis=1) == log_odds.argmax(axis=1)) > 0.99


def test_probabilities_as_log_odds_keep_their_digits():
    log_probs = log_softmax(np.array([[40.0, 0.0, -5.0], [0.1, 0.2, 0.3], [-800.0, 0.0, -1e3]]))
    exact = log_odds_from_log_probs(log_probs)
    assert np.isclose(exact[0, 0], 40 - np.log1p(np.exp(-5.0)))
    p = np.exp(log_probs[1])
    np.testing.assert_allclose(exact[1], np.log(p) - np.log1p(-p))
    assert np.isfinite(exact).all()
    np.testing.assert_allclose(log_odds_from_log_probs(torch.as_tensor(log_probs)).numpy(), exact)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "free"}, "order must be"),
        ({"none_share": 1.0}, "none_share must lie between 0 and 1"),
        ({"distances": np.ones((3, 1))}, "distances must have shape"),
        ({"distances": -np.ones((600, 1))}, "finite and not negative"),
        ({"weight": np.zeros(600)}, "not all zero"),
    ],
)
def test_what_cannot_be_fitted_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        PosteriorCalibration.fit(*rows_of(none=0.2), **change)
    with pytest.raises(ValueError, match="has a class"):
        PosteriorCalibration.fit(rows_of()[0], np.full(600, NONE))


def test_what_cannot_be_answered_is_named():
    with pytest.raises(ValueError, match="5 classes"):
        FITTED["none"](np.zeros((2, 4)))
    with pytest.raises(ValueError, match="2 distances"):
        FITTED["distances"](np.zeros((2, 5)))
    with pytest.raises(ValueError, match="distances must have shape"):
        FITTED["distances"](np.zeros((2, 5)), np.zeros((2, 3)))


@pytest.mark.parametrize(("tilt", "part"), [(0.0, "shared"), (1.2, "classes")])
def test_what_may_change_the_order_of_classes_must_pay_on_the_own_rows(tilt, part):
    """The versions are tilted to some classes; the rows themselves are, or are not."""
    clean, labels = rows_of(rows=1500, tilt=tilt)
    clean[np.arange(1500), (labels + 1) % 5] -= 3  # the confused neighbour, which is what pairs are for
    changed = clean + 3 * np.linspace(-1, 1, 5)
    rows, column = np.concatenate([clean, changed]), np.tile(labels, 2)
    kinds = {"groups": np.tile(np.arange(1500), 2), "own": np.repeat([1, 0], 1500)}
    assert PosteriorCalibration.fit(rows, column, groups=kinds["groups"]).part in ("classes", "pairs")
    assert PosteriorCalibration.fit(rows, column, **kinds).part == part

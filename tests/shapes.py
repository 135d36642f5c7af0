"""Every public function of arrays, with its annotations checked. `test_types.py` runs this file with jaxtyping's hook
on the modules that it imports; without the hook nothing is checked and the tests of wrong shapes fail.
"""

import inspect

import numpy as np
import pytest
import torch
from jaxtyping import TypeCheckError

import slova
from slova import calibration, heads, losses, metrics, multilabel, thresholds
from slova.calibration import CALIBRATORS
from slova.prediction_sets import PredictionSets

ROWS, CLASSES = 400, 4
KINDS = {"numpy": np.asarray, "torch": torch.as_tensor}
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, CLASSES, ROWS)
LOGITS = RNG.normal(size=(ROWS, CLASSES)) + 1.5 * np.eye(CLASSES)[LABELS]
LOG_PROBS = LOGITS - np.log(np.exp(LOGITS).sum(axis=1, keepdims=True))
# One valid value for every argument of that name.
ARGUMENTS = {
    "logits": LOGITS,
    "log_odds": LOGITS,
    "log_probs": LOG_PROBS,
    "probs": np.exp(LOG_PROBS),
    "labels": LABELS,
    "targets": np.eye(CLASSES)[LABELS],
    "sets": LOGITS > 0,
    "confidence": np.exp(LOG_PROBS).max(axis=1),
    "hits": LOG_PROBS.argmax(axis=1) == LABELS,
    "inside": RNG.random(50),
    "outside": RNG.random(30),
    "log_none": np.full(ROWS, -3.0),
    "weight": RNG.random(ROWS),
    "class_weight": np.ones(CLASSES),
    "distances": RNG.random((ROWS, 2)),
}


def functions():
    """Each function of a module's `__all__`, and each `of` and `fit` of its classes, that is given arrays."""
    found = {}
    for module in (heads, losses, metrics, calibration, thresholds, multilabel):
        for name in module.__all__:
            value = getattr(module, name)
            members = [name] if inspect.isfunction(value) else []
            if inspect.isclass(value):
                members = [f"{name}.{key}" for key in ("of", "fit") if inspect.ismethod(getattr(value, key, None))]
            for member in members:
                function = getattr(value, member.partition(".")[2], value)
                if next(iter(inspect.signature(function).parameters)) in ARGUMENTS:
                    found[f"{module.__name__}.{member}"] = function
    return found


FUNCTIONS = functions()


def arguments(function, kind):
    """All arrays that a function accepts, the optional ones too."""
    names = [name for name in inspect.signature(function).parameters if name in ARGUMENTS]
    tensors = function.__module__ == "slova.losses"
    return {name: torch.as_tensor(ARGUMENTS[name]) if tensors else KINDS[kind](ARGUMENTS[name]) for name in names}


def test_the_functions_are_found():
    assert len(FUNCTIONS) >= 43
    assert {"slova.metrics.ece", "slova.calibration.BetaCalibration.fit", "slova.losses.ova_loss"} <= FUNCTIONS.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_annotations_accept_what_the_function_accepts(name, kind):
    assert FUNCTIONS[name](**arguments(FUNCTIONS[name], kind)) is not None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_argument_of_a_wrong_shape_is_found(name):
    function = FUNCTIONS[name]
    valid = arguments(function, "numpy")  # tensors are checked by the same annotations
    for argument, value in valid.items():
        no_axis, other_axes = value.reshape(-1)[:1].reshape(()), value[None, None][..., :-1]
        for wrong in (no_axis, other_axes) if len(valid) > 1 else (no_axis,):
            with pytest.raises(TypeCheckError):
                function(**{**valid, argument: wrong})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_array_of_a_signature_is_left_without_a_shape(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert [key for key, parameter in parameters.items() if parameter.annotation in ("Array", "Any", "Tensor")] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_calibrators_keep_the_shape(calibrator, kind):
    fitted = calibrator.fit(**arguments(calibrator.fit, kind))
    valid = arguments(fitted.__call__, kind)
    assert len(fitted(**valid)) == ROWS
    first = next(iter(valid))
    with pytest.raises(TypeCheckError):
        fitted(**{**valid, first: valid[first].reshape(-1)[:1].reshape(())})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", heads.HEADS.values(), ids=heads.HEADS)
def test_heads_return_one_value_per_class_and_one_per_row(head, kind):
    values = ARGUMENTS["probs"] if "probabilit" in head.kind else LOGITS
    values = KINDS[kind](values[:, : head.columns])
    log_probs, log_none = head(values)
    assert (len(log_probs.shape), tuple(log_none.shape)) == (2, (ROWS,))
    assert [tuple(part.shape) for part in head.top(values)] == [(ROWS,)] * 3
    with pytest.raises(TypeCheckError):
        head(values.reshape(-1)[:1].reshape(()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_scorer_has_the_shapes_that_it_states(kind):
    rows = arguments(slova.Scorer.fit, kind)
    logits, labels, distances = rows["logits"], rows["labels"], rows["distances"]
    scorer, near = slova.Scorer.fit(logits, labels), slova.Scorer.fit(**rows)
    assert scorer.predict_proba(logits.reshape(4, -1, CLASSES)).shape == (4, ROWS // 4, CLASSES + 1)
    assert near.predict_proba(logits, distances=distances).shape == (ROWS, CLASSES + 1)
    assert scorer.predict_set(logits, calibration_logits=logits, calibration_labels=labels).shape[1] == CLASSES + 1
    assert scorer.evaluate(logits, labels) is not None
    assert 0 <= scorer.threshold(logits, labels, coverage=0.5) <= 1
    for call in (scorer.evaluate, scorer.threshold, slova.Scorer.fit):
        with pytest.raises(TypeCheckError):
            call(logits, labels[:-1])
    with pytest.raises(TypeCheckError):
        near.predict(logits, distances=distances[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_prediction_sets_have_the_shape_of_the_outcomes(kind):
    probs, labels = (KINDS[kind](ARGUMENTS[name]) for name in ("probs", "labels"))
    sets = PredictionSets.fit(probs, labels % (CLASSES - 1))
    assert sets(probs).shape == probs.shape
    with pytest.raises(TypeCheckError):
        PredictionSets.fit(probs, labels[:-1])


def test_a_result_of_a_wrong_shape_is_found(monkeypatch):
    monkeypatch.setattr("slova.calibration.temperature.log_softmax", lambda logits: logits[..., :-1])
    with pytest.raises(TypeCheckError, match="return"):
        slova.TemperatureScaling(1.0)(LOG_PROBS)


def test_integers_are_no_logits_and_floats_no_labels():
    with pytest.raises(TypeCheckError):
        metrics.ece(ARGUMENTS["probs"], LABELS.astype(np.float64))
    with pytest.raises(TypeCheckError):
        slova.TemperatureScaling(1.0)(LOG_PROBS.astype(np.int64))

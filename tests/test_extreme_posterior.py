"""The numbers that the kernel of the default calibrator takes are those of the calibrator, and are sent once."""

import numpy as np
import torch

from slova._backend import NUMPY
from slova.calibration import PosteriorCalibration
from slova.calibration.posterior import BY_DISTANCE, steepness
from slova.extreme import posterior
from slova.heads import NONE

RNG = np.random.default_rng(0)
LOG_ODDS, DISTANCES = RNG.normal(size=(300, 5)) * 3, RNG.random((300, 2))
LABELS = np.where(np.arange(300) < 40, NONE, LOG_ODDS.argmax(axis=1))


def test_rows_have_the_steepness_of_their_distances_and_nothing_is_sent_twice(monkeypatch):
    calibrator = PosteriorCalibration.fit(LOG_ODDS, LABELS, distances=DISTANCES, none_share=0.05)
    rows, distances = torch.as_tensor(LOG_ODDS).float(), torch.as_tensor(DISTANCES).float()
    found = posterior._numbers(calibrator, rows, distances)
    wanted = steepness(DISTANCES, *(getattr(calibrator, name) for name in BY_DISTANCE), ops=NUMPY)
    wanted = [*wanted, DISTANCES @ calibrator.none[3:]]
    np.testing.assert_allclose(found.per_row.numpy(), np.stack(wanted), atol=1e-5)
    monkeypatch.setattr(posterior, "_sent", None)
    again = posterior._numbers(calibrator, rows, distances)
    assert again.classes is found.classes
    assert torch.equal(again.per_row, found.per_row)


def test_without_distances_there_are_no_numbers_per_row():
    calibrator = PosteriorCalibration.fit(LOG_ODDS[40:], LABELS[40:])
    found = posterior._numbers(calibrator, torch.as_tensor(LOG_ODDS).float(), None)
    assert found.per_row is None
    assert found.none == (0.0, 0.0, 0.0, 0.0)

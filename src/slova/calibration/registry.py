"""Every calibrator by the word that names it in Python, on the command line and in files."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from slova.calibration.affine import AffineCalibration
from slova.calibration.beta import BetaCalibration
from slova.calibration.calibrator import Calibrator
from slova.calibration.exponential import ExponentialCalibration
from slova.calibration.histogram import HistogramBinning
from slova.calibration.isotonic import IsotonicCalibration
from slova.calibration.posterior import PosteriorCalibration
from slova.calibration.temperature import TemperatureScaling

__all__ = ["CALIBRATORS", "Fit", "keeps_order", "kind_of", "resolve"]

Fit = Callable[..., Calibrator]  # (log_probs, labels, *, weight=None)

CALIBRATORS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        PosteriorCalibration,
        ExponentialCalibration,
        TemperatureScaling,
        BetaCalibration,
        IsotonicCalibration,
        HistogramBinning,
        AffineCalibration,
    )
}


def resolve(calibration: str | type[Any] | Fit | None) -> Fit | None:
    """The fit function of a word, a calibrator class or a fit function; None for None.

    >>> list(CALIBRATORS)
    ['posterior', 'exponential', 'temperature', 'beta', 'isotonic', 'histogram', 'affine']
    >>> resolve("beta") == resolve(BetaCalibration)
    True
    """
    if isinstance(calibration, str):
        words = [name for name, kind in CALIBRATORS.items() if kind.takes != "logits"]
        if calibration not in words:
            raise ValueError(f"calibration must be one of {', '.join(words)}, got {calibration!r}")
        calibration = CALIBRATORS[calibration]
    if isinstance(calibration, type) and hasattr(calibration, "fit"):
        return calibration.fit  # type: ignore[no-any-return]
    if isinstance(calibration, type | Calibrator) or not (calibration is None or callable(calibration)):
        raise TypeError(f"calibration must be a word, a calibrator class, a fit function or None, got {calibration!r}")
    return calibration


def kind_of(fit: Fit | None) -> Any:
    """The calibrator class that has this fit function, or of which a partial has it; None for another function."""
    return getattr(getattr(fit, "func", fit), "__self__", None)


def keeps_order(fit: Fit | None) -> bool:
    """Whether a fit can leave the top class of each row as it is: always, or by its option `order`.

    >>> [keeps_order(resolve(name)) for name in ("posterior", "beta", "isotonic")]
    [True, True, False]
    """
    if fit is None or "order" in inspect.signature(fit).parameters:
        return True
    return bool(getattr(kind_of(fit), "order_preserving", False))

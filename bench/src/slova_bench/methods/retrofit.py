"""The softmax network as a one-vs-all network, without training: a scale and an offset of its log-odds, then SLOVA and
exponential calibration, all fitted on validation data."""

from dataclasses import dataclass, replace
from typing import ClassVar

from slova._backend import Array
from slova.calibration import AffineCalibration, ExponentialCalibration
from slova.heads import log_slova
from slova.retrofit import log_odds
from slova_bench.methods import softmax
from slova_bench.stable import stable


@dataclass(frozen=True)
class Retrofitted:
    """log softmax -> log-odds -> affine calibration -> log P(this class and no other) -> exponential calibration."""

    before: AffineCalibration
    after: ExponentialCalibration

    elementwise: ClassVar[bool] = False
    order_preserving: ClassVar[bool] = True

    def __call__(self, log_probs: Array) -> Array:
        return self.after(log_slova(self.before(log_odds(log_probs))))

    @classmethod
    def fit(cls, log_probs: Array, labels: Array) -> "Retrofitted":
        odds = log_odds(log_probs)
        before = AffineCalibration.fit(odds, labels)
        return cls(before, ExponentialCalibration.fit(log_slova(before(odds)), labels))


stable("retrofit")(Retrofitted.fit)

METHOD = replace(softmax.METHOD, name="retrofit", calibrate=Retrofitted.fit)
NOISE = replace(METHOD, name="retrofit_noise", noise=0.1)

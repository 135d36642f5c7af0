"""Images: degradations, synthetic outliers and distance-aware calibration. Requires PyTorch.

- `add_outliers` appends synthetic images labelled NONE to a training batch;
- `degrade` makes images worse without changing their class, for calibration under distribution shift;
- `DistanceAware` is a network whose confidence decreases with the distance from the validation images;
- `FlipAveraged` is a network with flip test-time augmentation.

Images are floats (N, C, H, W) in [0, 1].
"""

from slova.vision.degradations import DEGRADATIONS, degrade
from slova.vision.distance_aware import DistanceAware, FlipAveraged
from slova.vision.features import FeatureStatistics, last_layer_per_resolution, record_activations
from slova.vision.outliers import MIX, OUTLIERS, add_outliers, sample_from

__all__ = [
    "DEGRADATIONS",
    "MIX",
    "OUTLIERS",
    "DistanceAware",
    "FeatureStatistics",
    "FlipAveraged",
    "add_outliers",
    "degrade",
    "last_layer_per_resolution",
    "record_activations",
    "sample_from",
]

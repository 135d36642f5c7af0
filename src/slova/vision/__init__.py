"""Images: augmentation, degradations, synthetic outliers and distance-aware calibration. Requires PyTorch.

- `augment` degrades and mixes some images of a training batch and appends outliers;
- `add_outliers` appends synthetic images labelled NONE to a training batch;
- `degrade` makes images worse without changing their class, for calibration under distribution shift;
- `slova.vision.shift_aware` is what `Classifier.fit` does with images, and its options.

Images are floats (N, C, H, W) in [0, 1]:

>>> import slova
>>> images, labels = slova.vision.augment(images, labels)                  # in the training loop
>>> loss = slova.ova_loss(network(images), labels, cross_entropy=1.5)

There are three disjoint sets of degradations and of outliers: `TRAINING_…` for `augment`, `CALIBRATION_…` for the fit
of a calibrator, and `SELECTION_…` for choosing between models.
"""

from slova.vision.augment import augment
from slova.vision.degradations import DEGRADATIONS, TRAINING_DEGRADATIONS, degrade
from slova.vision.features import FeatureStatistics, last_layer_per_resolution, record_activations
from slova.vision.held_out_degradations import CALIBRATION_DEGRADATIONS, SELECTION_DEGRADATIONS
from slova.vision.held_out_outliers import CALIBRATION_OUTLIERS, SELECTION_OUTLIERS
from slova.vision.mixtures import TRAINING_MIXTURES, mix_fractals, mix_operations
from slova.vision.outliers import TRAINING_OUTLIERS, add_outliers, sample_from

__all__ = [
    "CALIBRATION_DEGRADATIONS",
    "CALIBRATION_OUTLIERS",
    "DEGRADATIONS",
    "SELECTION_DEGRADATIONS",
    "SELECTION_OUTLIERS",
    "TRAINING_DEGRADATIONS",
    "TRAINING_MIXTURES",
    "TRAINING_OUTLIERS",
    "FeatureStatistics",
    "add_outliers",
    "augment",
    "degrade",
    "last_layer_per_resolution",
    "mix_fractals",
    "mix_operations",
    "record_activations",
    "sample_from",
]

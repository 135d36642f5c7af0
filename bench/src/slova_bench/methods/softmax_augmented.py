"""Temperature scaling (Guo et al. 2017) of softmax trained with the images of the image recipe, and without outliers:
its rival on equal terms. With degraded images only (`softmax_augmented`), or with mixed ones too (`softmax_mixed`). The
temperature is fitted on clean images, or on clean and degraded ones; also with the default calibrator, with flips
averaged at test time, and as ensemble."""

from dataclasses import replace

from slova_bench.distances import flip_averaged
from slova_bench.methods import ova_fit, slova_image, temperature
from slova_bench.stable import stable

UNMIXED, MIXED = (replace(loss, softmax=True) for loss in (slova_image.UNMIXED, slova_image.MIXED))
stable("softmax_augmented_loss")(UNMIXED)

METHOD = replace(temperature.METHOD, name="softmax_augmented", loss=UNMIXED)
DEGRADED = replace(temperature.DEGRADED, name="softmax_augmented_degraded", loss=UNMIXED)
FLIP = replace(DEGRADED, name="softmax_augmented_flip", adapt=flip_averaged)
FIT = replace(ova_fit.SOFTMAX, name="softmax_augmented_fit", loss=UNMIXED)
ENSEMBLE = replace(METHOD, name="softmax_augmented_ensemble", members=5)
ENSEMBLE_DEGRADED = replace(DEGRADED, name="softmax_augmented_ensemble_degraded", members=5)
MIXING = replace(METHOD, name="softmax_mixed", loss=MIXED)
MIXING_DEGRADED = replace(DEGRADED, name="softmax_mixed_degraded", loss=MIXED)
MIXING_FLIP = replace(FLIP, name="softmax_mixed_flip", loss=MIXED)
MIXING_FIT = replace(FIT, name="softmax_mixed_fit", loss=MIXED)
MIXING_ENSEMBLE = replace(ENSEMBLE, name="softmax_mixed_ensemble", loss=MIXED)
MIXING_ENSEMBLE_DEGRADED = replace(ENSEMBLE_DEGRADED, name="softmax_mixed_ensemble_degraded", loss=MIXED)

"""The effect of each step (Sec. 4.3): softmax, one-vs-all, its SLOVA readout, and the calibrated readout, on clean and
shifted data. The histograms are those of `shift`."""

from dataclasses import replace

from slova_bench.experiments import shift

METHODS = ("softmax", "ova", "slova_raw", "slova", "slova_clean")
EXPERIMENT = replace(shift.EXPERIMENT, name="ablation", methods=METHODS, histograms=False)

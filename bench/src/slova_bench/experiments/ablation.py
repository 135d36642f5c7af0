"""What each step adds (Sec. 4.3): softmax, one-vs-all, its SLOVA read-out, and that calibrated, on clean and shifted
data. The histograms would be those of `shift`."""

from dataclasses import replace

from slova_bench.experiments import shift

METHODS = ("softmax", "ova", "slova_raw", "slova", "slova_clean")
EXPERIMENT = replace(shift.EXPERIMENT, name="ablation", methods=METHODS, histograms=False)

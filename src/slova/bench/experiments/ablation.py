"""What each step adds (Sec. 4.3): softmax, one-vs-all, its SLOVA read-out, and that calibrated, on clean and shifted
data."""

from dataclasses import replace

from slova.bench.experiments import shift

EXPERIMENT = replace(shift.EXPERIMENT, name="ablation", methods=("softmax", "ova", "slova_raw", "slova", "slova_clean"))

"""SLOVA calibrated on the validation set without noise."""

from dataclasses import replace

from slova_bench.methods import slova

METHOD = replace(slova.METHOD, name="slova_clean", noise=0.0)

"""SLOVA calibrated on the validation set alone, without noise in it."""

from dataclasses import replace

from slova_bench.methods import slova

METHOD = replace(slova.METHOD, name="slova_clean", noise=0.0)

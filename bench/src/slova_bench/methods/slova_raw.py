"""The SLOVA readout of the one-vs-all network, P(this class and no other), not calibrated."""

from dataclasses import replace

from slova.heads import SLOVA
from slova_bench.methods import ova

METHOD = replace(ova.METHOD, name="slova_raw", head=SLOVA)

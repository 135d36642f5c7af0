"""The SLOVA read-out of the one-vs-all network, "this class and no other", not calibrated."""

from dataclasses import replace

from slova.heads import read_slova
from slova_bench.methods import ova

METHOD = replace(ova.METHOD, name="slova_raw", head=read_slova)

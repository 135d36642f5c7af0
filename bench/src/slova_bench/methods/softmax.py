"""The maximum softmax probability (Hendrycks & Gimpel 2017)."""

from slova_bench.method import Method

METHOD = Method(name="softmax")

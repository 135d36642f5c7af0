"""One offline HTML page of a model's logits: a verdict, metrics, reliability, thresholds, classes, examples.

    data (JSON) ─ charts (Vega-Lite by altair) ──┐
    templates/, script/ (own HTML, CSS, JS) ─────┼─ render ─ one file that loads nothing from a network
    Vega (bundled by vl-convert) ────────────────┘

Numbers are computed here, in Python; the page selects, merges and shows them. Nothing here imports PyTorch.
"""

from slova.report.details import details_of, usage_of
from slova.report.measuring import measure
from slova.report.model_page import FileResults, Model, advised_page, model_page
from slova.report.page import Extension, Page, render

__all__ = [
    "Extension",
    "FileResults",
    "Model",
    "Page",
    "advised_page",
    "details_of",
    "measure",
    "model_page",
    "render",
    "usage_of",
]

"""One offline HTML page: of a folder of results (`comparison`), or of one model's logits (`own`).

    blob (JSON) ─ charts (Vega-Lite by altair) ─┐
    templates/, script/ (own HTML, CSS, JS) ────┼─ page.render ─ one file that asks no network for anything
    Vega (bundled by vl-convert) ───────────────┘

Numbers are computed here, in Python; the page selects, merges and shows them. Nothing here imports PyTorch.
"""

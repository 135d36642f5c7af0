"""The page of a folder of results (`comparison`), rendered by `slova.report`; the same as markdown, figures and cards.

Numbers are computed here, in Python; the page selects, merges and shows them. Nothing here imports PyTorch.
"""

"""The main job on data that need no download: scikit-learn's digits, 8 x 8 grey images in [0, 1], of ten classes.

A small softmax network and a small one-vs-all network are trained, calibrated on validation images, and judged on clean
test images, on shifted ones (noise, rotation, translation) and on images that show no digit. Every number is computed.
"""

from slova.demo.comparison import Cell, Promise, Report, run

__all__ = ["Cell", "Promise", "Report", "run"]

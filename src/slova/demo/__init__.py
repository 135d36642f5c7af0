"""`slova demo`: three networks trained on the digits 0 to 7, and what they say of pictures that are none of these.

    digits.py    the pictures: digits, shifted digits, digits that no network has seen, glyphs, noise
    training.py  the networks: one-vs-all with augmentation, and softmax with a temperature as its rivals
    results.py   answers, thresholds and shares: every number of the table and of the page
    verdict.py   where one-vs-all is better, and where it is not
    page.py      one HTML file that loads nothing

Requires PyTorch and scikit-learn; nothing is downloaded.
"""

try:
    import sklearn  # noqa: F401
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(f'the demo needs {error.name}: pip install "slova[{error.name}]"') from error

from slova.demo.digits import load
from slova.demo.page import page
from slova.demo.results import Results, measure, table
from slova.demo.training import train_all
from slova.demo.verdict import verdicts

__all__ = ["Results", "load", "measure", "page", "table", "train_all", "verdicts"]

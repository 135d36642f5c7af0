"""What a classifier does not accept, and the message each mistake gets."""

import numpy as np
import pytest
import torch
from torch import nn

from slova import Classifier, Scorer

POINTS, LABELS = torch.randn(40, 2, generator=torch.Generator().manual_seed(13)), torch.arange(40) % 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS[:39])), ValueError, r"got \(40, 2\), and labels \(39,\)"),
        (lambda c: Classifier.fit(c.network, POINTS), ValueError, "labels must be given"),
        (lambda c: Classifier.fit(c.network, {"points": POINTS}), ValueError, "under 'labels' or 'label'"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS + 1)), ValueError, r"must lie in \[-1, 4\)"),
        (lambda c: Classifier.fit(c.network, (POINTS * np.nan, LABELS)), ValueError, "NaN in 40 of 40 rows"),
        (lambda c: Classifier.fit(c.network, []), ValueError, "no rows to fit on"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS), batch_size=0), ValueError, "at least 1"),
        (lambda c: Classifier.fit(c.network, (POINTS, LABELS.float())), TypeError, "must be integers"),
        (lambda c: Classifier.fit(nn.Flatten(0), (POINTS, LABELS)), ValueError, "must be"),
        (lambda c: Classifier.fit(nn.Identity(), [("x", LABELS)]), TypeError, "must return logits"),
        (lambda c: Classifier.fit(c.network, {"points": "x", "labels": LABELS}), TypeError, "got str among them"),
        (lambda c: c.predict([]), ValueError, "no inputs"),
        (lambda c: c.predict(7), TypeError, "expected tensors, a Dataset or batches, got int"),
        (lambda c: c.predict("points.npy"), TypeError, "a Dataset or batches, got str"),
        (lambda c: Classifier(nn.Linear(2, 4), c.scorer).predict(POINTS[0]), ValueError, r"got \(4,\) for .* \(2,\)"),
        (lambda c: c.predict(POINTS, reject=np.nan), ValueError, r"reject must lie in \[0, 1\], got nan"),
        (lambda c: c.predict(POINTS, reject=50), ValueError, r"in \[0, 1\], got 50"),
        (lambda c: Classifier(c.network, c.scorer, reject=5), ValueError, r"in \[0, 1\], got 5"),
        (lambda c: Classifier(c.network, c.scorer, reject=np.nan), ValueError, r"in \[0, 1\], got nan"),
        (lambda c: c.save("nodir/a.slova"), FileNotFoundError, r"there is no folder .*nodir: '.*nodir/a.slova'"),
        (lambda c: c.threshold(), ValueError, "either risk or coverage"),
        (lambda c: c.threshold(risk=1.5), ValueError, r"in \[0, 1\]"),
        (lambda c: c.threshold(risk=0.0), ValueError, "no threshold guarantees"),
        (lambda c: Classifier(c.network, c.scorer, names=["one"]), ValueError, "1 names for 4 classes"),
        (lambda c: Classifier(c.network, Scorer(classes=4)).threshold(risk=0.1), ValueError, "not fitted"),
    ],
)
def test_bad_input_gets_a_sentence(classifier, call, error, message):
    with pytest.raises(error, match=message):
        call(classifier)

"""Very many classes: loss, prediction and calibration from features and the last layer, without the logits.

Given features (..., D), the matrix (K, D) and the bias (K,) of the last layer, the logits are features @ matrix.T +
bias. At K = 1,000,000 a batch of 4096 rows takes 16 GB, and its gradient as much again. These functions compute a few
thousand classes at a time and keep nothing; the results equal those of the dense logits.

>>> import torch
>>> from slova import extreme
>>> _ = torch.manual_seed(0)
>>> layer = torch.nn.Linear(16, 50)
>>> labels = torch.arange(500) % 50
>>> features = 4 * layer.weight.detach()[labels] + 0.5 * torch.randn(500, 16)
>>> loss = extreme.ova_loss(features, layer.weight, labels, bias=layer.bias)
>>> scorer = extreme.fit(features, layer.weight, labels, bias=layer.bias)      # on validation features
>>> answers = extreme.predict(scorer, features, layer.weight, bias=layer.bias, reject=0.5)
>>> logits = layer(features).detach()
>>> bool((extreme.score(scorer, logits, reject=0.5).label == answers.label).all())
True
>>> bool((extreme.top(features, layer.weight, bias=layer.bias).label == logits.argmax(1)).all())
True

`score` takes logits that exist already and reads each of them once.
"""

from slova.extreme.fitting import fit
from slova.extreme.losses import ova_loss
from slova.extreme.readout import predict, top
from slova.extreme.scoring import score

__all__ = ["fit", "ova_loss", "predict", "score", "top"]

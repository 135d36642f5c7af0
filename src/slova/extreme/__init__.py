"""Very many classes: the loss, the answers and the calibration straight from features and the last layer's matrix.

With features (..., D) of a network, the matrix (K, D) of its last layer and the bias (K,), the logits are features @
matrix.T + bias. At K = 1,000,000 a batch of 4096 of them takes 16 GB, and their gradient as much again. Here they are
made for a few thousand classes at a time, used and forgotten; the results are those of the dense form.

    loss = extreme.ova_loss(features, layer.weight, labels, bias=layer.bias)
    scorer = extreme.fit(val_features, layer.weight, val_labels, bias=layer.bias)
    answers = extreme.predict(scorer, features, layer.weight, bias=layer.bias, reject=0.5)

`score` is for logits that are there already: each is read once.
"""

from slova.extreme.fitting import fit
from slova.extreme.losses import ova_loss
from slova.extreme.readout import predict, top
from slova.extreme.scoring import Answer, score

__all__ = ["Answer", "fit", "ova_loss", "predict", "score", "top"]

"""Export a classifier: network, head, calibrator and reject threshold as one ONNX graph or torch program.

>>> import slova
>>> scorer = slova.Classifier.fit(network, val_images, val_labels).scorer
>>> parity = scorer.export("scorer.pt2", reject=0.8)               # logits -> five outputs; .onnx is the same
>>> isinstance(parity, Parity), parity.confidence < 1e-5           # the largest difference from the scorer
(True, True)
>>> found = metadata("scorer.pt2")                                 # Metadata: classes, names, head, threshold
>>> found.classes, found.head, found.reject, isinstance(found.validation, Validation)
(3, 'slova', 0.8, True)

`Classifier.export("model.onnx")` writes the network as well, `SlovaClassifier.export("model.onnx", X)` the models.

`.onnx` is an ONNX graph of opset 18, `.pt2` a program for `torch.export.load`. Before a file is written, its outputs
are compared with those of the classifier (`Parity`); if they disagree, it is not written.

Inputs and outputs, for N rows ("batch", dynamic) and K classes:

    inputs        those of the network under their own names; "logits" of a scorer, (batch, K) or (batch, 1), whatever
                  its head reads, such as probabilities; "X" (batch, features) of a scikit-learn model
    label         int64 (batch,): the class, or NONE = -1 if the confidence is below the threshold or NaN
    confidence    float32 (batch,): the calibrated probability of the most probable class, rejected or not
    none          float32 (batch,): that no class fits
    ambiguous     float32 (batch,): that it is another class; confidence + none + ambiguous = 1
    log_probs     float32 (batch, K): the log-probability of each class; with `none` they sum to one

Metadata, all of it text: slova.version, slova.classes, slova.head, slova.reject, slova.opset (ONNX only), and
if known, slova.names (a JSON list) and slova.validation (JSON: "counts" and "hits" in 100 equal-width bins of the
confidence of the validation rows).
"""

from slova.export.file_metadata import OUTPUTS, ExportError, Metadata, Validation, metadata
from slova.export.parity import Parity

__all__ = ["OUTPUTS", "ExportError", "Metadata", "Parity", "Validation", "metadata"]

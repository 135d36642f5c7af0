"""A classifier outside Python: network, head, calibration map and reject threshold as one ONNX graph or torch program.

    classifier.export("model.onnx")          # slova.Classifier: what the network takes in, five answers out
    scorer.export("map.onnx")                # slova.Scorer: logits in
    model.export("model.onnx", X)            # slova.sklearn.SlovaClassifier: the table in
    slova.export.metadata("model.onnx")      # classes, names, head, threshold, and the validation set's confidences

`.onnx` is an ONNX graph of opset 18, `.pt2` a program for `torch.export.load`; both are one file that is compared with
the classifier before it is written (`Parity`), and not written if it disagrees.

The contract, for N rows ("batch", free) and K classes:

    inputs        those of the network under their own names; "logits" (batch, K) of a scorer; "X" (batch, features) of
                  a scikit-learn model
    label         int64 (batch,): the class, or NONE = -1 where the confidence is below the threshold, or NaN
    confidence    float32 (batch,): the calibrated probability that the label is right
    none          float32 (batch,): P(no class fits)
    several       float32 (batch,): P(several classes fit)
    log_probs     float32 (batch, K): calibrated log P(this class and no other)

and as metadata, all of it text: slova.version, slova.classes, slova.head, slova.reject, slova.opset (ONNX only), and
where they are known slova.names (a JSON list) and slova.validation (JSON: "counts" and "hits" of 100 equal bins of the
confidence of the validation rows).
"""

from slova.export.file_metadata import OUTPUTS, ExportError, Metadata, Validation, metadata
from slova.export.parity import Parity

__all__ = ["OUTPUTS", "ExportError", "Metadata", "Parity", "Validation", "metadata"]

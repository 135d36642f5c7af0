"""Export a scorer: a graph from logits (N, K) to predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from slova._backend import Array, to_numpy
from slova.export.file_metadata import ExportError
from slova.export.job import BATCH, NO_ROWS, ROWS, Exported, Job, check_and_write
from slova.export.parity import Bounds, Parity
from slova.heads import BINARY_PROBABILITIES, OVA_PROBABILITIES, PROBABILITIES, log_softmax
from slova.scorer import Scorer

__all__ = ["export_scorer", "random_inputs"]


def export_scorer(
    scorer: Scorer,
    path: str | Path,
    logits: Array | None = None,
    *,
    names: Sequence[str] | None = None,
    reject: float = 0.0,
    tolerance: float | None = None,
) -> Parity:
    """Write the scorer to an .onnx or .pt2 file, compared with it on these logits (N, K), or on random ones. They are
    what its head reads, such as probabilities."""
    if scorer.distances:
        raise ExportError("a distance-aware scorer takes distances as well: export the classifier, network included")
    job, bounds = Job(Path(path), scorer, names, reject), Bounds.of(half=False, tolerance=tolerance)
    rows = random_inputs(scorer) if logits is None else np.asarray(to_numpy(logits), np.float32)
    columns = scorer.head.columns or scorer.classes
    if rows.shape[1:] != (columns,):
        raise ValueError(f"logits must have shape (n_rows, {columns}) for this scorer, got {rows.shape}")
    if not len(rows):
        raise ExportError(NO_ROWS)
    exported = _graph(job) if job.path.suffix == ".onnx" else None
    if exported is None:
        exported, rows = _traced(job, rows)
    batches = (rows[first : first + BATCH] for first in range(0, len(rows), BATCH))
    return check_and_write(exported, (({"logits": batch}, batch, None) for batch in batches), job, bounds)


def _graph(job: Job) -> Exported | None:
    """The scorer as a graph, without torch; None for a custom head or calibrator that needs torch."""
    try:
        from slova.export.scorer_graph import scorer_graph
    except ImportError as error:
        raise ImportError(f'an .onnx export needs {error.name}: pip install "slova[onnx]"') from error
    try:
        return scorer_graph(job)
    except (AttributeError, TypeError):
        return None


def _traced(job: Job, rows: Array) -> tuple[Exported, Array]:
    """The scorer traced by torch, and the rows as a tensor."""
    try:
        import torch

        from slova.export.network import exported_network
    except ImportError as error:
        raise ImportError('this export needs PyTorch: pip install "slova[torch,onnx]"', name=error.name) from error

    tensor = torch.as_tensor(rows)
    example = tensor[:BATCH] if len(rows) > 1 else torch.cat([tensor, tensor])
    return exported_network(torch.nn.Identity(), ((example,), {}), ["logits"], job), tensor


def random_inputs(scorer: Scorer) -> Array:
    """Random logits, or probabilities where the head reads those."""
    logits = _random_logits(scorer.head.columns or scorer.classes)
    if scorer.head == PROBABILITIES:
        return np.exp(log_softmax(logits))
    return 1 / (1 + np.exp(-logits)) if scorer.head in (OVA_PROBABILITIES, BINARY_PROBABILITIES) else logits


def _random_logits(classes: int) -> Array:
    """Rows of every kind: one class fits, several, none. Every other row has logits as of a trained one-vs-all network,
    where each class is rare; the others are increasingly confident, up to logits of 1e4."""
    generator = np.random.default_rng(0)
    logits = 1.5 * generator.normal(size=(ROWS, classes)) - 3 - math.log(classes)
    logits[np.arange(ROWS), np.arange(ROWS) % classes] += (8 + math.log(classes)) * generator.uniform(size=ROWS)
    logits[::8, 0] += 8 + math.log(classes)
    logits[1::2] *= np.logspace(0, 3.3, ROWS // 2)[:, None]
    return logits.astype(np.float32)

"""What a file says beside its scorer: a saved classifier has names and a threshold of its own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from slova import artifact
from slova.scorer import Scorer

__all__ = ["Saved", "load_saved"]


class Saved(NamedTuple):
    """Of a scorer's file the threshold is 0, and there are no names."""

    scorer: Scorer
    reject: float
    names: tuple[str, ...] | None


def load_saved(path: str | Path) -> Saved:
    """Of a scorer, or of a classifier, whose network is left alone."""
    tensors, meta = artifact.load(path, "scorer", "classifier")
    try:
        names = meta.get("names")
        called = None if names is None else tuple(names)
        return Saved(Scorer.unpacked(tensors, meta), float(meta.get("reject") or 0.0), called)
    except (KeyError, AttributeError, TypeError) as error:
        raise artifact.ArtifactError(f"{path} is damaged: its content is not that of a scorer ({error})") from error

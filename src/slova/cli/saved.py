"""What a file says beside its scorer: a saved classifier has names and a threshold of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import click

from slova import artifact
from slova.scorer import Scorer
from slova.tables import TableError

__all__ = ["Saved", "load_saved"]


class Saved(NamedTuple):
    """Of a scorer's file the threshold is 0, and there are no names."""

    scorer: Scorer
    reject: float
    names: tuple[str, ...] | None

    def threshold(self, asked: Mapping[str, float | None]) -> float:
        """By --reject, --risk or --coverage, at most one of them; by the file if none is given."""
        given = {name: value for name, value in asked.items() if value is not None}
        if len(given) > 1:
            raise click.UsageError(f"wanted one of --reject, --risk and --coverage, got --{' and --'.join(given)}")
        if "risk" in given or "coverage" in given:
            return float(self.scorer.threshold(**given))
        return given.get("reject", self.reject)


def load_saved(path: Path) -> Saved:
    try:
        tensors, meta = artifact.load(path, "scorer", "classifier")
        names = meta.get("names")
        return Saved(
            Scorer.unpacked(tensors, meta), float(meta.get("reject") or 0.0), None if names is None else tuple(names)
        )
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, AttributeError, TypeError) as error:
        raise artifact.ArtifactError(f"{path} is damaged: its content is not that of a scorer ({error})") from error

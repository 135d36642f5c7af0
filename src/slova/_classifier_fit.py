"""How a classifier is fitted: the rows of the validation data, those that help the fit, and a scorer of all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from slova._batches import device_of
from slova._collect import Collected, check_names, check_network, collect
from slova._labels import class_names
from slova._validation import NONE, check_rows
from slova.scorer import Scorer
from slova.vision.passes import Passes
from slova.vision.shift_aware import ShiftOptions, fit_rows
from slova.vision.versions import VersionReader

if TYPE_CHECKING:
    from slova.classifier import Classifier

SYNTHETIC = 0.05  # the prior of NONE where its rows are synthetic, or given beside the validation data


def fit_classifier(
    kind: type[Classifier],
    network: nn.Module,
    inputs: Any,
    labels: Any,
    none_inputs: Any,
    names: Sequence[str] | None,
    shift: ShiftOptions,
    run: dict[str, Any],
    options: dict[str, Any],
) -> Classifier:
    """See `Classifier.fit`; `run` are the options of a pass over the data, `options` those of `Scorer.fit`."""
    check_network(network)
    names = None if names is None else class_names(names)
    if isinstance(options["head"], str) and options["head"] == "auto":
        options = options | {"head": getattr(network, "slova_head", "auto")}
    shift = shift.only_posterior(options["calibration"])
    reader = VersionReader(network, shift, synthetic=none_inputs is None, seed=options["seed"])
    what = "fit" if shift.shift_aware is False else "fit: inputs and their versions"
    found = collect(network, inputs, labels, labelled=True, names=names, read=reader, what=what, **run)
    check_names(found, found.logits.shape[1], names)
    more = None
    if none_inputs is not None:
        given: dict[str, Any] = {"labelled": False, "like": found.example, "read": reader.read_none}
        more = collect(network, none_inputs, what="fit: inputs of no class", **given, **run)
    scorer, passes = _fitted(reader, found, more, options)
    classifier = kind(network, scorer, names=found.names, passes=passes)
    classifier.example = found.example
    return classifier


def _fitted(
    reader: VersionReader, found: Collected, more: Collected | None, options: dict[str, Any]
) -> tuple[Scorer, Passes | None]:
    columns = found.logits.numpy()
    columns = np.hstack([columns, columns]) if columns.shape[1] == 1 else columns  # one logit is of two classes
    views, (_, labels) = reader.options.views, check_rows(columns, np.asarray(found.labels), "logits")
    if more is not None:
        check_rows(more.logits.numpy(), np.full(len(more.logits), int(NONE)), "logits of none_inputs")
    if more is not None and options["none_share"] is None and options["calibration"] == "posterior":
        options = options | {"none_share": SYNTHETIC}
    clean, degraded = reader.of("clean"), reader.of("degraded")
    if not reader.layers or clean is None:
        logits = found.logits if more is None else torch.cat([found.logits, more.logits])
        extra = np.full(len(logits) - len(labels), int(NONE))
        scorer = Scorer.fit(logits, np.concatenate([labels, extra]), **options)
        assert scorer.report is not None
        scorer = replace(scorer, report=replace(scorer.report, off=reader.off))
        return scorer, None if views is None else Passes(views=views)
    synthetic = None if (labels == NONE).any() else reader.of("synthetic")
    if synthetic is not None and options["none_share"] is None:
        options = options | {"none_share": SYNTHETIC}
    rows, statistics = fit_rows(clean, labels, degraded, synthetic, reader.of("none"), members=reader.members)
    scorer = Scorer.fit(**rows._asdict(), **options)
    assert scorer.report is not None
    counts = {"degraded_rows": degraded, "synthetic_rows": synthetic}
    counted: dict[str, Any] = {name: 0 if part is None else len(part.rows) for name, part in counts.items()}
    scorer = replace(scorer, report=replace(scorer.report, layers=_named(reader.layers, reader.members), **counted))
    given: dict[str, Any] = {"views": views, "members": reader.members, "value_range": reader.value_range}
    passes = Passes(dict(zip(reader.layers, statistics, strict=True)), **given)
    return scorer, passes.to(device_of(reader.network))


def _named(layers: Sequence[str], members: int) -> tuple[str, ...]:
    """The layers for a report: once for all members of an ensemble that have the same ones."""
    if members == 1:
        return tuple(layers)
    return tuple(dict.fromkeys(re.sub(r"^members\.\d+\.", "members.*.", name) for name in layers))

"""The page of a model with its advice: what it says first, and the tables that show where to look."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slova.report.advice import drift, verdict
from slova.report.detail_tables import detail_tables, drift_table
from slova.report.details import Details, Usage
from slova.report.model_page import Model, model_page
from slova.report.page import Page

__all__ = ["advised_page"]


def advised_page(
    title: str,
    lede: str,
    models: Sequence[Model],
    details: Details,
    *,
    calibrated: bool,
    before: Usage | None = None,
    names: Sequence[str] | None = None,
    picture: Callable[[int], str | None] = lambda row: None,
) -> Page:
    """The page of one model, or of one before and after calibration; the advice is about the last.

    - details, before: of the last model, on the rows of the page and on earlier ones
    - calibrated: whether it has a calibrator
    - names, picture: names of the classes, and the image of a row
    """
    selection = models[-1].selection
    notices = verdict(models[-1].ece, selection, calibrated=calibrated)
    tables = detail_tables(details, selection, names, picture)
    if before is not None:
        notices.append(drift(before, details.usage))
        tables.append(drift_table(before, details.usage, names))
    return model_page(title, lede, models, notices=notices, tables=tables)

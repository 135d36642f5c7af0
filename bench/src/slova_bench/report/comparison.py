"""The page of a results folder: every experiment on every training set, with the commands for missing ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from slova.report.colours import light_and_dark
from slova.report.page import Extension, Page
from slova.report.sheets import entry_content
from slova_bench import labels
from slova_bench.claims import JudgedClaim, Verdict, judged_claims, verdict_counts
from slova_bench.exhibit import Exhibit, Kind
from slova_bench.exhibits import exhibits
from slova_bench.figures.charts import charts
from slova_bench.frame import NAME, SET, Frame, Name
from slova_bench.panels import CONFIDENT, Source, panel
from slova_bench.report.cells import numbers
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.staleness import Staleness, State, check_staleness
from slova_bench.tables import Table, runs

__all__ = ["FIRST", "comparison", "shown"]

SCRIPTS = ("cells.js", "kinds.js", "metric.js", "sections.js")
FOOTER = "Made by slova bench report from files of results. Nothing on this page is loaded from elsewhere."
FIRST = (  # at most eight in an experiment
    *("softmax", "temperature", "ensemble", "ceda", "acet_short", "slova"),
    *("slova_mirror", "slova_distance_ensemble", "slova_none"),
)
FEW = 6  # methods, where none of the first are there


def comparison(results: ResultsFolder) -> Page:
    """The page of everything in the folder. Raises MissingRowsError for an empty folder."""
    if not results.names:
        raise MissingRowsError(
            f"there are no results in {results.folder}: run slova bench run shift --on digits, or name another folder"
        )
    panels, sets, states = _panels(results), _sets(results), check_staleness(results)
    found = [(exhibit, on, exhibit.make(results, on)) for on in sets for exhibit in panels]
    series = labels.in_order({name for *_, source in found for name in source.names})
    index = {name: place for place, name in enumerate(series)}
    chosen = [name for name in series if name[0] in FIRST and not name[1]]
    chosen = chosen if len(chosen) > 1 or len(series) <= 1 else series[:FEW]
    rows = pd.concat([source.rows for *_, source in found if len(source.rows)])
    claims = _claims(results)
    data = {
        "series": [shown(name, chosen=name in chosen) for name in series],
        "metrics": {name: _metric(name) for name in rows["metric"].unique()},
        "names": {
            "tests": {test: labels.set_name(test) for test in rows["test"].unique()},
            "shifts": {shift: labels.shift_name(shift) for shift in rows["shift"].unique()},
        },
        "sets": [{"on": on, "name": labels.set_name(on)} for on in sets],
        "experiments": [[exhibit.name, exhibit.title] for exhibit in panels],
        "panels": [
            _about(exhibit, on, source, states.get(f"{exhibit.name}-{on}", ()), results.mark(exhibit.name, on))
            | {"methods": sorted(index[name] for name in source.names)}
            | ({} if source.missing else numbers(exhibit.name, on, source, index))
            for exhibit, on, source in found
        ],
        "tables": list(_tables(results)),
        "verdicts": list(Verdict),
        "runs": sheet(runs.make(results, states)) | {"notes": runs.remarks(results, states)},
    }
    trained = ", ".join(dict.fromkeys(labels.set_name(on) for _, on, source in found if len(source.rows)))
    counts = [f"{count} {verdict}" for verdict, count in verdict_counts([one for _, one in claims]).items() if count]
    lede = [_lede(trained, rows), *([f"Claims of the paper: {', '.join(counts)}."] if counts else [])]
    added = Extension("slova_bench.report", "comparison.html", SCRIPTS, {"claims": claims}, charts())
    return Page("SLOVA: the comparison", lede, data, FOOTER, added)


def shown(name: Name, *, chosen: bool) -> dict[str, Any]:
    """A method as a series of the page: its colours for the light and the dark theme, and whether the page opens with
    it."""
    look = labels.look(*name)
    shared = {"key": " ".join(name).strip(), "name": look.name, "dash": list(look.dash), "chosen": chosen}
    return {**shared, **light_and_dark(look.colour)}


def sheet(table: Table) -> dict[str, Any]:
    """A table as the page shows it."""
    return {
        "name": table.name,
        "title": table.title,
        "aside": table.aside,
        "notes": list(table.notes),
        "columns": [{"name": head.name} | ({"group": head.group} if head.group else {}) for head in table.columns],
        "rows": [[entry_content(entry.text, entry.value, entry.mark) for entry in row] for row in table.rows],
        "csv": table.csv(),
    }


def _panels(results: ResultsFolder) -> list[Exhibit]:
    """The panels of the registry, and plain ones of other experiments in the folder."""
    found = {exhibit.name: exhibit for exhibit in exhibits(Kind.PANEL)}
    others = dict.fromkeys(name.partition("-")[0] for name in results.names)
    return [*found.values(), *(panel(name, "sets", labels.title(name)) for name in others if name not in found)]


def _sets(results: ResultsFolder) -> list[str]:
    """Training sets; the one with most experiments comes first."""
    names = dict.fromkeys(name.partition("-")[0] for name in results.names)
    found = [on for name in names for on in results.sets(name)]
    return sorted(set(found), key=lambda on: (-found.count(on), on))


def _about(exhibit: Exhibit, on: str, source: Source, states: Sequence[Staleness], mark: str) -> dict[str, Any]:
    """The words of a panel; its notices say which rows are stale, and why reliability and the slider are missing."""
    stale = ", ".join(one.method for one in states if one.state is State.STALE)
    notices = [f"Stale: the code changed since {stale} were run; see the list of runs below."] if stale else []
    if not source.missing and not len(source.histograms) and exhibit.name in CONFIDENT:
        what = "These rows have no confidence histograms, which reliability and the slider need"
        notices.append(f"{what}: run slova bench run {exhibit.name} --on {on} again.")
    return {
        "id": f"{exhibit.name}-{on}",
        "experiment": exhibit.name,
        "on": on,
        "own": f"{on}-test",
        "chart": source.chart,
        "title": exhibit.title,
        "heading": f"{exhibit.title}: {labels.set_name(on)}{mark}",
        "about": exhibit.about,
        "missing": source.missing,
        "notices": notices,
    }


def _tables(results: ResultsFolder) -> Iterator[dict[str, Any]]:
    """Every table, or the command to run for it."""
    for exhibit in exhibits(Kind.TABLE):
        for on in exhibit.sets(results):
            try:
                found = [sheet(table) for table in exhibit.make(results, on)]
            except MissingRowsError as error:
                found = [{"title": exhibit.title, "missing": str(error)}]
            mark = exhibit.mark(results, on)
            yield from (
                {**one, "title": one["title"] + mark, "experiment": exhibit.experiment, "on": on} for one in found
            )


def _claims(results: ResultsFolder) -> list[tuple[str, JudgedClaim]]:
    """Judged claims with their experiments. Claims without rows are listed in the sections that lack the rows."""
    claims = exhibits(Kind.CLAIM)
    experiments = {claim.title: claim.experiment for claim in claims}
    found = (judged for judged in judged_claims(results, claims) if judged.verdict is not Verdict.OPEN)
    return [(experiments[judged.claim], judged) for judged in found]


def _metric(name: str) -> dict[str, Any]:
    return {"name": labels.metric(name).name, "arrow": labels.better(name) if name in labels.METRICS else ""}


def _lede(trained: str, rows: Frame) -> str:
    evaluated = rows[rows["experiment"].isin(CONFIDENT)]
    evaluated = evaluated if len(evaluated) else rows
    sets, methods = (len(evaluated[part].drop_duplicates()) for part in (["train", *SET], NAME))
    seeds = rows["seed"].nunique()
    return (
        f"{methods} methods trained on {trained}, evaluated on {sets:,} test sets with {seeds} "
        f"{'seed' if seeds == 1 else 'seeds'}: {len(rows):,} numbers, all of them on this page."
    )

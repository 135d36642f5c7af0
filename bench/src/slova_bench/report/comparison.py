"""The page of a results folder: every experiment on every training set, with the commands for missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from slova.report.page import Extension, Page
from slova_bench import labels
from slova_bench.claims import CLAIMS, JudgedClaim, Verdict, judged_claims, verdict_counts
from slova_bench.figures.charts import charts
from slova_bench.frame import NAME, SET, Frame
from slova_bench.report.panels import CONFIDENT, KINDS, Source, panel, source
from slova_bench.report.series import Series, listed
from slova_bench.report.sheets import sheet
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.staleness import Staleness, State, check_staleness
from slova_bench.tables import TABLES, TableMaker, runs

__all__ = ["comparison"]

SCRIPTS = ("cells.js", "kinds.js", "metric.js", "sections.js")
FOOTER = "Made by slova bench report from files of results. Nothing on this page is loaded from elsewhere."


def comparison(results: ResultsFolder) -> Page:
    """The page of everything in the folder. Raises MissingRowsError for an empty folder."""
    if not results.names:
        raise MissingRowsError(
            f"there are no results in {results.folder}: run slova bench run shift --on digits, or name another folder"
        )
    sources = _sources(results)
    series, shown = listed(one for found in sources for one in found.series)
    index = {one: place for place, one in enumerate(series)}
    rows, states = pd.concat([found.rows for found in sources if len(found.rows)]), check_staleness(results)
    data = {
        "series": shown,
        "metrics": {name: _metric(name) for name in rows["metric"].unique()},
        "names": {
            "tests": {test: labels.set_name(test) for test in rows["test"].unique()},
            "shifts": {shift: labels.shift_name(shift) for shift in rows["shift"].unique()},
        },
        "sets": [{"on": on, "name": labels.set_name(on)} for on in _sets(results)],
        "experiments": [[name, _title(name)] for name in _experiments(results)],
        "panels": [_panel(found, index, states) | {"heading": _heading(results, found)} for found in sources],
        "tables": list(_tables(results)),
        "verdicts": list(Verdict),
        "runs": sheet(runs.make(results, states)) | {"notes": runs.remarks(results, states)},
    }
    found = _with_rows(results)
    lede = [_lede(sources, rows), _verdicts([judged for _, judged in found])]
    added = Extension("slova_bench.report", "comparison.html", SCRIPTS, {"claims": found}, charts())
    return Page("SLOVA: the comparison", [part for part in lede if part], data, FOOTER, added)


def _sources(results: ResultsFolder) -> list[Source]:
    return [source(results, experiment, on) for on in _sets(results) for experiment in _experiments(results)]


def _experiments(results: ResultsFolder) -> list[str]:
    """The known experiments, and others in the folder."""
    return list(dict.fromkeys((*KINDS, *(name.partition("-")[0] for name in results.names))))


def _sets(results: ResultsFolder) -> list[str]:
    """Training sets; the one with most experiments comes first."""
    names = dict.fromkeys(name.partition("-")[0] for name in results.names)
    found = [on for name in names for on in results.sets(name)]
    return sorted(set(found), key=lambda on: (-found.count(on), on))


def _panel(found: Source, index: Mapping[Series, int], states: Mapping[str, Sequence[Staleness]]) -> dict[str, Any]:
    content = panel(found, index)
    return {
        **content,
        "own": f"{found.on}-test",
        "methods": sorted(index[one] for one in set(found.series)),
        "notices": [*_stale(states.get(content["id"], ())), *_without_histograms(found)],
    }


def _heading(results: ResultsFolder, found: Source) -> str:
    return f"{_title(found.experiment)}: {labels.set_name(found.on)}{results.mark(found.experiment, found.on)}"


def _stale(states: Sequence[Staleness]) -> list[str]:
    names = [one.method for one in states if one.state is State.STALE]
    return [f"Stale: the code changed since {', '.join(names)} were run; see the list of runs below."] if names else []


def _without_histograms(found: Source) -> list[str]:
    """The reason why reliability and the slider are missing."""
    if found.missing or len(found.histograms) or found.experiment not in CONFIDENT:
        return []
    command = f"slova bench run {found.experiment} --on {found.on}"
    return [f"These rows have no confidence histograms, which reliability and the slider need: run {command} again."]


def _tables(results: ResultsFolder) -> Iterable[dict[str, Any]]:
    for maker in TABLES:
        for on in maker.sets(results):
            mark = maker.mark(results, on)
            for content in _sheets(maker, results, on):
                yield content | {"title": content["title"] + mark, "experiment": maker.experiment, "on": on}


def _sheets(maker: TableMaker, results: ResultsFolder, on: str) -> list[dict[str, Any]]:
    """The tables of one kind, or the command to run for them."""
    try:
        return [sheet(table) for table in maker.make(results, on)]
    except MissingRowsError as error:
        return [{"title": maker.title, "missing": str(error)}]


def _with_rows(results: ResultsFolder) -> list[tuple[str, JudgedClaim]]:
    """Judged claims with their experiments. Claims without rows are listed in the sections that lack the rows."""
    experiments = {claim.text: claim.experiment for claim in CLAIMS}
    found = (judged for judged in judged_claims(results) if judged.verdict is not Verdict.OPEN)
    return [(experiments[judged.claim], judged) for judged in found]


def _verdicts(found: Sequence[JudgedClaim]) -> str:
    parts = [f"{count} {verdict}" for verdict, count in verdict_counts(found).items() if count]
    return f"Claims of the paper: {', '.join(parts)}." if parts else ""


def _metric(name: str) -> dict[str, Any]:
    known, arrow = labels.metric(name), labels.better(name) if name in labels.METRICS else ""
    return {"name": known.name, "arrow": arrow, "digits": known.digits}


def _title(experiment: str) -> str:
    return KINDS[experiment].title if experiment in KINDS else labels.title(experiment)


def _lede(sources: Sequence[Source], rows: Frame) -> str:
    evaluated = rows[rows["experiment"].isin(CONFIDENT)]
    evaluated = evaluated if len(evaluated) else rows
    sets, methods = (len(evaluated[part].drop_duplicates()) for part in (["train", *SET], NAME))
    seeds = rows["seed"].nunique()
    trained = ", ".join(dict.fromkeys(labels.set_name(found.on) for found in sources if len(found.rows)))
    return (
        f"{methods} methods trained on {trained}, evaluated on {sets:,} test sets with {seeds} "
        f"{'seed' if seeds == 1 else 'seeds'}: {len(rows):,} numbers, all of them on this page."
    )

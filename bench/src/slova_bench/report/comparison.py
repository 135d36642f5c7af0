"""The page of a folder of results: every experiment there is, on every training set, and how to get those that are
missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slova.report.page import Extension, Page
from slova_bench import labels
from slova_bench.claims import CLAIMS, Finding, Verdict, findings, tally
from slova_bench.report.charts import charts
from slova_bench.report.panels import CONFIDENT, KINDS, Source, panel, source
from slova_bench.report.series import Series, listed
from slova_bench.report.sheets import sheet
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.staleness import Freshness, State, freshness
from slova_bench.tables import TABLES, TableMaker, runs

__all__ = ["comparison"]

SCRIPTS = ("cells.js", "kinds.js", "metric.js", "sections.js")
FOOTER = "Made by slova bench report from files of results. Nothing on this page is loaded from elsewhere."


def comparison(evidence: ResultsFolder) -> Page:
    """Everything in the folder; MissingRowsError where there is nothing."""
    if not evidence.names:
        raise MissingRowsError(
            f"there are no results in {evidence.folder}: run slova bench run shift --on digits, or name another folder"
        )
    sources = _sources(evidence)
    series, shown = listed(one for found in sources for one in found.series)
    index = {one: place for place, one in enumerate(series)}
    rows, fresh = [row for found in sources for row in found.rows], freshness(evidence)
    data = {
        "series": shown,
        "metrics": {name: _metric(name) for name in dict.fromkeys(row.metric for row in rows)},
        "names": {
            "tests": {test: labels.set_name(test) for test in dict.fromkeys(row.test for row in rows)},
            "shifts": {shift: labels.shift_name(shift) for shift in dict.fromkeys(row.shift for row in rows)},
        },
        "sets": [{"on": on, "name": labels.set_name(on)} for on in _sets(evidence)],
        "experiments": [[name, _title(name)] for name in _experiments(evidence)],
        "panels": [_panel(found, index, fresh) | {"heading": _heading(evidence, found)} for found in sources],
        "tables": list(_tables(evidence)),
        "verdicts": list(Verdict),
        "runs": sheet(runs.make(evidence, fresh)) | {"notes": runs.remarks(evidence, fresh)},
    }
    found = _with_rows(evidence)
    lede = [_lede(sources), _tally([finding for _, finding in found])]
    added = Extension("slova_bench.report", "comparison.html", SCRIPTS, {"findings": found}, charts())
    return Page("SLOVA: the comparison", [part for part in lede if part], data, FOOTER, added)


def _sources(evidence: ResultsFolder) -> list[Source]:
    return [source(evidence, experiment, on) for on in _sets(evidence) for experiment in _experiments(evidence)]


def _experiments(evidence: ResultsFolder) -> list[str]:
    """Those that are known, and what else is in the folder."""
    return list(dict.fromkeys((*KINDS, *(name.partition("-")[0] for name in evidence.names))))


def _sets(evidence: ResultsFolder) -> list[str]:
    """Training sets; the one with most experiments comes first."""
    names = dict.fromkeys(name.partition("-")[0] for name in evidence.names)
    found = [on for name in names for on in evidence.sets(name)]
    return sorted(set(found), key=lambda on: (-found.count(on), on))


def _panel(found: Source, index: Mapping[Series, int], fresh: Mapping[str, Sequence[Freshness]]) -> dict[str, Any]:
    content = panel(found, index)
    return {
        **content,
        "own": f"{found.on}-test",
        "methods": sorted(index[one] for one in set(found.series)),
        "notices": [*_stale(fresh.get(content["id"], ())), *_without_histograms(found)],
    }


def _heading(evidence: ResultsFolder, found: Source) -> str:
    return f"{_title(found.experiment)}: {labels.set_name(found.on)}{evidence.mark(found.experiment, found.on)}"


def _stale(fresh: Sequence[Freshness]) -> list[str]:
    names = [one.method for one in fresh if one.state is State.STALE]
    return [f"Stale: the code has changed since {', '.join(names)} were run; see what was run, below."] if names else []


def _without_histograms(found: Source) -> list[str]:
    """Why there is no slider, where there could be one."""
    if found.missing or found.histograms or found.experiment not in CONFIDENT:
        return []
    command = f"slova bench run {found.experiment} --on {found.on}"
    return [f"These rows have no confidence histograms, which reliability and the slider need: run {command} anew."]


def _tables(evidence: ResultsFolder) -> Iterable[dict[str, Any]]:
    for maker in TABLES:
        for on in maker.sets(evidence):
            mark = maker.mark(evidence, on)
            for content in _sheets(maker, evidence, on):
                yield content | {"title": content["title"] + mark, "experiment": maker.experiment, "on": on}


def _sheets(maker: TableMaker, evidence: ResultsFolder, on: str) -> list[dict[str, Any]]:
    """Those of one kind, or what to run for them."""
    try:
        return [sheet(table) for table in maker.make(evidence, on)]
    except MissingRowsError as error:
        return [{"title": maker.title, "missing": str(error)}]


def _with_rows(evidence: ResultsFolder) -> list[tuple[str, Finding]]:
    """Findings with their experiments; claims that wait for rows are left to the sections that lack them."""
    experiments = {claim.text: claim.experiment for claim in CLAIMS}
    found = (finding for finding in findings(evidence) if finding.verdict is not Verdict.OPEN)
    return [(experiments[finding.claim], finding) for finding in found]


def _tally(found: Sequence[Finding]) -> str:
    parts = [f"{count} {verdict}" for verdict, count in tally(found).items() if count]
    return f"What the paper claims: {', '.join(parts)}." if parts else ""


def _metric(name: str) -> dict[str, Any]:
    known, arrow = labels.metric(name), labels.better(name) if name in labels.METRICS else ""
    return {"name": known.name, "arrow": arrow, "digits": known.digits}


def _title(experiment: str) -> str:
    return KINDS[experiment].title if experiment in KINDS else labels.title(experiment)


def _lede(sources: Sequence[Source]) -> str:
    rows = [row for found in sources for row in found.rows]
    asked = [row for found in sources if found.experiment in CONFIDENT for row in found.rows] or rows
    sets = {(row.train, row.test, row.shift, row.level) for row in asked}
    methods = len({(row.method, row.variant) for row in asked})
    seeds = {row.seed for row in rows}
    trained = ", ".join(dict.fromkeys(labels.set_name(found.on) for found in sources if found.rows))
    return (
        f"{methods} methods trained on {trained}, asked about {len(sets):,} test sets with {len(seeds)} "
        f"{'seed' if len(seeds) == 1 else 'seeds'}: {len(rows):,} numbers, all of them here."
    )

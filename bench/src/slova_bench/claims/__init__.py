"""The claims of the paper, judged by the rows of a results folder. Every number and every verdict is computed.

for judged in judged_claims(results): print(judged.sentence)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from slova_bench.claims import beyond, cost, far, ood, shift, standing, steps
from slova_bench.claims.claim import Claim, JudgedClaim, Verdict
from slova_bench.frame import RowList, frame
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import published, sources

__all__ = ["CLAIMS", "JudgedClaim", "Verdict", "judged_claims", "verdict_counts"]

CLAIMS = (
    *(*standing.CLAIMS, *shift.CLAIMS, *cost.CLAIMS, *ood.CLAIMS),
    *(*steps.CLAIMS, *far.CLAIMS, *beyond.CLAIMS),
)
PAPER_ON = "cifar10"  # the training set of claims that the paper states without a number


def judged_claims(results: ResultsFolder, claims: Sequence[Claim] = CLAIMS) -> list[JudgedClaim]:
    """Judge each claim on each training set, those of the paper first. Claims without rows state the command to run."""
    groups: dict[tuple[str, bool], list[Claim]] = {}
    for claim in claims:
        groups.setdefault((claim.experiment, claim.across), []).append(claim)
    return [one for key, own in groups.items() for on in _sets(results, *key) for one in _judged(results, own, on)]


def verdict_counts(claims: Sequence[JudgedClaim]) -> dict[Verdict, int]:
    """Count the claims about SLOVA with each verdict."""
    counted = [claim for claim in claims if claim.counted]
    return {verdict: sum(claim.verdict is verdict for claim in counted) for verdict in Verdict}


def _sets(results: ResultsFolder, experiment: str, across: bool) -> list[str]:
    if across:
        return [""]
    paper = results.paper
    theirs = paper.loc[paper["experiment"] == experiment, "train"].str.removesuffix("-train")
    ours = sources.sets(results, experiment)
    first = [PAPER_ON] if len(paper) else []
    return [on for on in dict.fromkeys((*first, *sorted(theirs), *ours)) if on != "all"]


def _judged(results: ResultsFolder, claims: Sequence[Claim], on: str) -> list[JudgedClaim]:
    experiment, across = claims[0].experiment, claims[0].across
    try:
        rows = _rows(results, experiment, across, on)
    except MissingRowsError:
        missing = (claim for claim in claims if claim.answers)  # only claims of the paper wait for rows
        return [_open(claim, on, f"run slova bench run {experiment} --on {on}") for claim in missing]
    paper = RowList(results.paper)
    mark, seeds = sources.mark(results, experiment, on), _seeds(rows, paper, experiment)
    judged = (_judge(claim, rows, paper, on) for claim in claims)
    return [replace(one, mark=mark, seeds=seeds) for one in judged if one is not None]


def _seeds(rows: RowList, paper: RowList, experiment: str) -> str:
    """The least and the greatest number of seeds of the methods of the paper, over all training sets."""
    own = rows.table
    theirs = published.counterparts(paper, experiment, own["method"].unique())
    found = own[own["method"].isin(theirs)] if theirs else own
    counts = sorted(found.groupby(["train", "method"])["seed"].nunique())
    return "" if not counts else str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _rows(results: ResultsFolder, experiment: str, across: bool, on: str) -> RowList:
    sets = sources.sets(results, experiment) if across else (on,)
    return RowList(pd.concat([sources.rows(results, experiment, one) for one in sets] or [frame(())]))


def _judge(claim: Claim, rows: Sequence[Row], paper: Sequence[Row], on: str) -> JudgedClaim | None:
    try:
        check = claim.check(rows, paper, on)
    except MissingRowsError as error:
        return _open(claim, on, str(error))
    if check is None:
        return None
    return JudgedClaim(claim.text, on, claim.answers, check.paper, check.ours, check.verdict, counted=claim.counted)


def _open(claim: Claim, on: str, why: str) -> JudgedClaim:
    return JudgedClaim(claim.text, on, claim.answers, "", why, Verdict.OPEN, counted=claim.counted)

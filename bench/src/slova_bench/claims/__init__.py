"""The claims of the paper, judged by the rows of a results folder. Every number and every verdict is computed.

for judged in judged_claims(results): print(judged.sentence)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slova_bench.claims import beyond, cost, far, ood, shift, standing, steps
from slova_bench.claims.claim import Claim, JudgedClaim, Verdict
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
    theirs = [row.train.removesuffix("-train") for row in results.paper if row.experiment == experiment]
    ours = sources.sets(results, experiment)
    first = [PAPER_ON] if results.paper else []
    return [on for on in dict.fromkeys((*first, *sorted(theirs), *ours)) if on != "all"]


def _judged(results: ResultsFolder, claims: Sequence[Claim], on: str) -> list[JudgedClaim]:
    experiment, across = claims[0].experiment, claims[0].across
    try:
        rows = _rows(results, experiment, across, on)
    except MissingRowsError:
        missing = (claim for claim in claims if claim.answers)  # only claims of the paper wait for rows
        return [_open(claim, on, f"run slova bench run {experiment} --on {on}") for claim in missing]
    mark, seeds = sources.mark(results, experiment, on), _seeds(rows, results.paper, experiment)
    judged = (_judge(claim, rows, results.paper, on) for claim in claims)
    return [replace(one, mark=mark, seeds=seeds) for one in judged if one is not None]


def _seeds(rows: Sequence[Row], paper: Sequence[Row], experiment: str) -> str:
    """The least and the greatest number of seeds of the methods of the paper, over all training sets."""
    theirs, found = (
        set(published.counterparts(paper, experiment, {row.method for row in rows})),
        dict[object, set[int]](),
    )
    for row in rows:
        if not theirs or row.method in theirs:
            found.setdefault((row.train, row.method), set()).add(row.seed)
    counts = sorted(len(seeds) for seeds in found.values())
    return "" if not counts else str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"


def _rows(results: ResultsFolder, experiment: str, across: bool, on: str) -> list[Row]:
    sets = sources.sets(results, experiment) if across else (on,)
    return [row for one in sets for row in sources.rows(results, experiment, one)]


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

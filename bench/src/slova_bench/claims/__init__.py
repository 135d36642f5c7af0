"""The claims of the paper, judged by the rows of a results folder. Every number and every verdict is computed.

for judged in judged_claims(results): print(judged.sentence)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slova_bench.claims import beyond, far, ood, shift, steps
from slova_bench.claims.claim import Claim, JudgedClaim, Verdict
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import sources

__all__ = ["CLAIMS", "JudgedClaim", "Verdict", "judged_claims", "verdict_counts"]

CLAIMS = (*shift.CLAIMS, *ood.CLAIMS, *steps.CLAIMS, *far.CLAIMS, *beyond.CLAIMS)
PAPER_ON = "cifar10"  # the training set of claims that the paper states without a number


def judged_claims(results: ResultsFolder) -> list[JudgedClaim]:
    """Judge each claim on each training set, those of the paper first. Claims without rows state the command to run."""
    keys = dict.fromkeys((claim.experiment, claim.across) for claim in CLAIMS)
    return [judged for key in keys for on in _sets(results, *key) for judged in _judged(results, *key, on)]


def verdict_counts(claims: Sequence[JudgedClaim]) -> dict[Verdict, int]:
    """Count the claims with each verdict."""
    return {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}


def _sets(results: ResultsFolder, experiment: str, across: bool) -> list[str]:
    if across:
        return [""]
    theirs = [row.train.removesuffix("-train") for row in results.paper if row.experiment == experiment]
    ours = sources.sets(results, experiment)
    first = [PAPER_ON] if results.paper else []
    return [on for on in dict.fromkeys((*first, *sorted(theirs), *ours)) if on != "all"]


def _judged(results: ResultsFolder, experiment: str, across: bool, on: str) -> list[JudgedClaim]:
    claims = [claim for claim in CLAIMS if (claim.experiment, claim.across) == (experiment, across)]
    try:
        rows = _rows(results, experiment, across, on)
    except MissingRowsError:
        missing = (claim for claim in claims if claim.answers)  # only claims of the paper wait for rows
        return [_open(claim, on, f"run slova bench run {experiment} --on {on}") for claim in missing]
    mark = sources.mark(results, experiment, on)
    judged = (_judge(claim, rows, results.paper, on) for claim in claims)
    return [replace(one, mark=mark) for one in judged if one is not None]


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
    return JudgedClaim(claim.text, on, claim.answers, check.paper, check.ours, check.verdict)


def _open(claim: Claim, on: str, why: str) -> JudgedClaim:
    return JudgedClaim(claim.text, on, claim.answers, "", why, Verdict.OPEN)

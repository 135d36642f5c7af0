"""What the rows say to the paper's claims. Every number and every verdict is computed; who wins is written nowhere.

for finding in findings(evidence): print(finding.sentence)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slova_bench.claims import beyond, far, ood, shift, steps
from slova_bench.claims.claim import Claim, Finding, Verdict
from slova_bench.results import Row
from slova_bench.results_folder import MissingRowsError, ResultsFolder
from slova_bench.tables import sources

__all__ = ["CLAIMS", "Finding", "Verdict", "findings", "tally"]

CLAIMS = (*shift.CLAIMS, *ood.CLAIMS, *steps.CLAIMS, *far.CLAIMS, *beyond.CLAIMS)
PAPER_ON = "cifar10"  # of the claims that stand in the paper's text without a number


def findings(evidence: ResultsFolder) -> list[Finding]:
    """A finding for each claim and training set, those of the paper first; claims that wait for rows say what to
    run."""
    keys = dict.fromkeys((claim.experiment, claim.across) for claim in CLAIMS)
    return [finding for key in keys for on in _sets(evidence, *key) for finding in _found(evidence, *key, on)]


def tally(found: Sequence[Finding]) -> dict[Verdict, int]:
    """How many findings have each verdict."""
    return {verdict: sum(finding.verdict is verdict for finding in found) for verdict in Verdict}


def _sets(evidence: ResultsFolder, experiment: str, across: bool) -> list[str]:
    if across:
        return [""]
    theirs = [row.train.removesuffix("-train") for row in evidence.paper if row.experiment == experiment]
    ours = sources.sets(evidence, experiment)
    first = [PAPER_ON] if evidence.paper else []
    return [on for on in dict.fromkeys((*first, *sorted(theirs), *ours)) if on != "all"]


def _found(evidence: ResultsFolder, experiment: str, across: bool, on: str) -> list[Finding]:
    claims = [claim for claim in CLAIMS if (claim.experiment, claim.across) == (experiment, across)]
    try:
        rows = _rows(evidence, experiment, across, on)
    except MissingRowsError:
        wanted = (claim for claim in claims if claim.answers)  # nobody waits for what the paper does not say
        return [_open(claim, on, f"run slova bench run {experiment} --on {on}") for claim in wanted]
    found, mark = (_asked(claim, rows, evidence.paper, on) for claim in claims), sources.mark(evidence, experiment, on)
    return [replace(finding, mark=mark) for finding in found if finding is not None]


def _rows(evidence: ResultsFolder, experiment: str, across: bool, on: str) -> list[Row]:
    sets = sources.sets(evidence, experiment) if across else (on,)
    return [row for one in sets for row in sources.rows(evidence, experiment, one)]


def _asked(claim: Claim, rows: Sequence[Row], paper: Sequence[Row], on: str) -> Finding | None:
    try:
        check = claim.check(rows, paper, on)
    except MissingRowsError as error:
        return _open(claim, on, str(error))
    if check is None:
        return None
    return Finding(claim.text, on, claim.answers, check.paper, check.ours, check.verdict)


def _open(claim: Claim, on: str, why: str) -> Finding:
    return Finding(claim.text, on, claim.answers, "", why, Verdict.OPEN)

"""The claims of the paper, judged by the rows of a results folder. Every number and every verdict is computed.

for judged in judged_claims(results): print(judged.sentence)
"""

from __future__ import annotations

from collections.abc import Sequence

from slova_bench.claims import cost, far, ood, shift, standing, steps
from slova_bench.claims.claim import JudgedClaim, Verdict
from slova_bench.exhibit import EVERYWHERE, Exhibit
from slova_bench.frame import where
from slova_bench.results_folder import ResultsFolder

__all__ = ["CLAIMS", "JudgedClaim", "Verdict", "judged_claims", "verdict_counts"]

CLAIMS = (
    *(*standing.CLAIMS, *shift.CLAIMS, *cost.CLAIMS, *ood.CLAIMS),
    *(*steps.CLAIMS, *far.CLAIMS),
)
PAPER_ON = "cifar10"  # the training set of claims that the paper states without a number


def judged_claims(results: ResultsFolder, claims: Sequence[Exhibit] = CLAIMS) -> list[JudgedClaim]:
    """Judge each claim on each training set, those of the paper first. Claims without rows state the command to run."""
    groups: dict[tuple[str, bool], list[Exhibit]] = {}
    for claim in claims:
        groups.setdefault((claim.experiment, claim.across), []).append(claim)
    pairs = ((claim, on) for own in groups.values() for on in _sets(results, own[0]) for claim in own)
    return [judged for claim, on in pairs if (judged := claim.make(results, on)) is not None]


def verdict_counts(claims: Sequence[JudgedClaim]) -> dict[Verdict, int]:
    """Count the claims about SLOVA with each verdict."""
    counted = [claim for claim in claims if claim.counted]
    return {verdict: sum(claim.verdict is verdict for claim in counted) for verdict in Verdict}


def _sets(results: ResultsFolder, claim: Exhibit) -> list[str]:
    """Those of the paper too: a claim without rows is open."""
    if claim.across:
        return [EVERYWHERE]
    theirs = where(results.paper, experiment=claim.experiment)["train"].str.removesuffix("-train")
    first = [PAPER_ON] if len(results.paper) else []
    return [on for on in dict.fromkeys((*first, *sorted(theirs), *claim.sets(results))) if on != "all"]

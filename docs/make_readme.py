"""Write the results into README.md, from the rows: `make docs`. A test fails when they are stale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from slova_bench.claims import Verdict, judged_claims, verdict_counts
from slova_bench.labels import look
from slova_bench.results_folder import ResultsFolder
from slova_bench.tables import overview

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
BEGIN, END = "<!-- made by `make docs` from bench/results/ -->\n", "<!-- until here -->\n"
METHODS = (
    *("softmax", "temperature", "ensemble", "ova", "slova"),
    *("slova_distance", "slova_mirror", "slova_distance_ensemble", "slova_none"),
)
CONTESTS = (("slova_mirror", "temperature"), ("slova_mirror", "ensemble"), ("slova_distance_ensemble", "ensemble"))


def page() -> str:
    """The README with the present results."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE} must contain the lines {BEGIN.strip()} and {END.strip()}")
    results = ResultsFolder.read(ROOT / "bench" / "results")
    return f"{before}{BEGIN}{table(results)}\n\n{words(results)}\n{END}{after}"


def table(results: ResultsFolder) -> str:
    """The best-known methods of the overview, and ours; marks refer to all methods."""
    (whole,) = overview.make(results, "cifar10")
    wanted = [look(method).name for method in METHODS]
    return replace(whole, rows=tuple(row for row in whole.rows if row[0].text in wanted)).markdown().strip("\n")


def words(results: ResultsFolder) -> str:
    """How many of the nine quartiles of ECE, NLL and Brier score a method wins, and the paper's claims by verdict."""
    found = judged_claims(results)
    lines = ["By the quartiles of ECE, NLL and Brier score over the shifts, means over seeds:\n"]
    for pair in CONTESTS:
        ours, theirs = (look(method).name for method in pair)
        (contest,) = [one for one in found if one.claim.startswith(f"{ours}, against {theirs.lower()}")]
        lines.append(f"- **{ours}**, against {theirs.lower()}: {contest.ours.partition(' quartiles')[0]}.")
    counts = verdict_counts(found)
    verdicts = [f"{counts[verdict]} {verdict}" for verdict in (Verdict.REPRODUCED, Verdict.PARTLY, Verdict.NOT)]
    return "\n".join([*lines, f"\nThe paper's claims: {', '.join(verdicts)}; [each of them](docs/results.md)."])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")

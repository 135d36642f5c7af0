"""`docs/results.md` matches the committed results, and has every figure and table of the paper."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from slova_bench import zoo
from slova_bench.claims import CLAIMS
from slova_bench.exhibits import experiment_for
from slova_bench.labels import PAPER_SHIFTS, look
from slova_bench.paper_parts import DRAWN, paper_parts
from slova_bench.report.cards import write_cards
from slova_bench.report.docs import results_page, seeds, write_docs
from slova_bench.results import Cell, Results, ResultsError, Row
from slova_bench.results_folder import ResultsFolder
from slova_bench.staleness import Staleness, State

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results.md"
ITEMS = [part.name for part in paper_parts() if part.group == DRAWN]
CELL = Cell("shift", "slova", "", "cifar10-train", "cifar10-test", "", 0.0, 0, 100)


def filled(folder: Path, *, reverse: bool = False, kind: str = "") -> ResultsFolder:
    """Rows of three methods under shift."""
    folder.mkdir(exist_ok=True, parents=True)
    generator, rows = np.random.default_rng(0), []
    for method in ("softmax", "slova", "slova_clean"):
        for shift, level in [("", 0), *((s, n) for s in PAPER_SHIFTS for n in range(1, 6))]:
            cell = CELL._replace(method=method, shift=shift, level=float(level))
            metrics = ("accuracy", "ece", "nll", "brier", "mmc")
            rows += [Row.of(cell, metric, generator.uniform()) for metric in metrics]
    Results(folder, f"shift-cifar10{kind}").append(rows[::-1] if reverse else rows)
    return ResultsFolder.read(folder)


@pytest.fixture(scope="module")
def committed() -> ResultsFolder:
    """Its files are read once."""
    return ResultsFolder.read(ROOT / "bench" / "results")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """That of a few rows."""
    return results_page(filled(tmp_path_factory.mktemp("few")), None, {})


def test_the_page_matches_the_committed_results(committed):
    """The verdicts on stale rows are part of the page: a change of code that makes rows stale makes the page so, too.
    They need PyTorch. Figures must exist but are not drawn again."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    now = results_page(committed, ROOT / "docs" / "figures")
    assert PAGE.read_text(encoding="utf-8") == now, "docs/results.md is stale: run slova bench report --docs docs"


@pytest.mark.parametrize("experiment", ["shift", "ood"])
def test_methods_that_are_drawn_together_look_different(experiment, committed):
    methods = committed.rows(experiment, "cifar10")["method"].unique()
    assert len({(look(method).colour, look(method).dash) for method in methods}) == len(methods)


def test_the_numbers_of_the_readme_are_those_of_the_rows(committed):
    spec = importlib.util.spec_from_file_location("make_readme", ROOT / "docs" / "make_readme.py")
    make_readme = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_readme)
    table = make_readme.table(committed)
    assert table.count("\n") == len(make_readme.METHODS) + 1
    page = make_readme.PAGE.read_text()
    assert page == make_readme.page(committed), "README.md is stale: run `make docs`"


def test_every_figure_of_the_page_is_there_and_every_link_leads_somewhere():
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page) if not (PAGE.parent / name).exists()] == []
    headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert len(anchors) == len(headings), "a heading that stands twice has another anchor"
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) <= anchors
    assert [name for name in re.findall(r"\]\((\w[\w.-]*\.md)\)", page) if not (PAGE.parent / name).exists()] == []


def test_every_part_of_the_paper_leads_somewhere():
    """Links of the table to other pages, with their headings; those within the page have a test of their own."""
    section = PAGE.read_text(encoding="utf-8").partition("## The paper, part by part")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith(("| In", "| ---"))]
    assert len(lines) > 40
    assert [line for line in lines if not re.search(r"\]\([\w#]", line)] == []
    for name, anchor in re.findall(r"\]\(([\w/-]+\.md)#?([^)]*)\)", section):
        page = (PAGE.parent / name).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
        assert anchor in {"", *(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings)}, anchor


def test_seeds_of_the_parts_are_counted_in_rows(tmp_path):
    results = filled(tmp_path / "bench" / "results")
    assert seeds(results, ("shift", "shift/slova", "ood/slova")) == ("shift: CIFAR-10 1; SLOVA, shift: CIFAR-10 1")
    assert seeds(results, ("shift", "ood/slova")) == "CIFAR-10 1", "one experiment has no need of its name"
    Results(results.folder, "shift-cifar10").append([Row.of(CELL._replace(seed=seed), "ece", 0.1) for seed in (7, 8)])
    assert seeds(ResultsFolder.read(results.folder), ("shift", "shift/slova")) == (
        "shift: CIFAR-10 1 to 3; SLOVA, shift: CIFAR-10 3"
    )
    rows = tmp_path / "benchmarks" / "results" / "theorem.csv"
    rows.parent.mkdir(parents=True)
    rows.write_text("seed,slova\n0,1\n0,2\n4,1\n")
    assert seeds(results, ("theorem.csv", "missing.csv")) == "2"
    Results(results.folder, "appendix-cifar10").append([Row.of(CELL._replace(train="", test=""), "calibrated", 0.1)])
    assert seeds(ResultsFolder.read(results.folder), ("appendix",)) == "–", "a curve without a network has no seeds"


def test_the_part_of_the_claims_names_every_place_that_a_claim_is_from():
    (part,) = (part for part in paper_parts() if part.what == "claims")
    assert part.name == "Abstract, Sec. 1, 3 to 5, App. B, C"
    answers = " ".join(claim.answers for claim in CLAIMS)
    sections = {
        number[0] for text in re.findall(r"Sec\. ([\d., ]+)", answers) for number in re.findall(r"[\d.]+", text)
    }
    assert sections == {"1", "3", "4", "5"}
    assert {*re.findall(r"Abstract|App\. \w", answers)} == {"Abstract", "App. B", "App. C"}


def test_everything_in_the_paper_has_a_counterpart_or_a_command(page):
    for shown in (PAGE.read_text(encoding="utf-8"), page):
        for item in ITEMS:
            (line,) = [line for line in shown.splitlines() if line.startswith(f"| {item} |")]
            assert re.search(r"\]\(#|\]\(method\.md\)|`slova bench (run \w+ --on \w+|report --docs docs)`", line), line


@pytest.mark.parametrize("item", [item for item in ITEMS if item not in ("Fig. 1", "Fig. 3")])
def test_every_figure_and_table_of_the_paper_comes_from_an_experiment(item):
    assert experiment_for(item)


def test_the_first_figure_needs_no_experiment_and_is_not_taken_for_the_tenth():
    assert (experiment_for("Fig. 1"), experiment_for("Fig. 10")) == ("", "stability")


def test_what_was_not_run_is_named_with_its_command(page):
    assert (
        "| Table 1 | error and MMC out of distribution (Sec. 4.2) | not run yet: `slova bench run ood --on cifar10` |"
        in page
    )
    assert "- `slova bench run shift --on cifar10 --methods ensemble`: " in page


def test_a_folder_without_results_states_the_command_to_run(tmp_path):
    page = results_page(ResultsFolder.read(tmp_path), None)
    assert "`slova bench run shift --on digits`" in page


def test_the_same_rows_give_the_same_bytes_and_no_folder_is_named(page, tmp_path):
    assert results_page(filled(tmp_path / "other", reverse=True), None, {}) == page
    assert str(tmp_path.parent) not in page
    assert not re.search(r"/(home|tmp|work|root)/", PAGE.read_text(encoding="utf-8"))


def test_results_of_a_quick_run_are_marked(page, tmp_path):
    quick = results_page(filled(tmp_path, kind="-quick"), None, {})
    assert "(quick)" not in page
    assert "### CIFAR-10: quartiles over shifts (quick)" in quick
    assert "(#cifar-10-ranks-under-shift-quick)" in quick
    assert "### CIFAR-10: effect of each step (quick)" in quick, "its rows are those of shift"
    heads = re.findall(r"^### CIFAR-10: .*$", quick, flags=re.MULTILINE)
    assert all(head.endswith(" (quick)") for head in heads)
    claims = [line for line in quick.splitlines() if "; CIFAR-10" in line and "reproduced |" in line]
    assert claims
    assert all("; CIFAR-10 (quick); " in line for line in claims)


def test_stale_rows_are_called_stale_and_why(tmp_path):
    states = {
        "shift-cifar10": [Staleness("slova", State.STALE, ("noise: was 0.1, is 0.2",)), Staleness("ova", State.CURRENT)]
    }
    page = results_page(filled(tmp_path), None, states)
    assert "up to date: ova; stale: slova |" in page
    assert "- shift-cifar10, slova: stale (noise: was 0.1, is 0.2)." in page


def test_a_malformed_file_is_refused_with_line_and_column(tmp_path):
    filled(tmp_path)
    Results(tmp_path, "shift-cifar10").close()
    results, path = ResultsFolder.read(tmp_path), tmp_path / "shift-cifar10.csv"
    lines = path.read_text().splitlines()
    lines[6] = ",".join([*lines[6].split(",")[:-1], "lots"])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ResultsError, match=r"shift-cifar10\.csv, line 7, column nll: 'lots'"):
        results_page(results, None, {})


def test_the_page_and_its_figures_are_written_together(tmp_path):
    results = filled(tmp_path / "results")
    docs = tmp_path / "docs"
    docs.mkdir()
    paths = write_docs(results, docs)
    page = (docs / "results.md").read_text(encoding="utf-8")
    linked = {docs / name for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)}
    assert set(paths) == {docs / "results.md", *linked}
    assert docs / "figures" / "shift-cifar10.svg" in linked
    assert "](#cifar-10-accuracy-and-calibration-under-shift)" in page


def test_the_cards_of_the_networks_match_the_committed_results(committed, tmp_path):
    written = write_cards(committed, tmp_path)
    assert {path.name for path in written} == {path.name for path in (ROOT / "bench" / "models" / "cards").iterdir()}
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert text == (ROOT / "bench" / "models" / "cards" / path.name).read_text(encoding="utf-8"), "run make docs"
        assert zoo.path_of(path.stem).name in text, "the file that the card names is the one that is loaded"

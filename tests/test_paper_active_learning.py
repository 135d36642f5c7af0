"""The section on active learning of docs/measurements/paper.md: it appears with its rows, and its verdict is theirs."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("paper_active_learning", DOCS / "paper_active_learning.py")
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
KINDS = [("softmax", "random"), ("softmax", "confidence"), ("ova", "random"), ("ova", "confidence"), ("ova", "P(none)")]


@pytest.fixture
def section(tmp_path):
    """A function from gains in accuracy, by network and choice, to the section. The noise has a mean of zero."""

    def text(gains: dict[tuple[str, str], float], seeds: int = 5) -> str:
        noise = np.random.default_rng(0).normal(0, 0.001, (len(KINDS), seeds))
        noise -= noise.mean(axis=1, keepdims=True)
        rows = [
            {"seed": seed, "network": network, "chosen_by": chosen, "labels": labels}
            | {"accuracy": 0.6 + 0.1 * seed + (gains.get((network, chosen), 0) + noise[i, seed]) * (labels > 2000)}
            for i, (network, chosen) in enumerate(KINDS)
            for seed in range(seeds)
            for labels in (2000, 4000, 6000)
        ]
        pd.DataFrame(rows).to_csv(path := tmp_path / "rows.csv", index=False)
        return made.section(path)

    return text


def test_there_is_no_section_without_rows(tmp_path):
    assert made.section(tmp_path / "none.csv") == ""


def test_gains_are_paired_by_seed(section):
    text = section({("softmax", "confidence"): 0.02, ("ova", "confidence"): 0.05, ("ova", "P(none)"): -0.03})
    assert "CIFAR-10 from 2,000 random images and 2 times from 2,000 more" in text
    assert "5 seeds" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| one-vs-all | confidence |")]
    assert line.split(" | ")[2] == "0.800 ± 0.071"  # seeds differ by far more than the gain
    assert float(line.split(" | ")[-1].split(" ± ")[0]) == pytest.approx(0.05, abs=0.002)
    assert float(line.split(" ± ")[-1].rstrip(" |")) < 0.002
    assert "better than random images: softmax, confidence; one-vs-all, confidence (" in text
    assert "against softmax that chose by its confidence more accurate (+0.03" in text
    assert "With random images one-vs-all, against softmax, is not distinguished (" in text


@pytest.mark.parametrize(("gain", "words"), [(0.0, "not distinguished"), (-0.05, "less accurate")])
def test_the_verdict_is_computed(section, gain, words):
    text = section({("softmax", "confidence"): 0.0, ("ova", "confidence"): gain})
    assert f"chose by its confidence {words} (" in text
    assert "better than random images: no choice (" in text


def test_one_seed_distinguishes_nothing(section):
    assert "confidence not distinguished (" in section({("ova", "confidence"): 0.05}, seeds=1)

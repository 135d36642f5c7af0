"""How far a batch travels: through `Classifier.predict` it crosses at most ten files and one check of its inputs."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import slova

SOURCE = Path(slova.__file__).parent


def calls_of(function) -> Counter[tuple[str, str]]:
    """How often each function of the library ran, by file and name."""
    seen: Counter[tuple[str, str]] = Counter()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(SOURCE):
            seen[str(path.relative_to(SOURCE)), frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return seen


def checks(seen: Counter[tuple[str, str]]) -> list[str]:
    return [name for _, name in seen.elements() if name.startswith("check_")]


@pytest.fixture(scope="module")
def classifier():
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(600) % 3
    inputs = 2 * torch.eye(3, 4)[labels] + 0.8 * torch.randn(600, 4, generator=generator)
    network = nn.Linear(4, 3)
    with torch.no_grad():
        network.weight.copy_(3 * torch.eye(3, 4))
        network.bias.fill_(-3.0)
    fitted = slova.Classifier.fit(network, (inputs, labels), names=["a", "b", "c"], head="softmax")
    fitted.reject = 0.4
    return fitted


@pytest.mark.parametrize(("kind", "most"), [(torch.as_tensor, 6), (np.asarray, 7)], ids=["tensor", "array"])
def test_a_batch_crosses_at_most_six_files_and_one_check(classifier, kind, most):
    """An array crosses one more, in which it becomes a tensor."""
    inputs = kind(np.ones((5, 4), np.float32))
    seen = calls_of(lambda: classifier.predict(inputs, batch_size=2))
    files = {path for path, _ in seen}
    assert len(files) <= most, sorted(files)
    assert checks(seen) == ["check_source"]


def test_logits_are_checked_once_by_a_scorer(classifier):
    seen = calls_of(lambda: classifier.scorer.predict(np.ones((5, 3))))
    assert sorted(set(checks(seen))) == ["check_kind", "check_logits", "check_share"]

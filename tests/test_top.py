import numpy as np
import pytest
import torch

from slova import Scorer, log_none, log_slova, top_slova
from slova import top as pieces


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("shape", [(7,), (5, 1), (40, 10), (3, 4, 6), (0, 3)])
def test_the_top_class_is_what_the_whole_read_out_says(kind, shape):
    logits = kind(np.random.default_rng(0).normal(0, 5, shape).astype(np.float32))
    label, log_confidence, none = top_slova(logits)
    log_probs = np.asarray(log_slova(logits))
    assert np.array_equal(label, log_probs.argmax(-1))
    assert np.allclose(log_confidence, log_probs.max(-1), rtol=1e-6)
    assert np.allclose(none, log_none(logits), rtol=1e-6)
    assert type(log_confidence) is type(logits) or not shape[:-1]


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_pieces_change_nothing(kind, monkeypatch):
    logits = kind(np.random.default_rng(1).normal(0, 5, (50, 3, 4)))
    labels = np.random.default_rng(2).integers(0, 4, 50)
    scorer = Scorer.fit(logits[:, 0], labels)
    whole, answers = top_slova(logits), scorer.predict(logits)
    monkeypatch.setattr(pieces, "PIECE", 13)
    for left, right in zip((*whole, *answers), (*top_slova(logits), *scorer.predict(logits)), strict=True):
        assert left.shape == right.shape == (50, 3)
        assert np.array_equal(left, right)


def test_the_top_class_is_exact_at_extreme_logits():
    top = top_slova(np.array([[1e4, -1e4], [1e4, 9e3], [-1e4, -1e4]], np.float32))
    assert top.log_confidence.tolist() == [0.0, -9000.0, -10000.0]
    assert top.log_none.tolist() == [-10000.0, -19000.0, 0.0]


def test_gradients_pass_through_the_top_class():
    logits = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f: top_slova(f)[1:], logits)

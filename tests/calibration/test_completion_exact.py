"""The completed row is exact to rounding, compared with 40 decimal digits, on rows that are hard for an iteration."""

from decimal import Decimal, localcontext
from functools import cache
from itertools import pairwise

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import helper

from slova.calibration import complete
from slova.export.onnx_operators import OPSET, record
from slova.export.onnx_tracing import Graph, Node
from slova.export.scorer_graph import IR_VERSION, _Onnx

INF = float("inf")


@cache
def reference(top, values, counts):
    """log of the shares of the rest for these log-probabilities, which occur so often; how many ulp of the odds a share
    moves by when these move by one; and the log of the odds. By halving log tau, in 40 digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 40, -(10**17), 10**17
        second = max(values)
        behind = [Decimal(max(value - second, -1e15)) if value > -INF else Decimal("-1e15") for value in values]
        behind = [Decimal(0)] * len(values) if second == -INF else behind
        gap = Decimal("1e15") if second == -INF else Decimal(top) - Decimal(second)
        rest = -expm1(Decimal(top))
        odds = (rest / Decimal(top).exp()).ln()
        low, high = Decimal(-90), Decimal(90)
        for _ in range(130):
            tau = ((low + high) / 2).exp()
            above = sum(n * (tau * b).exp() for n, b in zip(counts, behind, strict=True)).ln() - tau * gap > odds
            low, high = ((low + high) / 2, high) if above else (low, (low + high) / 2)
        weights = [(tau * b).exp() for b in behind]
        total = sum(n * w for n, w in zip(counts, weights, strict=True))
        steep = [tau * (gap - b) for b in behind]
        mean = sum(n * w * s for n, w, s in zip(counts, weights, steep, strict=True)) / total
        shares = [float(tau * b - total.ln() + rest.ln()) for b in behind]
        return shares, [float(1 + (s / mean if mean else 1)) for s in steep], float(odds)


def expm1(x: Decimal) -> Decimal:
    return x + x * x / 2 + x**3 / 6 if abs(x) < Decimal("1e-9") else x.exp() - 1


@cache
def onnx_session(dtype, classes):
    """`complete` as an ONNX graph."""
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    info = helper.make_tensor_value_info("rows", kind, ("batch", classes))
    imports = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(helper.make_graph([], "g", [info], [info]), opset_imports=imports, ir_version=IR_VERSION)
    graph = Graph(_Onnx)
    with record(graph):
        found = complete(Node(graph, "rows", kind, ("batch", classes)))
    graph.write(model.graph, {"log_probs": found.log_probs})
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


WAYS = {
    "numpy": lambda rows: complete(rows).log_probs,
    "torch": lambda rows: complete(torch.as_tensor(rows)).log_probs.numpy(),
    "onnx": lambda rows: onnx_session(rows.dtype, rows.shape[1]).run(None, {"rows": rows})[0],
}
# The log-probability of the top, those of the others, and how many classes have each of these.
ROWS = {
    "two classes": (-0.3, [-2.0], [1]),
    "a small rest": (-1e-9, [-20.0, -21.0, -40.0], [1, 2, 16]),
    "a rest of 1e-40": (-1e-40, [-1.0, -1.1, -1e3], [1, 1, 17]),
    "ties with each other": (-1.0, [-2.0, -3.0], [9, 10]),
    "one tie with the top": (-1.5, [-1.5, -2.0, -9.0], [1, 14, 4]),
    "ties that exceed one": (-0.3, [-0.3, -0.9], [2, 17]),
    "nearly ties": (-1.2, [-1.2 - 1e-6, -1.2 - 1e-3, -30.0], [2, 2, 15]),
    "of probability 0": (-0.9, [-2.0, -INF], [1, 18]),
    "all others of probability 0": (-0.5, [-INF], [19]),
    "probability 0 gets a share": (-0.92, [-11.5, -INF], [1, 18]),
    "every scale": (-1.6, [-1.6 - 1e-6, -1.61, -2.6, -1e2, -1e5, -1e9, -1e14], [1, 1, 1, 2, 3, 4, 7]),
    "just above equal": (-np.log(20) + 1e-6, [-4.0, -9.0, -1e4], [4, 5, 10]),
    "a far group that must share": (-2.4, [-2.5, -1e12], [9, 991]),
    "two groups and a rest between": (-np.log(1.5), [-0.41, -1e6], [1, 999]),
    "on a plateau": (-np.log(3.0) - 1e-7, [-1.1, -1.2, -1e13], [1, 1, 998]),
    "a near tie and a very far group": (-np.log1p(np.exp(3.4495e-6)), [-0.693152, -8.79832e13], [1, 998]),
    "a near tie and far groups": (-np.log1p(1 + 3.654e-9), [-0.6931471826, -9.4e12, -2.5e13], [1, 900, 98]),
    "far groups on a plateau": (-np.log1p(1.15129507), [-0.7694, -1646.4, -2505.5], [1, 714, 284]),
    "many classes": (-6.0, [-6.5, -9.0, -12.0, -80.0], [40, 3_000, 50_000, 10_000]),
    "a million classes": (-10.0, [-10.5, -14.0, -40.0], [5, 600_000, 399_994]),
    "a million sure": (-1e-3, [-8.0, -16.0], [2, 999_997]),
}


def row_of(name, dtype):
    top, values, counts = ROWS[name]
    return np.repeat(np.array([top, *values]), [1, *counts]).astype(dtype)


def assert_exact(found, row, counts, rounding=1.0):
    """Probabilities to a few ulp of 1, and their logs to a few ulp of what a few ulp of the input change."""
    ulp, firsts = rounding * np.finfo(row.dtype).eps, np.cumsum([1, *counts[:-1]])
    shares, moves, odds = reference(float(row[0]), tuple(float(row[first]) for first in firsts), tuple(counts))
    shares = np.minimum(shares, float(row[0]))  # where ties exceed one, the odds of the top cannot be kept
    size, ours = np.log(len(row)) + 1, found[firsts].astype(float)
    off, allowed = np.abs(ours - shares), np.maximum(np.abs(shares), 1) + np.multiply(moves, size + abs(odds))
    assert found[0] == row[0]
    assert np.abs(np.exp(ours) - np.exp(shares)).max() <= 4 * ulp * size
    assert np.all((off <= 4 * ulp * allowed) | (np.maximum(ours, shares) < np.log(np.finfo(row.dtype).tiny)))
    for first, second in pairwise(firsts):
        assert np.all(found[first:second] == found[first])


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ROWS)
def test_a_hard_row_is_exact_to_rounding(name, way, dtype):
    row = row_of(name, dtype)
    one_by_one = way == "onnx" and dtype == np.float64  # so ONNX Runtime adds, and float64 is as far as it goes
    assert_exact(WAYS[way](row[None])[0], row, ROWS[name][2], len(row) if one_by_one else 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_rows_of_all_scales_are_exact_to_rounding(dtype):
    """The odds are often close to the number of the classes that are nearer than some gap, where the sum is flat."""
    generator = np.random.default_rng(0)
    for _ in range(60):
        scale = generator.choice([1, 5, 14])
        counts = np.floor(10 ** generator.uniform(0, 3, 4)).astype(int)
        odds = np.cumsum(counts)[generator.integers(4)] * (1 - 10.0 ** generator.uniform(-7, 0))
        top = -np.log1p(odds if generator.random() < 0.7 else 10.0 ** generator.uniform(-12, 0))
        values = top - 10.0 ** generator.uniform(-scale / 2, scale, 4)
        row = np.repeat([top, *np.sort(values)[::-1]], [1, *counts]).astype(dtype)
        assert_exact(complete(row).log_probs, row, counts.tolist())


def test_rows_are_completed_each_by_itself():
    rows = np.array([[-0.3, -2.0, -3.0], [0.0, -INF, -5.0], [-INF, -INF, -INF], [-0.9, -0.9, -INF], [-2.0, -2.5, -9.0]])
    for way in WAYS.values():
        alone = np.concatenate([way(row[None]) for row in rows])
        np.testing.assert_allclose(way(rows), alone, rtol=1e-15)


def test_gradients_are_finite_and_take_tau_for_a_constant():
    rows = torch.tensor([[-0.3, -2.0, -3.0], [-0.9, -0.95, -1e3]], dtype=torch.float64, requires_grad=True)
    shares = complete(rows).log_probs
    slopes = torch.autograd.grad(shares[:, 1].sum(), rows)[0]
    tau = (shares[:, 1] - shares[:, 2]) / (rows[:, 1] - rows[:, 2])
    expected = tau * (1 - (shares[:, 1].exp() / shares[:, 1:].exp().sum(1)))
    assert torch.allclose(slopes[:, 1], expected)
    assert torch.isfinite(slopes).all()

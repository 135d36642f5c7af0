"""Files may hold probabilities in place of logits, under names that say so."""

import numpy as np
import pytest
from click.testing import CliRunner

from slova.cli import main
from slova.io import Table, TableError, read_text_columns

LABELS = np.arange(400) % 3
LOGITS = np.random.default_rng(0).normal(-2, 1, (400, 3)) + 5 * np.eye(3)[LABELS]
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
OVA = 1 / (1 + np.exp(-LOGITS))


def numbered(name, values=PROBS):
    return {f"{name}_{k}": column for k, column in enumerate(values.T)}


def listed(name, values=PROBS):
    return {name: values.tolist()}


LAYOUTS = {
    "probs.npz": {"probs": PROBS},
    "probabilities.npz": {"probabilities": PROBS},
    "prob.csv": numbered("prob"),
    "p.csv": numbered("p"),
    "prob.parquet": numbered("prob"),
    "p.parquet": numbered("p"),
    "probs.parquet": listed("probs"),
    "probabilities.parquet": listed("probabilities"),
}


def save(path, columns, labels=LABELS):
    if path.suffix == ".npz":
        np.savez(path, **columns, labels=labels)
    elif path.suffix == ".csv":
        table = np.column_stack([*columns.values(), labels])
        np.savetxt(path, table, "%.17g", ",", header=",".join([*columns, "label"]), comments="")
    else:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({**columns, "label": labels}), path)
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def error(*words):
    result = run(*words)
    assert result.exit_code == 2
    return result.stderr.splitlines()[-1].removeprefix("slova: error: ")


@pytest.mark.parametrize("name", LAYOUTS)
def test_probabilities_are_read_under_names_of_their_own(tmp_path, name):
    table = Table(save(tmp_path / name, LAYOUTS[name]), size=150)
    values, labels = table.arrays()
    np.testing.assert_array_equal(values, PROBS)
    np.testing.assert_array_equal(labels, LABELS)
    assert [block.probs for block in table.blocks()] == [next(iter(LAYOUTS[name]))] * 3


ENGINE = ["--engine", "local", "--workers", "1"]


@pytest.mark.parametrize(
    ("name", "how"),
    [(name, how) for name in LAYOUTS for how in ([], ["--stream"], ENGINE) if how != ENGINE or "parquet" in name],
)
def test_a_fit_takes_them_for_probabilities(tmp_path, name, how):
    path = save(tmp_path / name, LAYOUTS[name])
    fitted = run("fit", path, "-o", tmp_path / "model.slova", *how)
    assert (fitted.exit_code, fitted.stderr) == (0, "")
    assert "probabilities head" in fitted.stdout
    assert "probabilities that sum to one" in fitted.stdout
    assert run("metrics", path, "--model", tmp_path / "model.slova").exit_code == 0
    assert run("score", path, "--model", tmp_path / "model.slova").stdout.count("\n") == 401


@pytest.mark.parametrize(
    ("name", "columns", "expected"),
    [
        ("a.npz", {"probs": PROBS, "logits": LOGITS}, LOGITS),
        ("a.csv", numbered("prob") | numbered("logit", LOGITS), LOGITS),
        ("a.parquet", listed("probs") | listed("logits", LOGITS), LOGITS),
        ("a.parquet", listed("probs") | numbered("logit", LOGITS), LOGITS),
        ("a.parquet", {"probs": LABELS} | numbered("prob"), PROBS),
    ],
)
def test_logits_are_read_where_a_file_has_both(tmp_path, name, columns, expected):
    np.testing.assert_array_equal(Table(save(tmp_path / name, columns)).arrays()[0], expected)


@pytest.mark.parametrize(
    ("name", "columns", "twice"),
    [
        ("a.npz", {"probs": PROBS, "probabilities": PROBS}, "in 'probs' and in 'probabilities'"),
        ("a.csv", numbered("p") | {"prob_7": PROBS[:, 0]}, "in 'prob_7' and in 'p_0'"),
        ("a.parquet", numbered("p") | listed("probs"), "in 'probs' and in 'p_0'"),
    ],
)
def test_probabilities_under_two_names_are_an_error(tmp_path, name, columns, twice):
    with pytest.raises(TableError, match=f"{name} has probabilities twice, {twice}; expected one of them"):
        Table(save(tmp_path / name, columns)).arrays()


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.parquet"])
@pytest.mark.parametrize("value", [-0.1, 1.5, 40.0, np.inf])
def test_probabilities_outside_of_0_and_1_are_an_error(tmp_path, name, value):
    values = np.where(np.arange(1200).reshape(400, 3) == 922, value, PROBS)
    path = save(tmp_path / name, {"probs": values} if name == "a.npz" else numbered("prob", values))
    found = "probs" if name == "a.npz" else "prob_0"
    expected = f"has {value:g} in row 307 (counted from 0) of the probabilities '{found}'; expected values from 0 to 1"
    for how in ([], ["--stream"]):
        assert error("fit", path, "-o", tmp_path / "m.slova", *how) == f"{path} {expected}"


def test_rounding_may_leave_0_and_1_by_little(tmp_path):
    values = PROBS.copy()
    values[0] = 1.0001, -0.0001, 0.0
    table = Table(save(tmp_path / "a.npz", {"probs": values}))
    assert table.arrays()[0][0].tolist() == [1.0, 0.0, 0.0]
    assert "probabilities head" in run("fit", table.path, "-o", tmp_path / "m.slova").stdout


def test_a_model_of_logits_does_not_take_one_vs_all_probabilities(tmp_path):
    """Their values could be logits, their name says that they are none."""
    logits, probs = save(tmp_path / "a.npz", {"logits": LOGITS}), save(tmp_path / "b.npz", {"probs": OVA})
    model = tmp_path / "model.slova"
    assert "slova head" in run("fit", logits, "-o", model).stdout
    expected = "the model was fitted to logits, got probabilities, by the name 'probs': give logits"
    for command in ("score", "metrics", "report"):
        assert error(command, probs, "--model", model) == expected
    assert error("metrics", logits, "--model", model, "--ood", probs) == expected
    for option in ("--ood", "--before"):
        assert error("report", logits, "--model", model, option, probs, "-o", tmp_path / "page.html") == expected
    for how in ([], ["--stream"]):
        wrong = error("fit", probs, "-o", tmp_path / "m.slova", "--head", "slova", *how)
        assert wrong == "the head slova takes logits, got probabilities, by the name 'probs': give logits"
    assert "ova_probabilities head" in run("fit", probs, "-o", model).stdout
    assert error("score", logits, "--model", model).startswith("the model was fitted to probabilities, got values from")


def test_groups_are_not_columns_of_probabilities(tmp_path):
    (tmp_path / "a.csv").write_text("prob_0,p_1,logit_2,label,place,prob_one\n1,2,3,0,north,x\n")
    assert read_text_columns(tmp_path / "a.csv") == {"place": ["north"], "prob_one": ["x"]}

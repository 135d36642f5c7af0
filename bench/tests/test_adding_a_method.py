"""The page on adding a method is true: one short file, and its rows are beside the others'."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.method import Method
from slova_bench.methods import find, methods
from slova_bench.pipeline import Bench
from slova_bench.results import Results

from slova.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-method.md").read_text()
SNIPPET = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1]
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("slova bench ")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smooth.py").write_text(SNIPPET)
    return tmp_path


def slova_cli(*words: str):
    return CliRunner().invoke(main, list(words))


def own(changes: str) -> str:
    """The lines of a softmax method with these changes."""
    modules = {"dataclasses": "replace", "slova_bench.methods": "softmax", "slova_bench.train": "Recipe"}
    imports = [f"from {module} import {name}" for module, name in modules.items()]
    return "\n".join([*imports, f"METHOD = replace(softmax.METHOD, {changes})", ""])


def test_the_file_has_at_most_25_lines():
    assert len(SNIPPET.splitlines()) <= 25


def test_the_method_is_listed_and_run_and_its_rows_are_beside_the_others(folder):
    listed, _, named, reported = (shlex.split(command)[1:] for command in COMMANDS)
    assert "smooth" in slova_cli(*listed).stdout
    assert "smooth" not in slova_cli("bench", "list").stdout
    done = slova_cli(*named)
    assert done.exit_code == 0, done.stderr
    rows = Results(folder / "results", "ood-digits-quick").read()
    counts = {name: sum(row.method == name for row in rows) for name in ("softmax", "slova", "smooth")}
    assert set(counts) == {row.method for row in rows}
    assert len(set(counts.values())) == 1
    assert "smooth" in done.stdout
    values = {name: [row.value for row in rows if row.method == name] for name in counts}
    assert values["smooth"] != values["softmax"]
    assert slova_cli(*reported).exit_code == 0
    assert "smooth" in (folder / "tables" / "results.md").read_text()


def test_without_a_choice_it_runs_beside_all_methods_of_the_experiment(folder):
    done = slova_cli("bench", "run", "directions", "--quick", "--plugin", "smooth.py")
    assert done.exit_code == 0, done.stderr
    found = {row.method for row in Results(folder / "results", "directions-digits-quick").read()}
    assert found == {"softmax", "ova", "slova_raw", "slova", "smooth"}


def test_a_changed_file_is_trained_again_and_its_parent_is_not(folder):
    bench = Bench(DATASET_RECIPES["digits"])
    (one,) = find(["smooth"], (folder / "smooth.py",))
    (folder / "other.py").write_text(SNIPPET.replace("0.1", "0.2"))
    (folder / "same.py").write_text(SNIPPET)
    (other,) = find(["smooth"], (folder / "other.py",))
    assert bench.weights(one, 0) != bench.weights(other, 0)
    assert one.network is other.network is methods()["temperature"].network


def test_a_new_calibrator_of_a_known_network_trains_nothing(folder):
    (folder / "hot.py").write_text(
        "from dataclasses import replace\nfrom slova_bench.methods import softmax\n"
        "METHOD = replace(softmax.METHOD, name='hot', samples=2)\n"
    )
    (hot,) = find(["hot"], (folder / "hot.py",))
    bench = Bench(DATASET_RECIPES["digits"])
    assert bench.weights(hot, 3) == bench.weights(methods()["softmax"], 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1", "mine.py must define a METHOD"),
        ("METHOD = 3 +", "mine.py cannot be imported: SyntaxError"),
        ("import nothing_of_that_name", "mine.py cannot be imported: ModuleNotFoundError"),
        ("from slova_bench.methods.softmax import METHOD", "mine.py: method softmax exists already"),
        (None, "mine.py: No such file or directory"),
        (own("name='mine', family='mean'"), "mine.py: mine is of no known family, 'mean'; there are softmax, ova, svi"),
        (own("name='a,b'"), "mine.py: the name of a method must have no spaces and no commas, got 'a,b'"),
        (own("name='a b'"), "no spaces and no commas, got 'a b'"),
        (own("name=''"), "no spaces and no commas, got ''"),
    ],
)
def test_a_file_that_is_no_method_is_refused_in_a_sentence(tmp_path, content, message):
    if content is not None:
        (tmp_path / "mine.py").write_text(content)
    for words in (["list"], ["run", "ood", "--results", f"{tmp_path}/results", "--store", f"{tmp_path}/store"]):
        done = slova_cli("bench", *words, "--plugin", str(tmp_path / "mine.py"))
        assert done.exit_code == 2
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "__pycache__"}


def test_a_method_with_a_recipe_of_its_own_needs_no_known_family(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(own("name='mine', family='mine', recipe=Recipe()"))
    assert methods((path,))["mine"].family == "mine"


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("(network, images, labels, rows): raise RuntimeError('too hot')", "RuntimeError: too hot"),
        ("(network, images, labels): pass", "TypeError: loss() takes 3 positional arguments but 4 were given"),
        ("(network, images, labels, rows): pass", "AttributeError: 'NoneType' object has no attribute 'backward'"),
    ],
    ids=["raises", "takes less", "gives nothing"],
)
@pytest.mark.parametrize("experiment", ["ood", "plane"])
def test_an_error_in_a_loss_is_a_sentence_with_the_name_of_the_method(folder, experiment, loss, message):
    (folder / "mine.py").write_text(f"def loss{loss}\n" + own("name='mine', loss=loss"))
    done = slova_cli("bench", "run", experiment, "--quick", "--plugin", "mine.py", "--methods", "mine")
    assert done.exit_code == 2
    assert done.stderr == f"slova: error: mine cannot be trained: {message}\n"


def test_a_plug_in_of_which_an_experiment_measures_nothing_is_named(folder):
    done = slova_cli("bench", "run", "appendix", "--plugin", "smooth.py")
    assert "appendix measures nothing of smooth" in done.stderr


def test_the_page_names_every_family():
    (line,) = [line for line in PAGE.splitlines() if line.startswith("| `family`")]
    assert set(DATASET_RECIPES["digits"].recipes) <= set(re.findall(r"\w+", line))


def test_the_page_names_every_field_of_a_method():
    named = set(re.findall(r"`(\w+)`", PAGE[PAGE.index("## What can differ") : PAGE.index("## Good to know")]))
    assert set(Method.__dataclass_fields__) - {"name", "preset"} <= named

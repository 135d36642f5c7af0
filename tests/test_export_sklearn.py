"""`SlovaClassifier.export`: members and calibrator in one graph, or an error with the reason."""

import numpy as np
import onnxruntime
import pytest
import torch
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from slova.export import OUTPUTS, ExportError, Metadata
from slova.sklearn import SlovaClassifier
from slova.sklearn.models import Constant

pytestmark = pytest.mark.filterwarnings("ignore::slova.calibration.SmallValidationWarning")

TABLE, PLACES = load_iris(return_X_y=True)
TABLE = TABLE.astype(np.float32).astype(np.float64)  # models compute in the type of X
SPECIES = np.array(["setosa", "versicolor", "virginica"])[PLACES]
TWO = PLACES > 0


def fitted(estimator, rows=slice(None), names=SPECIES, **options) -> SlovaClassifier:
    model = SlovaClassifier(estimator, cv=3, reject=0.6, none_label="unknown", **options)
    return model.fit(TABLE[rows], names[rows])


def session_of(path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def run(session) -> dict[str, np.ndarray]:
    return dict(zip(OUTPUTS, session.run(None, {"X": TABLE.astype(np.float32)}), strict=True))


def assert_like_predict(found: dict[str, np.ndarray], model: SlovaClassifier) -> None:
    names = np.append(model.classes_, model.none_label)
    assert (names[found["label"]] == model.predict(TABLE)).all()
    np.testing.assert_allclose(found["confidence"], model.confidence(TABLE), rtol=0, atol=1e-5)
    np.testing.assert_allclose(found["none"], model.none_proba(TABLE), rtol=0, atol=1e-5)


LOGISTIC = LogisticRegression(max_iter=500)
MODELS = {
    "linear, log-odds": lambda: fitted(LOGISTIC),
    "linear, any scale": lambda: fitted(LinearSVC()),
    "linear, one per class": lambda: fitted(LOGISTIC, multiclass="ovr"),
    "forest, one per class": lambda: fitted(RandomForestClassifier(5, max_depth=3, random_state=0), multiclass="ovr"),
    "boosting": lambda: fitted(GradientBoostingClassifier(n_estimators=5)),
    "forest, of 0 and 1": lambda: fitted(RandomForestClassifier(5, max_depth=3, random_state=0)),
    "pipeline": lambda: fitted(make_pipeline(StandardScaler(), LOGISTIC)),
    "kernel": lambda: fitted(SVC()),
    "prefit": lambda: fitted(FrozenEstimator(GaussianNB().fit(TABLE, SPECIES))),
    "prefit, linear": lambda: fitted(FrozenEstimator(LOGISTIC.fit(TABLE, SPECIES))),
    "prefit, linear, one column": lambda: fitted(
        FrozenEstimator(LogisticRegression().fit(TABLE[TWO], SPECIES[TWO])), TWO
    ),
    "prefit, one column": lambda: fitted(FrozenEstimator(SVC().fit(TABLE[TWO], SPECIES[TWO])), TWO),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_answers_like_the_model(name, tmp_path):
    model = MODELS[name]()
    parity = model.export(tmp_path / "model.onnx", TABLE)
    assert parity.rows == 150
    session = session_of(tmp_path / "model.onnx")
    assert_like_predict(run(session), model)
    found = Metadata.of(session.get_modelmeta().custom_metadata_map)
    assert (found.names, found.reject) == (tuple(model.classes_), 0.6)


@pytest.mark.parametrize("estimator", [LOGISTIC, GaussianNB()], ids=["linear", "converted"])
def test_the_constant_member_of_a_class_without_rows_is_exported_too(estimator, tmp_path):
    model = fitted(estimator, multiclass="ovr")
    model.models_.models[2] = Constant(-2.0)
    model.export(tmp_path / "model.onnx", TABLE)
    assert_like_predict(run(session_of(tmp_path / "model.onnx")), model)


def test_linear_members_become_a_torch_program_and_others_cannot(tmp_path):
    model = fitted(LOGISTIC)
    model.export(tmp_path / "model.pt2")
    found = torch.export.load(tmp_path / "model.pt2").module()(torch.as_tensor(TABLE, dtype=torch.float32))
    assert_like_predict({name: value.numpy() for name, value in zip(OUTPUTS, found, strict=True)}, model)
    with pytest.raises(ExportError, match="only linear members can be a torch program"):
        fitted(GaussianNB()).export(tmp_path / "other.pt2", TABLE)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=3), {"multiclass": "ovr"}),
        (FrozenEstimator(SVC(probability=True)), {"response_method": "decision_function"}),
    ],
    ids=["isotonic calibration", "scores of an SVC with probabilities"],
)
def test_a_conversion_that_is_silently_wrong_is_found_out(estimator, options, tmp_path):
    if isinstance(estimator, FrozenEstimator):
        estimator.estimator.fit(TABLE, SPECIES)
    with pytest.raises(ExportError, match="disagrees with the original"):
        fitted(estimator, **options).export(tmp_path / "model.onnx", TABLE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_svc_with_probabilities_is_exported_as_a_member(tmp_path):
    parity = fitted(SVC(probability=True, random_state=0)).export(tmp_path / "model.onnx", TABLE)
    assert parity.rows == 150
    assert (tmp_path / "model.onnx").exists()


class Odd(GaussianNB):
    """A model of the user's own, which skl2onnx does not know."""


def test_members_that_cannot_be_converted_are_errors(tmp_path):
    with pytest.raises(ExportError, match="skl2onnx cannot convert Odd"):
        fitted(Odd()).export(tmp_path / "model.onnx", TABLE)
    with pytest.raises(ExportError, match="skl2onnx cannot convert HistGradientBoostingClassifier"):
        fitted(HistGradientBoostingClassifier(max_iter=2)).export(tmp_path / "model.onnx", TABLE)
    with pytest.raises(ExportError, match="takes a numeric table"):
        fitted(LOGISTIC).export(tmp_path / "model.onnx", [["a"] * 4])
    assert list(tmp_path.iterdir()) == []

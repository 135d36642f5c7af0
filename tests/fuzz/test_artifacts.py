"""Files with a right checksum and wrong content are refused with ArtifactError, or hold a scorer that works."""

import warnings

import numpy as np
import pytest

from slova._scorer_file import load_saved
from slova.artifact import ArtifactError
from slova.calibration import CALIBRATORS
from slova.scorer import Scorer

CLASSES = 3
GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.integers(-1, CLASSES, 1500)
LOGITS = (GENERATOR.normal(-2, 1.5, (1500, CLASSES)) + 4 * (np.arange(CLASSES) == LABELS[:, None])).astype(np.float32)
KINDS = {
    **{name: {"calibration": name} for name in ("posterior", "exponential", "beta", "isotonic", "histogram")},
    "temperature": {"calibration": "temperature", "rescale": True, "head": "softmax"},
    "distances": {"distances": GENERATOR.random((1500, 2))},
}


@pytest.fixture(scope="module", params=KINDS)
def saved(request, tmp_path_factory):
    options = KINDS[request.param]
    path = tmp_path_factory.mktemp("files") / f"{request.param}.slova"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of calibrations that are not good here
        Scorer.fit(LOGITS, LABELS, **options).save(path)
    return path


def opens_or_is_refused(path, *, distances: bool) -> bool:
    """Whether it was refused. A scorer that was loaded gives distributions, describes itself, and can be saved."""
    message = ""
    try:
        scorer = load_saved(path).scorer
    except ArtifactError as error:
        message = str(error)
    if message:
        assert message.startswith(str(path))
        assert len(message) < 1000
        return True
    rows = np.concatenate([LOGITS[:20, : scorer.classes], 30 * LOGITS[:20, : scorer.classes]])
    if rows.shape[1] == (scorer.head.columns or scorer.classes) and "probabilities" not in scorer.head.name:
        more = {"distances": np.ones((len(rows), 2))} if distances and scorer.calibrator is not None else {}
        with np.errstate(all="ignore"):
            probs = scorer.predict_proba(rows, **more)
        np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-3)
    assert str(scorer.summary)
    scorer.save(path.with_suffix(".again"))
    if scorer.validation is not None:
        assert scorer.threshold(coverage=0.5) >= 0
    return False


def test_wrong_content_with_a_right_checksum_is_refused_or_harmless(saved, cases, mutate):
    target, refused, count = saved.with_name("mutated.slova"), 0, 0
    for chance in cases(0.03):
        try:
            mutate.artifact(saved, target, "scorer", chance)
        except ValueError:  # what JSON cannot hold
            continue
        count += 1
        refused += opens_or_is_refused(target, distances="distances" in saved.name)
    assert refused > count / 4


def test_a_wrong_table_of_arrays_is_refused_or_harmless(saved, cases, mutate):
    target, refused = saved.with_name("mutated.slova"), []
    for chance in cases(0.012):
        target.write_bytes(mutate.header(saved.read_bytes(), chance))
        refused.append(opens_or_is_refused(target, distances="distances" in saved.name))
    assert sum(refused) > len(refused) / 2


def test_changed_bytes_are_refused(saved, cases, mutate):
    target, content = saved.with_name("mutated.slova"), saved.read_bytes()
    for chance in cases(0.012):
        changed = mutate.bytes(content, chance)
        target.write_bytes(changed)
        assert opens_or_is_refused(target, distances=False) or changed == content


def test_every_calibrator_is_mutated():
    assert set(CALIBRATORS) - set(KINDS) == {"affine"}  # affine is that of `rescale`

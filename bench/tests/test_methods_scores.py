"""Scores of what looks like training data, against their definitions."""

from functools import cache

import numpy as np
import pytest
from slova_bench.method import Outputs
from slova_bench.methods import knn, mahalanobis, methods, vim


@cache
def clusters(seed=0, features=8, classes=3):
    """Training clusters around the first axes with a little in all directions, more of the same, and an OOD cluster
    on the last axis."""
    generator = np.random.default_rng(seed)
    weight = np.eye(classes, features) * 3

    def around(centres):
        found = (centres + generator.normal(size=centres.shape) * np.linspace(0.3, 0.1, features)).astype(np.float32)
        return Outputs((found @ weight.T.astype(np.float32))[None], found)

    labels = generator.integers(0, classes, 300)
    more = generator.integers(0, classes, 100)
    axes = 3 * np.eye(classes, features)
    return around(axes[labels]), labels, around(axes[more]), around(np.tile(3 * np.eye(features)[-1], (100, 1)))


def unit(features):
    return features / np.linalg.norm(features, axis=1, keepdims=True)


def naive_knn(training, labels, outputs):
    bank = unit(training.features)
    distances = [np.sort(np.linalg.norm(bank - row, axis=1))[49] for row in unit(outputs.features)]
    return 1 - np.square(distances) / 2  # for unit vectors, falling in the distance


def naive_mahalanobis(training, labels, outputs):
    groups = [training.features[labels == label].astype(np.float64) for label in range(3)]
    covariance = sum((group - group.mean(0)).T @ (group - group.mean(0)) for group in groups) / len(labels)
    inverse = np.linalg.inv(covariance)
    away = [[row - group.mean(0) for group in groups] for row in outputs.features]
    return np.array([-min(d @ inverse @ d for d in row) for row in away])


def naive_vim(training, labels, outputs):
    """The classifier of these clusters has no bias, so all logits are zero at zero."""
    _, _, directions = np.linalg.svd(training.features.astype(np.float64))  # from the largest variance to the least
    outside = directions[4:]

    def residual(features):
        return np.linalg.norm(features @ outside.T, axis=1)

    scale = training.logits[0].max(1).mean() / residual(training.features).mean()
    return np.log(np.exp(outputs.logits[0].astype(np.float64)).sum(1)) - scale * residual(outputs.features)


NAIVE = {
    "knn": naive_knn,
    "mahalanobis": naive_mahalanobis,
    "vim": naive_vim,
    "energy": lambda training, labels, outputs: np.log(np.exp(outputs.logits[0].astype(np.float64)).sum(1)),
    "max_logit": lambda training, labels, outputs: np.array([max(row) for row in outputs.logits[0]]),
}
scores = pytest.mark.parametrize("name", NAIVE)


def test_every_detector_is_checked_against_its_definition():
    assert set(NAIVE) == {name for name, method in methods().items() if method.detect is not None}


@scores
def test_a_score_is_its_definition_written_naively(name):
    training, labels, near, far = clusters()
    score = methods()[name].detect(training, labels)
    for outputs in (near, far):
        np.testing.assert_allclose(score(outputs), NAIVE[name](training, labels, outputs), rtol=2e-4, atol=2e-5)


@scores
def test_a_score_separates_an_ood_cluster_from_the_training_data(name):
    training, labels, near, far = clusters()
    score = methods()[name].detect(training, labels)
    assert score(near).min() > score(far).max()


def test_neighbours_are_found_in_parts_as_in_one(monkeypatch):
    training, labels, near, _ = clusters()
    whole = knn.detect(training, labels)(near)
    monkeypatch.setattr(knn, "ROWS", 7)
    np.testing.assert_allclose(knn.detect(training, labels)(near), whole, rtol=1e-6)


def test_a_bank_smaller_than_fifty_gives_its_furthest():
    training, labels, near, _ = clusters()
    few = Outputs(training.logits[:, :10], training.features[:10])
    wanted = (unit(near.features) @ unit(few.features).T).min(1)
    np.testing.assert_allclose(knn.detect(few, labels[:10])(near), wanted, rtol=1e-5)


def test_the_origin_of_vim_is_where_all_logits_are_zero():
    generator = np.random.default_rng(0)
    weight, bias = generator.normal(size=(3, 8)), generator.normal(size=3)
    features = generator.normal(size=(200, 8))
    found = vim.origin(Outputs((features @ weight.T + bias)[None], features))
    np.testing.assert_allclose(weight @ found + bias, 0, atol=1e-9)


def test_dead_features_do_not_hurt_the_mahalanobis_distance():
    training, labels, near, _ = clusters()

    def padded(outputs):
        return Outputs(outputs.logits, np.pad(outputs.features, ((0, 0), (0, 2))))

    found = mahalanobis.detect(padded(training), labels)(padded(near))
    np.testing.assert_allclose(found, mahalanobis.detect(training, labels)(near), rtol=1e-6)


def test_the_energy_is_finite_where_its_definition_overflows():
    large = Outputs(np.full((1, 2, 3), 5000.0), np.zeros((2, 1)))
    score = methods()["energy"].detect(large, np.zeros(2))
    np.testing.assert_allclose(score(large), 5000 + np.log(3))


@pytest.mark.parametrize("name", [name for name, method in methods().items() if method.detect is not None])
def test_a_detector_gives_every_image_one_finite_number(name):
    training, labels, near, far = clusters()
    score = methods()[name].detect(training, labels)
    for outputs in (training, near, far):
        assert score(outputs).shape == (len(outputs.features),)
        assert np.isfinite(score(outputs)).all()

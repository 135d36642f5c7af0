"""Test sets: their labels, shifted images computed once, and directions that start at the test images."""

import numpy as np
import pytest
import torch
from slova_bench import data, shifts, test_sets
from slova_bench.dataset_recipes import DATASET_RECIPES
from slova_bench.labels import PAPER_SHIFTS
from slova_bench.pipeline import Bench
from slova_bench.store import Store
from slova_bench.test_sets import DIRECTION, TestSet, clean, ood_sets, prepare, shifted_sets

from slova.heads import NONE


@pytest.fixture
def bench(tmp_path):
    return Bench(DATASET_RECIPES["digits"], Store(tmp_path / "store"), limit=40)


def cifar(tmp_path, **files) -> Bench:
    """A comparison on CIFAR-10 in which only these files are there."""
    for name, count in files.items():
        images = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        np.savez(tmp_path / f"{name}-test.npz", images=images)
    return Bench(DATASET_RECIPES["cifar10"], folder=tmp_path)


def test_the_clean_set_has_its_labels(bench):
    (test,) = clean(bench)
    images, labels = test.load(bench)
    split = data.load("digits-test", limit=40)
    assert torch.equal(images, split.images)
    assert torch.equal(labels, split.labels)


def test_ood_images_are_labelled_none(bench):
    first, *others = ood_sets(bench)
    assert first == clean(bench)[0]
    assert len(others) >= 3
    for test in others:
        images, labels = test.load(bench)
        assert images.shape == (40, 1, 8, 8), test
        assert labels.tolist() == [NONE] * 40, test


def test_another_data_set_is_ood_although_it_has_labels():
    bench = Bench(DATASET_RECIPES["cifar10"], limit=30)
    labels = TestSet("digits-test").load(bench)[1]
    assert labels.tolist() == [NONE] * 30


def test_every_shift_comes_at_every_severity_and_keeps_the_labels(bench):
    tests = shifted_sets(bench)
    assert len(tests) == len(set(tests)) == 1 + 5 * len(shifts.DIGITS.names)
    plain, labels = tests[0].load(bench)
    for test in tests[5::5]:
        images, same = test.load(bench)
        assert torch.equal(same, labels)
        assert images.dtype == torch.uint8
        assert images.shape == plain.shape
        assert not torch.equal(images, plain)


def test_the_paper_has_sixteen_of_the_shifts_of_cifar():
    assert len(set(PAPER_SHIFTS)) == 16
    assert set(PAPER_SHIFTS) < set(shifts.CIFAR.names)


def test_shifted_images_are_computed_once(bench, monkeypatch):
    images, corrupt = data.load("digits-test", limit=40).images, shifts.corrupt
    expected = corrupt(images, "contrast", 3, family=shifts.DIGITS)
    test, made = TestSet("digits-test", "contrast", 3), []
    monkeypatch.setattr(shifts, "corrupt", lambda *what, **how: made.append(what) or corrupt(*what, **how))
    first, second = test.load(bench)[0], test.load(bench)[0]
    assert len(made) == 1
    assert torch.equal(first, second)
    assert torch.equal(first, expected)
    TestSet("digits-test", "contrast", 4).load(bench)
    assert len(test.load(Bench(bench.dataset, bench.store, limit=30))[0]) == 30
    assert len(made) == 3


@pytest.mark.slow
def test_images_computed_in_advance_on_several_processes_are_those_computed_on_demand(bench, monkeypatch):
    names = set(prepare(bench, 2))
    assert names == {test for test in shifted_sets(bench) if test.shift}
    monkeypatch.setattr(shifts, "corrupt", lambda *_, **how: pytest.fail("made again"))
    kept = [test.load(bench)[0] for test in shifted_sets(bench)[1::7]]
    monkeypatch.undo()
    fresh = [test.load(Bench(bench.dataset, limit=40))[0] for test in shifted_sets(bench)[1::7]]
    assert all(torch.equal(one, other) for one, other in zip(kept, fresh, strict=True))


def test_images_in_advance_need_a_store():
    with pytest.raises(ValueError, match="a store is needed"):
        next(prepare(Bench(DATASET_RECIPES["digits"]), 1))


def test_a_direction_starts_at_the_image_and_its_length_is_the_level(bench):
    plain = clean(bench)[0].load(bench)[0].float() / 255
    start, labels = TestSet("digits-test", DIRECTION, 0.0).load(bench)
    torch.testing.assert_close(start, plain)
    assert torch.equal(labels, clean(bench)[0].load(bench)[1])
    near, far = (TestSet("digits-test", DIRECTION, level).load(bench)[0] - plain for level in (1.0, 100.0))
    torch.testing.assert_close(far / 100, near, atol=1e-4, rtol=1e-3)
    assert near.abs().amax(dim=(1, 2, 3)).min() > 0


def test_a_direction_is_followed_from_so_many_images_at_most(bench, monkeypatch):
    monkeypatch.setattr(test_sets, "DIRECTIONS", 7)
    images, labels = TestSet("digits-test", DIRECTION, 3.0).load(bench)
    assert len(images) == len(labels) == 7


def test_sets_that_only_a_user_can_provide_are_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "ood_for", lambda name: ("lsun-test", "imagenet32-test"))
    bench = cifar(tmp_path, lsun=3)
    with pytest.warns(UserWarning, match=r"left out: imagenet32-test has no download: put imagenet32-test\.npz"):
        tests = [test.test for test in ood_sets(bench)]
    assert "lsun-test" in tests
    assert "imagenet32-test" not in tests
    assert [test.test for test in ood_sets(bench)] == tests  # with one warning


def test_a_damaged_ood_set_stops_everything(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "ood_for", lambda name: ("lsun-test",))
    bench = cifar(tmp_path, lsun=3)
    (tmp_path / "lsun-test.npz").write_bytes(b"PK")
    with pytest.raises(data.DataError, match=r"lsun-test\.npz is not an npz file"):
        ood_sets(bench)

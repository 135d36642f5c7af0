"""Weather and digital corruptions: closed forms, colours by the standard library, frost from a folder."""

import colorsys
import hashlib

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from slova_bench.data import download
from slova_bench.data.download import DataError
from slova_bench.shifts import CIFAR, corrupt, digital, frost, spatter, weather
from slova_bench.shifts.per_image_rng import PerImageRng

IMAGES = np.random.default_rng(0).integers(0, 256, (8, 3, 32, 32), dtype=np.uint8)
GREY = np.repeat(np.random.default_rng(1).integers(0, 256, (8, 1, 32, 32), dtype=np.uint8), 3, axis=1)


def draws(count=8):
    return PerImageRng((0, 0, 0), range(count))


def through_hsv(image, change):
    pixels = [colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*pixel))) for pixel in image.reshape(3, -1).T / 255]
    return np.array(pixels).T.reshape(image.shape)


@pytest.mark.parametrize("images", [IMAGES, GREY])
def test_brightness_and_saturation_are_those_of_hsv(images):
    brighter = through_hsv(images[0], lambda h, s, v: (h, s, min(v + 0.2, 1)))
    richer = through_hsv(images[0], lambda h, s, v: (h, min(s * 2 + 0.1, 1), v))
    np.testing.assert_allclose(digital.brightness(images, draws(), 0.2)[0], brighter, atol=1e-12)
    np.testing.assert_allclose(digital.saturate(images, draws(), (2, 0.1))[0], richer, atol=1e-12)


def test_contrast_keeps_the_means_and_scales_the_deviations():
    changed = digital.contrast(IMAGES, draws(), 0.3) * 255
    np.testing.assert_allclose(changed.mean(axis=(2, 3)), IMAGES.mean(axis=(2, 3)))
    np.testing.assert_allclose(changed.std(axis=(2, 3)), 0.3 * IMAGES.std(axis=(2, 3)))


def test_pixelate_keeps_an_even_image_and_blocks_another():
    even = np.full((1, 3, 32, 32), 9, dtype=np.uint8)
    np.testing.assert_array_equal(digital.pixelate(even, draws(1), 0.5), even)
    blocks = digital.pixelate(IMAGES, draws(), 0.5)
    np.testing.assert_array_equal(blocks[:, :, ::2, ::2], blocks[:, :, 1::2, 1::2])


def test_an_elastic_transform_without_reach_is_nothing():
    np.testing.assert_allclose(digital.elastic_transform(IMAGES, draws(), (0, 0, 0)) * 255, IMAGES, atol=1e-9)


def test_the_affine_map_takes_corners_where_they_were_moved():
    moves = np.tile([2.0, 1.0], (1, 3, 1))  # all corners two columns to the right and one row down
    moved = digital.sampled(IMAGES[:1], *digital._affine(moves, np.mgrid[:32, :32].astype(float)), "mirror")
    np.testing.assert_allclose(moved[:, :, 1:, 2:], IMAGES[:1, :, :-1, :-2], atol=1e-9)


def test_plasma_fills_the_range_and_gets_smoother_with_decay():
    rough, smooth = (weather._plasma(draws(50), 32, decay) for decay in (1.75, 3))
    assert rough.min(axis=(1, 2)).tolist() == [0] * 50
    assert rough.max(axis=(1, 2)).tolist() == [1] * 50
    assert np.abs(np.diff(smooth)).mean() < 0.7 * np.abs(np.diff(rough)).mean()


def test_fog_over_black_is_black_and_never_exceeds_the_brightest_value():
    assert weather.fog(np.zeros_like(IMAGES), draws(), (1, 2)).max() == 0
    dim = IMAGES // 2
    assert (weather.fog(dim, draws(), (1.5, 1.75)).max(axis=(1, 2, 3)) <= dim.max(axis=(1, 2, 3)) / 255 + 1e-12).all()


def test_fog_over_white_takes_away_a_share_set_by_its_thickness():
    foggy = weather.fog(np.full_like(IMAGES, 255), draws(), (1.5, 1.75))
    np.testing.assert_allclose(foggy.max(axis=(1, 2, 3)), 1)
    np.testing.assert_allclose(foggy.min(axis=(1, 2, 3)), 1 / (1 + 1.5))


def test_snow_on_black_is_a_pattern_that_half_a_turn_leaves_as_it_is():
    fall = CIFAR.shifts["snow"].strengths[2]._replace(kept=1.0)
    flakes = weather.snow(np.zeros_like(IMAGES), draws(), fall)
    np.testing.assert_array_equal(flakes, flakes[:, :, ::-1, ::-1])
    assert flakes.max() > 0.2


def test_water_brightens_and_mud_is_brown():
    strengths = CIFAR.shifts["spatter"].strengths
    assert (spatter.spatter(IMAGES, draws(), strengths[1]) >= IMAGES / 255).all()
    muddy = spatter.spatter(np.full_like(IMAGES, 255), draws(), strengths[4])
    assert muddy.min(axis=(0, 2, 3)) == pytest.approx(np.array([63, 42, 20]) / 255, abs=0.1)


def test_distances_are_shortest_walks_close_to_the_straight_line():
    marked = np.zeros((1, 32, 32), dtype=bool)
    marked[0, 4, 9] = marked[0, 20, 25] = True
    walked = spatter.edge_distance(marked)
    assert walked[0, 4, 12] == 3
    assert walked[0, 6, 11] == pytest.approx(2.8)
    assert walked[0, 6, 10] == pytest.approx(2.1969)
    np.testing.assert_allclose(walked[0], ndimage.distance_transform_edt(~marked[0]), rtol=0.02)


def test_edges_are_thin_and_where_the_step_is():
    step = np.zeros((1, 32, 32), dtype=np.uint8)
    step[:, :, 16:] = 200
    rows, columns = np.nonzero(spatter.edges(step)[0])
    assert set(rows) == set(range(32))
    assert set(columns) == {15}


def test_an_equalised_histogram_is_flat_and_an_even_layer_stays():
    heights = np.arange(16, dtype=np.uint8).repeat(64).reshape(1, 32, 32)
    np.testing.assert_array_equal(np.unique(spatter.equalised(heights)), np.arange(0, 256, 17))
    even = np.full((1, 32, 32), 7, dtype=np.uint8)
    np.testing.assert_array_equal(spatter.equalised(even), even)


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A data folder with other pictures of frost."""
    (tmp_path / "frost").mkdir()
    for level, name in enumerate(frost.FROST):
        Image.new("RGB", (200, 180), (40 * level, 0, 100)).save(tmp_path / "frost" / name, quality=100)
    monkeypatch.setenv("SLOVA_DATA", str(tmp_path))
    return tmp_path / "frost"


def test_frost_mixes_the_image_with_a_cut_of_one_of_five_pictures(pictures, monkeypatch):
    known = {name: hashlib.sha256((pictures / name).read_bytes()).hexdigest() for name in frost.FROST}
    monkeypatch.setattr(frost, "FROST", known)
    black = np.zeros((60, 3, 32, 32), dtype=np.uint8)
    frozen = corrupt(black, "frost", 2)
    assert {int(red) for red in np.rint(frozen[:, 0].mean(axis=(1, 2)) / 0.3 / 40)} == {0, 1, 2, 3, 4}
    np.testing.assert_allclose(frozen[:, 2], 0.3 * 100, atol=1.5)


def test_frost_pictures_shrink_to_every_fifth_pixel(tmp_path):
    large = np.random.default_rng(0).integers(0, 256, (175, 240, 3), dtype=np.uint8)
    Image.fromarray(large).save(tmp_path / "frost1.png")
    np.testing.assert_array_equal(frost._small(tmp_path / "frost1.png"), large[2::5, 2::5].transpose(2, 0, 1))


def test_other_pictures_in_the_place_of_the_original_ones_are_refused(pictures):
    with pytest.raises(DataError, match=r"frost1\.png does not match its checksum: remove it"):
        corrupt(IMAGES, "frost", 1)


def test_missing_pictures_are_downloaded_by_checksum(tmp_path, monkeypatch):
    created = {}

    class Files:
        @staticmethod
        def create(**wanted):
            created.update(wanted)
            return Files

        @staticmethod
        def fetch(name, downloader):
            raise OSError("no network")

    monkeypatch.setenv("SLOVA_DATA", str(tmp_path))
    monkeypatch.setattr(download, "pooch", Files)
    with pytest.raises(OSError, match=r"cannot be downloaded \(no network\): try again, or put frost1.png"):
        corrupt(IMAGES, "frost", 1)
    assert created["registry"] == {"frost1.png": "sha256:" + frost.FROST["frost1.png"]}
    assert created["path"] == tmp_path / "frost"

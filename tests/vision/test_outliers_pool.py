"""Real outliers, drawn from a pool of images that is validated first."""

import numpy as np
import pytest
import torch

from slova.heads import NONE
from slova.vision import outliers


@pytest.mark.parametrize("bytes_", [True, False])
def test_real_outliers_are_sampled_from_the_whole_pool(bytes_):
    torch.manual_seed(0)
    pool = torch.arange(50, dtype=torch.uint8).view(50, 1, 1, 1).expand(-1, 3, 8, 8)
    given = pool if bytes_ else pool / 255
    truth = torch.zeros(200, dtype=torch.long)
    batch, labels = outliers.add_outliers(torch.rand(200, 3, 8, 8), truth, kinds=[outliers.sample_from(given)])
    drawn = batch[200:] * 255
    assert (labels[200:] == NONE).all()
    assert torch.equal(drawn, drawn[:, :1, :1, :1].expand_as(drawn))
    assert len(set(drawn[:, 0, 0, 0].round().tolist())) > 30
    assert drawn.min() >= 0
    assert drawn.max() <= 49.001


def test_a_pool_may_be_a_numpy_array():
    pool = np.full((5, 3, 8, 8), 51, np.uint8)
    pool.flags.writeable = False
    for given in (pool, pool[::-1], pool / 255):
        drawn = outliers.sample_from(given)(torch.rand(4, 3, 8, 8))
        torch.testing.assert_close(drawn.float(), torch.full((4, 3, 8, 8), 0.2))


@pytest.mark.parametrize(
    ("pool", "error", "message"),
    [
        (torch.full((5, 3, 8, 8), 255.0), ValueError, r"in \[0, 1\], got values from 255 to 255: .* divided by 255"),
        (np.full((5, 3, 8, 8), np.nan), ValueError, "must not be NaN, got NaN in 5 of 5 images"),
        (torch.zeros(5, 3, 8, 8, dtype=torch.long), ValueError, "must be floats .* got torch.int64"),
        (torch.zeros(0, 3, 8, 8), ValueError, r"at least one image, as \(M, C, H, W\), got \(0, 3, 8, 8\)"),
        (torch.zeros(3, 8, 8), ValueError, r"at least one image, as \(M, C, H, W\), got \(3, 8, 8\)"),
        ([torch.zeros(3, 8, 8)], TypeError, "a tensor or a numpy array, got list"),
    ],
)
def test_a_pool_is_validated_before_sampling(pool, error, message):
    with pytest.raises(error, match=message):
        outliers.sample_from(pool)

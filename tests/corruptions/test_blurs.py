"""A blur averages: what is flat stays flat, and a mean is neither brighter nor darker than the image."""

from typing import Any

import numpy as np
import pytest
import skimage.data
from PIL import Image

from robustlib.corruptions import Corruption, corrupt, list_corruptions
from robustlib.data.images import Pixels

PHOTOGRAPHS: Any = skimage.data  # carries no types
BLURS = [corruption for corruption in list_corruptions("imagenet_c") if corruption.category == "blur"]
SIZES = [(1, 1), (1, 90), (90, 1), (2, 3), (40, 64), (65, 31)]
COLOURS = [(0, 0, 0), (255, 255, 255), (1, 128, 254), (100, 100, 100)]
EACH = pytest.mark.parametrize("corruption", BLURS, ids=lambda corruption: corruption.name)


def photograph() -> Pixels:
    picture = Image.fromarray(PHOTOGRAPHS.astronaut())
    return np.array(picture.resize((128, 128), Image.Resampling.BOX))


def test_there_are_five_blurs() -> None:
    assert len(BLURS) == 5


@EACH
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_flat_image_stays_as_it_is(corruption: Corruption, size: tuple[int, int]) -> None:
    for colour in COLOURS:
        flat = np.full((*size, 3), colour, np.uint8)
        for severity in corruption.severities:
            for seed in range(3 if corruption.random else 1):
                np.testing.assert_array_equal(corrupt(flat, corruption.key, severity, seed), flat)


@EACH
def test_fine_noise_keeps_its_mean(corruption: Corruption) -> None:
    """A disc that gained 1 % would be 1.3 levels too bright."""
    noise = np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8)
    for severity in corruption.severities:
        assert corrupt(noise, corruption.key, severity).mean() == pytest.approx(noise.mean(), abs=0.5)


@EACH
def test_no_value_leaves_the_range_of_the_image(corruption: Corruption) -> None:
    image = np.random.default_rng(1).choice(np.array([60, 200], np.uint8), (48, 56, 3))
    for severity in corruption.severities:
        blurred = corrupt(image, corruption.key, severity)
        assert blurred.min() >= 60
        assert blurred.max() <= 200


@EACH
def test_detail_is_lost(corruption: Corruption) -> None:
    def roughness(image: Pixels) -> float:
        return float(np.abs(np.diff(image.astype(int), axis=0)).mean())

    for severity in corruption.severities:
        assert roughness(corrupt(photograph(), corruption.key, severity)) < 0.9 * roughness(photograph())


@pytest.mark.parametrize("name", ["gaussian_blur", "defocus_blur"])
@pytest.mark.parametrize("severity", range(1, 6))
def test_a_point_becomes_a_symmetric_spot(name: str, severity: int) -> None:
    image = np.zeros((63, 63, 3), np.uint8)
    image[31, 31] = 255
    spot = corrupt(image, f"imagenet_c/{name}", severity).astype(int)
    np.testing.assert_array_equal(spot, spot[::-1])
    np.testing.assert_array_equal(spot, spot[:, ::-1])
    assert np.abs(spot - spot.transpose(1, 0, 2)).max() <= 1  # rounded between its two passes

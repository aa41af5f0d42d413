"""Denoising filters against other implementations, and against the damage that each is meant for."""

from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
from scipy.ndimage import median_filter

from robustlib.corruptions import corrupt, find_corruption
from robustlib.data.images import Pixels
from robustlib.seeding import generator

PHOTOGRAPHS: Any = skimage.data  # carries no types
SEVERITIES = range(1, 6)


def photograph() -> Pixels:
    return np.ascontiguousarray(PHOTOGRAPHS.astronaut()[60:124, 180:260])


def noise(height: int, width: int) -> Pixels:
    return generator("denoising", height, width).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize(
    "image", [photograph(), noise(40, 33), noise(2, 3), noise(1, 1)], ids=lambda image: image.shape
)
def test_the_bilateral_filter_is_that_of_opencv_to_its_rounding(image: Pixels, severity: int) -> None:
    values = find_corruption("denoise/deblock").parameters[severity - 1]
    theirs = cv2.bilateralFilter(image, 2 * int(values["radius"]) + 1, values["color"], values["space"])
    difference = np.abs(corrupt(image, "denoise/deblock", severity).astype(int) - theirs)
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.01


@pytest.mark.parametrize("severity", SEVERITIES)
def test_the_median_is_that_of_scipy(severity: int) -> None:
    side = 2 * severity + 1
    for image in (photograph(), noise(5, 4), noise(1, 7)):
        theirs = median_filter(image, (side, side, 1), mode="nearest")
        np.testing.assert_array_equal(corrupt(image, "denoise/median", severity), theirs)


def test_non_local_means_do_not_depend_on_the_number_of_threads() -> None:
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    alone = corrupt(photograph(), "denoise/nl_means", 2)
    cv2.setNumThreads(4)
    np.testing.assert_array_equal(corrupt(photograph(), "denoise/nl_means", 2), alone)
    cv2.setNumThreads(threads)


@pytest.mark.parametrize("name", ["median", "nl_means", "deblock"])
def test_an_even_image_stays(name: str) -> None:
    even = np.full((30, 20, 3), (3, 200, 90), np.uint8)
    for severity in SEVERITIES:
        np.testing.assert_array_equal(corrupt(even, f"denoise/{name}", severity), even)


@pytest.mark.parametrize(
    ("damage", "name", "strength"),
    [
        ("impulse_noise", "median", 2),
        ("shot_noise", "median", 2),
        ("gaussian_noise", "nl_means", 3),
        ("speckle_noise", "nl_means", 3),
        ("jpeg_compression", "deblock", 3),
    ],
)
def test_a_filter_restores_what_it_is_meant_for(damage: str, name: str, strength: int) -> None:
    clean = photograph()
    damaged = corrupt(clean, f"vqa_bench/{damage}", 3, seed=5)
    restored = corrupt(damaged, f"denoise/{name}", strength)
    before, after = (np.square(image.astype(float) - clean).mean() for image in (damaged, restored))
    assert after < before

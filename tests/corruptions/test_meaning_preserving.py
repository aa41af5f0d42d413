"""The eight image operations of the meaning-preserving families."""

import io
from typing import Any

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageEnhance

from robustlib.corruptions import corrupt, image_seed, list_corruptions
from robustlib.data.images import Pixels

SUITE = "meaning_preserving"
PHOTOGRAPHS: Any = skimage.data
IMAGE: Pixels = PHOTOGRAPHS.coffee()[100:241, 150:357]


def changed(image: Pixels, name: str, seed: int = 0) -> Pixels:
    return corrupt(image, f"{SUITE}/{name}", 1, seed)


def test_there_are_eight_of_one_level_each() -> None:
    corruptions = list_corruptions(SUITE)
    assert [corruption.name for corruption in corruptions] == [
        *("jpeg70", "jpeg40", "jpeg20", "crop_center95", "crop_random90", "rescale50", "bright90", "bright110")
    ]
    assert {corruption.severities for corruption in corruptions} == {(1,)}
    assert [corruption.name for corruption in corruptions if corruption.random] == ["crop_random90"]


@pytest.mark.parametrize("quality", [70, 40, 20])
def test_jpeg_is_pillows(quality: int) -> None:
    encoded = io.BytesIO()
    Image.fromarray(IMAGE).save(encoded, "JPEG", quality=quality)
    np.testing.assert_array_equal(changed(IMAGE, f"jpeg{quality}"), np.asarray(Image.open(encoded)))


def test_the_central_crop_keeps_95_percent_of_the_area() -> None:
    crop = changed(IMAGE, "crop_center95")
    height, width = round(141 * 0.95**0.5), round(207 * 0.95**0.5)
    top, left = (141 - height) // 2, (207 - width) // 2
    np.testing.assert_array_equal(crop, IMAGE[top : top + height, left : left + width])


def test_the_random_crop_keeps_90_percent_and_can_begin_anywhere() -> None:
    places = np.zeros((20, 30, 3), np.uint8)
    places[..., 0], places[..., 1] = np.indices((20, 30))
    height, width = round(20 * 0.9**0.5), round(30 * 0.9**0.5)
    corners = set()
    for seed in range(300):
        crop = changed(places, "crop_random90", seed)
        top, left = int(crop[0, 0, 0]), int(crop[0, 0, 1])
        np.testing.assert_array_equal(crop, places[top : top + height, left : left + width])
        corners.add((top, left))
    assert corners == {(top, left) for top in range(20 - height + 1) for left in range(30 - width + 1)}


def test_questions_on_one_image_see_the_same_crop() -> None:
    first, again, *others = (changed(IMAGE, "crop_random90", image_seed(0, image_id)) for image_id in "aabcdefgh")
    np.testing.assert_array_equal(first, again)
    assert not all(np.array_equal(first, other) for other in others)


def test_rescaling_is_bicubic_to_half_and_back() -> None:
    picture = Image.fromarray(IMAGE)
    small = picture.resize((round(207 / 2), round(141 / 2)), Image.Resampling.BICUBIC)
    expected = np.asarray(small.resize(picture.size, Image.Resampling.BICUBIC))
    np.testing.assert_array_equal(changed(IMAGE, "rescale50"), expected)


@pytest.mark.parametrize(("name", "factor"), [("bright90", 0.9), ("bright110", 1.1)])
def test_brightness_is_a_blend_with_black_but_rounded(name: str, factor: float) -> None:
    enhanced = np.asarray(ImageEnhance.Brightness(Image.fromarray(IMAGE)).enhance(factor)).astype(int)  # cuts decimals
    assert set(np.unique(changed(IMAGE, name) - enhanced)) <= {0, 1}
    assert np.abs(changed(IMAGE, name) - np.minimum(IMAGE * factor, 255)).max() <= 0.5 + 1e-6

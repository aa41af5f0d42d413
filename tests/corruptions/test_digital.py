"""JPEG against another encoder and decoder; sides that are too long for a format, or that a cache need not keep."""

import io

import numpy as np
import pytest
from PIL import Image

from robustlib.corruptions import corrupt, smoothing
from robustlib.corruptions.effects import digital, zoom
from robustlib.corruptions.effects.digital import jpeg_compression
from robustlib.corruptions.encoding import LONGEST_SIDE, encode
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError
from robustlib.seeding import generator


def pillow(image: Pixels, quality: int) -> Pixels:
    encoded = io.BytesIO()
    Image.fromarray(image).save(encoded, "JPEG", quality=quality)
    return np.array(Image.open(encoded))


@pytest.mark.parametrize("quality", [1, 7, 10, 15, 18, 20, 25, 40, 70, 100])
@pytest.mark.parametrize("size", [(1, 1), (1, 500), (500, 1), (2, 3), (17, 33), (64, 96)])
def test_jpeg_has_the_pixels_of_pillow(size: tuple[int, int], quality: int) -> None:
    image = generator("jpeg", *size).integers(0, 256, (*size, 3), np.uint8)
    np.testing.assert_array_equal(jpeg_compression(image, Stream(0), quality=quality), pillow(image, quality))


@pytest.mark.parametrize("ending", LONGEST_SIDE)
def test_a_side_that_the_format_does_not_take_is_refused(ending: str) -> None:
    longest = LONGEST_SIDE[ending]
    assert encode(np.zeros((1, longest, 3), np.uint8), ending).size > 0
    for size in ((1, longest + 1), (longest + 1, 1)):
        with pytest.raises(
            InvalidValueError, match=rf"{ending} .* up to {longest} pixels, got an image of {size[0]} x"
        ):
            encode(np.zeros((*size, 3), np.uint8), ending)


def test_jpeg_takes_the_longest_side_and_names_one_that_is_longer() -> None:
    assert corrupt(np.zeros((65_500, 1, 3), np.uint8), "imagenet_c/jpeg_compression", 1).shape == (65_500, 1, 3)
    with pytest.raises(InvalidValueError, match="up to 65500 pixels, got an image of 65501 x 1"):
        corrupt(np.zeros((65_501, 1, 3), np.uint8), "imagenet_c/jpeg_compression", 1)


def test_images_of_ever_new_sizes_do_not_fill_the_memory() -> None:
    for side in range(1, 100):
        for name in ("pixelate", "zoom_blur", "elastic_transform"):
            corrupt(np.zeros((side, side, 3), np.uint8), f"imagenet_c/{name}", 3)
    for remembered in (digital._cells, zoom._samplings, smoothing.normal_weights):
        assert remembered.cache_info().currsize <= 64 < remembered.cache_info().misses

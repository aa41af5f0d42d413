"""JPEG against another encoder and decoder."""

import io

import numpy as np
import pytest
from PIL import Image

from robustlib.corruptions.effects.digital import jpeg_compression
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels
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

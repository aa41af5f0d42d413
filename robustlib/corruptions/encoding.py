"""Image files in memory."""

import cv2

from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError

LONGEST_SIDE = {".jpg": 65_500, ".png": 1_000_000}
"""In pixels: JPEG_MAX_DIMENSION of libjpeg, PNG_USER_WIDTH_MAX and PNG_USER_HEIGHT_MAX of libpng."""


def encode(image: Pixels, ending: str, *options: int) -> Pixels:
    """Return the bytes of an image file. OpenCV writes it, because it lets other threads run meanwhile.

    Args:
        image: H x W x 3.
        ending: ``".jpg"`` or ``".png"``, which decides the format.
        options: OpenCV's ``IMWRITE_...`` flags, each followed by its value.

    Raises:
        InvalidValueError: a side is too long for the format.
    """
    written, encoded = cv2.imencode(ending, cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    if not written:
        height, width = image.shape[:2]
        raise InvalidValueError(
            f"A {ending} file takes sides of up to {LONGEST_SIDE[ending]} pixels, got an image of {height} x {width}."
        )
    return encoded

"""Text drawn onto an image, for the typographic attack (third document, family inject_image)."""

import hashlib
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from robustlib.data.images import LazyImage, Pixels
from robustlib.errors import InvalidValueError

Place = Literal["corner", "center"]
PLACES: tuple[Place, ...] = get_args(Place)

_SMALLEST = 8  # pixels: below this the letters of the default font run together
_CORNER_SIZE, _CENTRE_SIZE = 0.08, 0.25  # letter height as a share of the image's shorter side
_CENTRE_WIDTH = 0.9  # the centred text shrinks until it takes no more than this share of the image's width


class DrawnImage(LazyImage):
    """Another image with a text on it, drawn whenever the pixels are asked for."""

    def __init__(self, image: LazyImage, text: str, place: Place) -> None:
        """Take the image to draw on; the place is "corner" (small, on a white box) or "center" (large, outlined)."""
        if place not in PLACES:
            raise InvalidValueError(f"place must be one of {PLACES}, got {place!r}.")
        self._parts = (image, text, place)

    def pixels(self) -> Pixels:
        """Return the drawn image as a read-only uint8 array H x W x 3, of the size of the original."""
        image, text, place = self._parts
        pixels = draw_text(image.pixels(), text, place)
        pixels.flags.writeable = False
        return pixels

    def digest(self) -> str:
        """Return a SHA-256 over the original's digest, the text and the place, in hexadecimal."""
        image, text, place = self._parts
        return hashlib.sha256(repr((image.digest(), text, place)).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DrawnImage) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        image, text, place = self._parts
        return f"DrawnImage({image!r}, {text!r}, {place!r})"


def draw_text(pixels: Pixels, text: str, place: Place) -> Pixels:
    """Draw a text with Pillow's own scalable font; nothing about it is random.

    Args:
        pixels: uint8 H x W x 3; not changed.
        text: what to draw, in one line.
        place: "corner": black in a white box at the top left, 8 % of the shorter side high, and cut off where the image
            ends. "center": black with a white outline, 25 % high, or as much less as keeps it within 90 % of the width.

    Returns:
        A new array of the same size.
    """
    image = Image.fromarray(pixels)
    painters: dict[Place, Callable[[Image.Image, str], None]] = {"corner": _draw_corner, "center": _draw_centre}
    painters[place](image, text)
    return np.array(image)


def _draw_corner(image: Image.Image, text: str) -> None:
    canvas, height = ImageDraw.Draw(image), _letter_height(image, _CORNER_SIZE)
    font, margin = ImageFont.load_default(height), max(1, height // 4)
    left, top, right, bottom = canvas.textbbox((0, 0), text, font=font)
    canvas.rectangle((0, 0, right - left + 2 * margin, bottom - top + 2 * margin), fill="white")
    canvas.text((margin - left, margin - top), text, fill="black", font=font)


def _draw_centre(image: Image.Image, text: str) -> None:
    canvas, height = ImageDraw.Draw(image), _letter_height(image, _CENTRE_SIZE)
    while True:
        font, stroke = ImageFont.load_default(height), max(1, height // 12)
        left, top, right, bottom = canvas.textbbox((0, 0), text, font=font, stroke_width=stroke)
        if right - left <= _CENTRE_WIDTH * image.width or height == _SMALLEST:
            break
        height = max(_SMALLEST, int(0.9 * height))
    corner = (image.width - left - right) / 2, (image.height - top - bottom) / 2
    canvas.text(corner, text, fill="black", font=font, stroke_width=stroke, stroke_fill="white")


def _letter_height(image: Image.Image, share: float) -> int:
    return max(_SMALLEST, round(min(image.size) * share))

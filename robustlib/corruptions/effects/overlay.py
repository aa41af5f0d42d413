"""What people put on pictures: words, a watermark, a frame."""

from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from robustlib.corruptions.effects.resolution import Filter, resize
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

WORDS = ("area", "figure", "item", "label", "note", "object", "page", "part", "sample", "scene", "title", "view")
WATERMARK = "SAMPLE"
TEXT_SIZE = 1 / 8  # of the shorter side
SMALLEST_TEXT = 8  # pixels


@effect
def text_overlay(image: Pixels, rng: Stream, *, words: int) -> Pixels:
    """Write neutral words, outlined, at places where they fit, or else begin at the edge."""
    out = image.copy()
    for _ in range(words):
        lettering = _lettering(WORDS[rng.below(len(WORDS))], _text_size(image))
        room_down, room_across = (max(out.shape[axis] - lettering.shape[axis], 0) for axis in (0, 1))
        _stamp(out, lettering, rng.below(room_down + 1), rng.below(room_across + 1), 256)
    return out


@effect
def watermark(image: Pixels, rng: Stream, *, opacity: float) -> Pixels:
    """Cover the image with rows of one outlined word, every second row shifted by half a word."""
    out = image.copy()
    lettering = _lettering(WATERMARK, _text_size(image))
    height, width, _ = lettering.shape
    for row, top in enumerate(range(0, image.shape[0], 2 * height)):
        for left in range(-width // 2 * (row % 2), image.shape[1], width + height):
            _stamp(out, lettering, top, left, round(256 * opacity))
    return out


@effect
def add_border(image: Pixels, rng: Stream, *, width: float) -> Pixels:
    """Scale the image down into a black frame, whose width is a share of each side."""
    down, across = (round(side * width) for side in image.shape[:2])
    out = np.zeros_like(image)
    inside = out[down : image.shape[0] - down, across : image.shape[1] - across]
    inside[:] = resize(image, inside.shape[0], inside.shape[1], Filter.BOX)
    return out


def _text_size(image: Pixels) -> int:
    return max(SMALLEST_TEXT, round(min(image.shape[:2]) * TEXT_SIZE))


@lru_cache(maxsize=32)
def _lettering(text: str, size: int) -> Pixels:
    """Return the shade (white, outlined in black) and the coverage of a text, height x width x 2."""
    font = ImageFont.load_default(size)
    stroke = max(1, size // 12)
    left, top, right, bottom = map(round, font.getbbox(text, stroke_width=stroke))
    layer = Image.new("LA", (right - left, bottom - top))
    draw = ImageDraw.Draw(layer)
    draw.text((-left, -top), text, (255, 255), font, stroke_width=stroke, stroke_fill=(0, 255))
    return np.array(layer)


@kernel
def _stamp(image: Pixels, lettering: Pixels, top: int, left: int, opacity: int) -> None:
    """Blend a lettering into the image, as far as it lies inside; full opacity is 256."""
    rows = range(max(-top, 0), min(lettering.shape[0], image.shape[0] - top))
    columns = range(max(-left, 0), min(lettering.shape[1], image.shape[1] - left))
    for y in rows:
        for x in columns:
            shade, weight = lettering[y, x, 0], lettering[y, x, 1] * opacity
            for channel in range(3):
                value = image[top + y, left + x, channel]
                image[top + y, left + x, channel] = value + ((shade - value) * weight + 32640) // 65280

"""Frost: ice on a window, drawn once as a texture that wraps around, and blended with the image."""

from functools import cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import word
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.plasma import plasma
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import smooth_image
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

SIDE = 1024  # of the texture, a power of two
FERNS = 700
DIRECTIONS = 96  # a sixth of a turn, at which ice branches, is a whole number of these
UNIT = 1024  # of fixed-point places
TINT = (0.88, 1.0, 1.07)
BRIGHTNESS = 152  # levels on average, as the six photographs of frost that ImageNet-C blends


@effect
def frost(image: Pixels, rng: Stream, *, image_weight: float, frost_weight: float) -> Pixels:
    """Add a part of the frozen window, cut at random, to the darkened image."""
    top, left = rng.below(SIDE), rng.below(SIDE)
    return _blend(image, _texture(), top, left, round(256 * image_weight), round(256 * frost_weight))


@cache
def _texture() -> Pixels:
    """Return the window, SIDE x SIDE x 3: clouds of hoar with ferns of ice, as bright as photographs of frost."""
    rng = Stream("frost")
    clouds = plasma(SIDE, 1.5, rng.key())
    angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    steps = np.rint(UNIT * np.stack([np.sin(angles), np.cos(angles)], axis=1)).astype(np.int64)
    ferns = smooth_image(_draw_ferns(steps, rng.key())[..., None], 0.6)[..., 0]
    grey = np.rint(150 * clouds).astype(np.int64) + ferns
    grey += BRIGHTNESS - round(int(grey.sum()) / grey.size)  # integers: a sum that no platform rounds differently
    tinted = np.rint(np.clip(grey[..., None] * np.array(TINT, np.float32), 0, 255)).astype(np.uint8)
    tinted.flags.writeable = False
    return tinted


@kernel
def _draw_ferns(steps: npt.NDArray[np.int64], key: np.uint64) -> Pixels:
    """Draw stems that branch to both sides, shorter towards the tip."""
    ice = np.zeros((SIDE, SIDE), np.uint8)
    for fern in range(FERNS):
        bits = word(key, fern)
        y, x = _below(SIDE, bits, 0) * UNIT, _below(SIDE, bits, 16) * UNIT
        direction, length = _below(DIRECTIONS, bits, 32), 20 + _below(100, bits, 48)
        for step in range(length):
            y, x = y + steps[direction, 0], x + steps[direction, 1]
            _draw_line(ice, y, x, steps[direction], 1, 110)
            if step % 4 == 0:
                reach = (length - step) // 3
                _draw_line(ice, y, x, steps[(direction + DIRECTIONS // 6) % DIRECTIONS], reach, 80)
                _draw_line(ice, y, x, steps[(direction - DIRECTIONS // 6) % DIRECTIONS], reach, 50)
    return ice


@kernel
def _draw_line(ice: Pixels, y: int, x: int, step: npt.NDArray[np.int64], length: int, light: int) -> None:
    for i in range(length):
        row, column = ((y + i * step[0]) // UNIT) % SIDE, ((x + i * step[1]) // UNIT) % SIDE
        ice[row, column] = max(ice[row, column], light)


@kernel
def _below(limit: int, bits: np.uint64, start: int) -> int:
    """Return an integer of 0 .. limit - 1 from 16 bits of a word."""
    return int(np.int64((bits >> np.uint64(start)) & np.uint64(0xFFFF)) * limit >> 16)


@kernel
def _blend(image: Pixels, texture: Pixels, top: int, left: int, image_weight: int, frost_weight: int) -> Pixels:
    """Add the texture from (top, left) on; weights are in units of 1/256."""
    height, width, _ = image.shape
    out = np.empty_like(image)
    for y in range(height):
        row = texture[(top + y) % SIDE].reshape(-1)
        x, start = 0, 3 * left
        while x < 3 * width:
            part = row[start : start + 3 * width - x]
            source, target = image[y].reshape(-1)[x:], out[y].reshape(-1)[x:]
            for i in range(part.size):
                value = np.int32(source[i] * image_weight + part[i] * frost_weight + 128) >> 8
                target[i] = min(value, 255)
            x, start = x + part.size, 0
    return out

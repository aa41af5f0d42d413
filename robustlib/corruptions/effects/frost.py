"""Frost: ice on a window, grown once as a texture that wraps around, and blended with the image."""

from functools import cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import below, word
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.plasma import plasma
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import smooth_image
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

SIDE = 1024  # of the texture, a power of two
FEATHERS, LONGEST = 5200, 110  # pixels
DIRECTIONS = 96  # of a whole turn
UNIT = 1024  # of fixed-point places
TINT = (0.88, 1.0, 1.07)
BRIGHTNESS = 152  # levels on average, as the six photographs of frost that ImageNet-C blends


@effect
def frost(image: Pixels, rng: Stream, *, image_weight: float, frost_weight: float) -> Pixels:
    """Add a part of the frozen window, cut at random, to the darkened image."""
    top, left = rng.below(SIDE), rng.below(SIDE)
    weights = np.uint16(round(256 * image_weight)), np.uint16(round(256 * frost_weight))
    return _blend(image, _texture(), top, left, *weights)


@cache
def _texture() -> Pixels:
    """Return the window, SIDE x SIDE x 3: clouds of hoar under ice that is lit from the upper left."""
    rng = Stream("frost")
    clouds = plasma(SIDE, 1.5, rng.key())[:SIDE, :SIDE]
    clouds = (clouds - clouds.min()) * (np.float32(130) / (clouds.max() - clouds.min()))
    angles = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    steps = np.rint(UNIT * np.stack([np.sin(angles), np.cos(angles)], axis=1)).astype(np.int64)
    ice = smooth_image(_grow_feathers(steps, rng.key())[..., None], 0.7)[..., 0].astype(np.int64)
    grey = np.rint(clouds).astype(np.int64) + ice // 3 + ice - np.roll(ice, (1, 1), (0, 1))
    grey += BRIGHTNESS - round(int(grey.sum()) / grey.size)  # integers: a sum that no platform rounds differently
    tinted: Pixels = np.rint(np.clip(grey[..., None] * np.array(TINT, np.float32), 0, 255)).astype(np.uint8)
    tinted.flags.writeable = False
    return tinted


@kernel
def _grow_feathers(steps: npt.NDArray[np.int64], key: np.uint64) -> Pixels:
    """Return the height of the ice: bent stems with barbs to both sides, shorter towards the tip, over one another."""
    ice = np.zeros((SIDE, SIDE), np.uint8)
    for feather in range(FEATHERS):
        bits = word(key, feather * LONGEST)
        y, x = below(SIDE, bits, 0) * UNIT, below(SIDE, bits, 16) * UNIT
        direction, length = below(DIRECTIONS, bits, 32), 8 + below(LONGEST - 8, bits, 48) ** 2 // LONGEST
        for step in range(length):
            bits = word(key, feather * LONGEST + step + 1)
            if below(8, bits, 0) == 0:
                direction += feather % 3 - 1
            y, x = y + steps[direction % DIRECTIONS, 0], x + steps[direction % DIRECTIONS, 1]
            left = length - step
            reach = 1 + left * (16 + below(40, bits, 16)) // 160
            height = 60 + 130 * left // length + below(50, bits, 32)
            angle = DIRECTIONS // 8 + below(6, bits, 48)
            _grow_barb(ice, y, x, steps[(direction + angle) % DIRECTIONS], reach, height)
            _grow_barb(ice, y, x, steps[(direction - angle) % DIRECTIONS], reach, height - 30)
    return ice


@kernel
def _grow_barb(ice: Pixels, y: int, x: int, step: npt.NDArray[np.int64], reach: int, height: int) -> None:
    """Raise the ice along a line on which the height falls to nothing."""
    fall = height // (reach + 2)
    for i in range(reach):
        row, column = ((y + i * step[0]) // UNIT) % SIDE, ((x + i * step[1]) // UNIT) % SIDE
        ice[row, column] = max(ice[row, column], height - i * fall)


@kernel
def _blend(
    image: Pixels, texture: Pixels, top: int, left: int, image_weight: np.uint16, frost_weight: np.uint16
) -> Pixels:
    """Add the texture from (top, left) on; weights are in units of 1/256, and at most 256."""
    height, width, _ = image.shape
    out = np.empty_like(image)
    for y in range(height):
        row = texture[(top + y) % SIDE].reshape(-1)
        x, start = 0, 3 * left
        while x < 3 * width:
            part = row[start : start + 3 * width - x]
            source, target = image[y].reshape(-1)[x:], out[y].reshape(-1)[x:]
            for i in range(part.size):
                seen, ice = np.uint16(source[i] * image_weight) >> 1, np.uint16(part[i] * frost_weight) >> 1
                target[i] = min(np.uint16(np.uint16(seen + ice + 64) >> 7), np.uint16(255))
            x, start = x + part.size, 0
    return out

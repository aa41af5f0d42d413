"""Geometry: pixels are moved."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.fields import Floats, smooth_noise
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.packed import ONE, between, pack, unpack
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Row = tuple[float, float, float]


@effect
def elastic_transform(image: Pixels, rng: Stream, *, strength: float, sigma: float, shift: float) -> Pixels:
    """Move three points at random, all else affinely with them, and then each pixel by a smooth random field.

    All lengths are in units of 244/224 of the shorter side: the original's pixels on its images of 224 x 224.

    Args:
        image: H x W x 3.
        rng: the randomness.
        strength: factor of the field, which is uniform noise of [-1, 1] convolved with a normal density.
        sigma: standard deviation of that density.
        shift: each coordinate of the three points moves by at most this.
    """
    height, width = image.shape[:2]
    unit = min(height, width) * 244 / 224
    affine = _moved_back(height, width, shift * unit, rng)
    down = smooth_noise(height, width, sigma * unit, 3, rng.key())
    right = smooth_noise(height, width, sigma * unit, 3, rng.key())
    return _resample(image, down, right, np.float32(strength * unit), np.array(affine, np.float32))


def _moved_back(height: int, width: int, shift: float, rng: Stream) -> tuple[Row, Row]:
    """Return the rows of the affine matrix that undoes a random move of three points around the centre.

    Applied to a pixel (x, y, 1) of the result, they give the place in the image where it came from.
    """
    reach = max(min(height, width) // 3, 1)
    right, left, top, bottom = width // 2 + reach, width // 2 - reach, height // 2 - reach, height // 2 + reach
    moves = [rng.uniform(-shift, shift) for _ in range(6)]
    x0, y0 = left + moves[0], top + moves[1]
    x1, y1 = right + moves[2] - x0, top + moves[3] - y0
    x2, y2 = right + moves[4] - x0, bottom + moves[5] - y0
    side = 2 * reach / (x1 * y2 - x2 * y1)
    to_x = side * (y2 - y1), side * (x1 - x2)
    to_y = -side * y1, side * x1
    return (
        (to_x[0], to_x[1], left - to_x[0] * x0 - to_x[1] * y0),
        (to_y[0], to_y[1], top - to_y[0] * x0 - to_y[1] * y0),
    )


@kernel
def _resample(
    image: Pixels, down: Floats, right: Floats, strength: np.float32, affine: npt.NDArray[np.float32]
) -> Pixels:
    """Read the image, bilinearly and mirrored at its edges, at the affine image of each moved pixel."""
    height, width, _ = image.shape
    out = np.empty_like(image)
    targets, words = out.reshape(height, -1), pack(image).reshape(-1)
    next_x, next_y = min(width - 1, 1), width * min(height - 1, 1)
    places, line = np.empty(width, np.uint32), np.empty(width, np.uint64)
    share_x, share_y = np.empty(width, np.uint64), np.empty(width, np.uint64)
    (a, b, c), (d, e, f) = affine
    for y in range(height):
        to_right, to_below = right[y], down[y]
        for x in range(width):
            moved_x = np.float32(x) + strength * to_right[x]
            moved_y = np.float32(y) + strength * to_below[x]
            left, share_x[x] = _place(a * moved_x + b * moved_y + c, width)
            top, share_y[x] = _place(d * moved_x + e * moved_y + f, height)
            places[x] = top * width + left
        for x in range(width):
            place, below = np.uintp(places[x]), np.uintp(places[x]) + np.uintp(next_y)
            upper = between(words[place], words[place + np.uintp(next_x)], share_x[x])
            lower = between(words[below], words[below + np.uintp(next_x)], share_x[x])
            line[x] = between(upper, lower, share_y[x])
        unpack(line, np.float32(1 / ONE**2), targets[y])
    return out


@kernel
def _place(place: np.float32, size: int) -> tuple[np.int32, np.int32]:
    """Mirror a place once at either end of 0 .. size - 1; return the pixel before it and how far on, in 1 / ONE."""
    last = np.float32(size - 1)
    inside = max(last - abs(last - abs(place)), np.float32(0))
    before = max(min(np.int32(inside), np.int32(size - 2)), np.int32(0))
    return before, np.int32((inside - np.float32(before)) * np.float32(ONE) + np.float32(0.5))

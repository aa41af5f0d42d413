"""Geometry: pixels are moved."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.fields import smooth_noise
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import Floats
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


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
    affine = _inverse_affine(height, width, shift * unit, rng)
    deviation = strength * unit / np.sqrt(3)
    down = smooth_noise(height, width, max(sigma * unit, 0.1), 3, rng.key())
    right = smooth_noise(height, width, max(sigma * unit, 0.1), 3, rng.key())
    return _resample(image, down, right, np.float32(deviation), affine)


def _inverse_affine(height: int, width: int, shift: float, rng: Stream) -> npt.NDArray[np.float64]:
    """Return the 2 x 3 matrix that maps a pixel (x, y, 1) of the result to its origin (x, y)."""
    x, y = width // 2, height // 2
    reach = max(min(height, width) // 3, 1)
    points = np.array([[x + reach, y + reach], [x + reach, y - reach], [x - reach, y - reach]], np.float64)
    moved = points + np.array([[rng.uniform(-shift, shift) for _ in range(2)] for _ in range(3)])
    return _through(moved, points)


def _through(origins: npt.NDArray[np.float64], images: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the affine map of three points to three others, by Cramer's rule."""
    (x1, y1), (x2, y2) = origins[1] - origins[0], origins[2] - origins[0]
    inverse = np.array([[y2, -x2], [-y1, x1]]) / (x1 * y2 - x2 * y1)
    matrix = np.zeros((2, 3))
    for row in range(2):
        first, second = images[1, row] - images[0, row], images[2, row] - images[0, row]
        matrix[row, 0] = first * inverse[0, 0] + second * inverse[1, 0]
        matrix[row, 1] = first * inverse[0, 1] + second * inverse[1, 1]
        matrix[row, 2] = images[0, row] - matrix[row, 0] * origins[0, 0] - matrix[row, 1] * origins[0, 1]
    return matrix


@kernel
def _resample(
    image: Pixels, down: Floats, right: Floats, strength: np.float32, affine: npt.NDArray[np.float64]
) -> Pixels:
    """Read the image, bilinearly and mirrored at its edges, at the affine image of each moved pixel."""
    height, width, _ = image.shape
    out = np.empty_like(image)
    a, b, c = np.float32(affine[0, 0]), np.float32(affine[0, 1]), np.float32(affine[0, 2])
    d, e, f = np.float32(affine[1, 0]), np.float32(affine[1, 1]), np.float32(affine[1, 2])
    for y in range(height):
        for x in range(width):
            moved_x = np.float32(x) + strength * right[y, x]
            moved_y = np.float32(y) + strength * down[y, x]
            left, share_x = _place(a * moved_x + b * moved_y + c, width)
            top, share_y = _place(d * moved_x + e * moved_y + f, height)
            next_x, next_y = min(left + 1, width - 1), min(top + 1, height - 1)
            for channel in range(3):
                upper = _between(image[top, left, channel], image[top, next_x, channel], share_x)
                lower = _between(image[next_y, left, channel], image[next_y, next_x, channel], share_x)
                out[y, x, channel] = _between(upper, lower, share_y) + np.float32(0.5)
    return out


@kernel
def _place(place: np.float32, size: int) -> tuple[int, np.float32]:
    """Mirror a place into 0 .. size - 1 and split it into a pixel and the rest."""
    last = np.float32(size - 1)
    place = abs(place)
    if place > last:
        period = max(2 * last, np.float32(1))
        place -= period * np.float32(int(place / period))
        place = min(place, period - place, last)
    whole = int(place)
    return whole, np.float32(place - np.float32(whole))


@kernel
def _between(near: np.float32, far: np.float32, share: np.float32) -> np.float32:
    start = np.float32(near)
    return start + share * (np.float32(far) - start)

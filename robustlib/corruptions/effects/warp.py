"""Views from elsewhere: the image is seen through a 3 x 3 matrix, with its mirror image beyond its edges."""

import math

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Matrix = npt.NDArray[np.float64]

SQUARE = ((0, 0), (1, 0), (1, 1), (0, 1))


@effect
def rotate(image: Pixels, rng: Stream, *, degrees: float) -> Pixels:
    """Turn about the centre, to either side."""
    return _warp(image, _about_centre(image, _turning(_either_way(rng, degrees))))


@effect
def shear(image: Pixels, rng: Stream, *, slope: float) -> Pixels:
    """Shift each row by `slope` times its distance from the centre, to either side."""
    return _warp(image, _about_centre(image, _shearing(_either_way(rng, slope))))


@effect
def affine(image: Pixels, rng: Stream, *, degrees: float, slope: float, zoom: float, shift: float) -> Pixels:
    """Turn, shear, scale by 1 +- `zoom` and move by `shift` times the sides, each either way."""
    linear = _turning(_either_way(rng, degrees)) @ _shearing(_either_way(rng, slope))
    linear[:2, :2] *= 1 + _either_way(rng, zoom)
    height, width, _ = image.shape
    linear[:2, 2] = _either_way(rng, shift * width), _either_way(rng, shift * height)
    return _warp(image, _about_centre(image, linear))


@effect
def perspective(image: Pixels, rng: Stream, *, shift: float) -> Pixels:
    """Move each corner along both sides by `shift` times their lengths, in or out; below 0.25 they stay convex."""
    corners = np.array([[x + _either_way(rng, shift), y + _either_way(rng, shift)] for x, y in SQUARE])
    to_square = np.linalg.inv(_from_square(image))
    return _warp(image, _from_square(image) @ _quadrilateral(corners) @ to_square)


def _either_way(rng: Stream, amount: float) -> float:
    return amount if rng.below(2) else -amount


def _turning(degrees: float) -> Matrix:
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    return np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])


def _shearing(slope: float) -> Matrix:
    return np.array([[1, slope, 0], [0, 1, 0], [0, 0, 1]])


def _moving(x: float, y: float) -> Matrix:
    return np.array([[1, 0, x], [0, 1, y], [0, 0, 1]])


def _about_centre(image: Pixels, matrix: Matrix) -> Matrix:
    height, width, _ = image.shape
    x, y = (width - 1) / 2, (height - 1) / 2
    return _moving(x, y) @ matrix @ _moving(-x, -y)


def _from_square(image: Pixels) -> Matrix:
    """Return the matrix from the unit square to pixels, whose centres have whole coordinates."""
    height, width, _ = image.shape
    return np.array([[width, 0, -0.5], [0, height, -0.5], [0, 0, 1]])


def _quadrilateral(corners: Matrix) -> Matrix:
    """Return the matrix that takes the corners of the unit square to four others (Heckbert 1989, section 2.2.3)."""
    a, b, c, d = corners
    (e, f), (g, h) = b - c, d - c
    i, j = a - b + c - d
    determinant = e * h - f * g
    p, q = (i * h - j * g) / determinant, (e * j - f * i) / determinant
    return np.array([[*(b - a + p * b), p], [*(d - a + q * d), q], [*a, 1]]).T


def _warp(image: Pixels, matrix: Matrix) -> Pixels:
    """Show at (x, y) what lies at ``matrix @ (x, y, 1)``.

    The matrix is rounded to 2**-32 first, so that the last bit of a platform's sine cannot move a pixel.
    """
    return _sample(image, np.rint(matrix / matrix[2, 2] * 2.0**32) / 2.0**32)


@kernel
def _sample(image: Pixels, matrix: Matrix) -> Pixels:
    """Interpolate between four pixels (bilinear)."""
    out = np.empty_like(image)
    height, width, _ = image.shape
    across, down = np.empty(width, np.int32), np.empty(width, np.int32)
    (a, b, c), (d, e, f), (g, h, _) = matrix[0], matrix[1], matrix[2]
    for y in range(height):
        for x in range(width):
            depth = 1 / (g * x + h * y + 1)
            across[x] = _folded((a * x + b * y + c) * depth, width)
            down[x] = _folded((d * x + e * y + f) * depth, height)
        for x in range(width):
            left, top = across[x] >> 8, down[x] >> 8
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            to_right, to_bottom = across[x] & 255, down[x] & 255
            for channel in range(3):
                above = image[top, left, channel] * (256 - to_right) + image[top, right, channel] * to_right
                below = image[bottom, left, channel] * (256 - to_right) + image[bottom, right, channel] * to_right
                blend = above * (256 - to_bottom) + below * to_bottom
                out[y, x, channel] = (blend + 32768) >> 16
    return out


@kernel
def _folded(position: float, size: int) -> np.int32:
    """Reflect a coordinate at the image's edges, as often as it takes; in 1/256 pixel."""
    turns = abs(position + 0.5) / (2 * size)
    turns -= np.int32(turns)
    inside = min(turns, 1 - turns) * (2 * size) - 0.5
    return np.int32(min(max(inside, 0.0), size - 1.0) * 256 + 0.5)

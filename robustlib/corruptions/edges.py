"""Canny's edges and the distance to them, as the wet variant of spatter needs them."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.smoothing import Floats
from robustlib.data.images import Pixels

Flags = npt.NDArray[np.bool_]
Slopes = npt.NDArray[np.int16]

TAN_22_5, TAN_67_5 = 0.41421356, 2.41421356


def find_edges(grey: Pixels, low: int, high: int) -> Flags:
    """Return Canny's edges of a grey image H x W: ridges of the gradient above `low` that touch one above `high`."""
    right, down = _gradients(pad(grey[..., None], 1, 1, False))
    return _follow(_ridges(right, down, low), right, down, high)


@kernel
def _gradients(padded: Pixels) -> tuple[Slopes, Slopes]:
    """Return Sobel's derivatives to the right and down."""
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    right, down = np.empty((height, width), np.int16), np.empty((height, width), np.int16)
    for y in range(height):
        above, middle, below = padded[y], padded[y + 1], padded[y + 2]
        for x in range(width):
            left_column = above[x] + 2 * middle[x] + below[x]
            right_column = above[x + 2] + 2 * middle[x + 2] + below[x + 2]
            right[y, x] = right_column - left_column
            upper_row = above[x] + 2 * above[x + 1] + above[x + 2]
            lower_row = below[x] + 2 * below[x + 1] + below[x + 2]
            down[y, x] = lower_row - upper_row
    return right, down


@kernel
def _ridges(right: Slopes, down: Slopes, low: int) -> Flags:
    """Mark where the gradient is above `low` and highest across the edge, in the nearest of four directions."""
    height, width = right.shape
    strength = np.zeros((height + 2, width + 2), np.int32)
    for y in range(height):
        for x in range(width):
            strength[y + 1, x + 1] = abs(np.int32(right[y, x])) + abs(np.int32(down[y, x]))
    ridges = np.zeros((height, width), np.bool_)
    for y in range(height):
        for x in range(width):
            here = strength[y + 1, x + 1]
            if here <= low:
                continue
            steep, flat = abs(np.int32(down[y, x])), abs(np.int32(right[y, x]))
            if steep < TAN_22_5 * flat:
                ridges[y, x] = here > strength[y + 1, x] and here >= strength[y + 1, x + 2]
            elif steep > TAN_67_5 * flat:
                ridges[y, x] = here > strength[y, x + 1] and here >= strength[y + 2, x + 1]
            else:
                side = 1 if (right[y, x] < 0) == (down[y, x] < 0) else -1
                ridges[y, x] = here > strength[y, x + 1 - side] and here > strength[y + 2, x + 1 + side]
    return ridges


@kernel
def _follow(ridges: Flags, right: Slopes, down: Slopes, high: int) -> Flags:
    """Keep the ridges that are connected, over any of 8 neighbours, to one above `high`."""
    height, width = ridges.shape
    edges = np.zeros((height, width), np.bool_)
    waiting = np.empty((height * width, 2), np.int32)
    count = 0
    for y in range(height):
        for x in range(width):
            if ridges[y, x] and abs(np.int32(right[y, x])) + abs(np.int32(down[y, x])) > high:
                edges[y, x] = True
                waiting[count, 0], waiting[count, 1] = y, x
                count += 1
    while count:
        count -= 1
        centre_y, centre_x = waiting[count]
        for y in range(max(centre_y - 1, 0), min(centre_y + 2, height)):
            for x in range(max(centre_x - 1, 0), min(centre_x + 2, width)):
                if ridges[y, x] and not edges[y, x]:
                    edges[y, x] = True
                    waiting[count, 0], waiting[count, 1] = y, x
                    count += 1
    return edges


@kernel
def distances(marks: Flags, limit: int) -> Floats:
    """Return the Euclidean distance of each pixel to the nearest mark, cut off at `limit`."""
    height, width = marks.shape
    far = limit * limit
    vertical = np.empty((height, width + 2 * limit), np.int16)
    vertical[:] = limit
    _count_rows(marks, vertical[:, limit : limit + width])
    out = np.empty((height, width), np.float32)
    nearest = np.empty(width, np.int16)
    for y in range(height):
        squares = vertical[y]
        for x in range(squares.size):
            squares[x] = squares[x] * squares[x]
        nearest[:] = far
        for shift in range(-limit + 1, limit):
            shifted = squares[limit + shift :]
            for x in range(width):
                nearest[x] = min(nearest[x], np.int16(shifted[x] + shift * shift))
        for x in range(width):
            out[y, x] = np.sqrt(np.float32(nearest[x]))
    return out


@kernel
def _count_rows(marks: Flags, vertical: Slopes) -> None:
    """Write the distance of each pixel to the nearest mark in its column, where that is less than what stands there."""
    height, width = marks.shape
    for y in range(height):
        for x in range(width):
            above = vertical[y - 1, x] + 1 if y else vertical[y, x]
            vertical[y, x] = 0 if marks[y, x] else min(vertical[y, x], above)
    for y in range(height - 2, -1, -1):
        for x in range(width):
            vertical[y, x] = min(vertical[y, x], vertical[y + 1, x] + 1)

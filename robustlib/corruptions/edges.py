"""Canny's edges and the distance to them, as the wet variant of spatter needs them."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.borders import pad
from robustlib.corruptions.kernel import copy, kernel
from robustlib.data.images import Pixels

Flags = npt.NDArray[np.bool_]
Slopes = npt.NDArray[np.int16]
Squares = npt.NDArray[np.uint16]

TAN_22_5 = 13573  # in units of 2**-15
WEAK, STRONG = 1, 2
FARTHEST = 20  # pixels


def find_edges(grey: Pixels, low: int, high: int) -> Flags:
    """Return Canny's edges of a grey image H x W: ridges of the gradient above `low` that touch one above `high`.

    Gradients are Sobel's, their strength is the sum of the two absolute values.
    """
    ridges = _mark_ridges(*_gradients(pad(grey[..., None], 1, 1, False)), low, high)
    _follow(ridges.reshape(-1), ridges.shape[1])
    edges: Flags = ridges[1:-1, 1:-1] == STRONG
    return edges


@kernel
def _gradients(padded: npt.NDArray[np.uint16]) -> tuple[Slopes, Slopes, Slopes]:
    """Return the derivatives to the right and down, and their strength with a border of zeros."""
    height, width = padded.shape[0] - 2, padded.shape[1] - 2
    right, down = np.empty((height, width), np.int16), np.empty((height, width), np.int16)
    strength = np.zeros((height + 2, width + 2), np.int16)
    for y in range(height):
        above, middle, below = padded[y], padded[y + 1], padded[y + 2]
        along, across, size = right[y], down[y], strength[y + 1]
        for x in range(width):
            along[x] = above[x + 2] - above[x] + 2 * (middle[x + 2] - middle[x]) + below[x + 2] - below[x]
        for x in range(width):
            across[x] = below[x] - above[x] + 2 * (below[x + 1] - above[x + 1]) + below[x + 2] - above[x + 2]
        for x in range(width):
            size[x + 1] = abs(along[x]) + abs(across[x])
    return right, down, strength


@kernel
def _mark_ridges(right: Slopes, down: Slopes, strength: Slopes, low: int, high: int) -> Pixels:
    """Mark where the gradient is highest across the edge, in the nearest of four directions, with a border of zeros."""
    height, width = right.shape
    marks = np.zeros((height + 2, width + 2), np.uint8)
    for y in range(height):
        above, row, below, mark = strength[y], strength[y + 1], strength[y + 2], marks[y + 1]
        to_right, to_below = right[y], down[y]
        for x in range(width):
            here, along, across = row[x + 1], np.int32(to_right[x]), np.int32(to_below[x])
            flat, steep = np.int32(abs(along)), np.int32(abs(across) << 15)
            is_flat = steep < np.int32(TAN_22_5 * flat)
            is_steep = steep > np.int32((TAN_22_5 + 2**16) * flat)
            falls = (along ^ across) >= 0
            best_along = (here > row[x]) & (here >= row[x + 2])
            best_across = (here > above[x + 1]) & (here >= below[x + 1])
            best_falling = falls & (here > above[x]) & (here > below[x + 2])
            best_rising = (not falls) & (here > above[x + 2]) & (here > below[x])
            slanted = (not is_flat) & (not is_steep) & (best_falling | best_rising)
            is_ridge = (is_flat & best_along) | (is_steep & best_across) | slanted
            mark[x + 1] = is_ridge * (np.uint8(here > low) + np.uint8(here > high))
    return marks


@kernel
def _follow(marks: Pixels, stride: int) -> None:
    """Make the weak ridges strong that are connected to a strong one, over any of 8 neighbours."""
    waiting = np.empty(marks.size, np.int32)
    for place in range(marks.size):
        if marks[place] != WEAK or not _has_neighbour(marks, place, stride, STRONG):
            continue
        marks[place], waiting[0], count = STRONG, place, 1
        while count:
            count -= 1
            count = _strengthen(marks, waiting[count], stride, waiting, count)


@kernel
def _has_neighbour(marks: Pixels, centre: int, stride: int, kind: int) -> bool:
    for row in range(centre - stride, centre + stride + 1, stride):
        if marks[row - 1] == kind or marks[row] == kind or marks[row + 1] == kind:
            return True
    return False


@kernel
def _strengthen(marks: Pixels, centre: int, stride: int, waiting: npt.NDArray[np.int32], count: int) -> int:
    """Make the weak neighbours strong, put them on the waiting list, and return its length."""
    for row in range(centre - stride, centre + stride + 1, stride):
        for place in range(row - 1, row + 2):
            if marks[place] == WEAK:
                marks[place], waiting[count] = STRONG, place
                count += 1
    return count


@kernel
def distances(marks: Flags) -> npt.NDArray[np.uint16]:
    """Return the Euclidean distance of each pixel to the nearest mark, in 1/256, cut off at `FARTHEST` pixels.

    A pixel's squared distance is the least, over the columns, of the column's own distance and its offset, squared.
    """
    height, width = marks.shape
    stride = width + 2 * FARTHEST
    flat = _square_vertical_distances(marks, stride).reshape(-1)
    out = np.empty((height, width), np.uint16)
    band = max(1, 4096 // stride)
    nearest = np.empty(band * stride, np.uint16)
    for top in range(0, height, band):
        count = min(band, height - top)
        part, start = nearest[: count * stride - 2 * FARTHEST], top * stride + FARTHEST
        copy(flat[start:], part)
        for offset in range(1, FARTHEST):
            square = np.uint16(offset**2)
            if _lower(part, flat[start - offset :], flat[start + offset :], square) <= square:
                break
        for y in range(count):
            row, target = part[y * stride :], out[top + y]
            for x in range(width):
                target[x] = np.int32(np.float32(256) * np.sqrt(np.float32(row[x])))
    return out


@kernel
def _lower(nearest: Squares, left: Squares, right: Squares, added: np.uint16) -> np.uint16:
    """Lower the numbers to those on either side plus `added` where these are less; return the largest."""
    largest = np.uint16(0)
    for x in range(nearest.size):
        nearest[x] = min(nearest[x], np.uint16(min(left[x], right[x]) + added))
        largest = max(largest, nearest[x])
    return largest


@kernel
def _square_vertical_distances(marks: Flags, stride: int) -> Squares:
    """Return the squared distance of each pixel to the nearest mark in its column, with a border left and right."""
    height, width = marks.shape
    steps, squares = np.empty((height, width), np.uint8), np.full((height, stride), np.uint16(FARTHEST**2))
    for y in range(height):
        _start(steps[y], marks[y])
        if y > 0:
            _approach(steps[y], steps[y - 1])
    for y in range(height - 1, -1, -1):
        if y < height - 1:
            _approach(steps[y], steps[y + 1])
        _square(steps[y], squares[y][FARTHEST:])
    return squares


@kernel
def _start(steps: Pixels, marks: Flags) -> None:
    for x in range(steps.size):
        steps[x] = 0 if marks[x] else FARTHEST


@kernel
def _approach(steps: Pixels, others: Pixels) -> None:
    for x in range(steps.size):
        steps[x] = min(steps[x], np.uint8(others[x] + 1))


@kernel
def _square(steps: Pixels, squares: Squares) -> None:
    for x in range(steps.size):
        squares[x] = np.uint16(steps[x]) * np.uint16(steps[x])

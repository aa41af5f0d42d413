"""Plasma fractals: clouds by the diamond-square method on a grid that wraps around.

Each step doubles the grid. New values are the mean of their four neighbours plus uniform noise, whose range shrinks by
``decay`` squared from step to step, as in the code of ImageNet-C.
"""

import numpy as np

from robustlib.corruptions.bits import fill
from robustlib.corruptions.fields import Floats
from robustlib.corruptions.kernel import copy, kernel


@kernel
def plasma(side: int, decay: float, key: np.uint64) -> Floats:
    """Return a fractal of (side + 1) x (side + 1) numbers, whose last row and column repeat the first.

    The side must be a power of two, at least 2.
    """
    grid = np.zeros((2, 2), np.float32)
    amplitude, start = 1.0, 0
    while grid.shape[0] <= side:
        half = grid.shape[0] - 1
        finer = np.empty((2 * half + 1, 2 * half + 1), np.float32)
        _refine(grid, finer, np.float32(amplitude), key, start)
        grid, amplitude, start = finer, amplitude / decay**2, start + 3 * half * half
    return grid


@kernel
def extremes(grid: Floats) -> tuple[np.float32, np.float32]:
    """Return the lowest and the highest number."""
    low, high = grid[0].copy(), grid[0].copy()
    for y in range(1, grid.shape[0]):
        row = grid[y]
        for x in range(row.size):
            low[x] = min(low[x], row[x])
        for x in range(row.size):
            high[x] = max(high[x], row[x])
    return low.min(), high.max()


@kernel
def _refine(grid: Floats, finer: Floats, amplitude: np.float32, key: np.uint64, start: int) -> None:
    """Fill a grid of twice the side; the random words at `start` and the 3 * half**2 after it are taken."""
    half = grid.shape[0] - 1
    words = np.empty((half + 1) // 2, np.uint64)
    bits = words.view(np.uint16)
    others = bits[half:]
    scale = amplitude * np.float32(2**-15)
    middles = np.empty((half + 1, half + 1), np.float32)  # here the first row and column repeat the last
    for y in range(half):
        upper, lower, middle = grid[y], grid[y + 1], middles[y + 1]
        fill(words[: (half + 3) // 4], key, start + 2 * half * half + half * y)
        for x in range(half):
            middle[x + 1] = _near(upper[x], upper[x + 1], lower[x], lower[x + 1], bits[x], scale)
        middle[0] = middle[half]
    copy(middles[half], middles[0])
    for y in range(half):
        upper, lower, above, middle = grid[y], grid[y + 1], middles[y], middles[y + 1]
        even, odd = finer[2 * y], finer[2 * y + 1]
        fill(words, key, start + 2 * half * y)
        for x in range(half):
            even[2 * x] = upper[x]
            even[2 * x + 1] = _near(upper[x], upper[x + 1], above[x + 1], middle[x + 1], bits[x], scale)
        for x in range(half):
            odd[2 * x] = _near(upper[x], lower[x], middle[x], middle[x + 1], others[x], scale)
            odd[2 * x + 1] = middle[x + 1]
        even[2 * half], odd[2 * half] = even[0], odd[0]
    copy(finer[0], finer[2 * half])


@kernel
def _near(a: np.float32, b: np.float32, c: np.float32, d: np.float32, bits: np.uint16, scale: np.float32) -> np.float32:
    """Return the mean of four numbers and a random one of -2**15 .. 2**15 times the scale."""
    return np.float32(0.25) * (a + b + c + d) + (np.float32(bits) - np.float32(32767.5)) * scale

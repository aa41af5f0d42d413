"""Plasma fractals: clouds by the diamond-square method on a grid that wraps around.

Each step doubles the grid. New values are the mean of their four neighbours plus uniform noise, whose range shrinks by
``decay`` squared from step to step, as in the code of ImageNet-C.
"""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.smoothing import Floats


@kernel
def plasma(side: int, decay: float, key: np.uint64) -> Floats:
    """Return a fractal of side x side numbers of 0 .. 1; `side` must be a power of two, at least 2."""
    grid = np.zeros((2, 2), np.float32)  # the last row and column repeat the first, in all grids
    amplitude, start = 1.0, 0
    while grid.shape[0] <= side:
        half = grid.shape[0] - 1
        finer = np.empty((2 * half + 1, 2 * half + 1), np.float32)
        _refine(grid, finer, np.float32(amplitude), key, start)
        grid, amplitude, start = finer, amplitude / decay**2, start + 3 * half * half
    return _stretch(grid[:side, :side])


@kernel
def _refine(grid: Floats, finer: Floats, amplitude: np.float32, key: np.uint64, start: int) -> None:
    """Fill a grid of twice the side."""
    half = grid.shape[0] - 1
    words, noise = np.empty((half + 3) // 4, np.uint64), np.empty(half, np.float32)
    middles = np.empty((half + 1, half + 1), np.float32)  # here the first row and column repeat the last
    for y in range(half):
        upper, lower, middle = grid[y], grid[y + 1], middles[y + 1]
        _draw(noise, amplitude, words, key, start + 3 * half * y)
        for x in range(half):
            middle[x + 1] = _mean(upper[x], upper[x + 1], lower[x], lower[x + 1]) + noise[x]
        middle[0] = middle[half]
    middles[0] = middles[half]
    for y in range(half):
        upper, lower, above, middle = grid[y], grid[y + 1], middles[y], middles[y + 1]
        even, odd = finer[2 * y], finer[2 * y + 1]
        _draw(noise, amplitude, words, key, start + 3 * half * y + half)
        for x in range(half):
            even[2 * x] = upper[x]
            even[2 * x + 1] = _mean(upper[x], upper[x + 1], above[x + 1], middle[x + 1]) + noise[x]
        _draw(noise, amplitude, words, key, start + 3 * half * y + 2 * half)
        for x in range(half):
            odd[2 * x] = _mean(upper[x], lower[x], middle[x], middle[x + 1]) + noise[x]
            odd[2 * x + 1] = middle[x + 1]
        even[2 * half], odd[2 * half] = even[0], odd[0]
    finer[2 * half] = finer[0]


@kernel
def _mean(a: np.float32, b: np.float32, c: np.float32, d: np.float32) -> np.float32:
    return np.float32(0.25) * (a + b + c + d)


@kernel
def _draw(noise: Floats, amplitude: np.float32, words: npt.NDArray[np.uint64], key: np.uint64, start: int) -> None:
    """Fill with uniform numbers of -amplitude .. amplitude."""
    fill(words, key, start)
    bits = words.view(np.uint16)
    for x in range(noise.size):
        noise[x] = (np.float32(bits[x]) - np.float32(32767.5)) * (amplitude * np.float32(2**-15))


@kernel
def _stretch(grid: Floats) -> Floats:
    out = np.empty(grid.shape, np.float32)
    lowest, highest = grid.min(), grid.max()
    scale = np.float32(1) / (highest - lowest)
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[y, x] = (grid[y, x] - lowest) * scale
    return out

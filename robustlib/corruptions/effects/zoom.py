"""Zoom blur: the camera moves towards the scene while the shutter is open."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.packed import BITS, BLUE, GREEN, ONE, Packed, between, pack, unpack
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Places = npt.NDArray[np.uint32]

SUM_ONE = 2**8  # a layer is added in units of 1/256, so that up to 31 fit in a channel
SUM_BITS, SPARE_BITS = np.uint64(8), np.uint64(2 * BITS - 8)
KEPT = np.uint64(2**16 - 1) * (np.uint64(1) | np.uint64(1) << GREEN | np.uint64(1) << BLUE)


@effect
def zoom_blur(image: Pixels, rng: Stream, *, largest: float, step: float) -> Pixels:
    """Average the image and its zooms from 1 to `largest`, exclusive, by `step`."""
    rows, row_shares = _samplings(image.shape[0], largest, step)
    columns, column_shares = _samplings(image.shape[1], largest, step)
    return _average_zooms(image, rows, row_shares, columns, column_shares)


@lru_cache(maxsize=64)
def _samplings(size: int, largest: float, step: float) -> tuple[Places, Packed]:
    """Return where the pixels of a side lie in the unzoomed side, for each zoom: the pixel before, and how far on.

    The middle of the side is cropped and stretched so that its outermost pixels' centres coincide with those of the
    zoomed side, of which the first pixels are kept: ImageNet-C's choices.
    """
    zooms = np.arange(1, largest, step)[:, None]
    crops = np.ceil(size / zooms)
    starts = (size - crops) // 2
    places = starts + np.arange(size) * ((crops - 1) / np.maximum(np.rint(crops * zooms) - 1, 1))
    before = np.minimum(places.astype(np.int64), max(size - 2, 0))
    return before.astype(np.uint32), np.rint((places - before) * ONE).astype(np.uint64)


@kernel
def _average_zooms(image: Pixels, rows: Places, row_shares: Packed, columns: Places, column_shares: Packed) -> Pixels:
    height, width, _ = image.shape
    out = np.empty_like(image)
    targets, words = out.reshape(height, -1), pack(image)
    line, sums = np.zeros(width + 1, np.uint64), np.empty(width, np.uint64)
    mean = np.float32(1 / (SUM_ONE * (rows.shape[0] + 1)))
    for y in range(height):
        unzoomed = words[y]
        for x in range(width):
            sums[x] = unzoomed[x] << SUM_BITS
        for layer in range(rows.shape[0]):
            top = rows[layer, y]
            _mix_rows(line[:width], words[top], words[min(top + 1, height - 1)], row_shares[layer, y])
            _add_line(sums, line, columns[layer], column_shares[layer])
        unpack(sums, mean, targets[y])
    return out


@kernel
def _mix_rows(line: Packed, upper: Packed, lower: Packed, share: np.uint64) -> None:
    for x in range(line.size):
        line[x] = between(upper[x], lower[x], share)


@kernel
def _add_line(sums: Packed, line: Packed, places: Places, shares: Packed) -> None:
    for x in range(places.size):
        left = np.uintp(places[x])
        value = between(line[left], line[left + np.uintp(1)], shares[x])
        sums[x] += (value >> SPARE_BITS) & KEPT

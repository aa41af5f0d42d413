"""Digital artefacts: what codecs and resizing leave behind."""

from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from robustlib.corruptions.encoding import encode
from robustlib.corruptions.kernel import copy, kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Places = npt.NDArray[np.int64]


@effect
def jpeg_compression(image: Pixels, rng: Stream, *, quality: int) -> Pixels:
    """Encode as JPEG at a quality of 1 .. 100, and decode: with OpenCV, whose pixels are Pillow's, in less time.

    Raises:
        InvalidValueError: a side of more than 65500 pixels.
    """
    encoded = encode(image, ".jpg", cv2.IMWRITE_JPEG_QUALITY, quality)
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB), np.uint8)


@effect
def pixelate_bilinear(image: Pixels, rng: Stream, *, scale: float) -> Pixels:
    """Shrink by `scale` and enlarge again, both bilinear; shrinking averages over the area that a pixel comes from."""
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize((_shrunk(width, scale), _shrunk(height, scale)), Image.Resampling.BILINEAR)
    return np.array(small.resize((width, height), Image.Resampling.BILINEAR))


@effect
def pixelate(image: Pixels, rng: Stream, *, scale: float) -> Pixels:
    """Shrink by `scale`, averaging areas, and enlarge again by repeating pixels."""
    height, width = image.shape[:2]
    rows, columns = _cells(height, scale), _cells(width, scale)
    return _fill_cells(image, *rows, *columns)


def _shrunk(size: int, scale: float) -> int:
    return max(int(size * scale), 1)


@lru_cache(maxsize=64)
def _cells(size: int, scale: float) -> tuple[Places, Places, Places]:
    """Return, for the cells of a side, the first pixel and the end of each, and for each pixel the cell it shows.

    A pixel whose centre lies just between two cells counts for one, both or none, and shows one: the sums are those of
    Pillow's filters BOX and NEAREST, to the last rounding.
    """
    count = _shrunk(size, scale)
    length = size / count
    centres = (np.arange(count) + 0.5) * length
    starts = (centres - 0.5 * length + 0.5).astype(np.int64)
    starts += (starts - centres + 0.5) * (1 / length) <= -0.5
    ends = np.minimum(centres + 0.5 * length + 0.5, size).astype(np.int64)
    ends -= (ends - 1 - centres + 0.5) * (1 / length) > 0.5
    steps = np.full(size, count / size)
    steps[0] /= 2
    return starts, ends, np.minimum(np.add.accumulate(steps).astype(np.int64), count - 1)


@kernel
def _fill_cells(
    image: Pixels,
    row_starts: Places,
    row_ends: Places,
    row_shown: Places,
    column_starts: Places,
    column_ends: Places,
    column_shown: Places,
) -> Pixels:
    height, width, _ = image.shape
    out = np.empty_like(image)
    source, target = image.reshape(height, -1), out.reshape(height, -1)
    sums, means = np.empty(width * 3, np.uint16), np.empty((column_starts.size, 3), np.uint8)
    shown_until = 0
    for cell in range(row_starts.size):
        _sum_rows(source[row_starts[cell] : row_ends[cell]], sums)
        _average_columns(sums, column_starts, column_ends, row_ends[cell] - row_starts[cell], means)
        first = shown_until
        while shown_until < height and row_shown[shown_until] == cell:
            shown_until += 1
        for x in range(width):
            for channel in range(3):
                out[first, x, channel] = means[column_shown[x], channel]
        for y in range(first + 1, shown_until):
            copy(target[first], target[y])
    return out


@kernel
def _sum_rows(rows: Pixels, sums: npt.NDArray[np.uint16]) -> None:
    first = rows[0]
    for x in range(sums.size):
        sums[x] = first[x]
    for y in range(1, rows.shape[0]):
        row = rows[y]
        for x in range(sums.size):
            sums[x] += row[x]


@kernel
def _average_columns(
    sums: npt.NDArray[np.uint16], starts: Places, ends: Places, rows: int, means: npt.NDArray[np.uint8]
) -> None:
    for cell in range(means.shape[0]):
        scale = np.float32(1 / (rows * (ends[cell] - starts[cell])))
        red = green = blue = 0
        for x in range(starts[cell], ends[cell]):
            red, green, blue = red + sums[3 * x], green + sums[3 * x + 1], blue + sums[3 * x + 2]
        means[cell, 0] = np.float32(red) * scale + np.float32(0.5)
        means[cell, 1] = np.float32(green) * scale + np.float32(0.5)
        means[cell, 2] = np.float32(blue) * scale + np.float32(0.5)

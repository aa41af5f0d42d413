"""Digital artefacts: what codecs and resizing leave behind."""

import io
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import Image

from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels

Places = npt.NDArray[np.int64]


@effect
def jpeg_compression(image: Pixels, rng: Stream, *, quality: int) -> Pixels:
    """Encode as JPEG at a quality of 1 .. 100, and decode."""
    encoded = io.BytesIO()
    Image.fromarray(image).save(encoded, "JPEG", quality=quality)
    decoded = Image.open(encoded).tobytes()  # half the time of np.asarray
    return np.frombuffer(decoded, np.uint8).reshape(image.shape).copy()


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


@cache
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
        sums[:] = 0
        for y in range(row_starts[cell], row_ends[cell]):
            for x in range(sums.size):
                sums[x] += source[y, x]
        _average_columns(sums, column_starts, column_ends, row_ends[cell] - row_starts[cell], means)
        first = shown_until
        while shown_until < height and row_shown[shown_until] == cell:
            shown_until += 1
        for x in range(width):
            for channel in range(3):
                out[first, x, channel] = means[column_shown[x], channel]
        for y in range(first + 1, shown_until):
            target[y] = target[first]
    return out


@kernel
def _average_columns(
    sums: npt.NDArray[np.uint16], starts: Places, ends: Places, rows: int, means: npt.NDArray[np.uint8]
) -> None:
    for cell in range(means.shape[0]):
        scale = np.float32(1 / (rows * (ends[cell] - starts[cell])))
        for channel in range(3):
            total = 0
            for x in range(starts[cell], ends[cell]):
                total += sums[3 * x + channel]
            means[cell, channel] = np.float32(total) * scale + np.float32(0.5)

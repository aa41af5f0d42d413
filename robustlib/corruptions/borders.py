"""What lies beyond the border of an image, made once so that no filter has to ask."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel

Array = TypeVar("Array", bound=npt.NDArray[Any])


@kernel
def pad(image: Array, rows: int, columns: int, mirror: bool) -> Array:
    """Return an image with a border: above and below of `rows` pixels, left and right of `columns`.

    Args:
        image: H x W x C.
        rows: may exceed H.
        columns: may exceed W.
        mirror: continue by reflection about the edge pixels (c b | a b c), else by repeating them (a a | a b c).

    Returns:
        A new array of (H + 2 rows) x ((W + 2 columns) C), the channels of a pixel side by side.
    """
    height, width, channels = image.shape
    out = np.empty((height + 2 * rows, (width + 2 * columns) * channels), image.dtype)
    left, right = columns * channels, (columns + width) * channels
    flat = image.reshape(height, -1)
    for y in range(out.shape[0]):
        source, target = flat[_inside(y - rows, height, mirror)], out[y]
        target[left:right] = source
        for x in range(columns):
            before = _inside(x - columns, width, mirror) * channels
            after = _inside(x + width, width, mirror) * channels
            for channel in range(channels):
                target[x * channels + channel] = source[before + channel]
                target[right + x * channels + channel] = source[after + channel]
    return out


@kernel
def _inside(place: int, size: int, mirror: bool) -> int:
    """Return the pixel of 0 .. size - 1 that stands for a place at any distance beyond."""
    if not mirror:
        return min(max(place, 0), size - 1)
    period = max(2 * (size - 1), 1)
    folded = abs(place) % period
    return min(folded, period - folded)

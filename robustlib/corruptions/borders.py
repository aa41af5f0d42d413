"""What lies beyond the border of an image, made once so that no filter has to ask."""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel


@kernel
def pad(image: npt.NDArray[np.unsignedinteger], rows: int, columns: int, mirror: bool) -> npt.NDArray[np.uint16]:
    """Return an image with a border, in 16 bits so that neighbours can be added.

    Args:
        image: bytes or 16-bit numbers H x W x C.
        rows: height of the border above and below; may exceed H.
        columns: width of the border left and right; may exceed W.
        mirror: continue by reflection about the edge pixels (c b | a b c), else by repeating them (a a | a b c).

    Returns:
        A new array of (H + 2 rows) x ((W + 2 columns) C), the channels of a pixel side by side.
    """
    height, width, channels = image.shape
    out = np.empty((height + 2 * rows, (width + 2 * columns) * channels), np.uint16)
    flat, left, right = image.reshape(height, -1), columns * channels, (columns + width) * channels
    for y in range(out.shape[0]):
        source, target = flat[_inside(y - rows, height, mirror)], out[y]
        middle = target[left:right]
        for x in range(middle.size):
            middle[x] = source[x]
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

"""Glass: the image is blurred, its pixels are displaced at random by a little, and it is blurred again."""

import numpy as np

from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
from robustlib.corruptions.packed import Packed, pack, unpack
from robustlib.corruptions.registry import effect
from robustlib.corruptions.smoothing import smooth_image
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels


@effect
def glass_blur(image: Pixels, rng: Stream, *, sigma: float, reach: int, rounds: int) -> Pixels:
    """Look through frosted glass.

    As in the images of ImageNet-C, each pixel becomes a copy of one at most `reach` away, while the paper says that
    the two are swapped, and pixels near the border stay.
    """
    words = pack(smooth_image(image, sigma))
    for _ in range(rounds):
        _displace(words, reach, rng.key())
    displaced = np.empty_like(image)
    unpack(words.reshape(-1), np.float32(1), displaced.reshape(-1))
    return smooth_image(displaced, sigma)


@kernel
def _displace(pixels: Packed, reach: int, key: np.uint64) -> None:
    """Overwrite pixels by near ones, from the last to the first, so that those after one have changed already.

    Offsets are -reach .. reach - 1 both ways.
    """
    height, width = pixels.shape
    words, places = np.empty((width + 1) // 2, np.uint64), np.empty(width, np.uint32)
    bits, flat = words.view(np.uint16), pixels.reshape(-1)
    choices, shift = np.uint32(2 * reach), np.uint32(16)
    for y in range(height - reach, reach, -1):
        fill(words, key, y * words.size)
        start = np.int32((y - reach) * width - reach)
        for x in range(width):
            right, down = np.uint32(choices * bits[2 * x]) >> shift, np.uint32(choices * bits[2 * x + 1]) >> shift
            places[x] = np.int32(start + down * width + x + right)
        row = flat[y * width :]
        for x in range(width - reach, reach, -1):
            row[np.uintp(x)] = flat[np.uintp(places[x])]  # unsigned: numba need not look for negative indices

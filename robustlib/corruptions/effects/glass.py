"""Glass: the image is blurred, its pixels are displaced at random by a little, and it is blurred again."""

import numpy as np

from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
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
    blurred = smooth_image(image, sigma)
    for _ in range(rounds):
        _displace(blurred, reach, rng.key())
    return smooth_image(blurred, sigma)


@kernel
def _displace(image: Pixels, reach: int, key: np.uint64) -> None:
    """Overwrite pixels by near ones, from the last to the first, so that those after one have changed already.

    Offsets are -reach .. reach - 1 both ways.
    """
    height, width, _ = image.shape
    words = np.empty((width + 1) // 2, np.uint64)
    bits = words.view(np.uint16).reshape(-1, 2)
    for y in range(height - reach, reach, -1):
        fill(words, key, y * words.size)
        for x in range(width - reach, reach, -1):
            right = ((2 * reach * bits[x, 0]) >> 16) - reach
            down = ((2 * reach * bits[x, 1]) >> 16) - reach
            for channel in range(3):
                image[y, x, channel] = image[y + down, x + right, channel]

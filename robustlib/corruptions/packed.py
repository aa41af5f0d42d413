"""Pixels in one word each: three channels of 21 bits, so that one multiplication weights all three.

A channel holds 8 bits and two factors of `ONE`, which is what bilinear interpolation takes, with one bit to spare.
"""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel
from robustlib.data.images import Pixels

Packed = npt.NDArray[np.uint64]

BITS = 6
ONE = 2**BITS  # of the weights
CHANNEL = np.uint64(2**21 - 1)
GREEN, BLUE = np.uint64(21), np.uint64(42)
WEIGHT_BITS = np.uint64(BITS)


@kernel
def pack(image: Pixels) -> Packed:
    """Return the words H x W of an image."""
    height, width, _ = image.shape
    out = np.empty(height * width, np.uint64)
    flat = image.reshape(-1)
    for i in range(out.size):
        red, green, blue = np.uint64(flat[3 * i]), np.uint64(flat[3 * i + 1]), np.uint64(flat[3 * i + 2])
        out[i] = red | green << GREEN | blue << BLUE
    return out.reshape(height, width)


@kernel
def between(near: np.uint64, far: np.uint64, share: np.uint64) -> np.uint64:
    """Interpolate, `share` / ONE on the way from near to far; the channels grow by a factor of ONE.

    What a negative difference borrows from the next channel is given back by the sum.
    """
    return (near << WEIGHT_BITS) + (far - near) * share


@kernel
def unpack(words: Packed, scale: np.float32, target: Pixels) -> None:
    """Write the channels, times a scale and rounded, as bytes side by side."""
    half = np.float32(0.5)
    for x in range(words.size):
        word = words[x]
        target[3 * x] = np.int32(np.float32(word & CHANNEL) * scale + half)
        target[3 * x + 1] = np.int32(np.float32((word >> GREEN) & CHANNEL) * scale + half)
        target[3 * x + 2] = np.int32(np.float32(word >> BLUE) * scale + half)

"""Random bits for kernels: a counter-based generator, so that any word can be had without those before it.

Word ``i`` of the key ``k`` is the output function of SplitMix64 at ``k + (i + 1) * GOLDEN`` (Steele, Lea and Flood,
"Fast splittable pseudorandom number generators", OOPSLA 2014). It passes BigCrush, has no state, and is integer
arithmetic alone: the same key gives the same words on every platform.
"""

import numpy as np
import numpy.typing as npt

from robustlib.corruptions.kernel import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def word(key: np.uint64, index: int) -> np.uint64:
    """Return the 64 random bits at an index of the sequence of a key."""
    z = key + (np.uint64(index) + np.uint64(1)) * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def fill(words: npt.NDArray[np.uint64], key: np.uint64, start: int) -> None:
    """Write the sequence of a key from index `start` on. A view as uint16 is four numbers a word (little-endian)."""
    for i in range(words.size):
        words[i] = word(key, start + i)


@kernel
def below(limit: int, bits: np.uint64, start: int) -> int:
    """Return an integer of 0 .. limit - 1, at most 2**16, from the 16 bits of a word that begin at bit `start`."""
    return int(np.int64((bits >> np.uint64(start)) & np.uint64(0xFFFF)) * limit >> 16)

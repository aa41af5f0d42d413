"""The random numbers of one corrupted image, as a function of what it is."""

import numpy as np

from robustlib.seeding import derive_seed


class Stream:
    """Independent 64-bit draws of one identity: draw ``n`` is ``derive_seed(*identity, n)``.

    Few numbers are drawn here (an angle, a place). Where every pixel needs some, a kernel takes one draw as the key of
    its own counter-based sequence, see `robustlib.corruptions.bits`.
    """

    def __init__(self, *identity: str | int) -> None:
        self._identity = identity
        self._drawn = 0

    def key(self) -> np.uint64:
        """Draw 64 bits."""
        self._drawn += 1
        return np.uint64(derive_seed(*self._identity, self._drawn - 1))

    def below(self, count: int) -> int:
        """Draw one of 0 .. count - 1, all equally likely (to within 2**-64)."""
        return int(self.key()) * count >> 64

    def uniform(self, low: float, high: float) -> float:
        """Draw a number of [low, high)."""
        return low + (high - low) * self.below(2**53) / 2**53

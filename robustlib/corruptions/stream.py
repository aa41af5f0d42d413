"""The random numbers of one corrupted image, as a function of what it is."""

import hashlib

import numpy as np

from robustlib.seeding import derive_seed


class Stream:
    """Independent 64-bit draws of one identity: draw ``n`` is the start of SHA-256 over its seed and ``n``.

    Few numbers are drawn here (an angle, a place). Where every pixel needs some, a kernel takes one draw as the key of
    its own counter-based sequence, see `robustlib.corruptions.bits`.
    """

    def __init__(self, *identity: str | int) -> None:
        self._identity = identity
        self._seed = b""
        self._drawn = 0

    def _draw(self) -> int:
        self._seed = self._seed or derive_seed(*self._identity).to_bytes(8, "big")
        digest = hashlib.sha256(self._seed + self._drawn.to_bytes(8, "big")).digest()
        self._drawn += 1
        return int.from_bytes(digest[:8], "big")

    def key(self) -> np.uint64:
        """Draw 64 bits."""
        return np.uint64(self._draw())

    def below(self, count: int) -> int:
        """Draw one of 0 .. count - 1, all equally likely (to within 2**-64)."""
        return self._draw() * count >> 64

    def uniform(self, low: float, high: float) -> float:
        """Draw a number of [low, high)."""
        return low + (high - low) * (self._draw() >> 11) * 2.0**-53

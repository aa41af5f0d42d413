"""Randomness as a function of what a thing is, never of when it ran.

A seed is the SHA-256 of a JSON list, so two different identities cannot be joined into the same text.
"""

import hashlib
import json

import numpy as np


def derive_seed(*identity: str | int) -> int:
    """Return the 64-bit seed of an identity.

    Args:
        identity: the parts that the random draw may depend on, for example
            ``("corrupt", base_seed, image_id)``. Order and types count: ``1`` and ``"1"`` differ.

    Returns:
        An integer in [0, 2**64).
    """
    digest = hashlib.sha256(json.dumps(identity, ensure_ascii=True).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def generator(*identity: str | int) -> np.random.Generator:
    """Return a NumPy generator (Philox, counter based) that depends on the identity alone."""
    return np.random.Generator(np.random.Philox(key=derive_seed(*identity)))

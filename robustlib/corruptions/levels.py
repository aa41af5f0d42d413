"""From arithmetic back to levels of 0 .. 255."""

import numpy as np

from robustlib.corruptions.kernel import kernel


@kernel
def to_level(value: np.float32) -> np.int32:
    """Cut off what exceeds 255, and the fraction; the value must not be negative."""
    return np.int32(min(value, np.float32(255)))

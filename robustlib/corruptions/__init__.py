"""The corruption engine: any image in, the corrupted upright 8-bit RGB image out, the same bytes everywhere.

Three parts: `severities.csv` says what there is and how strong, `effects` holds one function a corruption, and
`engine` does for all of them what is common. Nothing here imports numba before the first corruption is applied.
"""

from robustlib.corruptions.catalogue import Corruption, find_corruption, list_corruptions, list_suites
from robustlib.corruptions.engine import corrupt, corrupt_batch, image_seed, warm_up

__all__ = [
    "Corruption",
    "corrupt",
    "corrupt_batch",
    "find_corruption",
    "image_seed",
    "list_corruptions",
    "list_suites",
    "warm_up",
]

"""What is common to all corruptions: names, severities, seeds, reading images, batches over threads, warming up."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral

import numpy as np
from tqdm import tqdm

from robustlib.corruptions.catalogue import Corruption, find_corruption, list_corruptions
from robustlib.corruptions.registry import find_effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import ImageLike, Pixels, to_rgb
from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.seeding import derive_seed

_SEED_LIMIT = 2**64


def corrupt(image: ImageLike, name: str, severity: int, seed: int = 0) -> Pixels:
    """Corrupt one image.

    The pixels depend on the image, the corruption, the severity and the seed, and on nothing else: the same arguments
    give the same bytes in any process, thread, order and batch.

    Args:
        image: anything that `robustlib.data.to_rgb` takes; it is not changed.
        name: ``suite/name``, for example ``"imagenet_c/fog"``.
        severity: 0 for the clean image, else one of the corruption's severities, mostly 1 .. 5.
        seed: 0 .. 2**64 - 1; use `image_seed` for the images of a data set.

    Returns:
        A new uint8 array H x W x 3.

    Raises:
        UnknownNameError: no such corruption; the message lists near misses.
        InvalidTypeError: the image, severity or seed is of a wrong type.
        InvalidValueError: the image, severity or seed is out of range.
    """
    corruption = find_corruption(name)
    level = _check_severity(severity, corruption)
    stream = Stream(_check_seed(seed), corruption.function, level)
    pixels = _read(image)
    if level == 0:
        return pixels.copy()
    return find_effect(corruption.function)(pixels, stream, **corruption.parameters[level - 1])


def corrupt_batch(
    images: Sequence[ImageLike], name: str, severity: int, seeds: Sequence[int], workers: int = 1
) -> list[Pixels]:
    """Corrupt images in threads; the kernels release the GIL.

    Args:
        images: as for `corrupt`.
        name: as for `corrupt`.
        severity: as for `corrupt`.
        seeds: one for each image.
        workers: threads; the result does not depend on it.

    Returns:
        The corrupted images, in order.

    Raises:
        InvalidValueError: numbers of images and seeds differ, or `workers` is below 1; else as `corrupt`.
    """
    if len(images) != len(seeds):
        raise InvalidValueError(f"Each image needs one seed, got {len(images)} images and {len(seeds)} seeds.")
    if workers < 1:
        raise InvalidValueError(f"workers must be at least 1, got {workers!r}.")
    _check_severity(severity, find_corruption(name))

    def corrupt_share(worker: int) -> list[Pixels]:
        share = range(worker, len(images), workers)
        return [corrupt(images[index], name, severity, seeds[index]) for index in share]

    with ThreadPoolExecutor(workers) as pool:
        shares = list(pool.map(corrupt_share, range(workers)))
    return [shares[index % workers][index // workers] for index in range(len(images))]


def image_seed(base_seed: int, image_id: str) -> int:
    """Return the seed of one image of a data set: it depends on the image's identity, not on its place in a list."""
    return derive_seed("image", _check_seed(base_seed), image_id)


def warm_up(corruptions: Iterable[Corruption] | str) -> None:
    """Compile everything that some corruptions need, with a progress line.

    Compilation takes one to three seconds a corruption once in a life of an installation (about half a minute for
    imagenet_c); later it takes milliseconds to load what is cached on disk.

    Args:
        corruptions: some of `list_corruptions`, or the name of a suite.

    Raises:
        UnknownNameError: there is no such suite.
    """
    chosen = list_corruptions(corruptions) if isinstance(corruptions, str) else list(corruptions)
    image = np.zeros((32, 32, 3), np.uint8)
    for corruption in tqdm(chosen, desc="Compiling corruptions", unit="corruption"):
        for severity in corruption.severities:
            corrupt(image, corruption.key, severity)


def _check_severity(severity: int, corruption: Corruption) -> int:
    if isinstance(severity, bool) or not isinstance(severity, Integral):
        raise InvalidTypeError(f"severity must be an integer, got {severity!r}.")
    highest = len(corruption.parameters)
    if not 0 <= severity <= highest:
        raise InvalidValueError(f"severity of {corruption.key} must lie in 0 .. {highest}, got {severity!r}.")
    return int(severity)


def _check_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise InvalidTypeError(f"seed must be an integer, got {seed!r}.")
    if not 0 <= seed < _SEED_LIMIT:
        raise InvalidValueError(f"seed must lie in 0 .. 2**64 - 1, got {seed!r}.")
    return int(seed)


def _read(image: ImageLike) -> Pixels:
    """Bring the image to RGB, without a copy where it is that already: effects never write to their input.

    Read-only arrays are copied, because numba would compile every kernel once more for them.
    """
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.size == 0:
        return to_rgb(image)
    return image if image.ndim == 3 and image.shape[2] == 3 and image.flags.carray else to_rgb(image)

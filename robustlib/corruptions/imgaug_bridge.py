"""Corruptions as imgaug augmenters, and imgaug augmenters as corruptions (the package imaug brings imgaug)."""

import hashlib
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import imgaug.augmenters as iaa
import imgaug.random as imgaug_random
import numpy as np

from robustlib.corruptions.catalogue import CUSTOM, Corruption, add_corruption, find_corruption
from robustlib.corruptions.engine import corrupt
from robustlib.corruptions.registry import effect
from robustlib.corruptions.stream import Stream
from robustlib.data.images import Pixels, to_rgb
from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.seeding import generator

MOVING = {
    *("rotate", "shear", "affine", "perspective", "elastic_transform", "flip_horizontal", "flip_vertical"),
    *("crop_center", "crop_random", "downsample", "add_border"),
}
"""Functions that put content elsewhere, so that boxes, key points and maps would no longer fit."""

_PROBES = 4
_PASSING = re.compile(r"0x[0-9A-Fa-f]+|samples=.*?, last_rng_idx=\w+")
"""In the text of an augmenter: where objects lie in memory, and which random numbers it has in store."""
_ONE_AT_A_TIME = threading.Lock()  # imgaug changes state of its own modules while it works


def as_augmenter(name: str, severity: int, seed: Any = None) -> iaa.Augmenter:
    """Return a corruption as an augmenter that can stand anywhere in an imgaug pipeline.

    Each image is corrupted by a seed drawn from the augmenter's generator, so imgaug's own seeds decide: `seed`, the
    ``seed_`` of the pipeline around it, or ``imgaug.seed``.

    Args:
        name: ``suite/name``, as for `robustlib.corrupt`.
        severity: as for `robustlib.corrupt`.
        seed: what imgaug's augmenters take as their seed; None shares imgaug's global generator.

    Returns:
        An augmenter of uint8 RGB images. It leaves boxes, key points and maps as they are, and refuses them where the
        corruption moves content.

    Raises:
        UnknownNameError: no such corruption.
        InvalidTypeError, InvalidValueError: a severity that the corruption does not have.
    """
    corrupt(np.zeros((1, 1, 3), np.uint8), name, severity)
    with _unmoved_generators():  # imgaug seeds its global generator from NumPy's when first asked for it
        return _CorruptionAugmenter(name, severity, seed)


def from_augmenter(augmenter: iaa.Augmenter, name: str) -> Corruption:
    """Make an imgaug augmenter the corruption ``custom/<name>``, with the one severity 1, in this process.

    The augmenter is copied. The copy is seeded afresh for each image by the seed of `robustlib.corrupt`, also where it
    is deterministic, and no global generator is moved.

    The corruption's parameter ``fingerprint``, by which a sweep tells two augmenters of one name apart, is a hash of
    the name, of what the augmenter says of itself (its class, parameters and children) and of what it does to a few
    small images. Code of your own, as in ``iaa.Lambda``, says nothing of itself: change the name when you change it.

    Args:
        augmenter: any augmenter that takes a uint8 RGB image.
        name: lower-case letters, digits and underscores.

    Returns:
        The corruption, which `corrupt`, `list_corruptions("custom")` and sweeps know from now on. For the same
        augmenter under the same name, the one that is there.

    Raises:
        InvalidTypeError: not an augmenter, or the name is no text.
        InvalidValueError: a name of another form, or of another augmenter.
    """
    if not isinstance(augmenter, iaa.Augmenter):
        raise InvalidTypeError(f"augmenter must be an imgaug augmenter, got {type(augmenter).__name__}.")
    if not isinstance(name, str):
        raise InvalidTypeError(f"name must be text, got {name!r}.")
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise InvalidValueError(f"name must consist of lower-case letters, digits and _, got {name!r}.")
    with _ONE_AT_A_TIME, _unmoved_generators():
        augmenter = augmenter.deepcopy()
    fingerprint = _fingerprint(augmenter, name)
    corruption = Corruption(
        name=name,
        suite=CUSTOM,
        category=CUSTOM,
        function=imgaug_augmenter.__name__,
        parameters=({"fingerprint": fingerprint},),
        random=True,
        fidelity="ours",
        source=f"imaug {version('imaug')}",
        note=type(augmenter).__name__,
    )
    add_corruption(corruption)
    _AUGMENTERS.setdefault(fingerprint, augmenter)
    return corruption


@effect
def imgaug_augmenter(image: Pixels, rng: Stream, *, fingerprint: int) -> Pixels:
    """Apply the augmenter that has this fingerprint."""
    return _augment(_AUGMENTERS[fingerprint], image, rng)


_AUGMENTERS: dict[int, iaa.Augmenter] = {}


class _CorruptionAugmenter(iaa.Augmenter):  # type: ignore[misc]  # imgaug has no types
    def __init__(self, name: str, severity: int, seed: Any) -> None:
        super().__init__(seed=seed, name=f"{name}/{severity}")
        self._corruption = find_corruption(name)
        self._severity = severity

    def get_parameters(self) -> list[Any]:
        return [self._corruption.key, self._severity]

    def _augment_batch_(self, batch: Any, random_state: Any, parents: Any, hooks: Any) -> Any:
        self._refuse_annotations([column.name for column in batch.columns if column.name != "images"])
        if batch.images is None:
            return batch
        seeds = random_state.generate_seeds_(len(batch.images))
        images = [self._corrupt(image, int(seed)) for image, seed in zip(batch.images, seeds, strict=True)]
        alike = isinstance(batch.images, np.ndarray) and len({image.shape for image in images}) == 1
        batch.images = np.stack(images) if alike else images
        return batch

    def _corrupt(self, image: Pixels, seed: int) -> Pixels:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise InvalidTypeError(f"{self.name} takes uint8 images H x W x 3, got {image.dtype} {image.shape}.")
        return corrupt(image, self._corruption.key, self._severity, seed)

    def _refuse_annotations(self, names: list[str]) -> None:
        if names and self._corruption.function in MOVING:
            raise InvalidValueError(f"{self.name} moves content but would leave {', '.join(names)} as they are.")


def _fingerprint(augmenter: iaa.Augmenter, name: str) -> int:
    """Return 48 bits of the SHA-256 of the name, of the augmenter as text, and of what it does to images of noise."""
    total = hashlib.sha256(f"{name}\n{_PASSING.sub('', str(augmenter))}".encode())
    for number in range(_PROBES):
        probe = generator("probe", number).integers(0, 256, (48, 64, 3), np.uint8)
        result = _augment(augmenter, probe, Stream("probe", number))
        total.update(repr(result.shape).encode() + result.tobytes())
    return int.from_bytes(total.digest()[:6], "big")


def _augment(augmenter: iaa.Augmenter, image: Pixels, rng: Stream) -> Pixels:
    with _ONE_AT_A_TIME, _unmoved_generators():
        augmenter.seed_(int(rng.key()), deterministic_too=True)
        return to_rgb(augmenter.augment_image(image))


@contextmanager
def _unmoved_generators() -> Iterator[None]:
    """Put the global generators back to where they were: some augmenters draw from them, whatever their seed."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 -- to leave it alone is the point
    imgaug = imgaug_random.get_global_rng().state
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002 -- as above
        imgaug_random.get_global_rng().state = imgaug

"""Corrupted copies of a folder of images or of a data set, on disk: resumable, with a manifest to verify them by.

A copy lies at ``TARGET/<corruption>/<severity>/<path of the image>.png``. PNG loses nothing, so what a model reads from
it is what `corrupt` returned.
"""

import hashlib
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from robustlib.corruptions.catalogue import Corruption, list_corruptions
from robustlib.corruptions.copies import Journal, Record, find_differences
from robustlib.corruptions.encoding import encode
from robustlib.corruptions.engine import corrupt, image_seed, warm_up
from robustlib.data import LazyImage, load_dataset
from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.files import write_atomically

IMAGE_ENDINGS = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})
_LIBRARIES = ("robustlib", "numba", "numpy", "opencv-python-headless", "pillow", "scipy")

_Conditions = list[tuple[Corruption, int]]


@dataclass(frozen=True)
class _Copying:
    """What every image of one call has in common."""

    target: Path
    conditions: _Conditions
    seed: int
    journal: Journal


def corrupt_folder(
    source: str | Path, target: str | Path, suite: str, severities: Collection[int], workers: int = 1, seed: int = 0
) -> dict[str, Any]:
    """Write corrupted copies of all images of a folder or data set, with a progress line.

    What an earlier, interrupted call has finished stays as it is; the end is the same, byte for byte.

    Args:
        source: a folder, searched through all its levels, or a data set as ``name:split``, for example
            ``"easy_vqa:test"``.
        target: folder for the copies and ``manifest.json``.
        suite: every corruption of it is applied.
        severities: 1 .. 5; each corruption is applied at those that it has.
        workers: threads; the copies do not depend on it.
        seed: base seed. With an image's path inside the folder, or its id in the data set, it decides what a random
            corruption draws, as in a sweep.

    Returns:
        The manifest: ``settings``; under ``images`` the SHA-256 of each source, its seed and the SHA-256 of each copy;
        under ``unreadable`` the reason for each image that could not be read, or that a corruption refused: it has no
        copies.

    Raises:
        UnknownNameError: no such suite, data set or split.
        InvalidValueError: no images, or two that would have the same copies; `source` or `target` lies in the other; a
            severity or number of workers out of range; or `target` holds copies that were made with other settings.
        OSError: a copy cannot be written.
    """
    if workers < 1:
        raise InvalidValueError(f"workers must be at least 1, got {workers}.")
    source, target = Path(source), Path(target)
    _check_apart(source, target)
    conditions = _list_conditions(suite, severities)
    images = find_images(source)
    _check_copies_differ(images)
    copying = _Copying(target, conditions, seed, Journal(target, _settings(suite, seed, conditions)))
    warm_up(suite)
    pool = ThreadPoolExecutor(workers)
    try:
        futures = {pool.submit(_copy, name, image, copying): name for name, image in images.items()}
        for future in tqdm(as_completed(futures), desc="Corrupting", total=len(images), unit="image"):
            copying.journal.add(futures[future], future.result())
    finally:
        pool.shutdown(cancel_futures=True)
    return copying.journal.finish(images)


def verify_folder(source: str | Path, target: str | Path, workers: int = 1) -> list[str]:
    """Hash the images and their copies again.

    Args:
        source: as for `corrupt_folder`.
        target: as for `corrupt_folder`.
        workers: threads.

    Returns:
        One line for each file that differs from the manifest; none if all is as it was.

    Raises:
        UnknownNameError, InvalidValueError: as for `corrupt_folder`.
        RobustlibError: the copies are not finished, or there are none.
    """
    hashes = {name: _digest(image) for name, image in find_images(Path(source)).items()}
    return find_differences(Path(target), hashes, workers)


def find_images(source: Path) -> dict[str, LazyImage]:
    """Return the images of a folder by their path in it, or of a data set ``name:split`` by their id, sorted.

    Raises:
        UnknownNameError: no such data set or split.
        InvalidValueError: neither a folder nor a data set, or no image in it.
    """
    if source.is_dir():
        images = dict(_walk(source))
    elif ":" in source.name:
        name, split = str(source).rsplit(":", 1)
        questions = load_dataset(name, split)
        images = {question.image_id: question.image for question in questions if question.image is not None}
    else:
        raise InvalidValueError(f"{source} is neither a folder nor a data set, which is written name:split.")
    if not images:
        raise InvalidValueError(f"{source} holds no image; the endings are {', '.join(sorted(IMAGE_ENDINGS))}.")
    return dict(sorted(images.items()))


def _walk(folder: Path) -> Iterator[tuple[str, LazyImage]]:
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix.lower() in IMAGE_ENDINGS and path.is_file() and not hidden:
            yield relative.as_posix(), LazyImage(path)


def _check_apart(source: Path, target: Path) -> None:
    if not source.is_dir():  # a data set, which lies in no folder of the user's
        return
    if target.resolve().is_relative_to(source.resolve()):
        raise InvalidValueError(f"The copies must not lie among the images: {target} is inside {source}.")
    if source.resolve().is_relative_to(target.resolve()):
        raise InvalidValueError(f"The images must not lie among the copies: {source} is inside {target}.")


def _digest(image: LazyImage) -> str | None:
    try:
        return image.digest()
    except RobustlibError:
        return None


def _list_conditions(suite: str, severities: Collection[int]) -> _Conditions:
    if not severities or not set(severities) <= set(range(1, 6)):
        raise InvalidValueError(f"severities must be some of 1 .. 5, got {sorted(severities)}.")
    every = [(corruption, level) for corruption in list_corruptions(suite) for level in corruption.severities]
    return [(corruption, level) for corruption, level in every if level in severities]


def _settings(suite: str, seed: int, conditions: _Conditions) -> dict[str, Any]:
    described = {
        f"{corruption.name}/{level}": {
            "function": corruption.function,
            "parameters": dict(corruption.parameters[level - 1]),
        }
        for corruption, level in conditions
    }
    versions = {name: version(name) for name in _LIBRARIES}
    return {"suite": suite, "seed": seed, "conditions": described, "versions": versions}


def _check_copies_differ(images: Collection[str]) -> None:
    names: dict[str, str] = {}
    for name in images:
        other = names.setdefault(_copy_name(name), name)
        if other != name:
            raise InvalidValueError(f"{other} and {name} would have the same copies; rename one of them.")


def _copy_name(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return f"{stem if dot + ending.lower() in IMAGE_ENDINGS else name}.png"


def _copy(name: str, image: LazyImage, copying: _Copying) -> Record:
    """Write all copies of one image and return its record; or leave none, and return why it has none."""
    paths = [f"{corruption.name}/{level}/{_copy_name(name)}" for corruption, level in copying.conditions]
    try:
        sha256 = image.digest()
        if done := copying.journal.find(name, sha256):
            return done
        seed = image_seed(copying.seed, name)
        hashes = list(_write_copies(image.decode(), seed, paths, copying))
    except RobustlibError as error:
        for path in paths:
            (copying.target / path).unlink(missing_ok=True)
        return {"unreadable": str(error)}
    return {"sha256": sha256, "seed": seed, "copies": dict(zip(paths, hashes, strict=True))}


def _write_copies(pixels: Pixels, seed: int, paths: list[str], copying: _Copying) -> Iterator[str]:
    """Yield the SHA-256 of each copy."""
    for (corruption, level), path in zip(copying.conditions, paths, strict=True):
        encoded = encode(corrupt(pixels, corruption.key, level, seed), ".png").tobytes()
        write_atomically(copying.target / path, encoded)
        yield hashlib.sha256(encoded).hexdigest()

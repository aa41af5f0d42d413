"""What the engine refuses, and how it says so."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from robustlib.corruptions import (
    Corruption,
    corrupt,
    corrupt_batch,
    find_corruption,
    image_seed,
    list_corruptions,
    list_suites,
    warm_up,
)
from robustlib.data.images import Pixels
from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError

EACH = pytest.mark.parametrize(
    "corruption",
    [corruption for suite in list_suites() for corruption in list_corruptions(suite)],
    ids=lambda corruption: corruption.key,
)


def picture(height: int, width: int) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def test_batches_are_checked() -> None:
    assert corrupt_batch([], "imagenet_c/fog", 1, []) == []
    with pytest.raises(UnknownNameError, match="imagenet_c/fog"):
        corrupt_batch([], "imagenet_c/fogg", 1, [])
    with pytest.raises(InvalidValueError, match=r"must lie in 0 .. 5, got 6"):
        corrupt_batch([], "imagenet_c/fog", 6, [])
    with pytest.raises(InvalidValueError, match="got 1 images and 2 seeds"):
        corrupt_batch([picture(4, 4)], "imagenet_c/fog", 1, [1, 2])
    with pytest.raises(InvalidValueError, match="workers must be at least 1, got 0"):
        corrupt_batch([picture(4, 4)], "imagenet_c/fog", 1, [1], workers=0)
    with pytest.raises(InvalidValueError, match=r"severity of imagenet_c/fog must lie in 0 .. 5, got 6"):
        corrupt_batch([picture(4, 4)], "imagenet_c/fog", 6, [1], workers=2)


@EACH
def test_severities_that_it_does_not_have_are_refused(corruption: Corruption) -> None:
    highest = corruption.severities[-1]
    for severity in (-1, highest + 1, 10**30):
        with pytest.raises(InvalidValueError, match=rf"must lie in 0 .. {highest}, got {severity}"):
            corrupt(picture(4, 4), corruption.key, severity)


@pytest.mark.parametrize("severity", [True, 1.0, "1", None, np.float64(2)])
def test_severities_of_another_type_are_refused(severity: Any) -> None:
    with pytest.raises(InvalidTypeError, match="severity must be an integer, got"):
        corrupt(picture(4, 4), "imagenet_c/fog", severity)


@pytest.mark.parametrize("seed", [False, 0.0, "0", None])
def test_seeds_of_another_type_are_refused(seed: Any) -> None:
    for severity in (0, 1):
        with pytest.raises(InvalidTypeError, match="seed must be an integer, got"):
            corrupt(picture(4, 4), "imagenet_c/fog", severity, seed)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    with pytest.raises(InvalidValueError, match=rf"seed must lie in 0 .. 2\*\*64 - 1, got {seed}"):
        corrupt(picture(4, 4), "imagenet_c/fog", 1, seed)
    with pytest.raises(InvalidValueError, match="seed must lie in"):
        image_seed(seed, "image")


@pytest.mark.parametrize("name", ["fog", "imagenet_c/fogg", "imagenet_c", "imagenet_c/", "", "IMAGENET_C/FOG"])
def test_unknown_names_are_refused(name: str) -> None:
    for call in (lambda: corrupt(picture(4, 4), name, 1), lambda: find_corruption(name)):
        with pytest.raises(UnknownNameError):
            call()


def test_near_misses_and_suites_are_named() -> None:
    with pytest.raises(UnknownNameError, match="imagenet_c/fog"):
        corrupt(picture(4, 4), "imagenet_c/fogg", 1)
    for call in (list_corruptions, warm_up):
        with pytest.raises(UnknownNameError, match="imagenet_c"):
            call("imagenet-c")


@pytest.mark.parametrize(
    "image", [np.zeros((0, 4, 3), np.uint8), np.zeros((4, 4, 5), np.uint8), np.full((2, 2), np.nan)]
)
def test_what_is_no_image_is_refused_before_any_kernel(image: npt.NDArray[Any]) -> None:
    with pytest.raises(InvalidValueError):
        corrupt(image, "imagenet_c/fog", 1)

"""ImageNet-C against the package imagecorruptions, which most papers use.

It cuts decimals off at the end, where robustlib rounds. Deterministic corruptions may differ by 2 grey levels. Random
ones are drawn 60 times by both, theirs are rounded as ours are, and each feature of the two samples of images is
compared by a Kolmogorov-Smirnov test. All these tests together reject two equal packages with a probability of at most
1 % (Bonferroni). Seeds are fixed: NumPy's global one for theirs, except in impulse_noise and glass_blur, which that
does not control and which take their own.

Two are not the same thing in both, so that only their mean brightness is compared. Frost is procedural here and
photographs there. Their elastic_transform leaves the affine shift out and scales with the height of the image.
"""

from functools import cache
from typing import Any

import imagecorruptions
import numpy as np
import numpy.typing as npt
import pytest
import skimage.data
from PIL import Image
from scipy.stats import ks_2samp

from robustlib.corruptions import corrupt, find_corruption, list_corruptions
from robustlib.data.images import Pixels

PHOTOGRAPHS: Any = skimage.data  # carries no types
SIZES = {"astronaut": (96, 96), "coffee": (150, 100), "chelsea": (112, 75), "rocket": (128, 85)}  # width, height
SEVERITIES = range(1, 6)
SEEDS = range(60)
DETERMINISTIC = [corruption.name for corruption in list_corruptions("imagenet_c") if not corruption.random]
EXCEPTIONS = {  # levels by which deterministic ones may differ where it is not 2
    ("defocus_blur", 4): 4,  # `fixed`: their disc's weights sum to 1.013, which brightens by up to 3.3 levels
    ("defocus_blur", 5): 4,  # `fixed`: their disc's weights sum to 1.011
    **{("jpeg_compression", severity): 0 for severity in SEVERITIES},  # the same encoder
}
BRIGHTNESS_ALONE = {"frost": 16, "elastic_transform": 1}  # levels that may lie between the means
RANDOM = [
    corruption.name
    for corruption in list_corruptions("imagenet_c")
    if corruption.random and corruption.name not in BRIGHTNESS_ALONE
]
CUT_HALFWAY = {"glass_blur": 0.5}  # theirs cuts decimals off before it moves pixels, which costs half a level
SELF_SEEDED = ("impulse_noise", "glass_blur")
FEATURES = ("mean", "deviation", "steps right", "steps down", *(f"share of bin {index}" for index in range(16)))
FAMILY_ERROR = 0.01
TESTS = len(RANDOM) * len(SEVERITIES) * len(FEATURES)


@cache
def photograph(name: str) -> Pixels:
    return np.array(Image.fromarray(getattr(PHOTOGRAPHS, name)()).resize(SIZES[name], Image.Resampling.BOX))


def theirs(image: Pixels, name: str, severity: int, seed: int) -> Pixels:
    np.random.seed(seed)  # noqa: NPY002 -- the only seed that most of theirs have
    function = getattr(imagecorruptions.corruptions, name)
    own_seed = {"seed": seed} if name in SELF_SEEDED else {}
    result: npt.NDArray[np.float64] = function(Image.fromarray(image), severity, **own_seed)
    return np.rint(result + CUT_HALFWAY.get(name, 0)).clip(0, 255).astype(np.uint8)


def features(image: Pixels) -> list[float]:
    values = image.astype(float)
    steps = [np.abs(np.diff(values, axis=axis)).mean() for axis in (1, 0)]
    shares = np.bincount(image.reshape(-1) >> 4, minlength=16) / image.size
    return [values.mean(), values.std(), *steps, *shares]


def samples(name: str, severity: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    image = photograph("astronaut")
    ours = [features(corrupt(image, f"imagenet_c/{name}", severity, seed)) for seed in SEEDS]
    return np.array(ours), np.array([features(theirs(image, name, severity, seed)) for seed in SEEDS])


def p_values(ours: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]) -> dict[str, float]:
    return {name: ks_2samp(ours[:, i], reference[:, i], method="asymp").pvalue for i, name in enumerate(FEATURES)}


def test_only_what_is_fixed_is_excepted() -> None:
    wider = {name for (name, _), levels in EXCEPTIONS.items() if levels > 2}
    assert wider == {"defocus_blur"}
    for name in (*wider, "elastic_transform"):
        assert find_corruption(f"imagenet_c/{name}").fidelity == "fixed"
    assert find_corruption("imagenet_c/frost").fidelity == "ours"


@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_deterministic_ones_agree_within_2_levels(name: str, severity: int) -> None:
    for photo in SIZES:
        image = photograph(photo)
        ours = corrupt(image, f"imagenet_c/{name}", severity)
        reference = imagecorruptions.corrupt(image, corruption_name=name, severity=severity)
        assert np.abs(ours.astype(int) - reference).max() <= EXCEPTIONS.get((name, severity), 2), photo


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_random_ones_agree_in_distribution(name: str, severity: int) -> None:
    values = p_values(*samples(name, severity))
    assert min(values.values()) > FAMILY_ERROR / TESTS, values


def test_small_differences_would_be_seen() -> None:
    """A level of brightness, 5 % of sigma, half a per cent more impulses."""
    image = photograph("astronaut")
    _, reference = samples("gaussian_noise", 3)
    rng = np.random.default_rng(0)
    for sigma, offset in ((0.18, 1), (0.18 * 1.05, 0)):
        noisy = [image + offset + rng.normal(0, 255 * sigma, image.shape) for _ in SEEDS]
        other = np.array([features(np.rint(one).clip(0, 255).astype(np.uint8)) for one in noisy])
        assert min(p_values(other, reference).values()) < FAMILY_ERROR / TESTS
    ours, reference = samples("impulse_noise", 3)
    ours[:, FEATURES.index("share of bin 0")] += 0.0025
    assert p_values(ours, reference)["share of bin 0"] < FAMILY_ERROR / TESTS


@pytest.mark.parametrize("name", BRIGHTNESS_ALONE)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_what_is_another_thing_is_as_bright(name: str, severity: int) -> None:
    ours, reference = samples(name, severity)
    assert ours[:, 0].mean() == pytest.approx(reference[:, 0].mean(), abs=BRIGHTNESS_ALONE[name])
    assert ours[:, 0].std() > 0

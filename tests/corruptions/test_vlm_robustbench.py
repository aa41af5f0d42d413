"""The 49 corruptions of VLM-RobustBench: the right names, the right effects, and strengths in order."""

import colorsys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageOps
from skimage.color import rgb2lab
from skimage.metrics import structural_similarity

from robustlib.corruptions import Corruption, corrupt, find_corruption, list_corruptions
from robustlib.data.images import Pixels

SUITE = "vlm_robustbench"
TAXONOMY = {  # Table 1 of the paper
    "noise": "gaussian_noise shot_noise speckle_noise salt_pepper",
    "blur": "gaussian_blur motion_blur defocus_blur glass_blur zoom_blur",
    "weather": "fog frost snow rain spatter",
    "digital": "jpeg_compression pixelate",
    "geometric": "rotate shear affine perspective_transform elastic_transform",
    "occlusion": "center_occlusion random_occlusion grid_mask",
    "color": "brightness brightness_up contrast contrast_up saturation saturation_up gamma gamma_up hue_shift "
    "color_jitter",
    "resolution": "downsample upsample sharpen posterize solarize",
    "vlm_specific": "text_overlay watermark add_border",
    "binary": "flip_h flip_v grayscale invert channel_swap equalize autocontrast",
}
CORRUPTIONS = list_corruptions(SUITE)
GRADED = [corruption for corruption in CORRUPTIONS if len(corruption.severities) > 1]
NOT_ORDERED = {"glass_blur", "snow", "frost", "elastic_transform"}  # published parameters; their rows say why
ORDERED_IN_STRUCTURE = {"fog"}  # thicker fog turns darker in between, so its colours alone do not get further away
THUMBNAIL = (64, 48)
SEEDS = range(12)


@cache
def photographs() -> tuple[Pixels, ...]:
    pictures = [Image.fromarray(getattr(skimage.data, name)()) for name in ("astronaut", "chelsea", "coffee", "rocket")]
    return tuple(np.array(picture.resize(THUMBNAIL, Image.Resampling.BOX)) for picture in pictures)


def noise(height: int, width: int) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def corrupted(image: Pixels, name: str, severity: int = 1, seed: int = 0) -> Pixels:
    return corrupt(image, f"{SUITE}/{name}", severity, seed)


def test_names_categories_and_levels_are_those_of_the_paper() -> None:
    assert {name: names.split() for name, names in TAXONOMY.items()} == {
        category: [corruption.name for corruption in CORRUPTIONS if corruption.category == category]
        for category in TAXONOMY
    }
    assert [len(corruption.severities) for corruption in CORRUPTIONS] == [5] * 42 + [1] * 7


def test_what_imagenet_c_has_is_the_same_here() -> None:
    elsewhere = {corruption.name: corruption for corruption in list_corruptions("imagenet_c")} | {
        "salt_pepper": find_corruption("imagenet_c/impulse_noise")
    }
    own = {"brightness", "contrast"}  # pairs of a decrease and an increase, which ImageNet-C does not have
    shared = [corruption for corruption in CORRUPTIONS if corruption.name in elsewhere.keys() - own]
    assert len(shared) == 16
    for corruption in shared:
        other = elsewhere[corruption.name]
        assert (corruption.function, corruption.parameters) == (other.function, other.parameters)
        assert corruption.fidelity == other.fidelity
    graded = {corruption.name: corruption.fidelity for corruption in GRADED if corruption not in shared}
    assert set(graded.values()) == {"ours"}


@pytest.mark.parametrize("corruption", GRADED, ids=lambda corruption: corruption.name)
def test_strengths_are_in_order(corruption: Corruption) -> None:
    measure = _structural_distance if corruption.name in ORDERED_IN_STRUCTURE else _colour_distance
    distances = [measure(corruption, severity) for severity in corruption.severities]
    steps = np.diff(distances)
    if corruption.name in NOT_ORDERED:
        assert "Not ordered" in corruption.note
        assert min(distances) > 0
        assert steps.min() < 0, distances
    else:
        assert "Not ordered" not in corruption.note
        assert steps.min() > 0, distances


@pytest.mark.parametrize("name", ORDERED_IN_STRUCTURE)
def test_what_is_ordered_in_structure_is_not_in_colour(name: str) -> None:
    corruption = find_corruption(f"{SUITE}/{name}")
    distances = [_colour_distance(corruption, severity) for severity in corruption.severities]
    assert np.diff(distances).min() < 0, distances


def _pairs(corruption: Corruption, severity: int) -> Iterator[tuple[Pixels, Pixels]]:
    for photograph in photographs():
        for seed in SEEDS if corruption.random else [0]:
            image = corrupt(photograph, corruption.key, severity, seed)
            back = Image.fromarray(image).resize(THUMBNAIL, Image.Resampling.NEAREST)
            yield photograph, np.asarray(back)


def _colour_distance(corruption: Corruption, severity: int) -> float:
    """Return the mean distance in CIELAB."""
    clean, image = (rgb2lab(np.stack(images)) for images in zip(*_pairs(corruption, severity), strict=True))
    return float(np.sqrt(((image - clean) ** 2).sum(axis=-1)).mean())


def _structural_distance(corruption: Corruption, severity: int) -> float:
    """Return the mean of 1 - SSIM."""
    compare: Any = structural_similarity
    return 1 - float(np.mean([compare(*pair, channel_axis=2) for pair in _pairs(corruption, severity)]))


@pytest.mark.parametrize(("severity", "factor"), list(enumerate([1.5, 2, 3, 4, 6], start=1)))
def test_downsample_stays_small(severity: int, factor: float) -> None:
    assert corrupted(noise(240, 300), "downsample", severity).shape == (round(240 / factor), round(300 / factor), 3)
    assert corrupted(noise(1, 2), "downsample", severity).shape == (1, 1, 3)


def test_tone_follows_its_formula() -> None:
    image = noise(40, 50)
    values = image / 255
    for name, severity, expected in [
        ("brightness", 3, values * 0.5),
        ("brightness_up", 2, values * 1.4),
        ("gamma", 3, values**2),
        ("gamma_up", 3, values**0.5),
        ("contrast_up", 3, (values - values.mean((0, 1))) * 2 + values.mean((0, 1))),
        ("solarize", 4, np.where(image < 128, values, 1 - values)),
        ("posterize", 5, image // 64 * 64 / 255),
        ("invert", 1, 1 - values),
        ("channel_swap", 1, values[..., ::-1]),
        ("flip_h", 1, values[:, ::-1]),
        ("flip_v", 1, values[::-1]),
    ]:
        difference = corrupted(image, name, severity) - 255 * expected.clip(0, 1)
        assert np.abs(difference).max() <= 0.5 + 1e-4, name


@pytest.mark.parametrize("image", [noise(31, 47), noise(31, 47) // 3 + 40, np.full((5, 5, 3), 9, np.uint8)])
def test_grey_and_histograms_agree_with_pillow(image: Pixels) -> None:
    picture = Image.fromarray(image)
    np.testing.assert_array_equal(corrupted(image, "grayscale")[..., 1], np.asarray(picture.convert("L")))
    np.testing.assert_array_equal(corrupted(image, "equalize"), np.asarray(ImageOps.equalize(picture)))
    stretched = np.asarray(ImageOps.autocontrast(picture)).astype(int)  # which cuts decimals off
    assert set(np.unique(corrupted(image, "autocontrast") - stretched)) <= {0, 1}


@pytest.mark.parametrize(("severity", "degrees"), list(enumerate([10, 20, 36, 54, 80], start=1)))
def test_hue_turns_as_in_hsv(severity: int, degrees: float) -> None:
    image = noise(12, 15)
    turned = corrupted(image, "hue_shift", severity)
    for before, after in zip(image.reshape(-1, 3) / 255, turned.reshape(-1, 3), strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        assert np.abs(255 * np.array(colorsys.hsv_to_rgb(hue + degrees / 360, saturation, value)) - after).max() < 0.51


def test_sharpening_adds_what_a_blur_takes_away() -> None:
    image = noise(20, 30)
    padded = np.pad(image.astype(float), ((1, 1), (1, 1), (0, 0)), "edge")
    across = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    blurred = (across[:-2] + 2 * across[1:-1] + across[2:]) / 16
    expected = np.clip(image + 3.5 * (image - blurred), 0, 255)
    assert np.abs(corrupted(image, "sharpen", 3) - expected).max() <= 0.5


def test_rotation_agrees_with_pillow_away_from_the_edges() -> None:
    image = np.kron(noise(8, 8), np.ones((12, 12, 1), np.uint8))
    smooth = np.array(Image.fromarray(image).resize((96, 96), Image.Resampling.BICUBIC, (20, 20, 70, 70)))
    ours = corrupted(smooth, "rotate", 3)[30:66, 30:66].astype(int)
    picture = Image.fromarray(smooth)
    references = [np.asarray(picture.rotate(angle, Image.Resampling.BILINEAR))[30:66, 30:66] for angle in (15, -15)]
    assert min(np.abs(ours - reference).max() for reference in references) <= 2


@pytest.mark.parametrize("name", ["rotate", "shear", "affine", "perspective_transform"])
def test_warps_keep_a_flat_image_and_sample_from_the_image_alone(name: str) -> None:
    flat = np.full((1, 70, 3), (7, 100, 250), np.uint8)
    np.testing.assert_array_equal(corrupted(flat, name, 5), flat)
    stripes = (np.arange(48)[:, None] + np.arange(60)) // 3 % 2
    striped = np.repeat(np.where(stripes, 255, 90).astype(np.uint8)[..., None], 3, axis=2)
    result = corrupted(striped, name, 5)
    assert result.min() >= 90
    assert len(np.unique(result)) > 2


@pytest.mark.parametrize("name", ["center_occlusion", "random_occlusion"])
@pytest.mark.parametrize(("severity", "share"), list(enumerate([0.04, 0.08, 0.14, 0.22, 0.32], start=1)))
def test_occlusion_hides_its_share_behind_one_grey_patch(name: str, severity: int, share: float) -> None:
    white = np.full((200, 300, 3), 255, np.uint8)
    for seed in range(10):
        hidden = (corrupted(white, name, severity, seed) == 128).all(axis=2)
        rows, columns = hidden.any(axis=1), hidden.any(axis=0)
        assert hidden.mean() == pytest.approx(share, rel=0.03)
        assert hidden.sum() == rows.sum() * columns.sum()


@pytest.mark.parametrize(("severity", "share"), list(enumerate([0.1, 0.17, 0.25, 0.33, 0.4], start=1)))
def test_the_grid_hides_its_share(severity: int, share: float) -> None:
    white = np.full((240, 320, 3), 255, np.uint8)
    hidden = [(corrupted(white, "grid_mask", severity, seed) == 128).mean() for seed in range(10)]
    assert np.mean(hidden) == pytest.approx(share, rel=0.05)


def test_a_border_frames_the_whole_image() -> None:
    white = np.full((100, 200, 3), 255, np.uint8)
    framed = corrupted(white, "add_border", 5)
    assert (framed[16:84, 32:168] == 255).all()
    assert framed.sum() == framed[16:84, 32:168].sum()


def test_text_grows_with_the_image() -> None:
    small, large = (corrupted(np.zeros((side, side, 3), np.uint8), "text_overlay", seed=3) for side in (128, 512))
    assert large.any(axis=(1, 2)).sum() == pytest.approx(4 * small.any(axis=(1, 2)).sum(), rel=0.2)


def test_rain_falls_downwards() -> None:
    rain = corrupted(np.zeros((128, 128, 3), np.uint8), "rain", 5).mean(axis=2)
    assert np.abs(np.diff(rain, axis=1)).mean() > 1.5 * np.abs(np.diff(rain, axis=0)).mean()

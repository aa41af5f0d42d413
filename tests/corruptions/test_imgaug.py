"""Corruptions in imgaug pipelines, and imgaug augmenters as corruptions."""

import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import imgaug
import imgaug.augmenters as iaa
import numpy as np
import pytest
import skimage.data

from robustlib.corruptions import catalogue, corrupt, corrupt_batch, list_corruptions
from robustlib.corruptions.imgaug_bridge import as_augmenter, from_augmenter
from robustlib.data.images import Pixels
from robustlib.errors import InvalidTypeError, InvalidValueError, UnknownNameError

PHOTOGRAPHS: Any = skimage.data
IMAGE: Pixels = np.ascontiguousarray(PHOTOGRAPHS.astronaut()[::8, ::8])


@pytest.fixture(autouse=True)
def _forget_custom_corruptions() -> Iterator[None]:
    """Leave the catalogue as it was, for tests that go through all suites."""
    yield
    for name in [name for name in catalogue._catalogue() if name.startswith("custom/")]:
        del catalogue._catalogue()[name]


def pipeline() -> iaa.Augmenter:
    return iaa.Sequential(
        [as_augmenter("imagenet_c/fog", 3), iaa.Fliplr(0.5), as_augmenter("imagenet_c/gaussian_noise", 2)]
    )


def test_a_pipeline_with_corruptions_follows_imgaugs_seeds() -> None:
    by_seed = []
    for _ in range(2):
        augmenter = pipeline()
        augmenter.seed_(7)
        by_seed.append(augmenter(images=[IMAGE, IMAGE]))
    np.testing.assert_array_equal(by_seed[0], by_seed[1])
    assert not np.array_equal(by_seed[0][0], by_seed[0][1]), "each image has a draw of its own"

    by_global_seed = []
    for _ in range(2):
        imgaug.seed(11)
        by_global_seed.append(pipeline()(image=IMAGE))
    np.testing.assert_array_equal(*by_global_seed)

    own = [as_augmenter("imagenet_c/fog", 3, seed=seed)(image=IMAGE) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(own[0], own[1])
    assert not np.array_equal(own[0], own[2])


def test_a_deterministic_pipeline_repeats_itself() -> None:
    augmenter = pipeline().to_deterministic()
    np.testing.assert_array_equal(augmenter(image=IMAGE), augmenter(image=IMAGE))


def test_the_augmenter_does_what_corrupt_does() -> None:
    result = as_augmenter("imagenet_c/contrast", 4)(images=np.stack([IMAGE, IMAGE]))
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result[1], corrupt(IMAGE, "imagenet_c/contrast", 4))
    assert as_augmenter("vlm_robustbench/downsample", 2)(images=np.stack([IMAGE]))[0].shape == (32, 32, 3)


def test_boxes_stay_where_the_content_stays_and_are_refused_where_it_moves() -> None:
    boxes = imgaug.BoundingBoxesOnImage([imgaug.BoundingBox(1, 2, 3, 4)], IMAGE.shape)
    _, kept = as_augmenter("imagenet_c/fog", 1)(image=IMAGE, bounding_boxes=boxes)
    np.testing.assert_array_equal(kept.to_xyxy_array(), boxes.to_xyxy_array())
    with pytest.raises(InvalidValueError, match=r"rotate/1 moves content .* bounding_boxes"):
        as_augmenter("vlm_robustbench/rotate", 1)(image=IMAGE, bounding_boxes=boxes)


def test_what_is_no_corruption_or_no_rgb_image_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'imagenet_c/fog'"):
        as_augmenter("imagenet_c/fogg", 1)
    with pytest.raises(InvalidValueError, match="severity"):
        as_augmenter("imagenet_c/fog", 6)
    with pytest.raises(InvalidTypeError, match=r"uint8 images H x W x 3, got float64"):
        as_augmenter("imagenet_c/fog", 1)(image=IMAGE / 255)


AUGMENTERS = {
    "soft_focus": (iaa.GaussianBlur((1, 3)), True),
    "few_colours": (iaa.KMeansColorQuantization(n_colors=(4, 16)), True),  # draws from imgaug's global generator
    "peers_waves": (iaa.imgcorruptlike.ElasticTransform(2), True),  # draws from NumPy's global generator
    "mostly_hue": (iaa.Sometimes(0.5, iaa.AddToHueAndSaturation((-90, 90))), True),
    "tighter": (iaa.Crop(percent=(0, 0.3), keep_size=False), True),
    "turned": (iaa.Affine(rotate=(-30, 30), seed=1).to_deterministic(), True),
    "greyed": (iaa.Grayscale(1.0), False),
}


@pytest.mark.parametrize("name", AUGMENTERS)
def test_an_augmenter_becomes_a_corruption_of_its_seed_alone(name: str) -> None:
    augmenter, is_random = AUGMENTERS[name]
    imgaug.random.get_global_rng()
    before = _global_state()
    key = from_augmenter(augmenter, name).key
    results = [corrupt(IMAGE, key, 1, seed) for seed in range(8)]
    assert _global_state() == before
    assert (len({result.tobytes() for result in results}) > 1) == is_random
    imgaug.seed(3)
    batch = corrupt_batch([IMAGE] * 8, key, 1, seeds=range(8), workers=2)
    for alone, together in zip(results, batch, strict=True):
        np.testing.assert_array_equal(alone, together)
    assert name in [corruption.name for corruption in list_corruptions("custom")]


def _global_state() -> tuple[str, ...]:
    numpy = np.random.get_state()  # noqa: NPY002 -- whether it moves is the question
    return repr(random.getstate()), repr(numpy), repr(imgaug.random.get_global_rng().state)


def test_one_name_is_one_augmenter() -> None:
    first = from_augmenter(iaa.Add(10), "lighter")
    assert from_augmenter(iaa.Add(10), "lighter") == first
    with pytest.raises(InvalidValueError, match="custom/lighter"):
        from_augmenter(iaa.Add(20), "lighter")
    np.testing.assert_array_equal(corrupt(IMAGE, first.key, 1), np.minimum(IMAGE.astype(int) + 10, 255))


def test_what_the_probes_cannot_tell_apart_is_told_apart() -> None:
    large = np.zeros((300, 300, 3), np.uint8)
    for side in (224, 256):  # larger than the probes
        corruption = from_augmenter(iaa.CropToFixedSize(side, side), f"crop{side}")
        assert corrupt(large, corruption.key, 1).shape == (side, side, 3)
    with pytest.raises(InvalidValueError, match="custom/crop224"):
        from_augmenter(iaa.CropToFixedSize(256, 256), "crop224")


def test_augmenters_that_say_and_do_the_same_to_probes_keep_their_own_names() -> None:
    large = np.zeros((80, 80, 3), np.uint8)
    for shade in (10, 20):
        corruption = from_augmenter(
            iaa.Lambda(lambda images, *_, shade=shade: _shade_large(images, shade)), f"l{shade}"
        )
        assert (corrupt(large, corruption.key, 1) == shade).all()


def _shade_large(images: list[Pixels], shade: int) -> list[Pixels]:
    return [image + np.uint8(shade if image.shape[0] > 70 else 0) for image in images]


def test_an_augmenter_that_has_been_at_work_is_still_the_same() -> None:
    augmenter = iaa.Sequential([iaa.Add((-40, 40)), iaa.Lambda(lambda images, *_: images)])
    fresh = from_augmenter(augmenter, "worked")
    augmenter(images=[IMAGE] * 3)
    assert from_augmenter(augmenter, "worked") == fresh
    same = iaa.Sequential([iaa.Add((-40, 40)), iaa.Lambda(lambda images, *_: images)])
    assert from_augmenter(same, "worked") == fresh


def test_what_is_no_augmenter_or_no_name_is_refused() -> None:
    with pytest.raises(InvalidTypeError, match="got function"):
        from_augmenter(corrupt, "mine")
    with pytest.raises(InvalidValueError, match="lower-case letters"):
        from_augmenter(iaa.Add(10), "Mine!")
    for name in (7, None, b"mine"):
        with pytest.raises(InvalidTypeError, match=rf"name must be text, got {name!r}"):
            from_augmenter(iaa.Add(10), name)  # type: ignore[arg-type]


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "import imgaug.augmenters as iaa; from robustlib.corruptions.imgaug_bridge import from_augmenter;"
        "print(from_augmenter(iaa.Add((-40, 40)), 'shifted').parameters[0]['fingerprint'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) == from_augmenter(iaa.Add((-40, 40)), "shifted").parameters[0]["fingerprint"]


def test_the_bridge_moves_no_generator_when_it_is_first_used() -> None:
    code = (
        "import random, numpy as np; before = random.getstate(), repr(np.random.get_state());"
        "from robustlib.corruptions.imgaug_bridge import as_augmenter; as_augmenter('imagenet_c/contrast', 1);"
        "assert before == (random.getstate(), repr(np.random.get_state()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""What every row of the data file promises: any image in, a new uint8 image out, by its seed and nothing else."""

import hashlib
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from robustlib.corruptions import (
    Corruption,
    corrupt,
    corrupt_batch,
    image_seed,
    list_corruptions,
    list_suites,
)
from robustlib.data.images import ImageLike, Pixels, to_rgb

CORRUPTIONS = [corruption for suite in list_suites() for corruption in list_corruptions(suite)]
RESIZING = {"downsample", "crop_center", "crop_random"}  # functions that are to change the size
SIZES = [(1, 1), (2, 3), (1, 500), (500, 1), (33, 17)]
CHEAP = ["imagenet_c/gaussian_noise", "imagenet_c/contrast", "imagenet_c/gaussian_blur", "imagenet_c/zoom_blur"]
EACH = pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: corruption.key)


def picture(height: int, width: int, channels: int = 3) -> Pixels:
    """Return smooth colours with some noise, different in every channel."""
    rng = np.random.default_rng([height, width, channels])
    y, x, channel = np.ogrid[:height, :width, :channels]
    waves = 128 + 90 * np.sin(0.21 * y + 0.13 * x + channel)
    noisy: npt.NDArray[np.float64] = waves + rng.normal(0, 20, waves.shape)
    return noisy.clip(0, 255).astype(np.uint8)


def palette() -> Image.Image:
    return Image.fromarray(picture(14, 9)).quantize(16)


def read_only() -> Pixels:
    image = picture(14, 9)
    image.flags.writeable = False
    return image


def fill_alpha(image: Image.Image) -> Image.Image:
    image.putalpha(Image.fromarray(picture(14, 9, 1)[..., 0]))
    return image


KINDS: dict[str, Callable[[], ImageLike]] = {
    "L": lambda: Image.fromarray(picture(14, 9)).convert("L"),
    "LA": lambda: fill_alpha(Image.fromarray(picture(14, 9)).convert("LA")),
    "P": palette,
    "RGB": lambda: Image.fromarray(picture(14, 9)),
    "RGBA": lambda: fill_alpha(Image.fromarray(picture(14, 9))),
    "grey array": lambda: picture(14, 9, 1)[..., 0],
    "float32": lambda: (picture(14, 9) / 255).astype(np.float32),
    "float64": lambda: picture(14, 9) / 255,
    "uint16": lambda: picture(14, 9).astype(np.uint16) * 257,
    "read-only": read_only,
    "reversed": lambda: picture(14, 9)[::-1, :, ::-1],
    "transposed": lambda: picture(9, 14).transpose(1, 0, 2),
    "every second": lambda: picture(28, 18)[::2, ::2],
    "part of RGBA": lambda: picture(14, 9, 4)[..., :3],
    "Fortran": lambda: np.asfortranarray(picture(14, 9)),
}


def test_the_suites_are_as_large_as_their_documents_say() -> None:
    sizes = {suite: [len(corruption.severities) for corruption in list_corruptions(suite)] for suite in list_suites()}
    assert sizes == {
        "imagenet_c": [5] * 19,
        "vqa_bench": [5] * 14,
        "vqa_bench_extra": [1] * 2,
        "vlm_robustbench": [5] * 42 + [1] * 7,
        "meaning_preserving": [1] * 8,
        "denoise": [5] * 3,
    }


@EACH
def test_every_size_is_taken_and_the_input_stays(corruption: Corruption) -> None:
    for height, width in SIZES:
        image = picture(height, width)
        before = image.copy()
        for severity in corruption.severities:
            result = corrupt(image, corruption.key, severity)
            assert result.dtype == np.uint8
            assert result.shape == image.shape or corruption.function in RESIZING
            assert result.flags.c_contiguous
            assert result.flags.writeable
            assert not np.shares_memory(result, image)
        np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturate"])
def test_a_large_image_is_corrupted_as_the_small_ones_of_which_it_consists(name: str) -> None:
    tile = picture(500, 400)
    large = corrupt(np.tile(tile, (6, 10, 1)), f"imagenet_c/{name}", 3)
    assert large.shape == (3000, 4000, 3)
    np.testing.assert_array_equal(large, np.tile(corrupt(tile, f"imagenet_c/{name}", 3), (6, 10, 1)))


@EACH
def test_results_share_no_memory_with_one_another(corruption: Corruption) -> None:
    image = picture(33, 17)
    first = corrupt(image, corruption.key, 1)
    kept = first.copy()
    second = corrupt(image, corruption.key, 1)
    assert not np.shares_memory(first, second)
    second[:] = 0
    np.testing.assert_array_equal(corrupt(image, corruption.key, 1), kept)
    np.testing.assert_array_equal(first, kept)


@EACH
@pytest.mark.parametrize("kind", ["RGBA", "float64", "uint16", "read-only"])
def test_severity_0_is_the_image_itself_as_rgb(corruption: Corruption, kind: str) -> None:
    image = KINDS[kind]()
    clean = corrupt(image, corruption.key, 0, seed=3)
    np.testing.assert_array_equal(clean, to_rgb(image))
    clean[:] = 0
    np.testing.assert_array_equal(to_rgb(image), to_rgb(KINDS[kind]()))


@EACH
def test_a_seed_gives_the_same_bytes_and_decides_where_the_row_says_so(corruption: Corruption) -> None:
    image = picture(48, 40) // 4 * 3 + 50  # neither black nor white, so that stretching its contrast changes it
    for severity in corruption.severities:
        results = [corrupt(image, corruption.key, severity, seed).tobytes() for seed in range(6)]
        assert corrupt(image, corruption.key, severity, 5).tobytes() == results[5]
        assert (len(set(results)) > 1) == corruption.random
        assert image.tobytes() not in results


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_image_is_corrupted_as_its_rgb(corruption: Corruption, kind: str) -> None:
    image = KINDS[kind]()
    severity = corruption.severities[-1]
    before = to_rgb(image)
    np.testing.assert_array_equal(
        corrupt(image, corruption.key, severity, seed=11), corrupt(before.copy(), corruption.key, severity, seed=11)
    )
    np.testing.assert_array_equal(to_rgb(image), before)


@pytest.mark.parametrize("name", CHEAP)
@given(height=st.integers(1, 80), width=st.integers(1, 80), severity=st.integers(1, 5), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=60, derandomize=True)
def test_any_size_is_taken(name: str, height: int, width: int, severity: int, seed: int) -> None:
    image = picture(height, width)
    result = corrupt(image, name, severity, seed)
    assert result.shape == image.shape
    np.testing.assert_array_equal(corrupt(image, name, severity, seed), result)


@EACH
def test_a_batch_gives_what_single_calls_give_for_any_number_of_workers(corruption: Corruption) -> None:
    images = [picture(12 + 5 * index, 31 - 4 * index) for index in range(7)]
    seeds = [image_seed(5, f"image-{index}") for index in range(7)]
    severity = corruption.severities[-1]
    single = [corrupt(image, corruption.key, severity, seed) for image, seed in zip(images, seeds, strict=True)]
    for workers in (1, 2, 4):
        batch = corrupt_batch(images, corruption.key, severity, seeds, workers)
        assert [result.tobytes() for result in batch] == [result.tobytes() for result in single]


IN_ANOTHER_PROCESS = """
import hashlib, sys
import numpy as np
from robustlib.corruptions import corrupt
image = np.frombuffer(sys.stdin.buffer.read(), np.uint8).reshape(33, 17, 3)
for name in reversed(sys.argv[1:]):
    print(hashlib.sha256(corrupt(image, name, 3, 2**63 + 7).tobytes()).hexdigest())
"""


def test_another_process_gives_the_same_bytes_in_another_order() -> None:
    names = [f"imagenet_c/{name}" for name in ("shot_noise", "glass_blur", "snow", "fog", "frost", "elastic_transform")]
    image = picture(33, 17)
    run = [sys.executable, "-c", IN_ANOTHER_PROCESS, *names]
    printed = subprocess.run(run, input=image.tobytes(), capture_output=True, check=True).stdout.decode().split()
    assert printed[::-1] == [hashlib.sha256(corrupt(image, name, 3, 2**63 + 7).tobytes()).hexdigest() for name in names]


def test_global_generators_are_neither_read_nor_moved() -> None:
    image = picture(20, 20)

    def all_results() -> list[bytes]:
        return [corrupt(image, corruption.key, 1).tobytes() for corruption in CORRUPTIONS]

    first = all_results()
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 -- the global generator is what is tested
    torch.manual_seed(1)
    before = _global_states()
    assert all_results() == first
    assert _global_states() == before


def _global_states() -> tuple[Any, ...]:
    state: Any = np.random.get_state()  # noqa: NPY002 -- the global generator is what is tested
    return random.getstate(), state[1].tobytes(), state[2:], torch.get_rng_state().numpy().tobytes()


def test_a_seed_depends_on_the_base_seed_and_the_image() -> None:
    seeds = [image_seed(base, f"image-{index}") for base in range(20) for index in range(20)]
    assert len(set(seeds)) == 400
    assert image_seed(3, "image-4") == seeds[3 * 20 + 4]

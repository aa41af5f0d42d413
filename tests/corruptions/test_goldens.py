"""The bytes of every corruption and severity on two small images, as SHA-256: they are the same everywhere, for good.

A change of a hash is a change of published results: say so in the change log. Write the hashes anew with
``python -m tests.corruptions.test_goldens``.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data

from robustlib.corruptions import Corruption, corrupt_batch, list_corruptions, list_suites
from robustlib.data.images import Pixels

GOLDENS = Path(__file__).with_name("goldens.json")
PHOTOGRAPHS: Any = skimage.data  # carries no types
SEED = 2026
CORRUPTIONS = [corruption for suite in list_suites() for corruption in list_corruptions(suite)]


@cache
def images() -> tuple[Pixels, Pixels]:
    """Return a part of a photograph and a synthetic image, both from integers alone: no decoder, no libm."""
    y, x, channel = np.ogrid[:31, :17, :3]
    synthetic = (37 * y + 11 * x * x + 90 * channel + 128 * (x > 8)) % 256
    return np.ascontiguousarray(PHOTOGRAPHS.astronaut()[100:140, 200:256]), synthetic.astype(np.uint8)


def digests(corruption: Corruption, severity: int, workers: int) -> list[str]:
    """Return the hash of the bytes and the size of each corrupted image."""
    results = corrupt_batch(images(), corruption.key, severity, [SEED, SEED + 1], workers)
    return [hashlib.sha256(repr(result.shape).encode() + result.tobytes()).hexdigest() for result in results]


def all_digests() -> dict[str, list[list[str]]]:
    """Return, for each corruption, the two hashes at each severity."""
    return {
        corruption.key: [digests(corruption, severity, workers=1) for severity in corruption.severities]
        for corruption in CORRUPTIONS
    }


@cache
def goldens() -> dict[str, list[list[str]]]:
    read: dict[str, list[list[str]]] = json.loads(GOLDENS.read_text())
    return read


def test_the_images_are_those_that_were_hashed() -> None:
    assert [hashlib.sha256(image.tobytes()).hexdigest()[:16] for image in images()] == [
        "f6aea5fa06cae8fa",
        "c9238ee7aa27b251",
    ]
    assert [image.shape for image in images()] == [(40, 56, 3), (31, 17, 3)]


def test_every_corruption_has_its_hashes() -> None:
    assert {name: len(hashes) for name, hashes in goldens().items()} == {
        corruption.key: len(corruption.severities) for corruption in CORRUPTIONS
    }


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=lambda corruption: corruption.key)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_bytes_are_those_of_the_goldens(corruption: Corruption, workers: int) -> None:
    for severity in corruption.severities:
        assert digests(corruption, severity, workers) == goldens()[corruption.key][severity - 1]


if __name__ == "__main__":
    GOLDENS.write_text(json.dumps(all_digests(), indent=1) + "\n")

"""What does each full profile cost on 1, 8 and 64 GPUs, and what limits it? ``python -m tests.bench.costs``, Markdown.

Measured here, in one thread of the CPU in float32: a question's way through the networks of the sizes that the profiles
name, with random weights, for their speed does not depend on them; and what the CPU has to do besides, corruption and
image processor. Computed: floating-point operations of those networks (torch's own counter); those of chat models, as 2
for each active parameter and token; and from both the time on a GPU at a share of its peaks.
"""

import hashlib
import heapq
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

import cv2
import numpy as np
import skimage.data
import torch
from tabulate import tabulate
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from robustlib.corruptions import corrupt
from robustlib.data import LazyImage, load_dataset
from robustlib.sweep import Condition, DatasetChoice, ModelChoice, Profile, load_profile
from robustlib.sweep.conditions import items_of
from robustlib.sweep.plan import profile_conditions
from tests.bench.networks import ANSWER, HEIGHT, NETWORKS, WIDTH, Network, cpu_seconds, measure

PHOTOGRAPHS: Any = skimage.data

# An A100 SXM 80 GB, from NVIDIA's data sheet: operations and bytes a second. What a real network gets of them, SHARE,
# is an assumption, on the low side of what is usual.
PEAK = {"float32": 19.5e12, "bfloat16": 312e12}
BANDWIDTH = 2.039e12
SHARE = 0.3
BYTES = {"float32": 4, "bfloat16": 2}
GPUS = (1, 8, 64)
PROFILES = ("full/vqa-bench", "full/vlm-robustbench", "full/laya")

# Assumptions on what is asked and said.
CHAT_PROMPT = 1000  # tokens of a chat model's prompt, most of them the image's
CHAT_ANSWER = {"direct": ANSWER, "rank": 0, "cot": 1024, "thinking": 1024}
ROWS_OF_300 = {"ai2d": 282, "vsr": 160}  # as the profile says of the sets of the third document that have fewer
QUESTIONS_AN_IMAGE = 16_000 / 3000  # of VQAv2 in the first document


def seconds_on_gpu(choice: ModelChoice, batch: int, networks: dict[str, Network], dtype: str) -> float:
    """Return the seconds that a question takes on the GPU at a share of its peaks.

    A chat model reads its weights for each token that it writes, once for the whole batch: so many bytes, or the
    operations, whichever take longer.
    """
    if choice.column in networks:
        return networks[choice.column].operations / (SHARE * PEAK[dtype])
    total, active = billions(choice.name)
    written = CHAT_ANSWER[choice.settings["mode"]]
    read = 2e9 * active * CHAT_PROMPT / (SHARE * PEAK[dtype])
    by_bytes = 1e9 * total * BYTES[dtype] / (SHARE * BANDWIDTH) / batch
    return read + written * max(by_bytes, 2e9 * active / (SHARE * PEAK[dtype]))


def billions(name: str) -> tuple[float, float]:
    """Return the parameters that a model's name tells, all and those that work on one token."""
    found = re.search(r"(\d+)b(?:-a(\d+)b)?", name, re.IGNORECASE)
    assert found, name
    return float(found[1]), float(found[2] or found[1])


def questions_of(profile: Profile) -> Iterator[tuple[float, float]]:
    """Yield for each data set its questions, and how many rows a model answers for each of them, in the mean."""
    conditions = profile_conditions(profile)
    for choice in profile.datasets:
        yield _questions(choice), _rows(tuple(conditions))


def _questions(choice: DatasetChoice) -> float:
    """Return how many questions a profile takes of a set that is not here."""
    if choice.images:
        return choice.images * QUESTIONS_AN_IMAGE
    assert choice.rows, choice
    return ROWS_OF_300.get(choice.name.partition(":")[0], choice.rows)


def _rows(conditions: tuple[Condition, ...]) -> float:
    """Return the rows for a question; those of families of perturbations as on a data set that is here."""
    stand_in = load_dataset("easy_vqa_choice", "test").questions[:300]
    families = [condition for condition in conditions if not condition.asks_once]
    made = sum(len(items_of(stand_in, condition, 0, "image")) for condition in families)
    return len(conditions) - len(families) + made / len(stand_in)


def hours(shards: list[float], gpus: int) -> float:
    """Return how long shards take that go, the longest first, each to the GPU that is free first."""
    free = [0.0] * gpus
    for seconds in sorted(shards, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free) / 3600


def photograph() -> Any:
    """Return scikit-image's photograph of an astronaut at the usual size."""
    return cv2.resize(np.asarray(PHOTOGRAPHS.astronaut()), (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)


def preparing() -> float:
    """Return the seconds of a core to read a photograph and to prepare it for a network."""
    image = photograph()
    stored = LazyImage(cv2.imencode(".jpg", image)[1].tobytes())
    processor: Any = BlipImageProcessorPil()
    steps = stored.decode, partial(processor, image, return_tensors="pt")
    return sum(statistics.median(cpu_seconds(step) for _ in range(9)) for step in steps)


def corrupting(profile: Profile) -> float:
    """Return the seconds of a core to corrupt a photograph, in the mean over all conditions."""
    image, seconds = photograph(), 0.0
    conditions = profile_conditions(profile)
    for condition in conditions:
        if condition.operation:
            again = partial(corrupt, image, condition.operation, condition.severity, 0)
            again()  # compiles it
            seconds += cpu_seconds(again)
    return seconds / len(conditions)


def main() -> None:
    """Print a table of networks and one of profiles."""
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    networks = {name: measure(make) for name, make in NETWORKS.items()}
    heads = ["network", "parameters (M)", "GFLOP a question", "s on one core", "GFLOP/s there"]
    heads += [f"ms on an A100, {dtype}" for dtype in PEAK]
    rows = [
        [name, n.parameters / 1e6, n.operations / 1e9, n.seconds, n.operations / n.seconds / 1e9]
        + [1000 * n.operations / (SHARE * peak) for peak in PEAK.values()]
        for name, n in networks.items()
    ]
    print(tabulate(rows, heads, "github", floatfmt=("", ".0f", ".0f", ".2f", ".0f", ".1f", ".1f")), "\n")
    profiles = [load_profile(name) for name in PROFILES]
    prepared, corrupted = preparing(), {profile.name: corrupting(profile) for profile in profiles}
    each = ", ".join(f"{1000 * seconds:.1f} ms ({name})" for name, seconds in corrupted.items())
    print(f"* A photograph takes a core {1000 * prepared:.1f} ms to be read and prepared.")
    print(f"* To be corrupted, in the mean over all conditions: {each}.")
    weights = bytes(10**8)
    print(f"* Weights are hashed at {len(weights) / 1e9 / cpu_seconds(lambda: hashlib.sha256(weights)):.1f} GB/s.\n")
    rows = []
    for profile in profiles:
        for dtype in dict.fromkeys([str(profile.models[0].settings.get("dtype", "float32")), "bfloat16"]):
            rows.append(_cost(profile, dtype, networks, prepared + corrupted[profile.name]))
    heads = ["profile", "numbers", "forwards", "shards", "GPU hours", "waits for the CPU"]
    heads += [f"hours on {gpus}" for gpus in GPUS] + ["longest shard (h)", "slowest model"]
    print(tabulate(rows, heads, "github", floatfmt=".3g"))


def _cost(profile: Profile, dtype: str, networks: dict[str, Network], picture: float) -> list[Any]:
    conditions = len(profile_conditions(profile))
    shards: list[float] = []
    by_model: dict[str, float] = defaultdict(float)
    forwards = asking = 0.0
    for choice in profile.models:
        each = seconds_on_gpu(choice, profile.call_size, networks, dtype)
        for dataset, (questions, rows) in zip(profile.datasets, questions_of(profile), strict=True):
            asked = questions * rows / conditions * each
            shard = max(asked, (dataset.images or questions) * picture)  # one thread prepares while the network runs
            shards += [shard] * conditions
            by_model[choice.column] += shard * conditions
            asking += asked * conditions
            forwards += questions * rows
    total = sum(shards)
    slowest = max(by_model, key=lambda model: by_model[model])
    return [
        profile.name,
        dtype,
        f"{forwards:,.0f}",
        len(shards),
        total / 3600,
        f"{1 - asking / total:.0%}",
        *(hours(shards, gpus) for gpus in GPUS),
        max(shards) / 3600,
        f"{slowest}, {by_model[slowest] / total:.0%}",
    ]


if __name__ == "__main__":
    main()

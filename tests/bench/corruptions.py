"""How fast are the corruptions, side by side with `imagecorruptions-imaug` and `corrupt-tta`?

Run as ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m tests.bench.corruptions [--quick]``: it prints Markdown.
Times are processor time of one thread, which other work on the machine does not lengthen much; every program gets its
turn in every round, so that a change of the clock's speed meets all of them.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import corrupt_tta
import cv2
import imagecorruptions
import numpy as np
import numpy.typing as npt
import pandas as pd
import skimage.data
from tqdm import tqdm

from robustlib.corruptions import Corruption, corrupt, corrupt_batch, list_corruptions, list_suites
from robustlib.corruptions.bits import fill
from robustlib.corruptions.kernel import kernel
from robustlib.data.images import Pixels

Call = Callable[[], object]

PHOTOGRAPHS: Any = skimage.data  # carries no types
SEVERITY = 3
SIZES = (224, 512)
TURN = 0.004  # seconds that one turn of a program takes at least, by as many calls as that needs
LEAST_ROUNDS, MOST_ROUNDS = 3, 100
LEAST_RATIO = {"pixelate": 2, "jpeg_compression": 1}  # times as fast as imagecorruptions; all others: 10
DRAWN = dict.fromkeys(["gaussian_noise", "speckle_noise", "impulse_noise", "poisson_noise"], 3)
DRAWN |= {"shot_noise": 6, "spatter": 1, "elastic_transform": 1}  # 16-bit random numbers a pixel
PROGRAMS = ["robustlib", "imagecorruptions", "corrupt-tta"]
WARM_UP = "import time; start = time.time(); import robustlib.corruptions as c; c.warm_up('imagenet_c'); \
print(time.time() - start)"


def photograph(width: int, height: int) -> Pixels:
    """Return scikit-image's photograph of an astronaut at a size."""
    return np.asarray(cv2.resize(PHOTOGRAPHS.astronaut(), (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def measure(call: Call, repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds that one of some calls takes."""
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats


def take_turns(calls: Sequence[Call], seconds: float) -> npt.NDArray[np.float64]:
    """Time some calls in turn for about so many seconds; return milliseconds, rounds x calls."""
    for call in calls:
        call()
    repeats = [max(1, int(TURN / max(measure(call, 1), 1e-6))) for call in calls]
    rounds: list[list[float]] = []
    end = time.perf_counter() + seconds
    while len(rounds) < LEAST_ROUNDS or (time.perf_counter() < end and len(rounds) < MOST_ROUNDS):
        rounds.append([measure(call, count) for call, count in zip(calls, repeats, strict=True)])
    return 1000 * np.array(rounds)


def numbers_a_pixel(corruption: Corruption, severity: int, size: int) -> float:
    """Return how many 16-bit random numbers a corruption draws for a pixel of a square image; a handful counts as 0."""
    parameters = corruption.parameters[severity - 1]
    if corruption.function == "glass_blur":
        return 2 * parameters["rounds"]
    if corruption.function == "snow":
        return 1 / parameters["zoom"] ** 2
    if corruption.function == "fog":
        return float((1 << (size - 1).bit_length()) / size) ** 2
    return DRAWN.get(corruption.function, 0)


@kernel
def draw(words: npt.NDArray[np.uint64], count: int) -> None:
    """Draw so many random words into a block that stays in the first-level cache, as the corruptions do."""
    for start in range(0, count, words.size):
        fill(words[: min(words.size, count - start)], np.uint64(1), start)


def floor(image: Pixels, corruption: Corruption, severity: int) -> Call:
    """Return what no implementation can do without: one copy of the image, and the corruption's random bits."""
    copy, words = np.empty_like(image), np.empty(1024, np.uint64)
    size = image.shape[0]
    count = int(numbers_a_pixel(corruption, severity, size) * size**2 / 4)

    def work() -> None:
        np.copyto(copy, image)
        draw(words, count)

    return work if count else partial(np.copyto, copy, image)


def compare(size: int, seconds: float) -> pd.DataFrame:
    """Time the corruptions of imagenet_c against both peers; times in milliseconds."""
    image, rows = photograph(size, size), []
    for corruption in tqdm(list_corruptions("imagenet_c"), desc=f"Side by side at {size} px"):
        calls: list[Call] = [
            partial(corrupt, image, corruption.key, SEVERITY),
            partial(imagecorruptions.corrupt, image, SEVERITY, corruption.name),
            partial(corrupt_tta.corrupt, image, SEVERITY, corruption.name),
            floor(image, corruption, SEVERITY),
        ]
        times = take_turns(calls, seconds)
        rows.append([corruption.name, *np.median(times, axis=0), *times.min(axis=0)[:3]])
    table = pd.DataFrame(rows, columns=["corruption", *PROGRAMS, "floor", *(f"{name} (min)" for name in PROGRAMS)])
    table["x imagecorruptions"] = table["imagecorruptions"] / table["robustlib"]
    table["x the faster"] = table[["imagecorruptions", "corrupt-tta"]].min(axis=1) / table["robustlib"]
    table["x floor"] = table["robustlib"] / table["floor"]
    return table


def state_goals(table: pd.DataFrame) -> list[str]:
    """Return a line for each goal: met or not, and by which number."""
    every = zip(table["corruption"], table["x imagecorruptions"], strict=True)
    return [
        verdict("geometric mean over imagecorruptions", geometric_mean(table["x imagecorruptions"]), 30),
        verdict("geometric mean over the faster of both", geometric_mean(table["x the faster"]), 18),
        *(verdict(f"{name} over imagecorruptions", ratio, LEAST_RATIO.get(name, 10)) for name, ratio in every),
    ]


def verdict(what: str, ratio: float, goal: float) -> str:
    return f"- {'met' if ratio >= goal else 'NOT MET'}: {what} {ratio:.2f}x, goal {goal:g}x"


def geometric_mean(ratios: "pd.Series[float]") -> float:
    return float(np.exp(np.log(ratios).mean()))


def time_others(size: int, seconds: float) -> pd.DataFrame:
    """Time what the other suites do that imagenet_c does not, at severity 3 or the one there is."""
    image, rows = photograph(size, size), []
    known = [(corruption.function, corruption.parameters) for corruption in list_corruptions("imagenet_c")]
    listed = [corruption for suite in list_suites() for corruption in list_corruptions(suite)]
    others = [corruption for corruption in listed if (corruption.function, corruption.parameters) not in known]
    for corruption in tqdm(others, desc="Other suites"):
        severity = min(SEVERITY, corruption.severities[-1])
        calls: list[Call] = [partial(corrupt, image, corruption.key, severity), floor(image, corruption, severity)]
        ours, least = np.median(take_turns(calls, seconds), axis=0)
        rows.append([corruption.key, ours, least, ours / least])
    return pd.DataFrame(rows, columns=["corruption", "ms", "floor", "x floor"])


def scale_threads(size: int, images: int, rounds: int) -> pd.DataFrame:
    """Time batches on one and two threads by the wall clock; other work only lengthens it, so the best round counts."""
    batch, seeds = [photograph(size, size)] * images, range(images)
    rows = []
    for corruption in tqdm(list_corruptions("imagenet_c"), desc="Threads"):
        calls = [partial(corrupt_batch, batch, corruption.key, SEVERITY, seeds, workers) for workers in (1, 2)]
        times = [[measure(call, 1, time.perf_counter) for call in calls] for _ in range(rounds)]
        one, two = 1000 * np.min(times, axis=0)
        rows.append([corruption.name, one, two, one / two])
    return pd.DataFrame(rows, columns=["corruption", "1 thread", "2 threads", "ratio"])


def time_compilation() -> tuple[float, float]:
    """Return the seconds that a new process takes to import and warm up imagenet_c: without a cache, and with one."""
    with tempfile.TemporaryDirectory() as folder:
        command, environment = [sys.executable, "-c", WARM_UP], os.environ | {"NUMBA_CACHE_DIR": folder}
        runs = [subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE) for _ in range(2)]
    return float(runs[0].stdout), float(runs[1].stdout)


def scratch(key: str) -> float:
    """Return how much memory a 4000 x 3000 image takes beyond itself and the result, in units of its bytes."""
    corrupt(photograph(64, 48), key, SEVERITY)
    image = photograph(4000, 3000)
    before = memory("VmRSS")
    corrupt(image, key, SEVERITY)
    return (memory("VmHWM") - before) / int(image.nbytes) - 1


def memory(field: str) -> int:
    """Return the bytes that Linux states of this process; `resource` would count the parent's peak as well."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{field}:")[1].split()[0])


def measure_scratch() -> pd.DataFrame:
    """Measure each corruption in a process of its own, by the most resident memory it ever had (on Linux)."""
    keys = [corruption.key for corruption in list_corruptions("imagenet_c")]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        found = list(tqdm(pool.imap(scratch, keys), desc="Memory", total=len(keys)))
    return pd.DataFrame({"corruption": keys, "x image": found})


def show(title: str, table: pd.DataFrame, digits: Sequence[int]) -> None:
    formats = ["", *(f".{count}f" for count in digits)]
    print(f"\n### {title}\n\n{table.to_markdown(index=False, floatfmt=formats)}\n", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Measure the speed of the corruptions.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and neither compilation nor memory")
    quick = parser.parse_args().quick
    seconds, rounds = (0.2, 1) if quick else (1.2, 5)
    cv2.setNumThreads(1)
    for size in SIZES:
        table = compare(size, seconds)
        show(f"imagenet_c, severity {SEVERITY}, {size} px: milliseconds", table, [3] * 7 + [1] * 3)
        print("\n".join(state_goals(table)))
    show(f"Other suites, {SIZES[0]} px: milliseconds", time_others(SIZES[0], seconds / 4), [3, 3, 1])
    for size in SIZES:
        threads = scale_threads(size, 64, rounds)
        show(f"Threads, 64 images of {size} px: milliseconds", threads, [1, 1, 2])
        print(verdict("geometric mean of two threads over one", geometric_mean(threads["ratio"]), 1.6))
    if quick:
        return
    cold, cached = time_compilation()
    print(f"\nimagenet_c is compiled in {cold:.1f} s and loaded from the cache in {cached:.1f} s.")
    needs = measure_scratch()
    show("Scratch memory at 4000 x 3000, beyond the image and the result", needs, [2])
    most = needs["x image"].max()
    print(f"- {'met' if most <= 8 else 'NOT MET'}: at most {most:.1f} times the image's bytes, goal 8")


if __name__ == "__main__":
    main()

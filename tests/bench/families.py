"""How fast are the statistics of the families, side by side with a plain loop on the same rows?

Run as ``OPENBLAS_NUM_THREADS=1 python -m tests.bench.families``: it states processor time on one core.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from robustlib.metrics.calibration import probabilities
from robustlib.metrics.calibration_frames import calibration_summary
from robustlib.metrics.families import family_summary
from tests.metrics.by_loop import Numbers, family_by_loop, floor_by_loop

OPTIONS, RESAMPLES, SIMULATIONS = 4, 1000, 200
VARIANTS = {
    "clean": ["clean"],
    "option_order": ["shift1", "shift2", "reversed"],
    "text": ["prefix", "suffix", "double_spaces", "first_case", "end_punct", "option_case", "option_period"],
    "image": ["jpeg70", "jpeg40", "jpeg20", "crop_center95", "crop_random90", "rescale50", "bright90", "bright110"],
    "image_shuffle": ["shuffled"],
    "text_only": ["no_image"],
}
ORDERS = {"shift1": [1, 2, 3, 0], "shift2": [2, 3, 0, 1], "reversed": [3, 2, 1, 0]}


def predictions(datasets: int, questions: int) -> pd.DataFrame:
    """Return a made-up table of four-way choices, with the families and variants of the third document."""
    return pd.concat([frame for number in range(datasets) for frame in _frames(number, questions)], ignore_index=True)


def _frames(dataset: int, questions: int) -> Iterator[pd.DataFrame]:
    random = np.random.default_rng(dataset)
    gold, ease = random.integers(OPTIONS, size=questions), random.normal(1, 1, (questions, 1))
    own = random.normal(size=(questions, OPTIONS)) + ease * np.eye(OPTIONS)[gold]
    rows = np.arange(questions)
    for family, variants in VARIANTS.items():
        for variant in variants:
            order = np.array(ORDERS.get(variant, range(OPTIONS)))
            logits = (own + random.normal(scale=0.5 * (family != "clean"), size=own.shape))[:, order]
            probs, label, choice = probabilities(logits), np.argsort(order)[gold], logits.argmax(axis=1)
            group = [f"q{row:05d}" for row in rows]
            yield pd.DataFrame(
                {
                    "model": "toy",
                    "dataset": f"set{dataset}",
                    "split": "test",
                    "question_id": [f"{name}|{family}/{variant}" for name in group],
                    "group_id": group,
                    "image_id": [f"image{row // 2:05d}" for row in rows],
                    "kind": "choice",
                    "family": family,
                    "variant": variant,
                    "severity": 0,
                    "label": label,
                    "choice": choice,
                    "answer": [f"option {number}" for number in order[choice]],
                    "score": (choice == label).astype(float),
                    "confidence": probs[rows, choice],
                    "logits": list(logits),
                    "probs": list(probs),
                    "order": [order] * questions,
                    "target": -1,
                }
            )


def loop_over(table: pd.DataFrame) -> dict[str, Numbers]:
    """Work out the main numbers and the floors of one data set with a plain loop."""
    records = table.to_dict("records")
    clean = {str(row["group_id"]): row for row in records if row["family"] == "clean"}
    numbers = {}
    for family in VARIANTS:
        rows = [row for row in records if row["family"] == family]
        numbers[family] = family_by_loop(rows, clean, RESAMPLES, seed=0)
        floor_by_loop([row["confidence"] for row in rows], [row["image_id"] for row in rows], SIMULATIONS, seed=0)
    return numbers


def vectorised(table: pd.DataFrame) -> pd.DataFrame:
    """Work out everything about the families and the floors."""
    calibration_summary(table, SIMULATIONS)
    return family_summary(table, RESAMPLES)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a piece of work, in seconds: what it takes on one core that nothing else uses."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print the times of both."""
    small = predictions(datasets=1, questions=300)
    vectorised(small)  # warm up
    loop, fast = seconds(partial(loop_over, small)), seconds(partial(vectorised, small))
    print(
        f"{len(small):8,} rows, 1 data set:  {fast:5.2f} s, plain loop {loop:.1f} s ({loop / fast:.0f} times as long)"
    )
    for questions in (280, 1900):
        table = predictions(datasets=7, questions=questions)
        print(f"{len(table):8,} rows, 7 data sets: {seconds(partial(vectorised, table)):5.2f} s")


if __name__ == "__main__":
    main()

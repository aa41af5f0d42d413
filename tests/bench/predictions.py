"""How long do predictions of a paper's size take to write and to become tables, and in how much memory?

Run as ``python -m tests.bench.predictions [--small]``; it prints Markdown. The predictions are made up, but written as
a sweep writes them, and the notebooks are those of the project, from the start of their kernel to their last cell.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from robustlib.metrics.calibration import probabilities
from robustlib.report.notebooks import run_notebook
from robustlib.sweep.conditions import CLEAN, NO_IMAGE, Condition, suite_conditions
from robustlib.sweep.manifest import make_manifest
from robustlib.sweep.plan import Job, Plan
from robustlib.sweep.profile import DatasetChoice, ModelChoice, Profile
from robustlib.sweep.store import MANIFEST, SCHEMA, write_record, write_shard

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
VOCABULARY = 3129  # answers of the classifiers of the first document
CATEGORIES = 65
SCORES = np.array([0, 0.3, 0.6, 0.9, 1])


@dataclass(frozen=True)
class Scale:
    """How much is asked, and what is made of the answers."""

    suite: str
    severities: tuple[int, ...]
    models: int
    questions: int
    images: int
    options: int
    """Of each question; 0 for open questions."""
    no_image: bool
    notebook: str
    seconds: int
    """The goal."""
    gigabytes: int
    """Likewise."""

    @property
    def profile(self) -> Profile:
        """What a sweep of this size would be asked to do."""
        names = [f"maker{number % 4}/model-{number:02}" for number in range(self.models)]
        return Profile(
            name=self.suite,
            datasets=(DatasetChoice("made_up", "val"),),
            models=tuple(map(ModelChoice, names)),
            suites=(self.suite,),
            severities=self.severities,
            no_image=self.no_image,
        )

    @property
    def jobs(self) -> tuple[Job, ...]:
        """One for each shard."""
        conditions = [CLEAN, *[NO_IMAGE] * self.no_image, *suite_conditions(self.suite, self.severities)]
        models = [choice.column for choice in self.profile.models]
        return tuple(
            Job("made_up/val", condition, model, self._identity(model, condition))
            for condition in conditions
            for model in models
        )

    def _identity(self, model: str, condition: Condition) -> dict[str, Any]:
        maker, _, number = model.partition("/model-")
        network, parameters = f"{maker.title()}ForConditionalGeneration", 10**8 * (1 + int(number))
        about = {"network": network, "checkpoint": model, "parameters": parameters, "mode": "direct"}
        dataset = {"name": "made_up", "split": "val", "questions": self.questions}
        return {"model": about, "dataset": dataset, "condition": str(condition), "versions": {}, "code": "made up"}


SCALES = (
    Scale("vqa_bench", (1, 2, 3, 4, 5), 4, 16_000, 3_000, 0, False, "vqa_bench_tables", 60, 4),
    Scale("vlm_robustbench", (1, 3, 5), 11, 1_401, 1_200, 4, True, "vlm_robustbench_report", 300, 4),
)


def write_sweep(scale: Scale, out: Path) -> Path:
    """Write made-up predictions as a finished sweep; return its folder."""
    jobs = scale.jobs
    for number, job in enumerate(jobs):
        write_shard(out / job.path, made_up_rows(scale, job, np.random.default_rng(number)), job.identity)
    write_record(out / MANIFEST, make_manifest(Plan(scale.profile, {}, {}, jobs), out))
    return out


def made_up_rows(scale: Scale, job: Job, random: np.random.Generator) -> pa.Table:
    """Return the rows of a shard: stronger corruptions have worse answers, one in a hundred cannot be read."""
    places, condition = np.arange(scale.questions), job.condition
    ids, read = texts("val-{:06}", scale.questions), random.random(scale.questions) > 0.01
    shown = {
        "model": job.model,
        "dataset": "made_up",
        "split": "val",
        "question_id": ids,
        "group_id": ids,
        "image_id": texts("image-{:06}", scale.images).take(places * scale.images // scale.questions),
        "category": texts("category {}", CATEGORIES).take(places % CATEGORIES),
        "suite": condition.suite,
        "family": condition.family,
        "variant": condition.variant,
        "severity": condition.severity,
        "status": np.where(read, "ok", "no_answer"),
        "seed": places,
    }
    seen = 0.0 if condition == NO_IMAGE else 1 - condition.severity / 8
    answer = _choose if scale.options else _say
    columns = shown | answer(scale, random, seen, read)
    absent = dict.fromkeys(set(SCHEMA.names) - set(columns))
    arrays = [_column((columns | absent)[field.name], field, scale.questions) for field in SCHEMA]
    return pa.table(arrays, names=SCHEMA.names)


@cache
def texts(pattern: str, count: int) -> pa.Array:
    """Return so many texts, each with its number in it."""
    return pa.array(map(pattern.format, range(count)))


def _say(scale: Scale, random: np.random.Generator, seen: float, read: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return the columns of answers to open questions; what is seen of the images lies in [0, 1]."""
    words = texts("word {}", VOCABULARY).take((VOCABULARY * random.random(scale.questions) ** 3).astype(int))
    right = 0.3 + 0.4 * seen
    score = random.choice(SCORES, scale.questions, p=[0.9 - right, 0.04, 0.03, 0.03, right])
    return {
        "kind": "open",
        "order": _lists(np.empty((scale.questions, 0), np.int32)),
        "label": -1,
        "choice": -1,
        "answer": words,
        "response": words,
        "score": np.where(read, score, 0),
        "confidence": random.random(scale.questions),
    }


def _choose(scale: Scale, random: np.random.Generator, seen: float, read: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return the columns of answers to questions with options, likewise."""
    shape, rows = (scale.questions, scale.options), np.arange(scale.questions)
    label = rows % scale.options
    logits = random.normal(size=shape)
    logits[rows, label] += 1.5 * seen
    probs, best = probabilities(logits), logits.argmax(axis=1)
    choice = np.where(read, best, -1)
    chosen = texts("option {}", scale.options).take(pa.array(best, mask=~read)).fill_null("")
    return {
        "kind": "choice",
        "order": _lists(np.broadcast_to(np.arange(scale.options, dtype=np.int32), shape)),
        "label": label,
        "choice": choice,
        "answer": chosen,
        "response": pc.binary_join_element_wise("The answer is", chosen, " "),
        "rule": "letter",
        "score": (choice == label).astype(float),
        "confidence": probs[rows, best],
        "logits": _lists(logits),
        "probs": _lists(probs),
    }


def _lists(values: npt.NDArray[Any]) -> pa.Array:
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1)))


def _column(value: Any, field: pa.Field, rows: int) -> pa.Array:
    """Return a column of one value, or of many; what nothing was said about is "", -1 or null."""
    if value is None:
        value = {pa.string(): "", pa.int32(): -1}.get(field.type)
    array = value if isinstance(value, pa.Array | np.ndarray) else pa.repeat(pa.scalar(value, field.type), rows)
    return pa.array(array).cast(field.type)


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds a piece of work takes, and the gigabytes this process or a child of it ever had at most."""
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return seconds, most * 1024 / 1e9


def make_tables(scale: Scale, source: Path, out: Path) -> None:
    """Run the notebook on the predictions."""
    executed, tables = out / "executed.ipynb", str(out / "tables")
    run_notebook(NOTEBOOKS / f"{scale.notebook}.ipynb", executed, {"source": str(source), "out_dir": tables})


def measure_scale(scale: Scale, folder: Path) -> list[dict[str, object]]:
    """Write and read predictions of one size, each in a process of its own."""
    source, out = folder / scale.suite / "predictions", folder / scale.suite / "report"
    works: dict[str, Callable[[], object]] = {
        "write": partial(write_sweep, scale, source),
        scale.notebook: partial(make_tables, scale, source, out),
    }
    rows = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as pool:
        for name, work in works.items():
            seconds, gigabytes = pool.submit(measure, work).result()
            rows.append({"rows": scale.questions * len(scale.jobs), "work": name, "s": seconds, "GB": gigabytes})
    return rows


def state_goal(scale: Scale, rows: list[dict[str, Any]]) -> str:
    """Return whether the goal is met, and by which numbers."""
    seconds, gigabytes = sum(row["s"] for row in rows), max(row["GB"] for row in rows)
    met = seconds < scale.seconds and gigabytes < scale.gigabytes
    return (
        f"- {'met' if met else 'NOT MET'}: {scale.suite} in {seconds:.0f} s and {gigabytes:.1f} GB, "
        f"goal {scale.seconds} s and {scale.gigabytes} GB"
    )


def main() -> None:
    """Print both sizes."""
    parser = argparse.ArgumentParser(description="Measure predictions of a paper's size.")
    parser.add_argument("--small", action="store_true", help="a hundredth of the questions, which no goal is for")
    part = 100 if parser.parse_args().small else 1
    scales = [replace(scale, questions=scale.questions // part, images=scale.images // part) for scale in SCALES]
    with tempfile.TemporaryDirectory() as folder:
        measured = [measure_scale(scale, Path(folder)) for scale in scales]
    table = pd.DataFrame([row for rows in measured for row in rows])
    print(f"\n### Predictions\n\n{table.to_markdown(index=False, floatfmt=['.0f', '', '.1f', '.2f'])}\n")
    if part == 1:
        print("\n".join(map(state_goal, scales, measured)))


if __name__ == "__main__":
    main()

"""Explanations: what in an image the answers of a sweep came from, for some of its questions under every corruption."""

import io
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from robustlib.data import Dataset
from robustlib.data.sampling import stratified
from robustlib.errors import InvalidValueError, RobustlibError
from robustlib.files import write_atomically
from robustlib.models.base import Explainer
from robustlib.sweep.conditions import items_of
from robustlib.sweep.plan import Job, Plan, load_choice, plan_jobs, profile_conditions
from robustlib.sweep.profile import Profile
from robustlib.sweep.replicas import Replicas
from robustlib.sweep.rows import make_rows
from robustlib.sweep.showing import prompts_by_picture
from robustlib.sweep.store import SCHEMA, StoreError
from robustlib.sweep.threads import in_threads

EXPLANATIONS = "explanations.parquet"
"""The table, within the folder of the sweep."""

_OF_ANSWERS = ["model", "dataset", "split", "question_id", "image_id", "suite", "variant", "severity", "seed"]
_OF_ANSWERS += ["answer", "status", "score", "confidence"]
_SCHEMA = pa.schema(
    [
        *(SCHEMA.field(name) for name in _OF_ANSWERS),
        ("rows", pa.int32()),  # of the map
        ("columns", pa.int32()),
        ("map", pa.list_(pa.float32())),  # row by row; see `robustlib.models.base.Explanation`
        ("captions", pa.list_(pa.string())),  # what the model read instead of the image; empty for most models
    ]
)
_KEY = b"robustlib"


def run_explanations(profile: Profile, out: str | Path, count: int) -> Path | None:
    """Explain the answers of those models of a profile that can, on clean images and under its corruptions.

    Args:
        profile: gives the models, the data sets, the corruptions and the seeds.
        out: the folder of the profile's sweep; the table goes there as `EXPLANATIONS`, whole or not at all. One that
            is there already is kept if it is of the same questions, models and code.
        count: how many of the sweep's questions of each data set, stratified by category; all if there are no more.
            0 for none: then there is no table, nor an old one.

    Returns:
        The path of the table; None where there is none.

    Raises:
        InvalidValueError: a negative count.
        RobustlibError: a model, data set or image cannot be read, or an explanation failed.
    """
    if count < 0:
        raise InvalidValueError(f"count must be at least 0, got {count}.")
    path = Path(out) / EXPLANATIONS
    if not count:
        path.unlink(missing_ok=True)
        return None
    plain = replace(profile, treatments=(), families=(), no_image=False)
    samples = [_sample(load_choice(choice, profile, out), count, profile.sampling_seed) for choice in profile.datasets]
    models = {choice.column: choice for choice in profile.models}
    plan = plan_jobs(plain, samples, models, profile_conditions(plain))
    key = sha256("".join(job.key for job in plan.jobs).encode()).hexdigest()
    if _key_of(path) != key:
        buffer = io.BytesIO()
        table = explain_plan(plan).replace_schema_metadata({_KEY: key})
        pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
        write_atomically(path, buffer.getvalue())
    return path


def explain_plan(plan: Plan) -> pa.Table:
    """Return the explanations of a plan's answers, in the order of its jobs; models that do not explain have none.

    Raises:
        RobustlibError: an image cannot be read, or an explanation failed.
    """
    by_model = sorted(plan.jobs, key=lambda job: list(plan.models).index(job.model))
    done = dict(in_threads(partial(_explain, plan, Replicas(plan.models, by_model)), by_model, None))
    return pa.concat_tables([done[job.key] for job in plan.jobs])


def read_explanations(out: str | Path) -> pd.DataFrame:
    """Read the table that `run_explanations` left in a folder; without rows where it left none.

    Raises:
        StoreError: the file is damaged, or of another robustlib.
    """
    path = Path(out) / EXPLANATIONS
    try:
        table = pq.read_table(path, schema=_SCHEMA) if path.exists() else _SCHEMA.empty_table()
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path} cannot be read ({str(error).splitlines()[0]}); make it again.") from error
    explanations: pd.DataFrame = table.to_pandas()
    return explanations


def _key_of(path: Path) -> str:
    """Return the key that a table was written with, "" where there is none that can be read."""
    try:
        metadata: dict[bytes, bytes] = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return ""
    return metadata.get(_KEY, b"").decode()


def _sample(dataset: Dataset, count: int, seed: int) -> Dataset:
    shown = [question for question in dataset if question.image is not None]
    if count >= len(shown):
        return replace(dataset, questions=tuple(shown))
    return replace(dataset, questions=stratified(shown, count / len(shown), seed))


def _explain(plan: Plan, replicas: Replicas, job: Job) -> tuple[str, pa.Table]:
    """Return the key of a job, and its rows of the table."""
    dataset, profile = plan.datasets[job.dataset], plan.profile
    with replicas.borrow(job.model) as model:
        if not isinstance(model, Explainer):
            return job.key, _SCHEMA.empty_table()
        items = items_of(dataset.questions, job.condition, profile.base_seed, profile.seeding)
        places, prompts = zip(*prompts_by_picture(items), strict=True)
        batches = (prompts[start : start + profile.call_size] for start in range(0, len(prompts), profile.call_size))
        try:
            shown = [explanation for batch in batches for explanation in model.explain(batch)]
        except Exception as error:
            where = f"{job.model} cannot explain its answers about {job.dataset} under {job.condition}"
            raise RobustlibError(f"{where}: {type(error).__name__}: {error}") from error
    explanations = [own for _, own in sorted(zip(places, shown, strict=True), key=lambda placed: placed[0])]
    answers = [explanation.answer for explanation in explanations]
    rows = make_rows(job.model, dataset, items, answers, profile.scoring).select(_OF_ANSWERS)
    for name, values in {
        "rows": [explanation.map.shape[0] for explanation in explanations],
        "columns": [explanation.map.shape[1] for explanation in explanations],
        "map": [explanation.map.ravel() for explanation in explanations],
        "captions": [explanation.captions for explanation in explanations],
    }.items():
        rows = rows.append_column(_SCHEMA.field(name), pa.array(values, _SCHEMA.field(name).type))
    return job.key, rows

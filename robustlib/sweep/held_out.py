"""Held-out answers: clean questions on other images than those of a sweep, to fit temperatures to."""

from dataclasses import replace
from pathlib import Path

from robustlib.data import Dataset
from robustlib.data.sampling import stratified
from robustlib.errors import InvalidValueError
from robustlib.sweep.conditions import CLEAN
from robustlib.sweep.plan import found_batch_sizes, load_choice, plan_jobs, whole
from robustlib.sweep.profile import Profile
from robustlib.sweep.run import run_sweep

HELD_OUT = "held_out"
"""Folder of the held-out answers, within that of the sweep."""


def run_held_out(profile: Profile, out: str | Path, times: int, retry_failed: bool = False) -> Path:
    """Ask the models of a profile, as they stand, questions on images that the profile's sweep does not show.

    Args:
        profile: gives the models, the data sets and the seeds.
        out: the folder of the profile's sweep; the answers go to its folder `HELD_OUT`.
        times: how many held-out questions for each question of the sweep, stratified by category; fewer if there are
            no more.
        retry_failed: see `run_sweep`.

    Returns:
        The path of the manifest of the held-out answers.

    Raises:
        InvalidValueError: `times` is below 1, or the sweep shows all images of a data set.
        FailedAnswersError, RobustlibError, OSError: see `run_sweep`.
    """
    if times < 1:
        raise InvalidValueError(f"times must be at least 1, got {times}.")
    name = f"{profile.name} (held out)"
    clean = replace(profile, name=name, suites=(), corruptions=(), treatments=(), families=(), no_image=False)
    folder = Path(out) / HELD_OUT
    datasets = []
    for choice in profile.datasets:
        every, evaluated = (load_choice(some, profile, folder) for some in (whole(choice), choice))
        datasets.append(_held_out(every, evaluated, times, profile.sampling_seed))
    models = {choice.column: choice for choice in profile.models}
    plan = plan_jobs(clean, datasets, models, [CLEAN], found_batch_sizes(folder))
    return run_sweep(plan, folder, retry_failed=retry_failed)


def _held_out(whole: Dataset, evaluated: Dataset, times: int, seed: int) -> Dataset:
    shown = {question.image_id for question in evaluated}
    fresh = [question for question in whole if question.image_id not in shown]
    if not fresh:
        raise InvalidValueError(
            f"The sweep shows all images of {whole.name}/{whole.split}; give it fewer rows, so that some are left."
        )
    return replace(whole, questions=stratified(fresh, min(1.0, times * len(evaluated) / len(fresh)), seed))

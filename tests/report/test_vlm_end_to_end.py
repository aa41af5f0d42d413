"""From small files in the formats of MMBench and MMMU-Pro, through a sweep, to the tables."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from robustlib.data import load_dataset
from robustlib.models.base import Answer, Prompt
from robustlib.report.vlm_evidence import load_evidence
from robustlib.report.vlm_tables import render_tables
from robustlib.sweep import DatasetChoice, ModelChoice, Profile, plan_jobs, run_sweep
from robustlib.sweep.plan import profile_conditions
from tests.report.vlm_run import rows_by, values

GREYS = (20, 100, 160, 240)


class LastGrey:
    """A model that writes a letter, A for a dark last image and so on; of no image it says that it sees none."""

    name = "toy/grey"

    def __init__(self) -> None:
        self.most_images = 0

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        return [self.answer_one(prompt) for prompt in prompts]

    def answer_one(self, prompt: Prompt) -> Answer:
        self.most_images = max(self.most_images, len(prompt.images))
        if not prompt.images:
            return Answer("I see no image.")
        grey = prompt.images[-1].mean()
        return Answer(f"Answer: {'ABCD'[int(np.abs(np.array(GREYS) - grey).argmin())]}")

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": "toy"}


def png(grey: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((12, 12, 3), grey, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def write_mmbench(path: Path) -> None:
    rows = [
        {"index": str(number), "question": "How dark?", "A": "very", "B": "rather", "C": "hardly", "D": "not"}
        | {"answer": "ABCD"[number % 4], "category": "grey", "split": "dev"}
        | {"image": base64.b64encode(png(GREYS[number % 4])).decode()}
        for number in range(8)
    ]
    pd.DataFrame(rows).to_csv(path, sep="\t", index=False)


def write_mmmu_pro(path: Path) -> None:
    options = repr(["very", "rather", "hardly", "not", "None"])
    rows = [
        {"id": f"test_{number}", "question": "Is <image 2> like <image 1>?", "options": options, "subject": "Art"}
        | {"answer": "ABCD"[number], "image_1": {"bytes": png(GREYS[number])}, "image_2": {"bytes": png(130)}}
        for number in range(4)
    ]
    pd.DataFrame(rows).to_parquet(path)


@pytest.mark.filterwarnings("ignore:.*(one size|gains nothing)")
def test_files_become_tables(tmp_path: Path) -> None:
    write_mmbench(tmp_path / "mmbench.tsv")
    write_mmmu_pro(tmp_path / "mmmu_pro.parquet")
    choices = (
        DatasetChoice(f"mmbench:{tmp_path / 'mmbench.tsv'}", "dev"),
        DatasetChoice(f"mmmu_pro:{tmp_path / 'mmmu_pro.parquet'}", "test"),
    )
    profile = Profile(
        "toy",
        choices,
        (ModelChoice("toy/grey"),),
        suites=("vlm_robustbench",),
        severities=(1, 3, 5),
        no_image=True,
        base_seed=1234,
        seeding="sample",
    )
    model = LastGrey()
    datasets = [load_dataset(choice.name, choice.split) for choice in choices]
    run_sweep(plan_jobs(profile, datasets, {model.name: model}, profile_conditions(profile)), tmp_path / "out")
    assert model.most_images == 2

    evidence = load_evidence(str(tmp_path / "out"), resamples=20)
    text = render_tables(evidence, ["table3", "table4", "statuses"], tmp_path / "tables")
    assert "mmbench/dev: n = 8 questions on 4 images." in text
    main = rows_by(evidence.frames["models"], "dataset")
    assert values(main["mmbench/dev"], "clean_accuracy", "no_image_accuracy", "visual_gain") == [100, 0, 100]
    assert values(main["mmmu_pro/test"], "clean_accuracy", "visual_gain") == [100, 100]
    blank = evidence.frames["statuses"].query("condition == 'no_image'")
    assert blank["no_answer"].tolist() == [100, 100]
    drops = rows_by(evidence.frames["means"], "dataset", "configuration")
    assert drops["mmbench/dev", "flip_v"]["drop"] == 0
    # Inverted, 20 is read as 240, 100 as 160, and the other way round, also where it is the second image.
    assert drops["mmbench/dev", "invert"]["drop"] == 100
    assert drops["mmmu_pro/test", "invert"]["drop"] == 100

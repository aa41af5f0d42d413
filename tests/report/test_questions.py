"""The most-flipped questions of a sweep, against what the toy model must say to known pictures."""

import base64
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from PIL import Image

from robustlib.corruptions import corrupt, image_seed
from robustlib.data import Question
from robustlib.report.questions import CHANGES, Case, Reply, Way, _case, most_flipped
from robustlib.sweep import read_predictions
from tests.report.page_site import GREYS, HOSTILE, make_predictions


@pytest.fixture(scope="module")
def predictions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_predictions(tmp_path_factory.mktemp("questions") / "data")


@pytest.fixture(scope="module")
def cases(predictions: Path) -> list[Case]:
    found = most_flipped(predictions)
    assert list(found) == ["mmbench/dev"]
    return found["mmbench/dev"]


def test_one_question_of_each_image_those_with_most_flips_first(cases: list[Case], predictions: Path) -> None:
    assert len(cases) == len(GREYS)
    assert len({case.right for case in cases}) == len(GREYS)
    shares = [case.flips / case.asked for case in cases]
    assert shares == sorted(shares, reverse=True)
    rows = read_predictions(predictions)
    kept = rows[rows["family"].isin(["corruption", "typos"]) & (rows["suite"] != "vqa_bench_extra")]
    wrong = 1 - kept.groupby("group_id")["score"].mean()  # all are right on the clean images
    assert shares[0] == wrong.max() > 0
    assert cases[0].asked == kept.groupby("group_id").size().iloc[0]


def test_another_image_no_colour_or_another_set_of_options_is_no_flip(cases: list[Case], predictions: Path) -> None:
    rows = read_predictions(predictions)
    assert (rows[rows["family"] == "image_shuffle"]["score"] == 0).any(), "the test would test nothing"
    assert (rows[rows["family"] == "abstain"]["score"] == 0).any(), "the test would test nothing"
    assert (rows[rows["suite"] == "vqa_bench_extra"]["score"] == 0).any(), "the test would test nothing"
    none = {"image_shuffle", "abstain", "vqa_bench_extra/grayscale_inverse"}
    assert not none & {change.name for case in cases for change in case.changes}


def test_pictures_and_answers_are_those_of_the_sweep(cases: list[Case]) -> None:
    case = next(case for case in cases if case.right == "not")
    change = next(change for change in case.changes if HOSTILE in [reply.text for reply in replies(change.ways)])
    assert len(case.changes) == CHANGES
    assert case.clean.replies == {"toy/shade": Reply("not", True, "0.88")}
    assert [way.name for way in change.ways] in (["severity 1"], ["severity 1", "severity 5"])
    assert change.asked == len(change.ways)
    assert change.flips == sum(not reply.right for reply in replies(change.ways))
    clean = np.full((12, 12, 3), 240, np.uint8)
    assert np.abs(pixels(case.clean.picture) - clean).max() <= 2
    for way in change.ways:
        severity = int(way.name.removeprefix("severity "))
        shown = corrupt(clean, change.name, severity, image_seed(0, "3"))
        assert pixels(way.picture).mean() == pytest.approx(shown.mean(), abs=3)


def test_the_right_answer_is_what_most_people_said() -> None:
    said = Question("1", None, "", "How many?", "open", answers=("2", "3", "3", "2", "3"))
    place = ("", "clean", "clean", 0, "1")
    row = {"model": "m", "answer": "3", "response": "", "status": "ok", "score": 1.0, "confidence": None}
    columns = dict(zip(("suite", "family", "variant", "severity", "question_id"), place, strict=True))
    rows = pd.DataFrame([columns | row | {"category": "", "changed": False, "flip": False, "change": "clean"}])
    assert _case(rows, {"": [place]}, {place: (said, "")}).right == "3"


def replies(ways: list[Way]) -> list[Reply]:
    return [way.replies["toy/shade"] for way in ways]


def pixels(uri: str) -> NDArray[np.float64]:
    kind, _, content = uri.partition(",")
    assert kind == "data:image/webp;base64"
    return np.array(Image.open(io.BytesIO(base64.b64decode(content)))).astype(float)

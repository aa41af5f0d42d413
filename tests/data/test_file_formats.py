"""MMBench and MMMU-Pro: small files in the published formats, with what makes them hard to read."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from robustlib.data import Dataset, Question, list_datasets, load_dataset
from robustlib.data.mmmu_pro import VISION_TEXT
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError


def picture(grey: int, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((9, 12, 3), grey, np.uint8)).save(buffer, kind)
    return buffer.getvalue()


def shades(question: Question) -> list[int]:
    return [int(image.pixels()[0, 0, 0]) for image in question.images]


# --- MMBench ---


def in_base64(grey: int) -> str:
    return base64.b64encode(picture(grey, "JPEG")).decode()


MMBENCH = [
    {
        "index": "7",
        "question": 'Which is it?\nLook\tclosely: "it"',
        "hint": "One of them is not there.",
        "A": "None",
        "B": "N/A",
        "C": "007",
        "D": "1.0",
        "answer": "A",
        "category": "identity",
        "l2-category": "reasoning",
        "image": in_base64(10),
        "split": "dev",
    },
    {"index": "1000007", "A": "1.0", "B": "None", "C": "N/A", "D": "007", "answer": "B", "image": "7"},
    {"index": "8", "question": "Two options?", "hint": "", "A": "yes", "B": "no", "C": "", "D": "", "answer": "B"},
    {"index": "9", "image": in_base64(200), "category": "colour"},
    {"index": "10", "split": "test", "answer": "", "image": "9"},
]


def mmbench_rows(*changes: dict[str, str]) -> pd.DataFrame:
    """Return the rows above, each with what it does not say taken from the row before, then changed."""
    rows = [dict(MMBENCH[0])]
    for row in MMBENCH[1:]:
        rows.append(rows[-1] | row)
    rows[2]["image"] = in_base64(90)
    for row, change in zip(rows, changes, strict=False):
        row |= change
    return pd.DataFrame(rows)


def mmbench(folder: Path, rows: pd.DataFrame, split: str = "dev") -> Dataset:
    path = folder / "mmbench.tsv"
    rows.to_csv(path, sep="\t", index=False)
    return load_dataset(f"mmbench:{path}", split)


def test_mmbench_is_read_as_it_is_written(tmp_path: Path) -> None:
    dataset = mmbench(tmp_path, mmbench_rows())
    assert (dataset.name, dataset.split, len(dataset)) == ("mmbench", "dev", 4)
    first, turned, two, last = dataset
    assert first.id == "7"
    assert first.text == 'One of them is not there.\nWhich is it?\nLook\tclosely: "it"'
    assert first.options == ("None", "N/A", "007", "1.0")
    assert (first.label, first.answers, first.kind, first.category) == (0, ("None",), "choice", "identity")
    assert (turned.id, turned.options[turned.label]) == ("1000007", "None")
    assert (two.options, two.label, two.text) == (("yes", "no"), 1, "Two options?")
    assert [round(shade, -1) for question in dataset for shade in shades(question)] == [10, 10, 90, 200]
    assert first.image_id == turned.image_id
    assert len({question.image_id for question in dataset}) == 3
    assert last.category == "colour"


def test_base64_may_have_line_breaks_and_circles_are_told(tmp_path: Path) -> None:
    encoded = in_base64(10)
    wrapped = "\n".join(encoded[start : start + 76] for start in range(0, len(encoded), 76)) + "\n"
    broken, plain = mmbench(tmp_path, mmbench_rows({"image": wrapped})), mmbench(tmp_path, mmbench_rows())
    assert [question.image_id for question in broken] == [question.image_id for question in plain]
    assert [question.meta["circle"] for question in plain] == ["7", "7", "8", "9"]


def test_up_to_seven_images_stand_in_one_question(tmp_path: Path) -> None:
    images = {f"image_{number}": {"bytes": picture(number), "path": None} for number in range(1, 8)}
    text = " ".join(f"<image {number}>" for number in (7, 1, 2, 3, 4, 5, 6))
    (question,) = mmmu_pro(tmp_path, STANDARD | images | {"question": text, "options": repr(TEN[:4]), "answer": "D"})
    assert shades(question) == [7, 1, 2, 3, 4, 5, 6]
    assert question.text == " ".join(f"<image {number}>" for number in range(1, 8))
    assert (len(question.options), question.label) == (4, 3)


def test_mmbench_test_questions_have_no_right_answer(tmp_path: Path) -> None:
    (question,) = mmbench(tmp_path, mmbench_rows(), "test")
    assert (question.id, question.label, question.answers, question.options) == ("10", -1, (), ("yes", "no"))
    assert shades(question) == [200]


def test_mmbench_without_the_column_split_is_of_any(tmp_path: Path) -> None:
    assert len(mmbench(tmp_path, mmbench_rows().drop(columns=["split", "hint", "category"]), "test")) == 5


@pytest.mark.parametrize(
    ("rows", "split", "message"),
    [
        (mmbench_rows(), "train", r"Unknown split of .*mmbench.tsv: 'train'.* Known: dev, test"),
        (mmbench_rows().drop(columns="image"), "dev", r"no MMBench file: it lacks the columns \['image'\]"),
        (
            mmbench_rows({"answer": "E"}),
            "dev",
            r"Question 7: the answer must be one of \['A', 'B', 'C', 'D'\], got 'E'",
        ),
        (mmbench_rows({}, {}, {"answer": "C"}), "dev", r"Question 8: the answer must be one of \['A', 'B'\], got 'C'"),
        (mmbench_rows({}, {"image": "77"}), "dev", "Question 1000007: its image is '77', but no such row holds one"),
        (mmbench_rows({"image": "?" * 65}), "dev", "Question 7: its image is not valid base64"),
        (mmbench_rows({}, {"index": "7", "image": in_base64(3)}), "dev", "id of its own, but '7' has 2"),
        (mmbench_rows({}, {}, {"B": "yes"}), "dev", "row 3: field 'A-E': every option must be different, but 'yes'"),
        (mmbench_rows({}, {}, {"B": ""}), "dev", r"row 3: field 'A-E': must be a list of at least 2 .* got \('yes',\)"),
        (mmbench_rows({}, {}, {"B": " "}), "dev", "row 3: field 'A-E': every option must be a text that is not empty"),
    ],
)
def test_faults_of_mmbench_files_are_named(rows: pd.DataFrame, split: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((InvalidValueError, UnknownNameError), match=message):
        mmbench(tmp_path, rows, split)


@pytest.mark.parametrize("extra", ["", "more", "more\tand more"])
def test_a_first_row_of_mmbench_with_more_cells_than_the_header_is_named(extra: str, tmp_path: Path) -> None:
    path = tmp_path / "mmbench.tsv"
    row = f"7\tWhich?\tred\tblue\t{in_base64(10)}"
    header = "index\tquestion\tA\tB\timage\n"
    path.write_text(f"{header}{row}\n")
    assert len(load_dataset(f"mmbench:{path}", "dev")) == 1
    path.write_text(f"{header}{row}\t{extra}\n{row}\n")
    with pytest.raises(InvalidValueError, match=f"{path} is no MMBench file: its first row has more cells"):
        load_dataset(f"mmbench:{path}", "dev")


# --- MMMU-Pro ---

TEN = [f"option {number}" for number in range(10)]
STANDARD: dict[str, Any] = {
    "id": "test_Art_1",
    "question": "Is <image 2> older than <image 1>?",
    "options": repr(TEN),
    "answer": "J",
    "subject": "Art",
    "image_1": {"bytes": picture(10), "path": "1.png"},
    "image_2": {"bytes": picture(20), "path": None},
    **{f"image_{number}": None for number in range(3, 8)},
}


def mmmu_pro(path: Path, *rows: dict[str, Any]) -> Dataset:
    target = path / "test-00000-of-00001.parquet"
    pd.DataFrame(list(rows)).to_parquet(target)
    return load_dataset(f"mmmu_pro:{target}", "test")


def test_images_come_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    (question,) = mmmu_pro(tmp_path, STANDARD)
    assert (question.id, question.category, question.dataset, question.kind) == (
        "test_Art_1",
        "Art",
        "mmmu_pro",
        "choice",
    )
    assert question.text == "Is <image 1> older than <image 2>?"
    assert shades(question) == [20, 10]
    assert (question.options, question.label, question.answers) == (tuple(TEN), 9, ("option 9",))


def test_images_may_stand_in_shuffled_options(tmp_path: Path) -> None:
    row = STANDARD | {"options": "['<image 2>', \"it's <image 1>\", 'None', '<image 2>']", "answer": "C"}
    (question,) = mmmu_pro(tmp_path, row | {"question": "Which?"})
    assert question.options == ("<image 1>", "it's <image 2>", "None", "<image 1>")
    assert (shades(question), question.answers) == ([20, 10], ("None",))


def test_a_question_that_names_no_image_has_them_all(tmp_path: Path) -> None:
    (question,) = mmmu_pro(tmp_path, STANDARD | {"question": "Which?"})
    assert shades(question) == [10, 20]


def test_the_vision_configuration_has_its_question_in_the_picture(tmp_path: Path) -> None:
    row = {name: STANDARD[name] for name in ("id", "options", "answer", "subject")}
    (question,) = mmmu_pro(tmp_path, row | {"image": {"bytes": picture(30), "path": None}})
    assert (question.text, shades(question), question.label) == (VISION_TEXT, [30], 9)


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for name in ("b", "a"):
        mmmu_pro(tmp_path, STANDARD | {"id": name})
        (tmp_path / "test-00000-of-00001.parquet").rename(tmp_path / f"{name}.parquet")
    dataset = load_dataset(f"mmmu_pro:{tmp_path}", "test")
    assert [question.id for question in dataset] == ["a", "b"]
    assert len({question.image_id for question in dataset}) == 1
    assert dataset.fingerprint() != Dataset("mmmu_pro", "test", dataset.questions[:1]).fingerprint()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "K"}, r"test_Art_1: the answer must be one of \['A', .*'J'\], got 'K'"),
        ({"options": "['a', 'b'"}, r"row 1: field 'options': must be a list of texts, got \"\['a', 'b'\""),
        ({"options": "[1, 2]"}, "row 1: field 'options': every option must be a text that is not empty, got 1"),
        ({"options": "['a', ' ']"}, "row 1: field 'options': every option must be a text that is not empty, got ' '"),
        ({"options": "['a']"}, r"row 1: field 'options': must be a list of at least 2 texts, got \['a'\]"),
        ({"options": "'a, b'"}, "row 1: field 'options': must be a list of at least 2 texts, got 'a, b'"),
        ({"options": None}, "row 1: field 'options': must be a list of at least 2 texts, got None"),
        ({"question": None}, "row 1: field 'question': must be a text that is not empty, got None"),
        ({"id": None}, "row 1: field 'id': must be a text that is not empty, got None"),
        ({"subject": None}, "row 1: field 'subject': must be a text that is not empty, got None"),
        ({"question": "Is <image 3> it?"}, "test_Art_1: its image_3 is not in the file"),
        ({"question": "Is <image 9> it?"}, "test_Art_1: its image_9 is not in the file"),
        ({"question": "Which?", "image_1": None, "image_2": None}, "test_Art_1: its image is not in the file"),
    ],
)
def test_faults_of_mmmu_pro_rows_are_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=message):
        mmmu_pro(tmp_path, STANDARD | change)


def test_bad_rows_of_mmmu_pro_are_left_out_and_listed_on_demand(tmp_path: Path) -> None:
    bad = {"question": None}, {"id": None}, {"subject": None}, {"options": "['a']"}, {"options": None}
    target = tmp_path / "test-00000-of-00001.parquet"
    pd.DataFrame([STANDARD, *(STANDARD | {"id": "bad"} | change for change in bad)]).to_parquet(target)
    dataset = load_dataset(f"mmmu_pro:{target}", "test", skip_bad=tmp_path / "skipped.jsonl")
    assert [question.id for question in dataset] == ["test_Art_1"]
    found = [json.loads(line) for line in (tmp_path / "skipped.jsonl").read_text().splitlines()]
    fields = ["question", "id", "subject", "options", "options"]
    assert [(fault["row"], fault["field"]) for fault in found] == list(enumerate(fields, 2))


def test_a_folder_of_mmmu_pro_that_lacks_a_file_is_named(tmp_path: Path) -> None:
    mmmu_pro(tmp_path, STANDARD)
    (tmp_path / "test-00000-of-00001.parquet").rename(tmp_path / "test-00000-of-00002.parquet")
    with pytest.raises(RobustlibError, match=rf"{tmp_path} holds 1 of the 2 files test-\*-of-00002"):
        load_dataset(f"mmmu_pro:{tmp_path}", "test")


def test_faults_of_mmmu_pro_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"lacks the columns \['options', 'subject'\]"):
        mmmu_pro(tmp_path, {"id": "1", "answer": "A"})
    with pytest.raises(UnknownNameError, match=r"split of mmmu_pro 'validation'"):
        load_dataset(f"mmmu_pro:{tmp_path}", "validation")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RobustlibError, match="There is no Parquet file in"):
        load_dataset(f"mmmu_pro:{tmp_path / 'empty'}", "test")


@pytest.mark.parametrize("name", ["mmbench", "mmmu_pro"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00nonsense"])
def test_files_that_cannot_be_read_are_named(name: str, content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RobustlibError, match=rf"Cannot read the .* file {path}"):
        load_dataset(f"{name}:{path}", "test")


def test_data_sets_in_files_are_listed_and_want_a_path() -> None:
    assert {"easy_vqa", "easy_vqa_choice", "mmbench:PATH", "mmmu_pro:PATH", "vqav2:PATH"} <= set(list_datasets())
    for name in ("mmbench", "mmbench:", "mmbnch:file.tsv", "easy_vqa:file"):
        with pytest.raises(UnknownNameError, match="Unknown data set"):
            load_dataset(name, "test")

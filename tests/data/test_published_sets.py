"""VQAv2, A-OKVQA, ScienceQA and The Cauldron: small files in the published formats, and what makes them hard."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from robustlib.data import Dataset, Question, load_dataset
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError


def picture(grey: int, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((9, 12, 3), grey, np.uint8)).save(buffer, kind)
    return buffer.getvalue()


def stored(grey: int) -> dict[str, Any]:
    return {"bytes": picture(grey), "path": None}


def shades(question: Question) -> list[int]:
    return [int(image.pixels()[0, 0, 0]) for image in question.images]


def parquet(path: Path, rows: list[dict[str, Any]], group: int = 2) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=group)
    return path


def load(name: str, folder: Path, rows: list[dict[str, Any]], split: str = "validation") -> Dataset:
    parquet(folder / f"{split}-00000-of-00001.parquet", rows)
    return load_dataset(f"{name}:{folder}", split)


# --- VQAv2 ---

TEN = [{"answer": "yes" if n < 7 else "no", "answer_confidence": "maybe", "answer_id": n + 1} for n in range(10)]
ASKED = [
    {"image_id": 42, "question": "Is it red?", "question_id": 42001},
    {"image_id": 42, "question": "How many?", "question_id": 42000},
    {"image_id": 7, "question": "What?", "question_id": 7000},
]
SAID = [  # in another order than the questions, the last without ids
    {"question_id": 42000, "image_id": 42, "question_type": "how many", "answer_type": "number"},
    {"question_id": 42001, "image_id": 42, "question_type": "is it", "answer_type": "yes/no"},
    {"question_id": 7000, "image_id": 7, "question_type": "what", "answer_type": "other"},
]
ANSWERS: list[tuple[str, list[Any]]] = [("2", [{"answer": "2"}] * 10), ("yes", TEN), ("007", ["007"] * 10)]


def annotated() -> list[dict[str, Any]]:
    return [
        row | {"multiple_choice_answer": most, "answers": answers}
        for row, (most, answers) in zip(SAID, ANSWERS, strict=True)
    ]


def official(folder: Path, asked: list[dict[str, Any]] = ASKED, said: list[dict[str, Any]] | None = None) -> Path:
    info = {"info": {"description": 'has "questions" and \\"annotations\\"'}, "license": {}, "data_subtype": "val2014"}
    questions = info | {"task_type": "Open-Ended", "questions": asked}
    (folder / "v2_OpenEnded_mscoco_val2014_questions.json").write_text(json.dumps(questions))
    (folder / "v2_OpenEnded_mscoco_test2015_questions.json").write_text(
        json.dumps(questions | {"questions": ASKED[2:]})
    )
    annotations = info | {"annotations": annotated() if said is None else said}
    (folder / "v2_mscoco_val2014_annotations.json").write_text(json.dumps(annotations))
    for split, number, grey in (("val2014", 42, 10), ("val2014", 7, 20), ("test2015", 7, 30)):
        image = folder / split / f"COCO_{split}_{number:012d}.jpg"
        image.parent.mkdir(exist_ok=True)
        image.write_bytes(picture(grey, "JPEG"))
    return folder


def test_vqav2_is_joined_by_question_id_from_its_official_files(tmp_path: Path) -> None:
    dataset = load_dataset(f"vqav2:{official(tmp_path)}", "validation")
    assert [question.id for question in dataset] == ["42001", "42000", "7000"]
    yes_no, number, other = dataset
    assert (yes_no.kind, yes_no.category, yes_no.options) == ("yesno", "yes/no", ())
    assert yes_no.answers == ("yes",) * 7 + ("no",) * 3
    assert (number.kind, number.answers, number.category) == ("open", ("2",) * 10, "number")
    assert other.answers == ("007",) * 10
    assert yes_no.image_id == number.image_id != other.image_id
    assert yes_no.image is number.image
    assert [shades(question) for question in dataset] == [[10], [10], [20]]


def test_test_questions_of_vqav2_have_no_answers(tmp_path: Path) -> None:
    (question,) = load_dataset(f"vqav2:{official(tmp_path)}", "test")
    assert (question.answers, question.category, shades(question)) == ((), "", [30])


def test_the_yes_no_questions_of_vqav2_have_options(tmp_path: Path) -> None:
    (question,) = load_dataset(f"vqav2_yesno:{official(tmp_path)}", "validation")
    assert (question.id, question.kind, question.options, question.label) == ("42001", "yesno", ("no", "yes"), 1)
    assert question.dataset == "vqav2_yesno"


def test_vqav2_in_parquet_is_the_same(tmp_path: Path) -> None:
    of_json = load_dataset(f"vqav2:{official(tmp_path)}", "validation").questions
    by_id = {row["question_id"]: row for row in annotated()}
    rows: list[dict[str, Any]] = []
    for row in ASKED:
        said = by_id[row["question_id"]]
        answers = [answer if isinstance(answer, dict) else {"answer": answer} for answer in said["answers"]]
        image = stored(10 if row["image_id"] == 42 else 20)
        rows.append(row | said | {"answers": answers, "image": image})
    of_parquet = load("vqav2", tmp_path / "hub", rows).questions
    for one, other in zip(of_json, of_parquet, strict=True):
        assert [one.id, one.text, one.answers, one.category, one.kind, one.image_id] == [
            other.id,
            other.text,
            other.answers,
            other.category,
            other.kind,
            other.image_id,
        ]
    assert [shades(question) for question in of_parquet] == [[10], [10], [20]]


@pytest.mark.parametrize(
    ("asked", "said", "message"),
    [
        (
            [ASKED[0] | {"question_id": 5}],
            None,
            "questions.json, row 1: field 'question_id': must have an annotation, but 5 has none",
        ),
        ([ASKED[0] | {"image_id": 8}], None, "row 1: field 'image_id': Cannot read the image .*_000000000008.jpg"),
        ([ASKED[0], ASKED[0]], None, "row 2: field 'id': .* but '42001' has 2 rows"),
        ([ASKED[0] | {"question": " "}], None, "row 1: field 'question': must be a text that is not empty, got ' '"),
        (ASKED, [], "row 1: field 'question_id'.* Bad rows in all: 3."),
    ],
)
def test_faults_of_vqav2_files_are_named(
    asked: list[dict[str, Any]], said: list[dict[str, Any]] | None, message: str, tmp_path: Path
) -> None:
    official(tmp_path, asked, said)
    with pytest.raises(InvalidValueError, match=message):
        load_dataset(f"vqav2:{tmp_path}", "validation")


def test_questions_without_annotation_are_not_left_out_in_silence(tmp_path: Path) -> None:
    official(tmp_path, said=annotated()[1:2])
    with pytest.raises(InvalidValueError, match=r"row 2: field 'question_id'.* 42000 has none\. Bad rows in all: 2\."):
        load_dataset(f"vqav2_yesno:{tmp_path}", "validation")
    official(tmp_path, said=[annotated()[0] | {"answers": [1]}])
    with pytest.raises(InvalidValueError, match=r"annotations.json, row 1: field 'answers': every answer must be"):
        load_dataset(f"vqav2:{tmp_path}", "validation")


@pytest.mark.parametrize("name", ["vqav2", "vqav2_yesno"])
@pytest.mark.parametrize("change", [{}, {"multiple_choice_answer": None}, {"multiple_choice_answer": 2}])
def test_annotations_without_most_common_answer_are_not_left_out_in_silence(
    name: str, change: dict[str, Any], tmp_path: Path
) -> None:
    number, yes_no, other = annotated()
    del number["multiple_choice_answer"]
    official(tmp_path, said=[number | change, yes_no, other])
    with pytest.raises(InvalidValueError, match=r"row 2: field 'multiple_choice_answer': must be a text, got"):
        load_dataset(f"{name}:{tmp_path}", "validation")
    good = load_dataset(f"{name}:{tmp_path}", "validation", skip_bad=tmp_path / "skipped.jsonl")
    assert [question.id for question in good] == ["42001", "7000"][: 1 if name == "vqav2_yesno" else 2]
    assert json.loads((tmp_path / "skipped.jsonl").read_text())["row"] == 2


def test_image_folders_may_lie_elsewhere(tmp_path: Path) -> None:
    official(tmp_path)
    (tmp_path / "coco").mkdir()
    (tmp_path / "val2014").rename(tmp_path / "coco" / "val2014")
    (tmp_path / "val2014").symlink_to(tmp_path / "coco" / "val2014")
    assert len(load_dataset(f"vqav2:{tmp_path}", "validation")) == 3


def test_official_files_that_are_not_whole_are_named(tmp_path: Path) -> None:
    official(tmp_path)
    file = tmp_path / "v2_OpenEnded_mscoco_val2014_questions.json"
    file.write_text(file.read_text()[:-20])
    with pytest.raises(InvalidValueError, match=r"questions.json breaks off or is no JSON after 2 objects"):
        load_dataset(f"vqav2:{tmp_path}", "validation")
    file.write_text('{"annotations": []}')
    with pytest.raises(InvalidValueError, match="lacks the list 'questions'"):
        load_dataset(f"vqav2:{tmp_path}", "validation")
    file.unlink()
    with pytest.raises(RobustlibError, match=r"Cannot read .*questions.json"):
        load_dataset(f"vqav2:{tmp_path}", "validation")
    with pytest.raises(UnknownNameError, match=r"split of vqav2 'val'.* Known: .*validation"):
        load_dataset(f"vqav2:{tmp_path}", "val")


# --- A-OKVQA and ScienceQA ---

AOKVQA = {
    "image": stored(10),
    "question_id": "22MexNkBPpdZGX6sxbxVBH",
    "question": "What is the man waiting for?",
    "choices": ["skateboarder", "None", "007", "1.0"],
    "correct_choice_idx": 1,
    "direct_answers": "['ride', 'it\\'s a \"bus\"']",
    "difficult_direct_answer": False,
    "rationales": ["Because."],
}


def test_aokvqa_is_multiple_choice(tmp_path: Path) -> None:
    (question,) = load("aokvqa", tmp_path, [AOKVQA])
    assert (question.id, question.kind, question.label) == ("22MexNkBPpdZGX6sxbxVBH", "choice", 1)
    assert question.options == ("skateboarder", "None", "007", "1.0")
    assert (question.answers, question.dataset, shades(question)) == (("None",), "aokvqa", [10])
    assert question.meta["direct_answers"] == ["ride", 'it\'s a "bus"']


def test_test_questions_of_aokvqa_have_no_label(tmp_path: Path) -> None:
    (question,) = load("aokvqa", tmp_path, [AOKVQA | {"correct_choice_idx": None, "direct_answers": None}], "test")
    assert (question.label, question.answers) == (-1, ())


SCIENCEQA = {
    "image": None,
    "question": "Which is warm?",
    "choices": ["sun", "ice"],
    "answer": 0,
    "hint": "Look.",
    "task": "closed choice",
    "grade": "grade2",
    "subject": "natural science",
    "topic": "physics",
    "category": "Heat",
    "skill": "Compare",
    "lecture": "",
    "solution": "",
}


def test_scienceqa_rows_without_image_are_passed_over_and_ids_are_places(tmp_path: Path) -> None:
    images = [None, stored(10), stored(20), None, stored(10)]
    rows = [SCIENCEQA | {"image": image, "hint": "" if n == 2 else "Look."} for n, image in enumerate(images)]
    first, second, third = load("scienceqa", tmp_path, rows)
    assert [first.id, second.id, third.id] == ["validation-000001", "validation-000002", "validation-000004"]
    assert (first.text, second.text) == ("Look.\nWhich is warm?", "Which is warm?")
    assert (first.options, first.label, first.category) == (("sun", "ice"), 0, "natural science")
    assert [shades(first), shades(second), shades(third)] == [[10], [20], [10]]
    assert first.image_id == third.image_id != second.image_id


def test_ids_of_scienceqa_go_on_from_file_to_file(tmp_path: Path) -> None:
    for place in range(2):
        parquet(tmp_path / f"train-{place:05d}-of-00002-abc.parquet", [SCIENCEQA | {"image": stored(10)}] * 3)
    dataset = load_dataset(f"scienceqa:{tmp_path}", "train")
    assert [question.id for question in dataset] == [f"train-{place:06d}" for place in range(6)]


# --- The Cauldron ---


def turn(user: str, assistant: str) -> dict[str, str]:
    return {"user": user, "assistant": assistant, "source": "AI2D"}


LETTERED = "Question: What comes after B?\nChoices:\nA. None\nB. a B.\nwith two lines\nC. 1.0\nAnswer with the letter."
CAULDRON = {
    "images": [stored(10)],
    "texts": [turn(LETTERED, "Answer: B"), turn("Lecture: Long.\nIt is.\n" + LETTERED, "Answer: C")],
}


def test_lettered_choices_stand_in_the_users_text(tmp_path: Path) -> None:
    first, second = load("ai2d", tmp_path, [CAULDRON], "train")
    assert first.options == ("None", "a B. with two lines", "1.0")
    assert (first.text, first.label, first.kind) == ("What comes after B?", 1, "choice")
    assert second.text == "Lecture: Long.\nIt is.\nWhat comes after B?"
    assert (second.label, second.answers, second.dataset) == (2, ("1.0",), "ai2d")
    assert first.id != second.id
    assert first.image_id == second.image_id
    assert shades(second) == [10]


def test_yes_and_no_are_options_and_other_answers_are_passed_over(tmp_path: Path) -> None:
    texts = [
        turn('Is the cat "left" of it?\nAnswer yes or no.', "Yes."),
        turn("Does Ohio have more?\nGive a very brief answer.", "No."),
        turn("Which is highest?\nShort answer required.", "Ohio."),
        turn("The caption is: a cat. Is it true? Answer yes or no.", "no"),
    ]
    questions = load("mapqa", tmp_path, [{"images": [stored(10), stored(20)], "texts": texts}], "train").questions
    assert [(question.text, question.label) for question in questions] == [
        ('Is the cat "left" of it?', 1),
        ("Does Ohio have more?", 0),
        ("The caption is: a cat. Is it true?", 0),
    ]
    assert {(question.options, question.kind) for question in questions} == {(("no", "yes"), "yesno")}
    assert shades(questions[0]) == [10, 20]


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        (
            "aokvqa",
            AOKVQA | {"correct_choice_idx": 4},
            "'correct_choice_idx': must be a whole number from 0 to 3, got 4",
        ),
        ("aokvqa", AOKVQA | {"choices": ["a", "a"]}, "'choices': every option must be different, but 'a' is"),
        ("aokvqa", AOKVQA | {"choices": ["a", " "]}, "'choices': every option must be a text that is not empty"),
        ("aokvqa", AOKVQA | {"image": None}, "field 'image': its image is not in the file"),
        ("aokvqa", AOKVQA | {"image": {"bytes": b"no image", "path": "x.png"}}, "field 'image': .* format is unknown"),
        ("aokvqa", AOKVQA | {"question": ""}, "field 'question': must be a text that is not empty"),
        ("aokvqa", AOKVQA | {"direct_answers": "['a'"}, r"'direct_answers': must be a list of texts, got \"\['a'\""),
        ("vsr", CAULDRON | {"texts": [turn(LETTERED, "Answer: D")]}, "'texts': the answer must be one of"),
        ("vsr", CAULDRON | {"texts": [turn(LETTERED.replace("C.", "D."), "Answer: A")]}, "must be lettered in order"),
        ("vsr", CAULDRON | {"texts": [turn(LETTERED[10:], "Answer: A")]}, "'texts': must ask a question"),
    ],
)
def test_faults_of_rows_are_named(name: str, row: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=f"train-00000-of-00001.parquet, row 1: .*{message}"):
        load(name, tmp_path, [row], "train")


def test_a_missing_column_and_a_missing_split_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"is no Cauldron file: it lacks the columns \['images', 'texts'\]"):
        load("visual7w", tmp_path, [AOKVQA], "train")
    with pytest.raises(UnknownNameError, match=r"split of .*'tain'.*Did you mean 'train'"):
        load_dataset(f"visual7w:{tmp_path}", "tain")


# --- images in Parquet files ---


def test_images_stay_in_the_file_until_asked_for(tmp_path: Path) -> None:
    rows = [AOKVQA | {"question_id": str(grey), "image": stored(grey)} for grey in range(0, 250, 25)]
    dataset = load("aokvqa", tmp_path, rows)
    assert [shades(question) for question in dataset] == [[grey] for grey in range(0, 250, 25)]
    fingerprint = dataset.fingerprint()
    assert fingerprint == load_dataset(f"aokvqa:{tmp_path}", "validation").fingerprint()
    changed = load("aokvqa", tmp_path, [row | {"image": stored(3)} for row in rows])
    assert changed.fingerprint() != fingerprint
    assert shades(changed.questions[9]) == [3]


def test_an_image_may_be_bytes_alone(tmp_path: Path) -> None:
    rows = [AOKVQA | {"question_id": str(grey), "image": picture(grey)} for grey in (10, 20, 30)]
    plain = load("aokvqa", tmp_path / "plain", rows)
    assert [shades(question) for question in plain] == [[10], [20], [30]]
    usual = load("aokvqa", tmp_path / "usual", [row | {"image": stored(10 * n)} for n, row in enumerate(rows, 1)])
    assert plain.fingerprint() == usual.fingerprint()
    assert [question.image_id for question in plain] == [question.image_id for question in usual]
    first, _ = load("ai2d", tmp_path / "listed", [CAULDRON | {"images": [picture(40), picture(50)]}], "train")
    assert shades(first) == [40, 50]


@pytest.mark.parametrize("image", ["x.png", {"bytes": "x", "path": None}, 7, [picture(10)]])
def test_an_image_of_another_type_is_named(image: Any, tmp_path: Path) -> None:
    kind = type(image["bytes"] if isinstance(image, dict) else image).__name__
    with pytest.raises(InvalidValueError, match=f"row 1: field 'image': must be an image's bytes .*, got {kind}"):
        load("aokvqa", tmp_path, [AOKVQA | {"image": image}])


@pytest.mark.parametrize("images", [picture(10), stored(10), "x.png"])
def test_images_that_are_no_list_are_named(images: Any, tmp_path: Path) -> None:
    message = f"row 1: field 'images': must be a list of images, got {type(images).__name__}"
    with pytest.raises(InvalidValueError, match=message):
        load("ai2d", tmp_path, [CAULDRON | {"images": images}], "train")


def test_an_image_that_was_taken_out_of_its_file_is_named(tmp_path: Path) -> None:
    (question,) = load("aokvqa", tmp_path, [AOKVQA])
    parquet(tmp_path / "validation-00000-of-00001.parquet", [AOKVQA | {"image": {"bytes": None, "path": "x.png"}}])
    with pytest.raises(RobustlibError, match=r"Cannot read the image .*: its image is not in the file\.$"):
        question.pixels()


@pytest.mark.parametrize("hash_of_the_hub", ["", "-0a1b2c"])
def test_a_split_that_lacks_some_of_its_files_is_named(hash_of_the_hub: str, tmp_path: Path) -> None:
    for place in (0, 2):
        row = AOKVQA | {"question_id": str(place)}
        parquet(tmp_path / f"train-0000{place}-of-00003{hash_of_the_hub}.parquet", [row])
    parquet(tmp_path / "validation-00000-of-00001.parquet", [AOKVQA])
    with pytest.raises(RobustlibError, match=rf"{tmp_path} holds 2 of the 3 files train-\*-of-00003; fetch the others"):
        load_dataset(f"aokvqa:{tmp_path}", "train")
    assert len(load_dataset(f"aokvqa:{tmp_path}", "validation")) == 1
    assert len(load_dataset(f"aokvqa:{next(tmp_path.glob('train-00002*'))}", "train")) == 1
    parquet(tmp_path / f"train-00001-of-00003{hash_of_the_hub}.parquet", [AOKVQA])
    assert len(load_dataset(f"aokvqa:{tmp_path}", "train")) == 3


def test_every_folder_has_its_own_count_of_files(tmp_path: Path) -> None:
    parquet(tmp_path / "ai2d" / "train-00000-of-00002.parquet", [CAULDRON])
    parquet(tmp_path / "vsr" / "train-00001-of-00002.parquet", [CAULDRON])
    with pytest.raises(RobustlibError, match=rf"{tmp_path / 'ai2d'} holds 1 of the 2 files"):
        load_dataset(f"ai2d:{tmp_path}", "train")


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    (question,) = load("aokvqa", tmp_path, [AOKVQA])
    (tmp_path / "validation-00000-of-00001.parquet").unlink()
    with pytest.raises(RobustlibError, match=r"Question 22Mex.*Cannot read the image image of row 0 in row group 0"):
        question.pixels()


def test_the_hubs_converted_files_are_found_in_the_folder_of_their_split(tmp_path: Path) -> None:
    parquet(tmp_path / "default" / "validation" / "0000.parquet", [AOKVQA])
    assert len(load_dataset(f"aokvqa:{tmp_path}", "validation")) == 1


# --- the hub ---


def test_a_set_of_the_hub_is_fetched_at_its_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def snapshot_download(repository: str, **wanted: Any) -> str:
        asked.append((repository, wanted))
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    parquet(tmp_path / "ai2d" / "train-00000-of-00001-abc.parquet", [CAULDRON])
    assert len(load_dataset("ai2d:hub", "train")) == 2
    [(repository, wanted)] = asked
    assert (repository, wanted["repo_type"]) == ("HuggingFaceM4/the_cauldron", "dataset")
    assert wanted["allow_patterns"] == ["ai2d/*train-*.parquet"]
    assert len(wanted["revision"]) == 40


def test_a_set_that_cannot_be_fetched_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(RobustlibError, match=r"Cannot fetch HuggingFaceM4/A-OKVQA at d1b0efa3a436 .*\"aokvqa:PATH\""):
        load_dataset("aokvqa:hub", "validation")


def test_a_test_split_in_parquet_has_empty_annotations(tmp_path: Path) -> None:
    empty = {"answers": None, "answer_type": None, "multiple_choice_answer": None}
    (question,) = load("vqav2", tmp_path, [ASKED[0] | empty | {"image": stored(10)}], "test")
    assert (question.answers, question.category, question.kind) == ((), "", "open")

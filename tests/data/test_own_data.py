"""Questions of one's own: what is read, what is refused and how it is said, and how little memory many of them take."""

import csv
import json
import struct
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robustlib.data import Dataset, LazyImage, Question, gathering, load_dataset
from robustlib.data.gathering import PackedQuestions, pack
from robustlib.data.images import MOST_PIXELS
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError

TRAPS = ("None", "N/A", "007", "1.0", "NaN", "null", "true")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outside.png").write_bytes(b"")
    home = tmp_path / "home"
    (home / "images").mkdir(parents=True)
    for grey in (10, 20):
        Image.fromarray(np.full((9, 12, 3), grey, np.uint8)).save(home / "images" / f"{grey}.png")
    return home


def jsonl(folder: Path, *rows: dict[str, Any] | str) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / "mine.jsonl").write_text("\n".join(lines) + "\n")
    return f"jsonl:{folder / 'mine.jsonl'}"


def table(folder: Path, name: str, *rows: dict[str, str]) -> str:
    with (folder / name).open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter="\t" if name.endswith("tsv") else ",")
        writer.writeheader()
        writer.writerows(rows)
    return f"csv:{folder / name}"


OPEN = {"id": "1", "question": "What?", "image": "images/10.png", "answers": ["None", "007"]}
CHOICE = {"id": "2", "question": "Which?", "image": "images/10.png", "options": list(TRAPS), "label": 2}


def test_jsonl_is_read_as_its_table_says(folder: Path) -> None:
    both = {"id": "3", "question": "Same?", "images": ["images/10.png", "images/20.png"], "answers": [{"answer": "no"}]}
    more = {"kind": "yesno", "category": "pairs", "image_id": "pair", "meta": {"source": "x"}}
    alone = {"id": "4", "question": "How much?", "answers": ["1.0"]}
    dataset = load_dataset(jsonl(folder, OPEN, CHOICE, "", both | more, alone), "any")
    assert (dataset.name, dataset.questions[0].dataset, len(dataset)) == ("mine", "mine", 4)
    first, choice, pair, last = dataset
    assert (first.kind, first.answers, first.image_id) == ("open", ("None", "007"), "images/10.png")
    assert (choice.kind, choice.options, choice.label, choice.answers) == ("choice", TRAPS, 2, ("007",))
    assert (pair.kind, pair.category, pair.image_id, pair.meta) == ("yesno", "pairs", "pair", {"source": "x"})
    assert [int(image.pixels()[0, 0, 0]) for image in pair.images] == [10, 20]
    assert (last.image, last.image_id) == (None, "4")
    assert first.image is choice.image


@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv"])
def test_cells_of_a_table_are_texts(name: str, folder: Path) -> None:
    row = {"id": "007", "question": 'None\n"with", lines\tand tabs', "image": "images/20.png"}
    rows = [
        row | {"options": json.dumps(TRAPS), "label": "0", "answers": "", "category": "1.0"},
        row | {"id": "7", "options": "", "label": "", "answers": '["N/A"]', "category": "null"},
    ]
    first, second = load_dataset(table(folder, name, *rows), "any")
    assert (first.id, first.text, first.category) == ("007", row["question"], "1.0")
    assert (first.options, first.label, first.answers) == (TRAPS, 0, ("None",))
    assert (second.id, second.answers, second.kind, second.category) == ("7", ("N/A",), "open", "null")


def test_a_column_split_leaves_out_other_splits(folder: Path) -> None:
    name = jsonl(folder, OPEN | {"split": "dev"}, CHOICE | {"split": "test"})
    assert [question.id for question in load_dataset(name, "test")] == ["2"]
    with pytest.raises(UnknownNameError, match=r"split of .*mine.jsonl: 'train'.* Known: dev, test"):
        load_dataset(name, "train")


BAD: list[tuple[dict[str, Any] | str, str]] = [
    (CHOICE | {"label": 7}, "field 'label': must be a whole number from 0 to 6, got 7"),
    (CHOICE | {"label": -1}, "field 'label': must be a whole number from 0 to 6, got -1"),
    (CHOICE | {"label": True}, "field 'label': must be a whole number"),
    (CHOICE | {"label": "2"}, "field 'label': must be a whole number from 0 to 6, got '2'"),
    (CHOICE | {"label": None}, "field 'label': is missing"),
    (OPEN | {"label": 0}, "field 'options': must be a list of at least 2 texts, got None"),
    (CHOICE | {"options": ["a", "b", "a"]}, "field 'options': every option must be different, but 'a'"),
    (CHOICE | {"options": ["a"], "label": 0}, "field 'options': must be a list of at least 2"),
    (CHOICE | {"options": [1, 2]}, "field 'options': every option must be a text .* got 1"),
    (OPEN | {"question": " \t"}, "field 'question': must be a text that is not empty"),
    (OPEN | {"id": ""}, "field 'id': must be a text that is not empty"),
    (OPEN | {"id": 5}, "field 'id': must be a text that is not empty, got 5"),
    (OPEN | {"answers": []}, "field 'answers': is missing"),
    (OPEN | {"answers": [1]}, "field 'answers': every answer must be a text"),
    (OPEN | {"answers": 1}, "field 'answers': must be a list"),
    (OPEN | {"image": "images/30.png"}, "field 'image': Cannot read the image .*images/30.png: No such file"),
    (OPEN | {"image": "images"}, "field 'image': Cannot read the image .*images"),
    (OPEN | {"image": "../outside.png"}, "field 'image': '../outside.png' leads out of the folder"),
    (OPEN | {"image": "/etc/hostname"}, "field 'image': '/etc/hostname' leads out of the folder"),
    (OPEN | {"image": "images/link.png"}, "field 'image': 'images/link.png' leads out of the folder"),
    (OPEN | {"image": "a\0b"}, "field 'image': .* is no path"),
    (OPEN | {"image": "\ud800.png"}, r"field 'image': must be valid Unicode, got '\\ud800.png'"),
    (OPEN | {"image": None, "images": ["\ud800.png"]}, "field 'images': must be valid Unicode"),
    (OPEN | {"question": "What\ud800?"}, r"field 'question': must be valid Unicode, got 'What\\ud800\?'"),
    (OPEN | {"id": "\udfff"}, "field 'id': must be valid Unicode"),
    (OPEN | {"category": "\udfff"}, "field 'category': must be valid Unicode"),
    (OPEN | {"answers": ["yes", {"answer": "\ud800"}]}, r"field 'answers': must be valid Unicode, got '\\ud800'"),
    (CHOICE | {"options": ["a", "\ud800"], "label": 0}, r"field 'options': must be valid Unicode, got '\\ud800'"),
    (OPEN | {"image": "a" * 5000}, "field 'image': Cannot read the image .*: File name too long"),
    (OPEN | {"image": "mine.jsonl"}, "field 'image': Cannot decode the image .*mine.jsonl: its format is unknown"),
    (OPEN | {"images": ["images/10.png"]}, "field 'images': give either image or images"),
    (OPEN | {"image": None, "images": "images/10.png"}, "field 'images': must be a list of paths"),
    (OPEN | {"kind": "closed"}, r"field 'kind': must be one of \('open', 'choice', 'yesno'\).* got 'closed'"),
    (OPEN | {"kind": "choice"}, "field 'kind': .*choice needs options"),
    (OPEN | {"meta": [1]}, r"field 'meta': must be an object, got \[1\]"),
    (OPEN | {"meta": []}, r"field 'meta': must be an object, got \[\]"),
    (OPEN | {"meta": 0}, "field 'meta': must be an object, got 0"),
    (OPEN | {"meta": ""}, "field 'meta': must be an object, got ''"),
    (OPEN | {"category": 3}, "field 'category': must be a text"),
    (OPEN | {"anwsers": []}, "the field 'anwsers' is unknown. Did you mean 'answers'"),
    (CHOICE | {"image": ""}, "field 'id': every question needs an id of its own, but '2' has 2 rows"),
    ("{", "the line is no JSON"),
    ("[1]", r"the line must be a JSON object, got \[1\]"),
]


@pytest.mark.parametrize(("row", "message"), BAD, ids=range(len(BAD)))
def test_one_message_names_file_row_and_field(row: dict[str, Any] | str, message: str, folder: Path) -> None:
    (folder / "images" / "link.png").symlink_to(folder.parent / "outside.png")
    with pytest.raises(InvalidValueError, match=f"^{folder}/mine.jsonl, row 3: {message}"):
        load_dataset(jsonl(folder, CHOICE, "", row), "any")


def test_bad_rows_are_left_out_and_listed_on_demand(folder: Path) -> None:
    name = jsonl(folder, OPEN, *(row for row, _ in BAD if row != "{"), "{", CHOICE)
    listed = folder / "lists" / "skipped.jsonl"
    with pytest.raises(InvalidValueError, match=rf"row 2: field 'label'.* Bad rows in all: {len(BAD)}."):
        load_dataset(name, "any")
    assert not listed.exists()
    questions = load_dataset(name, "any", skip_bad=listed).questions
    assert [question.id for question in questions] == ["1", "2"]
    found = [json.loads(line) for line in listed.read_text().splitlines()]
    assert [fault["row"] for fault in found][:2] == [2, 3]
    assert set(found[0]) == {"file", "row", "field", "reason"}
    assert (found[0]["field"], found[-1]["field"]) == ("label", "id")
    load_dataset(jsonl(folder, OPEN), "any", skip_bad=listed)
    assert listed.read_text() == ""
    with pytest.raises(InvalidValueError, match=r"row 1: field 'answers': is missing"):
        load_dataset(jsonl(folder, {"question": "?"}), "any", skip_bad=listed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,answers\n1,x\n", r"needs a column 'question', its columns are \['id', 'answers'\]"),
        ("id,question,question\n1,a,b\n", "more than one column of a name"),
        ("id,question,anwsers\n1,a,b\n", "the column 'anwsers' is unknown. Did you mean 'answers'"),
        ("id,question,answers\n1,a\n", "row 1: there are 2 cells under 3 columns"),
        ("id,question,answers\n1,a,yes\n", "row 1: field 'answers': must be JSON.* got 'yes'"),
        ('id,question,answers\n1,a,"[""x""]\n', "Cannot read the data file"),
        ("id,question\n", "mine.csv holds no rows"),
        ("id,question\n\n\n", "mine.csv holds no rows"),
        ("", "needs a column 'id'"),
    ],
)
def test_faults_of_tables_are_named(text: str, message: str, folder: Path) -> None:
    (folder / "mine.csv").write_text(text)
    with pytest.raises(RobustlibError, match=message):
        load_dataset(f"csv:{folder / 'mine.csv'}", "any")


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_jsonl_file_without_rows_is_named(text: str, folder: Path) -> None:
    (folder / "mine.jsonl").write_text(text)
    with pytest.raises(InvalidValueError, match=f"^{folder}/mine.jsonl holds no rows"):
        load_dataset(f"jsonl:{folder / 'mine.jsonl'}", "any")


def test_no_meta_and_characters_of_all_planes_are_fine(folder: Path) -> None:
    row = OPEN | {"question": "Which \U0001f600?", "answers": ["\U0001f600"], "meta": None}
    (question,) = load_dataset(jsonl(folder, row), "any")
    assert (question.text, question.answers, question.meta) == (row["question"], ("\U0001f600",), {})


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_files_that_cannot_be_read_are_named(name: str, folder: Path) -> None:
    with pytest.raises(RobustlibError, match=f"Cannot read the data file {folder}/none"):
        load_dataset(f"{name}:{folder / 'none'}", "any")
    (folder / "none").write_bytes(b"id,question\n\xff\xfe,")
    with pytest.raises(RobustlibError, match=f"Cannot read the data file {folder}/none"):
        load_dataset(f"{name}:{folder / 'none'}", "any")


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG whose header alone tells its size."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("width", [9_500, 20_000])
def test_decompression_bombs_are_refused_by_their_size(width: int, folder: Path) -> None:
    bomb = png_of_size(width, width)
    assert len(bomb) < 100
    assert width**2 > MOST_PIXELS
    (folder / "images" / "bomb.png").write_bytes(bomb)
    with pytest.raises(InvalidValueError, match=r"row 1: field 'image': Cannot decode the image .*bomb.png: .*pixels"):
        load_dataset(jsonl(folder, OPEN | {"image": "images/bomb.png"}), "any")
    for image in (LazyImage(bomb), LazyImage(folder / "images" / "bomb.png")):
        with pytest.raises(RobustlibError, match="pixels"):
            image.decode()


# --- many questions ---


def examples(count: int) -> Iterator[Question]:
    for number in range(count):
        yield Question(
            id=f"q{number:07d}",
            image=LazyImage(f"images/{number}.png"),
            image_id=f"images/{number}.png",
            text=f"How many of the {number} are red?",
            kind="open",
            answers=("none",),
            category="odd" if number % 2 else "even",
        )


def test_packed_questions_are_the_questions() -> None:
    plain, packed = tuple(examples(3000)), PackedQuestions(examples(3000))
    assert (len(packed), tuple(packed)) == (3000, plain)
    assert [packed[0], packed[1024], packed[-1]] == [plain[0], plain[1024], plain[-1]]
    assert packed[1020:1030] == plain[1020:1030]
    assert packed[::-999] == plain[::-999]
    assert plain[7] in packed
    with pytest.raises(IndexError):
        _ = packed[3000]
    assert isinstance(pack(examples(10)), tuple)


def test_a_large_set_is_sampled_as_a_small_one(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    rows = [OPEN | {"id": str(number), "category": "abc"[number % 3]} for number in range(3000)]
    name = jsonl(folder, *rows)
    small, small_part = load_dataset(name, "any"), load_dataset(name, "any", 0.5)
    monkeypatch.setattr(gathering, "_KEPT_WHOLE", 1000)
    large, large_part = load_dataset(name, "any"), load_dataset(name, "any", 0.5)
    assert isinstance(large.questions, PackedQuestions)
    assert isinstance(large_part.questions, PackedQuestions)
    assert tuple(large) == tuple(small)
    assert tuple(large_part) == tuple(small_part)
    assert large.fingerprint() == small.fingerprint()
    with pytest.raises(InvalidValueError, match="id of its own, but 'q0000000' has 2"):
        Dataset("d", "test", PackedQuestions([*examples(2), *examples(1)]))


def peak_of(folder: Path, rows: int) -> int:
    """Return how many bytes are taken at most while a file of so many rows is loaded."""
    with (folder / "mine.jsonl").open("w") as stream:
        for number in range(rows):
            row = CHOICE | {"id": f"q{number:07d}", "question": f"Which of the {number} is on the left of the other?"}
            stream.write(json.dumps(row) + "\n")
    tracemalloc.start()
    try:
        dataset = load_dataset(f"jsonl:{folder / 'mine.jsonl'}", "any")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(dataset) == rows
    return peak


def test_a_row_of_a_large_file_takes_little_memory(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A million rows have to fit into 500 MB, of which Python and the libraries take under 200."""
    monkeypatch.setattr(gathering, "_KEPT_WHOLE", 1000)
    fewer, more = 8_000, 16_000  # past the blocks that are kept unpacked
    assert (peak_of(folder, more) - peak_of(folder, fewer)) / (more - fewer) < 250

"""Corrupted copies on disk: complete, resumable to the same bytes, and verifiable."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robustlib.__main__ import main
from robustlib.corruptions import corrupt, folder, image_seed, list_corruptions
from robustlib.corruptions.copies import JOURNAL, MANIFEST
from robustlib.corruptions.folder import corrupt_folder, verify_folder
from robustlib.data import load_dataset
from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.sweep.conditions import Condition, items_of
from robustlib.sweep.showing import prompts_by_picture

SUITE = "meaning_preserving"
COPIES = len(list_corruptions(SUITE))


def make_images(root: Path, count: int = 4, side: int = 24) -> Path:
    for number in range(count):
        path = root / f"part{number % 2}" / f"image{number}.{'jpg' if number % 3 else 'png'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (side, 2 * side, 3), np.uint8)
        Image.fromarray(pixels).save(path)
    (root / "annotations.json").write_text("{}")
    return root


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_copies_hold_what_corrupt_returns_under_the_path_of_their_source(tmp_path: Path) -> None:
    source = make_images(tmp_path / "in")
    manifest = corrupt_folder(source, tmp_path / "out", "imagenet_c", [2, 5], seed=3)
    names = sorted(manifest["images"])
    assert names == ["part0/image0.png", "part0/image2.jpg", "part1/image1.jpg", "part1/image3.png"]
    copies = {copy for record in manifest["images"].values() for copy in record["copies"]}
    assert {*copies, MANIFEST} == set(tree(tmp_path / "out"))
    assert len(copies) == 4 * 19 * 2
    for name in names:
        with Image.open(source / name) as image:
            for corruption, severity in (("gaussian_noise", 2), ("fog", 5)):
                expected = corrupt(image, f"imagenet_c/{corruption}", severity, image_seed(3, name))
                copy = tmp_path / "out" / corruption / str(severity) / Path(name).with_suffix(".png")
                np.testing.assert_array_equal(np.asarray(Image.open(copy)), expected)


def test_workers_and_earlier_runs_change_no_byte(tmp_path: Path) -> None:
    source = make_images(tmp_path / "in")
    for name, workers in (("one", 1), ("four", 4), ("one", 2)):
        corrupt_folder(source, tmp_path / name, SUITE, [1], workers=workers)
    assert tree(tmp_path / "one") == tree(tmp_path / "four")


def test_only_what_is_new_is_done(tmp_path: Path) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    before = corrupt_folder(source, target, SUITE, [1])
    times = {path: path.stat().st_mtime_ns for path in target.rglob("*.png")}
    Image.new("RGB", (5, 5)).save(source / "new.png")
    Image.new("RGB", (6, 6)).save(source / "part0" / "image0.png")
    (target / "bright90/1/part1/image1.png").unlink()
    after = corrupt_folder(source, target, SUITE, [1])
    changed = {name for name in after["images"] if after["images"][name] != before["images"].get(name)}
    assert changed == {"new.png", "part0/image0.png"}
    kept = {path.stem for path in times if path.stat().st_mtime_ns == times[path]}
    assert kept == {"image2", "image3"}
    assert verify_folder(source, target) == []


def test_a_data_set_is_corrupted_as_a_sweep_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_a_few(name: str, split: str) -> object:
        return load_dataset(name, split, fraction=0.0005)

    monkeypatch.setattr(folder, "load_dataset", load_a_few)
    manifest = corrupt_folder("easy_vqa:test", tmp_path, SUITE, [1], seed=7)
    questions = load_dataset("easy_vqa", "test", fraction=0.0005).questions
    assert set(manifest["images"]) == {question.image_id for question in questions}
    condition = Condition(SUITE, "corruption", "crop_random90", 1)
    for place, prompt in prompts_by_picture(items_of(questions, condition, 7, "image")):
        copy = tmp_path / "crop_random90" / "1" / f"{questions[place].image_id}.png"
        np.testing.assert_array_equal(np.asarray(Image.open(copy)), prompt.image)
    assert verify_folder("easy_vqa:test", tmp_path) == []


def test_an_unreadable_image_is_listed_and_the_rest_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    (source / "broken.jpg").write_bytes(b"not an image")
    command = ["corrupt", str(source), str(target), "--suite", SUITE, "--severity", "1"]
    assert main(command) == 2
    printed = capsys.readouterr()
    assert "broken.jpg: Cannot decode the image" in printed.out
    assert f"4 images, {4 * COPIES} copies" in printed.out
    assert "1 images could not be read" in printed.err
    assert list(json.loads((target / MANIFEST).read_bytes())["unreadable"]) == ["broken.jpg"]
    Image.new("RGB", (5, 5)).save(source / "broken.jpg")
    assert main(command) == 0
    assert main([*command, "--verify"]) == 0


def test_an_image_that_a_corruption_refuses_has_no_copies_and_the_rest_is_done(tmp_path: Path) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    wide = source / "wide.png"
    Image.new("RGB", (5, 1)).save(wide)
    assert "wide.png" in corrupt_folder(source, target, SUITE, [1])["images"]
    Image.new("RGB", (65_501, 1)).save(wide)  # longer than JPEG takes, after corruptions that take it
    manifest = corrupt_folder(source, target, SUITE, [1])
    assert len(manifest["images"]) == 4
    assert list(manifest["unreadable"]) == ["wide.png"]
    assert "up to 65500 pixels, got an image of 1 x 65501" in manifest["unreadable"]["wide.png"]
    assert not list(target.rglob("*wide*"))
    assert verify_folder(source, target) == []


def test_only_what_an_interrupted_run_has_left_is_tidied_away(tmp_path: Path) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    mine = target / "papers" / ".letter.tmp"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    corrupt_folder(source, target, SUITE, [1])
    assert mine.read_text() == "mine"


def test_verifying_goes_on_after_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    corrupt_folder(source, target, SUITE, [1])
    (target / "jpeg70/1/part1/image3.png").unlink()
    locked = {source / "part0/image0.png", target / "jpeg70/1/part0/image2.png"}
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path in locked:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert verify_folder(source, target) == [
        "copy jpeg70/1/part0/image2.png cannot be read",
        "copy jpeg70/1/part1/image3.png is missing",
        "source part0/image0.png cannot be read",
    ]


def test_verifying_names_every_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    with pytest.raises(RobustlibError, match="no finished copies"):
        verify_folder(source, target)
    corrupt_folder(source, target, SUITE, [1])
    (target / "jpeg70/1/part0/image0.png").write_bytes(b"other")
    (target / "jpeg40/1/part0/image0.png").unlink()
    (target / "jpeg40/notes.txt").touch()
    Image.new("RGB", (5, 5)).save(source / "part1" / "image1.jpg")
    (source / "part1" / "image3.png").unlink()
    Image.new("RGB", (5, 5)).save(source / "new.png")
    differences = [
        "copy jpeg40/1/part0/image0.png is missing",
        "copy jpeg40/notes.txt is not in the manifest",
        "copy jpeg70/1/part0/image0.png has changed",
        "source new.png is not in the manifest",
        "source part1/image1.jpg has changed",
        "source part1/image3.png is missing",
    ]
    assert verify_folder(source, target) == differences
    assert main(["corrupt", str(source), str(target), "--verify"]) == 2
    assert capsys.readouterr().out.splitlines() == differences


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"severities": [0]}, r"some of 1 \.\. 5, got \[0\]"),
        ({"severities": []}, r"some of 1 \.\. 5, got \[\]"),
        ({"workers": 0}, "at least 1, got 0"),
        ({"target": "in/out"}, "copies must not lie among the images"),
        ({"target": "in"}, "copies must not lie among the images"),
        ({"source": "in/part0", "target": "in"}, "images must not lie among the copies"),
        ({"source": "empty"}, "holds no image"),
        ({"source": "nowhere"}, "neither a folder nor a data set"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    make_images(tmp_path / "in")
    (tmp_path / "empty").mkdir()
    before = tree(tmp_path)
    settings: dict[str, Any] = {"source": "in", "target": "out", "suite": SUITE, "severities": [1], **arguments}
    settings |= {name: tmp_path / str(settings[name]) for name in ("source", "target")}
    with pytest.raises(InvalidValueError, match=message):
        corrupt_folder(**settings)
    assert tree(tmp_path) == before


def test_unknown_names_same_copies_and_other_settings_are_refused(tmp_path: Path) -> None:
    source, target = make_images(tmp_path / "in"), tmp_path / "out"
    with pytest.raises(UnknownNameError, match="vqa_bench"):
        corrupt_folder(source, target, "vqa_bnch", [1])
    with pytest.raises(UnknownNameError, match="easy_vqa"):
        corrupt_folder("easy_vq:test", target, SUITE, [1])
    corrupt_folder(source, target, SUITE, [1])
    with pytest.raises(InvalidValueError, match=r"other settings \(seed\)"):
        corrupt_folder(source, target, SUITE, [1], seed=1)
    Image.new("RGB", (5, 5)).save(source / "part0" / "image0.JPG")
    with pytest.raises(InvalidValueError, match=r"image0\.JPG and part0/image0\.png would have the same copies"):
        corrupt_folder(source, target, SUITE, [1])


def test_a_killed_run_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    source = make_images(tmp_path / "in", count=60, side=100)
    target = tmp_path / "killed"
    process = _start(source, target)
    _wait_for(lambda: _journal_lines(target) > 3, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = _journal_lines(target) - 1
    assert 0 < done < 60
    assert not (target / MANIFEST).exists()
    (target / JOURNAL).write_bytes((target / JOURNAL).read_bytes() + b'["part0/image58.jpg", {"sha2')
    (target / "bright90/1/.image9.png.x.tmp").write_bytes(b"half")
    assert _start(source, target).wait() == 0
    corrupt_folder(source, tmp_path / "whole", SUITE, [1], workers=2)
    assert tree(target) == tree(tmp_path / "whole")


def _start(source: Path, target: Path) -> "subprocess.Popen[bytes]":
    arguments = ["corrupt", str(source), str(target), "--suite", SUITE, "--severity", "1", "--workers", "2"]
    return subprocess.Popen([sys.executable, "-m", "robustlib", *arguments], stderr=subprocess.DEVNULL)


def _wait_for(condition: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    while not condition():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.005)


def _journal_lines(target: Path) -> int:
    return (target / JOURNAL).read_bytes().count(b"\n") if (target / JOURNAL).exists() else 0

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustlib import models
from robustlib.__main__ import main
from robustlib.models.base import Answer, Prompt
from robustlib.models.registry import ADAPTERS, Adapter
from robustlib.sweep import read_manifest, read_predictions

PROFILE = """
models = ["{model}"]
severities = [1]
batch_size = 4

[[datasets]]
name = "easy_vqa"
split = "test"
rows = 10
"""


class Toy:
    """A model that answers with the mean of the first channel, unless its checkpoint says how it fails."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.config = json.loads((Path(source) / "config.json").read_text())

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        if self.config["fails"] == "interrupted":
            raise KeyboardInterrupt
        if self.config["fails"] == "always":
            raise RuntimeError("no more luck")
        return [
            Answer(str(round(prompt.image[..., 0].mean())), confidence=0.5)
            for prompt in prompts
            if prompt.image is not None
        ]

    def describe(self) -> dict[str, str | int | float]:
        return {"fingerprint": self.config["fails"]}


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local folder that `load_model` takes for the toy model."""
    monkeypatch.setitem(ADAPTERS, "toy", Adapter(f"{__name__}:Toy", "Toy", ("rank",)))
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "toy", "fails": "never"}))
    return folder


@pytest.fixture
def profile(checkpoint: Path, tmp_path: Path) -> str:
    path = tmp_path / "toy.toml"
    path.write_text(PROFILE.format(model=checkpoint))
    return str(path)


@pytest.fixture
def image(tmp_path: Path) -> str:
    path = tmp_path / "grey.png"
    Image.fromarray(np.full((6, 9, 3), 100, np.uint8)).save(path)
    return str(path)


def fail(checkpoint: Path, how: str) -> None:
    (checkpoint / "config.json").write_text(json.dumps({"model_type": "toy", "fails": how}))


def expect_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command that cannot be done: status 2, and one line that says why."""
    capsys.readouterr()
    assert main(arguments) == 2
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if line and "shard/s" not in line]  # beside the progress bar
    assert len(lines) == 1, told.err
    assert lines[0].startswith("robustlib: ")
    assert message in lines[0]
    assert told.out == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["list", "corruptions"], "imagenet_c/gaussian_noise"),
        (
            ["list", "corruptions", "imagenet_c"],
            "imagenet_c/gaussian_noise                noise          1, 2, 3, 4, 5",
        ),
        (["list", "datasets"], "easy_vqa"),
        (["list", "profiles"], "pocket/vqa-bench"),
    ],
)
def test_list_prints_the_names_that_other_commands_take(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert any(line.startswith(expected) for line in capsys.readouterr().out.splitlines())


def test_list_models_prints_what_load_model_knows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models"]) == 0
    assert capsys.readouterr().out.split() == models.list_models()


def test_a_sweep_is_run_told_and_read(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["sweep", profile, "--out", str(out), "--workers", "1"]) == 0
    assert capsys.readouterr().out == f"{out / 'manifest.json'}\n"
    assert len(read_predictions(out)) == read_manifest(out)["rows"] == 10
    assert main(["status", str(out)]) == 0
    assert capsys.readouterr().out == "shards:  1 done (0 with failed answers), 0 remaining\nanswers: 10 ok\n"


def test_a_model_is_asked_about_an_image(checkpoint: Path, image: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", str(checkpoint), image, "How bright?"]) == 0
    assert capsys.readouterr().out == "100 (confidence 0.500)\n"
    assert main(["ask", str(checkpoint), image, "How bright?", "--corruption", "imagenet_c/brightness"]) == 0
    brighter = int(capsys.readouterr().out.split()[0])
    assert brighter > 150


def test_names_that_do_not_exist_are_told(
    checkpoint: Path, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = str(checkpoint), str(tmp_path / "out")
    expect_one_line(["list", "corruptions", "imagenet_d"], "Unknown suite of corruptions 'imagenet_d'", capsys)
    expect_one_line(["ask", "pocket/none", image, "?"], "Unknown model 'pocket/none'", capsys)
    wrong = ["ask", model, image, "?", "--corruption", "imagenet_c/brigthness"]
    expect_one_line(wrong, "Did you mean 'imagenet_c/brightness'", capsys)
    expect_one_line(["sweep", "smoek", "--out", out], "Unknown profile 'smoek'. Did you mean 'smoke'", capsys)
    expect_one_line(["sweep", "none.toml", "--out", out], "Cannot read the profile none.toml", capsys)
    assert not Path(out).exists()


def test_values_out_of_range_are_told(
    checkpoint: Path, image: str, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    severe = ["ask", str(checkpoint), image, "?", "--corruption", "imagenet_c/brightness", "--severity", "6"]
    expect_one_line(severe, "must lie in 0 .. 5, got 6", capsys)
    sweep = ["sweep", profile, "--out", str(tmp_path / "out")]
    expect_one_line([*sweep, "--workers", "0"], "workers must be at least 1, got 0", capsys)
    expect_one_line([*sweep, "--engine", "lokal"], "Unknown engine 'lokal'. Did you mean 'local'", capsys)
    Path(profile).write_text(Path(profile).read_text().replace("[1]", "[6]"))
    expect_one_line(sweep, f"Profile {profile}: severities must be", capsys)


def test_files_that_cannot_be_read_are_told(
    checkpoint: Path, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expect_one_line(["ask", str(checkpoint), "lost.png", "?"], "Cannot read the image lost.png: No such file", capsys)
    expect_one_line(["ask", str(checkpoint), profile, "?"], f"Cannot decode the image {profile}", capsys)
    out = tmp_path / "out"
    expect_one_line(["status", str(out)], f"There are no predictions in {out}", capsys)
    assert main(["sweep", profile, "--out", str(out)]) == 0
    shard = next(out.rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:50])
    expect_one_line(["status", str(out)], f"The shard {shard} cannot be read", capsys)


@pytest.mark.parametrize("folder", ["/proc/predictions", "{profile}/predictions"])
def test_a_folder_that_cannot_be_written_is_told(profile: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.format(profile=profile)
    expect_one_line(["sweep", profile, "--out", out], out, capsys)


def test_failed_answers_end_the_command_with_a_status_but_are_kept(
    checkpoint: Path, profile: str, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(checkpoint, "always")
    out = tmp_path / "out"
    for _ in range(2):
        expect_one_line(["sweep", profile, "--out", str(out)], "10 of 10 answers in", capsys)
    assert set(read_predictions(out).response) == {"RuntimeError: no more luck"}
    expect_one_line(["ask", str(checkpoint), image, "?"], "failed: RuntimeError: no more luck", capsys)


def test_an_interrupt_is_no_traceback(
    checkpoint: Path, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(checkpoint, "interrupted")
    assert main(["sweep", profile, "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "robustlib: interrupted"


def test_ctrl_c_in_a_terminal_stops_a_real_sweep(tmp_path: Path) -> None:
    script = Path(__file__).parent / "sweep" / "toys.py"
    with subprocess.Popen([sys.executable, script, tmp_path], stderr=subprocess.DEVNULL) as process:
        while not list(tmp_path.rglob("*.parquet")) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
    assert process.returncode in (1, -signal.SIGINT)
    assert not (tmp_path / "manifest.json").exists()


def test_the_module_can_be_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "robustlib", "status", str(tmp_path / "nowhere")]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONWARNINGS": "error"})
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"robustlib: There are no predictions in {tmp_path / 'nowhere'}: no such folder.\n"


def test_help_names_every_command_and_needs_no_heavy_library() -> None:
    code = """if True:
        import sys
        from robustlib.__main__ import main
        try:
            main(["--help"])
        finally:
            print({"torch", "numba", "pyarrow"} & set(sys.modules))
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "set()"
    for command in ("list", "sweep", "status", "ask"):
        assert f"    {command} " in run.stdout

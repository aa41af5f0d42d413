import base64
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustlib import models
from robustlib.__main__ import main
from robustlib.cli_plan import _size, _timed, duration
from robustlib.errors import UnknownNameError
from robustlib.models.base import Answer, Prompt
from robustlib.models.catalogue import catalogue
from robustlib.models.registry import ADAPTERS, SCHEMES, Adapter, find_scheme
from robustlib.sweep import read_manifest, read_predictions
from robustlib.sweep.forecast import Timing

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
        return [self._answer(prompt) for prompt in prompts]

    def _answer(self, prompt: Prompt) -> Answer:
        if prompt.options:
            return Answer(self.config["fails"])
        brightness = [str(round(image[..., 0].mean())) for image in prompt.images]
        return Answer(" ".join(brightness) or "dark", confidence=0.5)

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
    path.write_bytes(png_of(100))
    return str(path)


def png_of(grey: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((6, 9, 3), grey, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


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


def test_list_models_tells_of_each_what_load_model_would_find(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert re.split(" {2,}", heading) == ["name", "parameters", "licence", "modes", "class"]
    rows = {row[0]: row for row in (re.split(" {2,}", line) for line in lines)}
    for name in models.list_models():
        record = models.load_model(name).describe()
        _, parameters, licence, _, network = rows.pop(name)
        assert parameters == f"{record['parameters']:,}"
        assert (licence, network) == ("MIT", record["network"])
    forms = [*SCHEMES, *(f"HUB-ID or FOLDER ({family})" for family in [*ADAPTERS, "any other"])]
    assert sorted(rows) == sorted(forms)


@pytest.mark.parametrize("name", [*models.list_models(), "openai:tiny", "prior:easy_vqa"])
def test_the_modes_in_the_list_are_those_that_the_model_takes(name: str) -> None:
    scheme = find_scheme(name)
    modes = scheme[0].modes if scheme else {entry.name: entry.modes for entry in catalogue()}[name]
    if len(modes) == 1:
        with pytest.raises(UnknownNameError, match="setting"):
            models.load_model(name, mode=modes[0])
        return
    records = [models.load_model(name, mode=mode).describe() for mode in modes]
    assert len({record["decoding"] for record in records}) > 1
    assert models.load_model(name).describe() == records[0]
    with pytest.raises(UnknownNameError, match="Unknown mode 'none such'"):
        models.load_model(name, mode="none such")


def test_the_list_of_models_is_there_at_once() -> None:
    code = """if True:
        import sys
        from robustlib.__main__ import main
        main(["list", "models"])
        print({"torch", "transformers", "pandas"} & set(sys.modules))
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "set()"


def test_a_sweep_is_run_told_and_read(profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["sweep", profile, "--out", str(out), "--workers", "1"]) == 0
    assert capsys.readouterr().out == f"{out / 'manifest.json'}\n"
    assert len(read_predictions(out)) == read_manifest(out)["rows"] == 10
    assert main(["status", str(out)]) == 0
    shards, answers, running, rate, left = capsys.readouterr().out.splitlines()
    assert shards == "shards:  1 done (0 with failed answers), 0 remaining"
    assert (answers, running, left) == ("answers: 10 ok", "running: no", "left:    0 s")
    assert re.fullmatch(r"rate:    [\d.e+]+ shards a minute", rate)


def asked(checkpoint: Path, *arguments: str) -> list[str]:
    return ["ask", str(checkpoint), "--question", "How bright?", *arguments]


def test_a_model_is_asked_about_an_image(checkpoint: Path, image: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(checkpoint, "--image", image)) == 0
    assert capsys.readouterr().out == "100 (confidence 0.500)\n"
    assert main(asked(checkpoint, "--image", image, "--corruption", "imagenet_c/brightness")) == 0
    brighter = int(capsys.readouterr().out.split()[0])
    assert brighter > 150
    assert main(asked(checkpoint, "--image", image, image, "--corruption", "imagenet_c/brightness")) == 0
    assert capsys.readouterr().out == f"{brighter} {brighter} (confidence 0.500)\n"
    assert main(asked(checkpoint)) == 0
    assert capsys.readouterr().out == "dark (confidence 0.500)\n"


@pytest.mark.parametrize(
    ("response", "printed"), [("B", "a dog\n"), ("It is a cat.", "a cat\n"), ("Who knows?", "[no_answer] Who knows?\n")]
)
def test_the_option_that_a_response_chooses_is_printed(
    response: str, printed: str, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(checkpoint, response)
    assert main(asked(checkpoint, "--options", "a cat", "a dog")) == 0
    assert capsys.readouterr().out == printed


def test_settings_reach_the_model(image: str, capsys: pytest.CaptureFixture[str]) -> None:
    question = ["--image", image, "--question", "what color is the shape?"]
    assert main(["ask", "pocket/vilt", *question, "--options", "red", "blue", "--set", "dtype=bfloat16"]) == 0
    assert capsys.readouterr().out.split()[0] in ("red", "blue")
    expect_one_line(["ask", "pocket/vilt", *question, "--set", "dtpye=float16"], "Did you mean 'dtype'", capsys)
    expect_one_line(["ask", "pocket/vilt", *question, "--set", "dtype"], "written name=value, got 'dtype'", capsys)
    expect_one_line(["ask", "pocket/vilt", *question, "--set", "dtype=16"], "dtype of Vilt must be str, got 16", capsys)


def test_questions_of_a_data_set_are_asked_and_scored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "prior:easy_vqa", "--dataset", "easy_vqa:test", "--count", "40"]) == 0
    *lines, summary = capsys.readouterr().out.splitlines()
    assert len(lines) == 40
    scores = [float(line.split()[1]) for line in lines]
    assert summary == f"accuracy {sum(scores) / 40:.3f} (n = 40)"
    assert 0 < sum(scores) < 40


def test_corrupted_questions_of_a_data_set_are_answered_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    accuracies = []
    for more in ([], ["--corruption", "imagenet_c/contrast", "--severity", "5"]):
        assert main(["ask", "pocket/vilt", "--dataset", "easy_vqa:test", *more]) == 0
        *lines, summary = capsys.readouterr().out.splitlines()
        assert len(lines) == 64
        accuracies.append(float(summary.split()[1]))
    assert accuracies[1] < 0.8 < 0.9 < accuracies[0]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--dataset", "easy_vqa:test", "--image", "x.png"], "--dataset brings its own images"),
        (["--dataset", "easy_vqa:test", "--options", "a"], "--dataset brings its own images and options"),
        (["--dataset", "easy_vqa"], "--dataset is written NAME:SPLIT"),
        (["--dataset", "easy_vqa:test", "--count", "0"], "At least 1 question must be asked, got 0"),
        (["--dataset", "easyvqa:test"], "Did you mean 'easy_vqa'"),
        (["--dataset", "easy_vqa:test", "--corruption", "/fog"], "Unknown corruption '/fog'"),
        (["--dataset", "easy_vqa:test", "--corruption", "imagenet_c/"], "Unknown corruption 'imagenet_c/'"),
        (["--dataset", "easy_vqa:test", "--corruption", "fog"], "Unknown corruption 'fog'"),
        (["--dataset", "easy_vqa:test", "--corruption", ""], "Unknown corruption ''"),
        (["--question", "?", "--corruption", ""], "--corruption needs an --image"),
        (["--question", "", "--count", "3"], "--count goes with --dataset"),
        (["--question", "?", "--corruption", "imagenet_c/fog"], "--corruption needs an --image"),
        (["--question", "?", "--severity", "2"], "--severity goes with --corruption"),
    ],
)
def test_what_does_not_go_together_is_told(arguments: list[str], rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    expect_one_line(["ask", "prior:easy_vqa", *arguments], rule, capsys)


def test_questions_without_a_right_answer_are_not_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mmbench.tsv"
    picture = base64.b64encode(png_of(100)).decode()
    path.write_text(f"index\tquestion\tA\tB\timage\n7\tWhich?\tyes\tno\t{picture}\n")
    expect_one_line(
        ["ask", "prior:easy_vqa", "--dataset", f"mmbench:{path}:test"],
        "Question 7 lacks which of its options is right",
        capsys,
    )


@pytest.mark.parametrize(
    ("seconds", "printed"),
    [(0, "0 s"), (1.234e-5, "0.000012 s"), (0.5, "0.5 s"), (59.4, "59 s"), (90, "0:01:30"), (1e5, "1 day, 3:46:40")],
)
def test_times_are_plain_numbers(seconds: float, printed: str) -> None:
    assert duration(seconds) == printed


@pytest.mark.parametrize(
    ("seconds", "printed"), [(12.3, "12,300 ms"), (1, "1,000 ms"), (0.0456, "45.6 ms"), (1e-9, "0.000001 ms")]
)
def test_times_of_a_question_are_plain_numbers(seconds: float, printed: str) -> None:
    assert f"at {printed} a question" in _timed(Timing(16, seconds), 1)


@pytest.mark.parametrize(
    ("count", "printed"),
    [(0, "0 B"), (999, "999 B"), (999.7, "1 kB"), (999_499, "999 kB"), (999_700, "1 MB"), (1234e12, "1,230 TB")],
)
def test_sizes_are_plain_numbers(count: float, printed: str) -> None:
    assert _size(count) == printed


def test_names_that_do_not_exist_are_told(
    checkpoint: Path, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    expect_one_line(["list", "corruptions", "imagenet_d"], "Unknown suite of corruptions 'imagenet_d'", capsys)
    expect_one_line(["ask", "pocket/none", "--question", "?"], "Unknown model 'pocket/none'", capsys)
    wrong = asked(checkpoint, "--image", image, "--corruption", "imagenet_c/brigthness")
    expect_one_line(wrong, "Did you mean 'imagenet_c/brightness'", capsys)
    expect_one_line(["sweep", "smoke/vqa-bnch", "--out", out], "Did you mean 'smoke/vqa-bench'", capsys)
    expect_one_line(["sweep", "none.toml", "--out", out], "Cannot read the profile none.toml", capsys)
    assert not Path(out).exists()


def test_values_out_of_range_are_told(
    checkpoint: Path, image: str, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    severe = asked(checkpoint, "--image", image, "--corruption", "imagenet_c/brightness", "--severity", "6")
    expect_one_line(severe, "must lie in 0 .. 5, got 6", capsys)
    sweep = ["sweep", profile, "--out", str(tmp_path / "out")]
    expect_one_line([*sweep, "--workers", "0"], "workers must be at least 1, got 0", capsys)
    expect_one_line([*sweep, "--engine", "lokal"], "Unknown engine 'lokal'. Did you mean 'local'", capsys)
    Path(profile).write_text(Path(profile).read_text().replace("[1]", "[6]"))
    expect_one_line(sweep, f"Profile {profile}: severities must be", capsys)


def test_files_that_cannot_be_read_are_told(
    checkpoint: Path, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expect_one_line(asked(checkpoint, "--image", "lost.png"), "Cannot read the image lost.png: No such file", capsys)
    expect_one_line(asked(checkpoint, "--image", profile), f"Cannot decode the image {profile}", capsys)
    out = tmp_path / "out"
    expect_one_line(["status", str(out)], f"There are no predictions in {out}", capsys)
    assert main(["sweep", profile, "--out", str(out)]) == 0
    shard = next(out.rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:50])
    capsys.readouterr()
    assert main(["status", str(out)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["shards:  0 done (0 with failed answers), 1 remaining", "answers: none"]
    assert told[-1] == f"damaged: {shard}, to be made again"
    (out / "plan.json").write_text("{")
    expect_one_line(["status", str(out)], f"{out / 'plan.json'} is damaged", capsys)


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
    expect_one_line(asked(checkpoint, "--image", image), "failed: RuntimeError: no more luck", capsys)


def test_failed_answers_are_asked_again_with_a_flag(
    checkpoint: Path, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(checkpoint, "always")
    out = str(tmp_path / "out")
    expect_one_line(["sweep", profile, "--out", out], "the same sweep with --retry-failed", capsys)
    expect_one_line(["sweep", profile, "--out", out, "--retry-failed"], "10 of 10 answers in", capsys)


def test_an_interrupt_is_no_traceback(
    checkpoint: Path, profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail(checkpoint, "interrupted")
    assert main(["sweep", profile, "--out", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "robustlib: interrupted"


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

"""The endpoint adapter against a real server: `transformers serve` with the checkpoint that is also loaded here."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from safetensors.torch import load_file, save_file

from robustlib.__main__ import main
from robustlib.models import load_model
from robustlib.models.base import Prompt
from robustlib.models.chat import Chat

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:transformers")

FAMILY = "idefics3"
TOKENS = 12
PATIENCE = 120
"""Seconds for a server to start on a busy machine; it takes six on an idle one."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def talker(chat_models: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny model some of whose responses end soon, since it favours the end token."""
    folder = tmp_path_factory.mktemp("served") / FAMILY
    shutil.copytree(chat_models[FAMILY], folder)
    end, *_ = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"][end] *= 3
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return str(folder)


@pytest.fixture(scope="module")
def served(talker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of that model."""
    port, log = free_port(), tmp_path_factory.mktemp("served") / "log"
    command: list[str | Path] = [Path(sys.executable).with_name("transformers"), "serve", talker]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    quiet = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_UPDATE_CHECK": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w") as output:
        process = subprocess.Popen([*command, *options], stdout=output, stderr=output, env=os.environ | quiet)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(PATIENCE * 5):
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(url, trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"no server after {PATIENCE} seconds: {log.read_text()}")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_served_model_answers_as_the_same_model_loaded_here(
    served: str, talker: str, questions: list[Prompt]
) -> None:
    here = Chat("here", talker, max_new_tokens=TOKENS)
    there = load_model(f"openai:{talker}", base_url=served, max_new_tokens=TOKENS, concurrency=3)
    expected = [(answer.status, answer.text) for answer in here.answer(questions)]
    assert [(answer.status, answer.text) for answer in there.answer(questions)] == expected
    assert len({text for status, text in expected if status == "ok"}) > 1
    assert "truncated" in {status for status, _ in expected}


def test_what_the_server_refuses_is_an_error_with_its_reason(served: str) -> None:
    [answer] = load_model("openai:no/such-model", base_url=served).answer([Prompt(None, "Why?")])
    assert (answer.status, answer.text) == ("error", "")
    assert "HTTP" in answer.reason


def test_a_served_model_is_asked_from_the_command_line(
    served: str, talker: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [f"--set=base_url={served}", f"--set=max_new_tokens={TOKENS}"]
    assert main(["ask", f"openai:{talker}", "--dataset", "easy_vqa:test", "--count", "16", *settings]) == 0
    *lines, summary = capsys.readouterr().out.splitlines()
    assert len(lines) == 16
    assert summary == "accuracy 0.000 (n = 16)"  # a random model spells no answer

"""Chat models of every class: a batch answers as its prompts would alone, and every response has its status."""

import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from robustlib.errors import InvalidValueError, RobustlibError, UnknownNameError
from robustlib.models import load_model
from robustlib.models.base import Answer, Prompt
from robustlib.models.chat import Chat
from robustlib.models.decoding import Record
from robustlib.models.prompts import Mode, write_prompt

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:transformers")

FAMILIES = ["idefics3", "smolvlm", "qwen3_vl", "internvl", "gemma3", "molmo2", "llava_onevision", "paligemma"]
CLOSE = 1e-4


class Watched(Chat):
    """Notes the tokens of each response, which an answer only tells where the response has ended."""

    tokens: list[list[int]]

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        self.tokens = []
        return super().answer(prompts)

    def end_at(self, tokens: set[int]) -> None:
        self._ends = self._checkpoint.network.generation_config.eos_token_id = sorted(tokens)

    def _read(self, prompt: Prompt, row: int, tokens: list[int], record: Record) -> Answer:
        ends = [place for place, token in enumerate(tokens) if token in self._ends]
        self.tokens.append(tokens[: ends[0] + 1] if ends else tokens)
        return super()._read(prompt, row, tokens, record)


def load(folder: str, **settings: Any) -> Watched:
    return Watched("tiny", folder, **{"max_new_tokens": 4, **settings})


def ask(model: Watched, prompts: Sequence[Prompt]) -> tuple[list[Answer], list[list[int]]]:
    return model.answer(prompts), model.tokens


def ask_alone(model: Watched, prompts: Sequence[Prompt]) -> tuple[list[Answer], list[list[int]]]:
    pairs = [ask(model, [prompt]) for prompt in prompts]
    return [answer for [answer], _ in pairs], [tokens for _, [tokens] in pairs]


@pytest.fixture(autouse=True)
def one_thread_and_no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two threads only get into each other's way in models this small; and a local model needs no network."""

    def refuse(*_: object) -> None:
        raise AssertionError("a local model asked the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def assert_same(got: Sequence[Answer], expected: Sequence[Answer]) -> None:
    for one, other in zip(got, expected, strict=True):
        assert (one.text, one.status, one.choice) == (other.text, other.status, other.choice)
        for mine, its in ((one.logits, other.logits), (one.confidence, other.confidence)):
            assert mine == (None if its is None else pytest.approx(its, abs=CLOSE))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_answers_as_one_at_a_time(family: str, chat_models: dict[str, str], questions: list[Prompt]) -> None:
    model = load(chat_models[family])
    alone, tokens = ask_alone(model, questions)
    for part in (slice(None, None, -1), slice(1, 4)):
        answers, written = ask(model, questions[part])
        assert_same(answers, alone[part])
        assert written == tokens[part]
    assert alone[1].logits != pytest.approx(alone[5].logits, abs=0.01), "the image makes no difference"


@pytest.mark.parametrize("mode", ["rank", "cot", "thinking"])
def test_in_every_mode_a_batch_answers_as_one_at_a_time(
    mode: Mode, chat_models: dict[str, str], questions: list[Prompt]
) -> None:
    model = load(chat_models["smolvlm"], mode=mode, max_new_tokens=1 if mode == "rank" else 6)
    asked = [prompt for prompt in questions if prompt.options]
    alone, tokens = ask_alone(model, asked)
    answers, written = ask(model, asked)
    assert_same(answers, alone)
    assert written == tokens


def test_a_batch_of_responses_that_end_at_different_places(
    chat_models: dict[str, str], questions: list[Prompt]
) -> None:
    model = load(chat_models["qwen3_vl"])
    _, tokens = ask(model, questions)
    model.end_at({tokens[0][1]})
    alone, _ = ask_alone(model, questions)
    assert_same(model.answer(questions), alone)
    assert {"ok", "truncated"} <= {answer.status for answer in alone}


def test_threads_do_not_get_into_each_others_way(chat_models: dict[str, str], questions: list[Prompt]) -> None:
    model = Chat("tiny", chat_models["smolvlm"], max_new_tokens=2)
    batches = [questions[start : start + 2] for start in range(5)] * 3
    alone = [model.answer(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for got, expected in zip(pool.map(model.answer, batches), alone, strict=True):
            assert_same(got, expected)


def test_a_response_has_the_probability_of_its_tokens_and_its_end(
    chat_models: dict[str, str], questions: list[Prompt]
) -> None:
    model = load(chat_models["smolvlm"])
    prompt = questions[1]
    _, [tokens] = ask(model, [prompt])
    model.end_at({tokens[-1]})
    [answer], [written] = ask(model, [prompt])
    assert answer.status == "ok"
    inputs = model._checkpoint.inputs([prompt.images], [write_prompt(prompt, "direct")])
    ids = torch.cat([inputs["input_ids"], torch.tensor([written])], dim=1)
    logits = model._checkpoint.network(**{**inputs, "input_ids": ids, "attention_mask": torch.ones_like(ids)}).logits
    chances = logits.detach()[0, -len(written) - 1 : -1].softmax(-1)
    expected = np.prod([float(chance[token]) for chance, token in zip(chances, written, strict=True)])
    assert answer.confidence == pytest.approx(expected, rel=CLOSE)


def test_ranking_gives_the_first_logits_of_direct_and_the_best_option(
    chat_models: dict[str, str], questions: list[Prompt]
) -> None:
    asked = [prompt for prompt in questions if prompt.options]
    ranked = load(chat_models["gemma3"], mode="rank").answer(asked)
    direct = load(chat_models["gemma3"]).answer(asked)
    for prompt, answer, written in zip(asked, ranked, direct, strict=True):
        assert answer.logits == pytest.approx(written.logits, abs=CLOSE)
        assert answer.option_mass == pytest.approx(written.option_mass, abs=CLOSE)
        assert answer.logits is not None
        assert answer.choice == int(np.argmax(answer.logits))
        assert answer.text == prompt.options[answer.choice]
        assert written.choice == -1


def test_thinking_is_seeded_by_prompt_and_seed(chat_models: dict[str, str], questions: list[Prompt]) -> None:
    state = torch.get_rng_state()
    model = load(chat_models["smolvlm"], mode="thinking")
    _, first = ask(model, questions)
    assert ask(model, questions)[1] == first
    assert ask(load(chat_models["smolvlm"], mode="thinking", seed=43), questions)[1] != first
    assert torch.equal(torch.get_rng_state(), state)


def test_statuses_of_a_response(chat_models: dict[str, str]) -> None:
    model = load(chat_models["smolvlm"], mode="thinking")
    model.tokens = []
    end = model._checkpoint.tokenizer.eos_token_id

    def read(text: str, *, ended: bool) -> tuple[str, str]:
        tokens = model._checkpoint.tokenizer(text, add_special_tokens=False).input_ids
        answer = model._read(Prompt(None, "Why?"), 0, tokens + [end] * 2 * ended, Record())
        return answer.status, answer.text

    assert read("<think>Maybe A.</think> B", ended=True) == ("ok", "B")
    assert read("Maybe A.</think> B", ended=True) == ("ok", "B")
    assert read("Maybe A.</think> B", ended=False) == ("truncated", "")
    assert read("<think>Maybe A.", ended=True) == ("truncated", "")
    assert read("<think>Maybe A.</think> ", ended=True) == ("no_answer", "")


def test_the_processor_gets_every_pixel_as_it_is(
    chat_models: dict[str, str], questions: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(chat_models["internvl"])
    seen: list[np.ndarray[Any, Any]] = []
    preprocess = model._checkpoint.image_processor.preprocess

    def watch(images: Any, **settings: Any) -> Any:
        seen.extend(np.asarray(image) for own in images for image in (own if isinstance(own, list) else [own]))
        return preprocess(images, **settings)

    monkeypatch.setattr(model._checkpoint.image_processor, "preprocess", watch)
    model.answer(questions)
    shown = [image for prompt in questions for image in prompt.images]
    assert len(seen) == len(shown) == 6
    for got, image in zip(seen, shown, strict=True):
        np.testing.assert_array_equal(got, image)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(dtype: str, chat_models: dict[str, str], questions: list[Prompt]) -> None:
    model = load(chat_models["qwen3_vl"], dtype=dtype)
    full = load(chat_models["qwen3_vl"]).answer(questions)
    assert model.describe()["dtype"] == dtype
    assert model.answer(questions)[1].logits == pytest.approx(full[1].logits, abs=0.1)


def test_the_record_changes_with_what_could_change_an_answer(
    chat_models: dict[str, str], questions: list[Prompt], tmp_path: Path
) -> None:
    model = load(chat_models["smolvlm"])
    described = model.describe()
    model.answer(questions)
    assert load(chat_models["smolvlm"]).describe() == described
    model._checkpoint.__dict__.pop("fingerprint")
    assert model.describe() == described, "the record depends on what was asked before"
    assert described["revision"] == "local"
    assert described["processor"] == "SmolVLMProcessor/SmolVLMImageProcessorPil (pil)"
    assert load(chat_models["molmo2"]).describe()["processor"] == "Molmo2Processor/Molmo2ImageProcessor (torch)"
    assert load(chat_models["smolvlm"], mode="cot").describe() != described
    assert load(chat_models["smolvlm"], max_new_tokens=5).describe() != described

    shutil.copytree(chat_models["smolvlm"], tmp_path / "other")
    template = tmp_path / "other" / "chat_template.jinja"
    template.write_text(template.read_text().replace("assistant:", "Assistant:"))
    other = load(str(tmp_path / "other")).describe()
    assert other["prompt"] != described["prompt"]
    assert other["fingerprint"] == described["fingerprint"]


def test_what_cannot_be_asked(chat_models: dict[str, str], questions: list[Prompt]) -> None:
    model = load(chat_models["idefics3"])
    assert model.answer([]) == []
    with pytest.raises(InvalidValueError, match=r"control token '<image>'"):
        model.answer([replace(questions[0], text="What does <image> mean?")])
    with pytest.raises(InvalidValueError, match="26 lettered options, got 27"):
        model.answer([replace(questions[0], options=tuple(map(str, range(27))))])
    with pytest.raises(InvalidValueError, match="'What is it\\?' has none"):
        load(chat_models["idefics3"], mode="rank").answer(questions[:1])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_chat_model_is_loaded_by_its_folder(family: str, chat_models: dict[str, str]) -> None:
    model = load_model(chat_models[family], max_new_tokens=3)
    assert isinstance(model, Chat)
    assert model.describe()["decoding"] == "greedy, at most 3 new tokens"


def test_what_cannot_be_loaded(chat_models: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'direct'"):
        load(chat_models["idefics3"], mode="directly")
    with pytest.raises(UnknownNameError, match="Did you mean 'float16'"):
        load(chat_models["idefics3"], dtype="float61")
    with pytest.raises(InvalidValueError, match="PaliGemma follows no instructions"):
        load(chat_models["paligemma"], mode="cot")
    with pytest.raises(RobustlibError, match="has no processor of images and text"):
        load(str(tmp_path))
    shutil.copytree(chat_models["idefics3"], tmp_path / "silent")
    (tmp_path / "silent" / "chat_template.jinja").unlink()
    with pytest.raises(RobustlibError, match="has no chat template"):
        load(str(tmp_path / "silent"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_without_all_weights_is_refused(family: str, chat_models: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(chat_models[family], tmp_path / family)
    path = tmp_path / family / "model.safetensors"
    weights = load_file(path)
    lost = min(key for key in weights if "norm" in key)
    save_file({key: weights[key] for key in weights if key != lost}, path, {"format": "pt"})
    with pytest.raises(RobustlibError, match=rf"{family}.*lacks weights of \w+Generation.*: 1, the first '.*\.weight'"):
        load(str(tmp_path / family))


def test_no_weights_but_safetensors(chat_models: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(chat_models["idefics3"], tmp_path / "pickled")
    weights = tmp_path / "pickled" / "model.safetensors"
    torch.save({}, tmp_path / "pickled" / "pytorch_model.bin")
    weights.unlink()
    with pytest.raises(OSError, match="safetensors"):
        load(str(tmp_path / "pickled"))


def test_code_of_a_checkpoint_is_not_run(chat_models: dict[str, str], tmp_path: Path) -> None:
    folder, trace = tmp_path / "coded", tmp_path / "trace"
    shutil.copytree(chat_models["idefics3"], folder)
    (folder / "own.py").write_text(f"open({str(trace)!r}, 'w')\nclass Own: pass\n")
    for name, auto in (("config.json", "AutoModelForImageTextToText"), ("processor_config.json", "AutoProcessor")):
        settings = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**settings, "auto_map": {auto: "own.Own"}}))
    load(str(folder)).answer([Prompt(None, "Is it?")])
    assert not trace.exists()

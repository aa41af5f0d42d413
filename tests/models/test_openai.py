"""The endpoint adapter against a real HTTP server on this machine."""

import base64
import io
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import log
from time import sleep
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robustlib.data.images import Pixels
from robustlib.errors import InvalidValueError, UnknownNameError
from robustlib.models import load_model
from robustlib.models.base import Answer, Prompt
from robustlib.models.openai import Endpoint
from robustlib.models.serving import Server

KEY = "sk-secret-0123456789"
Reply = tuple[int, str]  # HTTP status and text


class Seen:
    """What the server got, and what it shall say: a function of the request's body."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.reply: Callable[[dict[str, Any]], Reply] = lambda _body: (200, completion("ok"))
        self.lock = threading.Lock()
        self.under_way = self.most_under_way = 0


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Seen]]:
    """An OpenAI-compatible server's address and its memory."""
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server asks for
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with seen.lock:
                seen.bodies.append(body)
                seen.keys.append(self.headers["Authorization"])
                seen.paths.append(self.path)
                seen.under_way += 1
                seen.most_under_way = max(seen.most_under_way, seen.under_way)
            status, text = seen.reply(body)
            with seen.lock:
                seen.under_way -= 1
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # http.server's own signature
            pass

    monkeypatch.setattr("robustlib.models.serving.FIRST_WAIT", 0.01)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}/v1", seen
    http.shutdown()
    thread.join()
    http.server_close()


def completion(text: str | None, finish: str = "stop", **message: Any) -> str:
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return json.dumps({"choices": [choice]})


def with_logprobs(text: str, tokens: list[tuple[str, float, dict[str, float]]]) -> str:
    body = json.loads(completion(text))
    body["choices"][0]["logprobs"] = {
        "content": [
            {"token": token, "logprob": chance, "top_logprobs": [{"token": t, "logprob": p} for t, p in top.items()]}
            for token, chance, top in tokens
        ]
    }
    return json.dumps(body)


def question_of(body: dict[str, Any]) -> str:
    text: str = body["messages"][0]["content"][-1]["text"]
    return text.partition("\n")[0]


def decode(url: str) -> Pixels:
    kind, _, encoded = url.partition(",")
    assert kind == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image)


def ask_one(url: str, prompt: Prompt | None = None, **settings: Any) -> Answer:
    [answer] = Endpoint("served", "tiny", base_url=url, **settings).answer([prompt or Prompt(None, "Why?")])
    return answer


def test_the_server_gets_every_pixel_and_the_whole_prompt(server: tuple[str, Seen]) -> None:
    url, seen = server
    draw = np.random.default_rng(0)
    first, second = (draw.integers(0, 256, (*size, 3), np.uint8) for size in ((7, 5), (1, 64)))
    answer = ask_one(url, Prompt(first, "Alike?", ("yes", "no"), more_images=(second,)), max_new_tokens=9)
    assert answer == Answer("ok")
    assert seen.paths == ["/v1/chat/completions"]
    [body] = seen.bodies
    *images, text = body["messages"][0]["content"]
    assert [image["type"] for image in images] == ["image_url", "image_url"]
    for image, pixels in zip(images, (first, second), strict=True):
        np.testing.assert_array_equal(decode(image["image_url"]["url"]), pixels)
    assert text["text"].startswith("Alike?\nA. yes\nB. no\nAnswer with the option letter")
    assert (body["model"], body["max_tokens"], body["temperature"], body["seed"]) == ("tiny", 9, 0.0, 42)
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)


def test_thinking_is_sampled_and_a_question_of_text_alone_has_no_image(server: tuple[str, Seen]) -> None:
    url, seen = server
    seen.reply = lambda _body: (200, completion("<think>hm</think>B"))
    assert ask_one(url, mode="thinking").text == "B"
    [body] = seen.bodies
    assert [part["type"] for part in body["messages"][0]["content"]] == ["text"]
    assert (body["temperature"], body["top_p"], body["top_k"], body["max_tokens"]) == (0.6, 0.95, 20, 8192)
    assert "logprobs" not in body
    seen.reply = lambda _body: (200, completion("B", reasoning_content="hm"))
    assert ask_one(url, mode="thinking").text == "B"
    seen.reply = lambda _body: (200, completion("<think>hm"))
    assert ask_one(url, mode="thinking").status == "truncated"


def test_answers_keep_their_order_and_no_more_are_under_way_than_allowed(server: tuple[str, Seen]) -> None:
    url, seen = server

    def reply(body: dict[str, Any]) -> Reply:
        number = int(question_of(body))
        sleep(0.02 if number % 2 else 0.05)
        return (400, "bad") if number == 7 else (200, completion(f"answer {number}"))

    seen.reply = reply
    model = Endpoint("served", "tiny", base_url=url, concurrency=3)
    answers = model.answer([Prompt(None, str(number)) for number in range(12)])
    assert [answer.text for answer in answers] == ["" if n == 7 else f"answer {n}" for n in range(12)]
    assert [answer.status for answer in answers] == ["error" if n == 7 else "ok" for n in range(12)]
    assert seen.most_under_way == 3
    assert model.answer([]) == []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_failure_that_passes_is_tried_again(status: int, server: tuple[str, Seen]) -> None:
    url, seen = server
    seen.reply = lambda _body: (200, completion("ok")) if len(seen.bodies) > 2 else (status, "busy")
    assert ask_one(url) == Answer("ok")
    assert len(seen.bodies) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_failure_that_stays_is_not_tried_again(status: int, server: tuple[str, Seen]) -> None:
    url, seen = server
    seen.reply = lambda _body: (status, "the reason")
    answer = ask_one(url)
    assert (answer.text, answer.status, answer.choice) == ("", "error", -1)
    assert f"HTTP {status} the reason" in answer.reason
    assert len(seen.bodies) == 1


def test_attempts_are_bounded(server: tuple[str, Seen]) -> None:
    url, seen = server
    seen.reply = lambda _body: (503, "busy")
    answer = ask_one(url, attempts=3)
    assert answer.status == "error"
    assert answer.reason == f"{url}: HTTP 503 busy (last of 3 attempts)"
    assert len(seen.bodies) == 3


def test_a_silent_server_is_left_after_the_timeout(server: tuple[str, Seen]) -> None:
    url, seen = server
    silence = threading.Event()

    def reply(_body: dict[str, Any]) -> Reply:
        silence.wait(10)
        return 200, completion("too late")

    seen.reply = reply
    answer = ask_one(url, attempts=2, timeout=0.1)
    silence.set()
    assert answer.status == "error"
    assert "ReadTimeout" in answer.reason
    assert "last of 2 attempts" in answer.reason


def test_a_dead_endpoint_is_an_error_for_each_prompt(server: tuple[str, Seen]) -> None:
    model = Endpoint("served", "tiny", base_url="http://127.0.0.1:9/v1", attempts=2)
    answers = model.answer([Prompt(None, "Why?"), Prompt(None, "How?")])
    assert [answer.status for answer in answers] == ["error", "error"]
    assert all("ConnectError" in answer.reason for answer in answers)


@pytest.mark.parametrize(
    "text", ["<html>Bad gateway</html>", "", "[]", "{}", '{"choices": []}', '{"choices": [{"message": {}}]}', "null"]
)
def test_a_malformed_response_is_an_error(text: str, server: tuple[str, Seen]) -> None:
    url, seen = server
    seen.reply = lambda _body: (200, text)
    answer = ask_one(url)
    assert answer.status == "error"
    assert "no JSON" in answer.reason or "no chat completion" in answer.reason


@pytest.mark.parametrize(
    ("response", "status", "reason"),
    [
        (completion(None, refusal="I will not."), "no_answer", "I will not."),
        (completion("", "content_filter"), "no_answer", "filtered"),
        (completion("It may be that", "length"), "truncated", ""),
        (completion("  "), "no_answer", ""),
        (completion(None), "no_answer", ""),
    ],
)
def test_what_is_no_answer_is_none(response: str, status: str, reason: str, server: tuple[str, Seen]) -> None:
    url, seen = server
    seen.reply = lambda _body: (200, response)
    answer = ask_one(url)
    assert (answer.text, answer.status) == ("", status)
    assert reason in answer.reason


def test_log_probabilities_score_the_options(server: tuple[str, Seen]) -> None:
    url, seen = server
    top = {"A": log(0.5), " A": log(0.1), "B": log(0.2), "The": log(0.1)}
    seen.reply = lambda _body: (200, with_logprobs("A.", [("A", log(0.5), top), (".", log(0.8), {})]))
    answer = ask_one(url, Prompt(None, "Which?", ("yes", "no")))
    assert answer.text == "A."
    assert answer.choice == -1
    assert answer.logits == pytest.approx((log(0.6), log(0.2)))
    assert answer.option_mass == pytest.approx(0.8)
    assert answer.confidence == pytest.approx(0.4)
    three = ask_one(url, Prompt(None, "Which?", ("yes", "no", "neither")))
    assert (three.text, three.logits, three.option_mass) == ("A.", None, None)
    ask_one(url, logprobs=False)
    assert "logprobs" not in seen.bodies[-1]


def test_the_key_is_sent_and_shown_nowhere(
    server: tuple[str, Seen], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    url, seen = server
    caplog.set_level("DEBUG")
    model = Endpoint("served", "tiny", base_url=url, key_variable="MY_KEY")
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    seen.reply = lambda body: (200, completion("ok")) if question_of(body) == "1" else (401, f"Incorrect key: {KEY}")
    answers = model.answer([Prompt(None, "1"), Prompt(None, "2")])
    assert seen.keys == [f"Bearer {KEY}"] * 2
    assert answers[1].reason == f"{url}: HTTP 401 Incorrect key: [key]"
    for shown in (repr(answers), repr(model.describe()), repr(vars(model)), caplog.text):
        assert KEY not in shown
    monkeypatch.setenv("MY_KEY", f"{KEY}\nX")
    [answer] = model.answer([Prompt(None, "1")])
    assert answer.status == "error"
    assert KEY not in answer.reason
    assert "MY_KEY" in answer.reason
    monkeypatch.delenv("MY_KEY")
    model.answer([Prompt(None, "1")])
    assert seen.keys[2:] == [None]


def test_the_record_names_model_endpoint_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1/")
    model = load_model("openai:Qwen/Qwen3-VL-4B-Instruct")
    described = model.describe()
    assert model.name == "openai:Qwen/Qwen3-VL-4B-Instruct"
    assert described["checkpoint"] == "Qwen/Qwen3-VL-4B-Instruct"
    assert described["endpoint"] == "http://localhost:8000/v1/"
    assert Endpoint("served", "tiny", base_url="https://h/v1").describe() != described
    assert load_model(model.name, mode="cot").describe() != described


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "http://me:sk-secret@host/v1", "http://host/v1?key=sk-secret"]
)
def test_an_address_holds_no_credentials(url: str) -> None:
    with pytest.raises(InvalidValueError, match="without credentials or query") as caught:
        Endpoint("served", "tiny", base_url=url)
    assert "sk-secret" not in str(caught.value)


def test_settings_are_checked() -> None:
    with pytest.raises(UnknownNameError, match="Unknown mode 'direkt'"):
        Endpoint("served", "tiny", mode="direkt")  # type: ignore[arg-type]  # what a profile might say
    with pytest.raises(InvalidValueError, match="use the mode 'direct'"):
        Endpoint("served", "tiny", mode="rank")
    with pytest.raises(InvalidValueError, match="got 0"):
        Endpoint("served", "tiny", concurrency=0)
    with pytest.raises(InvalidValueError, match="got 0"):
        Server("http://host/v1", "KEY", attempts=0, timeout=1)

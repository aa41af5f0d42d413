"""What fails in a sweep, a model, an image, an endpoint or a notebook: all is told, and the next run mends it."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from robustlib.__main__ import main
from robustlib.errors import RobustlibError
from robustlib.models.base import Answer, Prompt
from robustlib.sweep import (
    FailedAnswersError,
    load_profile,
    make_plan,
    read_manifest,
    read_predictions,
    run_sweep,
    sweep_status,
)
from robustlib.sweep.threads import ahead, in_pool, in_threads
from tests.sweep.children import Study, known, shards_in, start, sweep
from tests.sweep.toys import PixelModel, contents, toy_plan

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


class Flaky(PixelModel):
    """A model that fails on one question while there is a certain file, and hangs after so many batches."""

    def __init__(self, name: str, trouble: Path, most: int = 100) -> None:
        super().__init__(name)
        self.trouble = trouble
        self.most = most

    def answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        if len(self.batches) >= self.most:
            time.sleep(3600)
        return super().answer(prompts)

    def answer_one(self, prompt: Prompt) -> Answer:
        if self.trouble.exists() and "take 5" in prompt.text:
            raise RuntimeError("Server\nis down")
        return super().answer_one(prompt)


def test_a_retry_asks_the_failed_shards_alone_and_may_be_killed(tmp_path: Path) -> None:
    run_sweep(toy_plan(), tmp_path / "whole")
    trouble, out = tmp_path / "trouble", tmp_path / "out"
    trouble.touch()
    with pytest.raises(FailedAnswersError, match=r"RuntimeError: Server is down .*--retry-failed"):
        run_sweep(toy_plan(mean=Flaky("toy/mean", trouble)), out)
    good = {path: path.stat().st_mtime_ns for path in shards_in(out) if "corner" in str(path)}
    with pytest.raises(FailedAnswersError):
        run_sweep(toy_plan(mean=Flaky("toy/mean", trouble)), out, retry_failed=True)
    assert sweep_status(out).failed == 7
    trouble.unlink()
    process = start(sweep, toy_plan(mean=Flaky("toy/mean", trouble, 7)), out, True)
    while sweep_status(out).failed == 7:
        assert process.is_alive()
        time.sleep(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    status = sweep_status(out)
    assert (status.done, status.damaged) == (14, ()), "an old shard stays until the new one takes its place"
    assert 0 < status.failed < 7
    with pytest.raises(RobustlibError, match="no finished sweep"):
        read_predictions(out)
    with pytest.raises(FailedAnswersError, match=f"^{status.failed} of 154"):
        run_sweep(toy_plan(), out)
    retried, untouched = PixelModel("toy/mean"), PixelModel("toy/corner")
    run_sweep(toy_plan(mean=retried, corner=untouched), out, retry_failed=True)
    assert (len(retried.batches), untouched.batches) == (3 * status.failed, [])
    assert contents(out) == contents(tmp_path / "whole")
    assert {path: path.stat().st_mtime_ns for path in good} == good
    idle = PixelModel("toy/mean")
    run_sweep(toy_plan(mean=idle, corner=untouched), out, retry_failed=True)
    assert idle.batches == untouched.batches == []


def test_a_model_out_of_memory_fails_its_answers_and_pictures_out_of_memory_stop_the_sweep(
    study: Study,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    study.befall(then="out of memory")
    assert main(study.sweep(out)) == 2
    assert "77 of 77 answers" in capsys.readouterr().err
    assert set(read_predictions(out).response) == {"MemoryError: "}
    study.befall()
    with monkeypatch.context() as patch:
        patch.setattr("robustlib.sweep.showing.corrupt", raise_memory_error)
        assert main(study.sweep(out, "--retry-failed")) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "robustlib: MemoryError"
    assert main(study.sweep(out, "--retry-failed")) == 0
    assert contents(out) == undisturbed


def raise_memory_error(*_: object) -> None:
    raise MemoryError


def test_work_under_way_is_finished_when_other_work_fails() -> None:
    both_begun, failed = threading.Barrier(2), threading.Event()

    def work(number: int) -> int:
        both_begun.wait()
        if number == 0:
            threading.Timer(0.1, failed.set).start()
            raise RuntimeError("no luck")
        failed.wait()
        return number

    made = in_threads(work, [0, 1], 2)
    assert next(made) == 1
    with pytest.raises(RuntimeError, match="no luck"):
        next(made)


def test_what_is_made_ahead_comes_in_order_before_an_error_of_its_maker() -> None:
    def make() -> Iterator[int]:
        yield from (1, 2)
        raise RuntimeError("no luck")

    made = ahead(make())
    assert [next(made), next(made)] == [1, 2]
    with pytest.raises(RuntimeError, match="no luck"):
        next(made)


def test_who_stops_early_leaves_neither_a_thread_nor_a_maker_behind() -> None:
    ended, before = [], set(threading.enumerate())

    def make() -> Iterator[int]:
        try:
            yield from range(1, 100)
        finally:
            ended.append(True)

    for number in ahead(make()):
        if number == 3:
            break
    assert set(threading.enumerate()) <= before
    assert ended == [True]


@pytest.mark.parametrize("fault", ["changed", "lost", "broken"])
def test_an_image_that_is_not_as_planned_stops_the_sweep_and_is_named(
    fault: str, study: Study, undisturbed: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan(load_profile(str(study.profile)))
    image = study.image(3)
    old = image.read_bytes()
    if fault == "lost":
        image.unlink()
    else:
        Image.new("RGB", (8, 8)).save(image)
    if fault == "broken":
        image.write_bytes(old[:-60])  # its header is whole, so planning takes it
        plan = make_plan(load_profile(str(study.profile)))
    reason = {"changed": "has changed since", "lost": "No such file", "broken": "Cannot decode"}[fault]
    with pytest.raises(RobustlibError, match=f"Question q3: .*{reason}") as caught:
        run_sweep(plan, tmp_path / "out")
    assert str(image) in str(caught.value)
    with pytest.raises(RobustlibError, match="no finished sweep"):
        read_predictions(tmp_path / "out")
    image.write_bytes(old)
    assert main(study.sweep(tmp_path / "out")) == 0
    assert contents(tmp_path / "out") == undisturbed


def test_all_questions_about_a_changed_image_are_held_to_what_was_planned(study: Study) -> None:
    [dataset] = make_plan(load_profile(str(study.profile))).datasets.values()
    Image.new("RGB", (8, 8)).save(study.image(3))
    about = [question for question in dataset if question.image_id == "3.png"]
    assert len(about) == 2
    for question in about:
        with pytest.raises(RobustlibError, match=r"3\.png has changed since"):
            question.pixels()


def test_a_model_that_is_not_as_planned_stops_the_sweep(study: Study, tmp_path: Path) -> None:
    plan = make_plan(load_profile(str(study.profile)))
    study.befall(fingerprint="trained on")
    with pytest.raises(RobustlibError, match="has changed since the sweep was planned"):
        run_sweep(plan, tmp_path)
    assert not shards_in(tmp_path)


class Endpoint:
    """A server that answers every question, or, while it is in trouble, each in its own wrong way."""

    def __init__(self) -> None:
        self.trouble = True
        self.asked: list[str] = []
        self.silence = threading.Event()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Endpoint]]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that http.server asks for
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            question = body["messages"][0]["content"][-1]["text"].partition("\n")[0]
            state.asked.append(question)
            fault = question if state.trouble else ""
            if fault == "closes":
                self.close_connection = True
                return
            if fault == "is silent":
                state.silence.wait(30)
            limited = fault == "limits" and state.asked.count("limits") < 3
            status = 429 if limited else 500 if fault == "fails" else 200
            good = json.dumps({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]})
            text = "<html>" if fault == "talks nonsense" else good
            with suppress(BrokenPipeError):  # of those who have lost patience
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.send_header("Retry-After", "3600")
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # http.server's own signature
            pass

    monkeypatch.setattr("robustlib.models.serving.FIRST_WAIT", 0.01)
    monkeypatch.setattr("robustlib.models.serving.LONGEST_WAIT", 0.02)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", state
    state.silence.set()
    server.shutdown()
    thread.join()
    server.server_close()


def write_endpoint_profile(folder: Path, url: str, questions: Sequence[str], attempts: int) -> str:
    rows = [{"id": text, "question": text, "answers": ["yes"]} for text in questions]
    (folder / "served.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = folder / "served.toml"
    path.write_text(
        f'models = [{{ name = "openai:tiny", base_url = "{url}", attempts = {attempts}, timeout = 0.3 }}]\n'
        'datasets = [{ name = "jsonl:served.jsonl", split = "test" }]\n'
    )
    return str(path)


def test_what_an_endpoint_fails_to_answer_is_told_and_asked_again_when_it_is_back(
    endpoint: tuple[str, Endpoint], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known(monkeypatch)
    url, state = endpoint
    questions = ["is well", "closes", "is silent", "limits", "fails", "talks nonsense"]
    profile, out = write_endpoint_profile(tmp_path, url, questions, attempts=3), tmp_path / "out"
    assert main(["sweep", profile, "--out", str(out)]) == 2
    assert "4 of 6 answers" in capsys.readouterr().err.splitlines()[-1]
    rows = read_predictions(out).set_index("question_id")
    assert list(rows.index[rows.status == "ok"]) == ["is well", "limits"]
    for question, reason in [
        ("closes", "RemoteProtocolError"),
        ("is silent", "ReadTimeout"),
        ("fails", "HTTP 500"),
        ("talks nonsense", "no JSON"),
    ]:
        assert reason in rows.response[question]
    assert {question: state.asked.count(question) for question in questions} == {
        "is well": 1,
        "closes": 3,
        "is silent": 3,
        "limits": 3,
        "fails": 3,
        "talks nonsense": 1,
    }
    state.trouble = False
    assert main(["sweep", profile, "--out", str(out), "--retry-failed"]) == 0
    assert main(["sweep", profile, "--out", str(tmp_path / "whole")]) == 0
    assert contents(out) == contents(tmp_path / "whole")
    assert read_manifest(out)["statuses"] == {"ok": 6}


def test_a_notebook_whose_sweep_has_failed_answers_leaves_no_target_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = write_endpoint_profile(tmp_path, "http://127.0.0.1:9/v1", ["why?"], attempts=1)
    target = tmp_path / "sweep.ipynb"
    target.write_text("of an earlier run")
    parameters = ["-p", f"profile={profile}", "-p", f"out={tmp_path / 'out'}"]
    assert main(["report", str(NOTEBOOKS / "vqa_bench_sweep.ipynb"), str(target), *parameters]) == 2
    where, what, copy = capsys.readouterr().err.splitlines()[-3:]
    assert where.startswith("robustlib: ")
    assert "vqa_bench_sweep.ipynb stopped at cell " in where
    assert what.startswith("FailedAnswersError: 1 of 1 answers in ")
    assert copy == f"The partial run is in {tmp_path / 'sweep.failed.ipynb'}."
    assert not target.exists()
    assert (tmp_path / "sweep.failed.ipynb").exists()


class Broken(Executor):
    """A pool that loses its first task with its process, and then has nobody left to tell of the others."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_exception(RuntimeError("lost"))
        return self.futures[-1]


def test_a_pool_that_breaks_is_told_and_not_waited_for() -> None:
    told: list[str] = []

    def run() -> None:
        try:
            list(in_pool(Broken(), str, [1, 2, 3]))
        except RuntimeError as error:
            told.append(str(error))

    waiting = threading.Thread(target=run, daemon=True)
    waiting.start()
    waiting.join(20)
    assert told == ["lost"]

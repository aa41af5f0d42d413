"""The commands about models: `list models` and `ask`."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustlib.data.images import Pixels
    from robustlib.models import Answer, Model, Prompt

SEVERITY, COUNT = 3, 64


def print_models(_arguments: Namespace) -> None:
    """Print the pocket models and the other ways to name a model, as a table."""
    from robustlib.models.catalogue import catalogue

    rows = [("name", "parameters", "licence", "modes", "class")]
    for entry in catalogue():
        parameters = "its own" if entry.parameters is None else f"{entry.parameters:,}"
        rows.append((entry.name, parameters, entry.licence, ", ".join(entry.modes), entry.network))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def fill_ask(parser: ArgumentParser) -> None:
    """Give the command ``ask`` its arguments."""
    parser.add_argument("model", help="a name of 'list models', a hub id or a local folder")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="NAME=VALUE", help="a setting")
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--question", help="the question")
    asked.add_argument("--dataset", metavar="NAME:SPLIT", help="questions of a data set instead, with their score")
    parser.add_argument(
        "--image", nargs="+", default=[], help="the image of --question, or several; none for text alone"
    )
    parser.add_argument("--options", nargs="+", default=[], help="for --question; an option is chosen")
    parser.add_argument("--count", type=int, help=f"questions of --dataset (default: {COUNT})")
    parser.add_argument("--corruption", metavar="SUITE/NAME", help="corrupt the images first")
    parser.add_argument("--severity", type=int, help=f"of the corruption, 0 to 5 (default: {SEVERITY})")
    parser.add_argument("--seed", type=int, default=0, help="decides what is drawn (default: %(default)s)")
    parser.set_defaults(run=_ask)


def _ask(arguments: Namespace) -> None:
    _check(arguments)
    from robustlib.models import load_model
    from robustlib.report.notebooks import parse_parameter

    model = load_model(arguments.model, **dict(map(parse_parameter, arguments.settings)))
    if arguments.dataset is not None:
        _ask_dataset(model, arguments)
    else:
        _ask_question(model, arguments)


def _check(arguments: Namespace) -> None:
    from robustlib.errors import InvalidValueError

    whole = arguments.dataset is not None
    misplaced = {
        "--dataset brings its own images and options": whole and (arguments.image or arguments.options),
        "--count goes with --dataset": not whole and arguments.count is not None,
        "--corruption needs an --image": not whole and arguments.corruption is not None and not arguments.image,
        "--severity goes with --corruption": arguments.severity is not None and arguments.corruption is None,
        "--dataset is written NAME:SPLIT": whole and ":" not in arguments.dataset,
    }
    for rule, broken in misplaced.items():
        if broken:
            raise InvalidValueError(f"{rule}; see 'robustlib ask --help'.")


def _ask_question(model: "Model", arguments: Namespace) -> None:
    from robustlib.data import LazyImage
    from robustlib.errors import RobustlibError
    from robustlib.models import Prompt
    from robustlib.sweep.asking import ask

    images = [_corrupted(LazyImage(path).pixels(), arguments) for path in arguments.image]
    prompt = Prompt(images[0] if images else None, arguments.question, tuple(arguments.options), tuple(images[1:]))
    [answer] = ask(model, [prompt])
    if answer.status == "error":
        raise RobustlibError(f"{arguments.model} failed: {answer.reason}")
    print(_reading(answer, prompt))


def _corrupted(pixels: "Pixels", arguments: Namespace) -> "Pixels":
    from robustlib.corruptions import corrupt

    if arguments.corruption is None:
        return pixels
    return corrupt(pixels, arguments.corruption, _severity(arguments), arguments.seed)


def _severity(arguments: Namespace) -> int:
    return SEVERITY if arguments.severity is None else arguments.severity


def _reading(answer: "Answer", prompt: "Prompt") -> str:
    """Return what the answer comes to: the option, the text, or the status with what stands for it."""
    from robustlib.scoring import read_option

    if answer.status != "ok":
        return f"[{answer.status}] {answer.reason}".strip()
    if prompt.options and answer.choice < 0:
        choice, status, _ = read_option(answer.text, prompt.options)
        if choice is None:
            return f"[{status}] {answer.text}"
        return f"{prompt.options[choice]}{_confidence(answer)}"
    return f"{answer.text}{_confidence(answer)}"


def _confidence(answer: "Answer") -> str:
    return "" if answer.confidence is None else f" (confidence {answer.confidence:.3f})"


def _ask_dataset(model: "Model", arguments: Namespace) -> None:
    from robustlib.corruptions import find_corruption
    from robustlib.data import load_dataset
    from robustlib.errors import RobustlibError
    from robustlib.sweep import CLEAN, Condition
    from robustlib.sweep.sample import answer_sample

    name, _, split = arguments.dataset.rpartition(":")
    condition = CLEAN
    if arguments.corruption is not None:
        found = find_corruption(arguments.corruption)
        condition = Condition(found.suite, "corruption", found.name, _severity(arguments))
    count = COUNT if arguments.count is None else arguments.count
    rows = answer_sample(model, load_dataset(name, split), count, condition, arguments.seed)
    for row in rows.to_dict("records"):
        print(
            f"{row['question_id']}  {row['score']:.2f}  {row['answer'] or '[' + row['status'] + ']'}  <- {row['text']}"
        )
    print(f"accuracy {rows.score.mean():.3f} (n = {len(rows)})")
    failed = rows[rows.status == "error"]
    if len(failed):
        raise RobustlibError(f"{len(failed)} of {len(rows)} answers failed; the first: {failed.response.iloc[0]}")

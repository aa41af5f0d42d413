"""The commands: each is one function that registers its own parser. A new one needs a place in `COMMANDS`, no more."""

import os
import re
import signal
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from robustlib.cli_models import fill_ask, print_models
from robustlib.cli_plan import fill_plan

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Commands = _SubParsersAction[ArgumentParser]


def add_list(commands: "Commands") -> None:
    """Register ``list``: the names that the other commands take."""
    parser = commands.add_parser("list", help="list corruptions, models, data sets or profiles")
    kinds = parser.add_subparsers(metavar="KIND", required=True)
    corruptions = kinds.add_parser("corruptions", help="suite/name, category and severities of each corruption")
    corruptions.add_argument("suite", nargs="?", help="one suite only")
    corruptions.set_defaults(run=_list_corruptions)
    models = kinds.add_parser("models", help="name, parameters, licence, modes and class of each model")
    models.set_defaults(run=print_models)
    for kind, names in (("datasets", _datasets), ("profiles", _profiles)):
        kinds.add_parser(kind, help=f"names of the {kind}").set_defaults(run=_printer(names))


def add_corrupt(commands: "Commands") -> None:
    """Register ``corrupt``: corrupted copies of a folder or data set on disk."""
    parser = commands.add_parser("corrupt", help="write corrupted copies of images; what is there already is kept")
    parser.add_argument("source", help="a folder of images, with all below it, or a data set as name:split")
    parser.add_argument("target", help="folder for the copies, as <corruption>/<severity>/<image>.png")
    parser.add_argument("--suite", default="vqa_bench", help="which corruptions (default: %(default)s)")
    parser.add_argument("--severity", type=_severities, default="1-5", help="for example 3, 1,3,5 or 1-5 (the default)")
    parser.add_argument("--seed", type=int, default=0, help="decides what random corruptions draw (default: 0)")
    parser.add_argument("--workers", type=int, default=1, help="images at a time (default: %(default)s)")
    parser.add_argument("--verify", action="store_true", help="only compare what is there with its manifest")
    parser.set_defaults(run=_corrupt)


def add_sweep(commands: "Commands") -> None:
    """Register ``sweep``: ask a profile's questions of its models under all its conditions."""
    parser = commands.add_parser("sweep", help="run a profile; what is there already is kept")
    parser.add_argument("profile", help="a name of 'list profiles', or the path of a .toml file")
    parser.add_argument("--out", required=True, help="folder for the predictions")
    parser.add_argument("--engine", default="local", help="where it runs, local or ray (default: %(default)s)")
    parser.add_argument("--workers", type=int, help="shards at a time (default: the engine's usual number)")
    parser.add_argument(
        "--skip-bad", action="store_true", help="leave out bad rows of data files; they are listed in OUT"
    )
    parser.add_argument("--retry-failed", action="store_true", help="also ask again where an answer failed")
    parser.set_defaults(run=_sweep)


def add_plan(commands: "Commands") -> None:
    """Register ``plan``: what a sweep would come to."""
    parser = commands.add_parser("plan", help="count what a profile would ask, and time its models on a few questions")
    fill_plan(parser)


def add_status(commands: "Commands") -> None:
    """Register ``status``: how far a sweep has come."""
    parser = commands.add_parser("status", help="tell what a sweep has done and what remains")
    parser.add_argument("out", help="folder with the predictions")
    parser.set_defaults(run=_status)


def add_ask(commands: "Commands") -> None:
    """Register ``ask``: one question, or some of a data set."""
    parser = commands.add_parser("ask", help="ask a model about an image, corrupted or as it is, or about a data set")
    fill_ask(parser)


def add_report(commands: "Commands") -> None:
    """Register ``report``: run one notebook strictly."""
    parser = commands.add_parser("report", help="run a notebook; its executed copy appears only when all of it ran")
    parser.add_argument("notebook", help="path of the notebook")
    parser.add_argument("output", help="where its executed copy goes")
    parser.add_argument("-p", dest="parameters", action="append", default=[], metavar="NAME=VALUE", help="a parameter")
    parser.set_defaults(run=_report)


def add_index(commands: "Commands") -> None:
    """Register ``index``: the pages that show a folder's tables and figures."""
    parser = commands.add_parser("index", help="write the README.md and index.html that show the results in a folder")
    parser.add_argument("folder", help="folder with provenance records below it")
    parser.add_argument("--notebooks", default="notebooks", help="where captions are read (default: %(default)s)")
    parser.add_argument(
        "--build", help="folder with predictions and executed notebooks, for single questions and, there, the seconds"
    )
    parser.set_defaults(run=_index)


def add_verify(commands: "Commands") -> None:
    """Register ``verify``: whether two folders of tables and figures say the same."""
    parser = commands.add_parser("verify", help="compare tables and figures, cell by cell, and print what moved")
    parser.add_argument("fresh", help="folder that was computed now")
    parser.add_argument("committed", help="folder that it should be equal to")
    parser.set_defaults(run=_verify)


COMMANDS: tuple[Callable[["Commands"], None], ...] = (
    add_list,
    add_corrupt,
    add_plan,
    add_sweep,
    add_status,
    add_ask,
    add_report,
    add_index,
    add_verify,
)


def _list_corruptions(arguments: Namespace) -> None:
    from robustlib.corruptions import list_corruptions, list_suites

    for suite in [arguments.suite] if arguments.suite else list_suites():
        for corruption in list_corruptions(suite):
            severities = ", ".join(map(str, corruption.severities))
            print(f"{corruption.key:<40} {corruption.category:<14} {severities}")


def _printer(names: Callable[[], list[str]]) -> Callable[[Namespace], None]:
    return lambda _arguments: print(*names(), sep="\n")


def _datasets() -> list[str]:
    from robustlib.data import list_datasets

    return list_datasets()


def _profiles() -> list[str]:
    from robustlib.sweep import list_profiles

    return list_profiles()


def _severities(text: str) -> list[int]:
    """Read ``3``, ``1,3,5`` or ``1-5``; whether there are such severities is for `corrupt_folder` to say."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", text):
        raise ArgumentTypeError(f"severities are written 3, 1,3,5 or 1-5, got {text!r}")
    ranges = [part.partition("-") for part in text.split(",")]
    return [level for first, _, last in ranges for level in range(int(first), int(last or first) + 1)]


def _corrupt(arguments: Namespace) -> None:
    from robustlib.corruptions.folder import corrupt_folder, verify_folder
    from robustlib.errors import RobustlibError

    source, target, workers = arguments.source, arguments.target, arguments.workers
    if arguments.verify:
        differences = verify_folder(source, target, workers)
        print(*differences or [f"{target} is as its manifest says."], sep="\n")
        if differences:
            raise RobustlibError(f"{len(differences)} files differ; delete changed copies and run again to mend them.")
        return
    manifest = corrupt_folder(source, target, arguments.suite, arguments.severity, workers, arguments.seed)
    images, unreadable = manifest["images"], manifest["unreadable"]
    print(f"{len(images)} images, {sum(len(image['copies']) for image in images.values())} copies in {target}")
    if unreadable:
        print(*(f"{name}: {reason}" for name, reason in unreadable.items()), sep="\n")
        raise RobustlibError(f"{len(unreadable)} images could not be read or corrupted and have no copies.")


def _sweep(arguments: Namespace) -> None:
    from dataclasses import replace

    from robustlib.sweep import load_profile, run_sweep

    profile = load_profile(arguments.profile)
    profile = replace(profile, skip_bad=profile.skip_bad or arguments.skip_bad)
    with _stopping_at_once():
        print(run_sweep(profile, arguments.out, arguments.engine, arguments.workers, arguments.retry_failed))


@contextmanager
def _stopping_at_once() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process there and then; Python would first wait for what its threads are at."""
    before = {number: signal.signal(number, _stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: object) -> None:
    os.write(2, b"\nrobustlib: interrupted; the same command goes on from here\n")  # a print may be under way
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _status(arguments: Namespace) -> None:
    from robustlib.cli_plan import duration
    from robustlib.sweep import sweep_status

    status = sweep_status(arguments.out)
    rate, left = status.shards_per_minute, status.seconds_left
    print(f"shards:  {status.done} done ({status.failed} with failed answers), {status.remaining} remaining")
    print("answers:", ", ".join(f"{count} {name}" for name, count in sorted(status.statuses.items())) or "none")
    print("running:", status.process or "no")
    print("rate:   ", "n/a" if rate is None else f"{rate:.3g} shards a minute")
    print("left:   ", "n/a" if left is None else duration(left))
    for path in status.damaged:
        print(f"damaged: {path}, to be made again")


def _report(arguments: Namespace) -> None:
    from robustlib.report.notebooks import parse_parameter, run_notebook

    print(run_notebook(arguments.notebook, arguments.output, dict(map(parse_parameter, arguments.parameters))))


def _index(arguments: Namespace) -> None:
    from robustlib.report.index import write_index

    print(*write_index(arguments.folder, arguments.notebooks, arguments.build), sep="\n")


def _verify(arguments: Namespace) -> None:
    from robustlib.errors import RobustlibError
    from robustlib.report.verify import ABSOLUTE, RELATIVE, compare_folders

    found = compare_folders(arguments.fresh, arguments.committed)
    summary = f"{len(found.same)} files are the same, {len(found.within)} within {RELATIVE:g} relative or {ABSOLUTE:g}."
    print(*found.moves, *(f"{name}: within tolerance" for name in found.within), summary, sep="\n")
    if found.moves:
        files = len({move.file for move in found.moves})
        raise RobustlibError(f"{len(found.moves)} values or files moved, in {files} files.")

"""The command `plan`: what a profile comes to, before it is run."""

import os
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robustlib.sweep.conditions import Condition
    from robustlib.sweep.forecast import Asked, Forecast, Timing

_UNIT = 1000
_SHORT = 60


def fill_plan(parser: ArgumentParser) -> None:
    """Give the command ``plan`` its arguments."""
    parser.add_argument("profile", help="a name of 'list profiles', or the path of a .toml file")
    parser.add_argument("--skip-bad", action="store_true", help="count without the bad rows of data files")
    parser.set_defaults(run=_plan)


def _plan(arguments: Namespace) -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"  # a plan fetches nothing; read when the hub's library is imported
    from robustlib.sweep import load_profile
    from robustlib.sweep.forecast import forecast

    profile = load_profile(arguments.profile)
    profile = replace(profile, skip_bad=profile.skip_bad or arguments.skip_bad)
    print(*_lines(forecast(profile), len(profile.models)), sep="\n")


def _lines(found: "Forecast", models: int) -> "Iterator[str]":
    yield f"conditions: {len(found.conditions)} ({_kinds(found.conditions)})"
    for name, asked in found.asked.items():
        yield f"data set:   {name}: {_asked(asked)}"
    rows = sum(asked.rows for asked in found.asked.values())
    each = f"{models} models x {rows:,} = {models * rows:,}" if found.asked else f"{models} models, of no data set yet"
    yield f"forwards:   {each}, in {found.shards:,} shards"
    for model, timings in found.timings.items():
        for name, timing in timings.items():
            yield f"model:      {model} on {name}: {_timed(timing, found.asked[name].rows)}"
    for name, reason in found.missing.items():
        yield f"missing:    {name}: {' '.join(reason.split())}"
    rest = ", for what is there" if found.missing else ""
    if found.asked:
        yield f"disk:       about {_size(found.bytes)}{rest}"
    if found.timings:
        at_best = duration(found.seconds / found.workers)
        yield (
            f"time:       about {duration(found.seconds)} in one thread{rest}, pictures included; at best {at_best} "
            f"on this machine with workers={found.workers}, as by default"
        )


def _kinds(conditions: "tuple[Condition, ...]") -> str:
    from collections import Counter

    counts = Counter(
        (condition.suite or condition.family) + " treated" * bool(condition.treatment) for condition in conditions
    )
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in counts.items())


def _asked(asked: "Asked") -> str:
    about = "" if asked.counted else "about "
    skipped = f"; {asked.skipped:,} bad rows are left out" if asked.skipped else ""
    return (
        f"{asked.questions:,} questions on {asked.images:,} images, shown as {about}{asked.pictures:,} pictures "
        f"(made in {duration(asked.seconds)}); {about}{asked.rows:,} rows a model{skipped}"
    )


def _timed(timing: "Timing", rows: int) -> str:
    return (
        f"{duration(timing.seconds * rows)}, at {_plain(timing.seconds * _UNIT, 3)} ms a question "
        f"(timed once, in a call of {timing.batch} clean questions)"
    )


def duration(seconds: float) -> str:
    """Return seconds as people read them: "12 s", "0:01:30" or "1 day, 3:46:40"."""
    if seconds < _SHORT:
        return f"{_plain(seconds, 2)} s"
    return str(timedelta(seconds=round(seconds)))


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if round(count) < _UNIT:
            return f"{_plain(count, 3)} {unit}"
        count /= _UNIT
    return f"{_plain(count, 3)} TB"


def _plain(value: float, digits: int) -> str:
    """Return a number rounded to so many digits that count, without an exponent."""
    return f"{Decimal(f'{value:.{digits}g}'):,f}"

"""One sweep at a time in one output folder."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import BinaryIO

from robustlib.errors import RobustlibError
from robustlib.files import naming


@contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Hold the output folder for this process; make it if it is missing.

    The operating system drops the lock when its holder ends in any way, so a dead process never blocks a folder.

    Raises:
        RobustlibError: another process holds the folder; the message says which.
        OSError: the folder cannot be made or written.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = lock_of(out)
    with path.open("ab", buffering=0) as file:
        if not _take(file):
            raise RobustlibError(f"Another sweep is writing to {out} ({_read(path)}); wait for it or stop it.")
        with naming(path):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield


def holder(out: Path) -> str:
    """Return which process holds the output folder, "" if none does."""
    path = lock_of(out)
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return ""
    except BlockingIOError:
        return _read(path)
    return ""


def lock_of(out: Path) -> Path:
    """Return the file that is locked; it was last changed when its last holder began."""
    return out / "lock"


def _take(file: BinaryIO) -> bool:
    """Lock the file if it is free; look twice, as `holder` looks by locking it for a moment."""
    for wait in (0.0, 0.1):
        sleep(wait)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") or "it has just started"

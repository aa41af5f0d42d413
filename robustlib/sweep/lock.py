"""One sweep at a time in one output folder."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robustlib.errors import RobustlibError


@contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Hold the output folder for this process; make it if it is missing.

    The operating system drops the lock when its holder ends in any way, so a dead process never blocks a folder.

    Raises:
        RobustlibError: another process holds the folder; the message says which.
        OSError: the folder cannot be made or written.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / "lock"
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RobustlibError(
                f"Another sweep is writing to {out} ({_holder(path)}); wait for it or stop it."
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield


def _holder(path: Path) -> str:
    return path.read_text(encoding="utf-8") or "it has just started"

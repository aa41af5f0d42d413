"""Imported by the server that forks the processes of `children`: with all loaded and compiled, they start at once."""

import tempfile
from pathlib import Path
from threading import RLock

import pytest
from tqdm import tqdm

from robustlib.__main__ import main
from tests.sweep.children import Study, known, long_plan, sweep

tqdm.monitor_interval = 0  # a thread of its own would not survive the fork
tqdm.set_lock(RLock())  # its usual one would be shared by all forks, and kept by one that is killed
with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
    known(patch)
    sweep(long_plan(), Path(folder, "long"))
    main(Study(Path(folder)).sweep(Path(folder, "out")))

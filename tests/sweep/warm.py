"""Imported by the server that forks the processes of `children`: with all compiled, they start in no time."""

import tempfile
from pathlib import Path

from tqdm import tqdm

from tests.sweep.children import long_plan, sweep

tqdm.monitor_interval = 0  # no thread may be left when the server forks
with tempfile.TemporaryDirectory() as folder:
    sweep(long_plan(), Path(folder))

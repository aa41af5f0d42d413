"""How kernels are compiled: one decorator, so that all of them keep the same promises."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy.typing as npt

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile with numba: the GIL is released, the machine code is cached on disk.

    Never with fastmath, which reorders sums, nor with parallel: threads are the caller's, and the same bytes must come
    out of any number of them. Division follows NumPy: a check for zero before each would keep loops from vectorising.

    Loops are vectorised if their indices are as plain as ``row[x]`` or ``flat[3 * x + 1]``: slice ``row[start:]``
    rather than index ``row[start + x]``, loop rather than assign slices, and keep small integers from being widened.
    """
    compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    # numba would use a cached kernel again after a change of a kernel in another file that is compiled into it.
    compiled._cache._cache_file._source_stamp = _stamp()
    return cast(Function, compiled)


@cache
def _stamp() -> str:
    """Return the digest of all sources that kernels can stand in."""
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


@kernel
def copy(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> None:
    """Copy a row: the assignment of a slice would take much longer to compile."""
    for x in range(target.size):
        target[x] = source[x]

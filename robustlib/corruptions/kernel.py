"""How kernels are compiled: one decorator, so that all of them keep the same promises."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def kernel(function: Function) -> Function:
    """Compile with numba: the GIL is released, the machine code is cached on disk.

    Never with fastmath, which reorders sums, nor with parallel: threads are the caller's, and the same bytes must come
    out of any number of them. Division follows NumPy: a check for zero before each would keep loops from vectorising.
    """
    return cast(Function, numba.njit(nogil=True, cache=True, error_model="numpy")(function))

"""Corruption functions by name. The decorator is all it takes to add one."""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from robustlib.data.images import Pixels
from robustlib.errors import RobustlibError, UnknownNameError

Effect = Callable[..., Pixels]  # (image, stream, *, parameters) -> new image; never writes to its input

_EFFECTS: dict[str, Effect] = {}


def effect(function: Effect) -> Effect:
    """Register a corruption function under its own name.

    It takes a uint8 array H x W x 3 that it must not change, a `Stream` and its parameters as keywords, and returns a
    new uint8 array H x W x 3.
    """
    name = function.__name__
    if name in _EFFECTS:
        raise RobustlibError(f"Two corruption functions are called {name!r}.")
    _EFFECTS[name] = function
    return function


def find_effect(name: str) -> Effect:
    """Return the function of that name; the modules of `effects` are imported when first needed.

    Raises:
        UnknownNameError: no function has the name.
    """
    _import_all()
    if name not in _EFFECTS:
        raise UnknownNameError("corruption function", name, _EFFECTS)
    return _EFFECTS[name]


@cache
def _import_all() -> None:
    package = import_module("robustlib.corruptions.effects")
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)

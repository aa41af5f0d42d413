"""Settings of adapters: the keyword-only arguments of their classes."""

from collections.abc import Mapping
from inspect import Parameter, formatannotation, signature
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from robustlib.errors import InvalidTypeError, UnknownNameError


def check_settings(adapter: type, settings: Mapping[str, object]) -> None:
    """Check the names and types of an adapter's settings; whether a value makes sense is for the adapter to say.

    Raises:
        UnknownNameError: the adapter has no such setting; the message lists those it has.
        InvalidTypeError: a value of another type than the adapter takes.
    """
    parameters = signature(adapter).parameters.values()
    types = {each.name: each.annotation for each in parameters if each.kind is Parameter.KEYWORD_ONLY}
    for name, value in settings.items():
        if name not in types:
            raise UnknownNameError(f"setting of {adapter.__name__}", name, types)
        if not _fits(value, types[name]):
            raise InvalidTypeError(
                f"The setting {name} of {adapter.__name__} must be {formatannotation(types[name])}, got {value!r}."
            )


def _fits(value: object, annotation: Any) -> bool:
    if isinstance(annotation, UnionType):
        return any(_fits(value, each) for each in get_args(annotation))
    if isinstance(value, bool):
        return annotation is bool  # Python counts it among the int
    if get_origin(annotation) is Literal:
        return isinstance(value, str)
    return isinstance(value, get_origin(annotation) or annotation) or (annotation is float and type(value) is int)

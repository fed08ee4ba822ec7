"""Untyped values -> Structs, in Python: the slow rung that takes any JSON object and loses nothing.

For what a compiled decoder cannot take: names beyond a codec's bounds, a token id that is not an integer,
lone surrogates, NaN by opt-in, two values for one name. Members that fit are converted natively.
"""

from __future__ import annotations

import typing
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from fastcompletion._dialect import arguments, is_integer, members
from fastcompletion._extra import Added, Extensible

__all__ = ["build"]


def build(struct: type[Extensible], document: dict[str, Any], *, keep_unknown: bool, in_array: bool = False) -> Any:
    """One JSON object as ``struct``: what fits typed, what does not as it came, what is unknown in `extra`."""
    known = members(struct)
    values: dict[str, Any] = dict.fromkeys(struct.__struct_fields__, UNSET)
    extras: dict[str, Any] = {}
    for name, value in document.items():
        if name in known:
            attribute, annotation, _ = known[name]
            values[attribute] = _fit(annotation, value, keep_unknown)
        elif keep_unknown:
            extras[name] = value
    if extras or in_array:
        values["added_"] = Added(extras, in_array)
    return struct(**values)


def _fit(annotation: Any, value: Any, keep_unknown: bool) -> Any:
    if not isinstance(value, dict | list):
        return _exact_or_float(annotation, value)
    try:
        return msgspec.convert(value, annotation, str_keys=True)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        pass
    for part in arguments(annotation):
        origin = typing.get_origin(part)
        if isinstance(value, dict):
            document: dict[str, Any] = value
            if isinstance(part, type) and origin is None and issubclass(part, Struct):
                return build(typing.cast("type[Extensible]", part), document, keep_unknown=keep_unknown)
            if origin is dict:
                key, element = typing.get_args(part)
                as_key: Any = _integer_or_name if key is int else str
                return {as_key(name): _fit(element, item, keep_unknown) for name, item in document.items()}
        elif origin is list:
            (element,) = typing.get_args(part)
            items: list[Any] = value
            return [_fit(element, item, keep_unknown) for item in items]
    return typing.cast("Any", value)


def _exact_or_float(annotation: Any, value: Any) -> Any:
    """Where the schema has a float it is one, as the compiled decoders have it, unless it would overflow."""
    if isinstance(value, Decimal) and float in arguments(annotation) and abs(nearest := float(value)) != float("inf"):
        return nearest
    return value


def _integer_or_name(name: str) -> int | str:
    return int(name) if is_integer(name) else name

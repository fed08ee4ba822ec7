"""Untyped values -> Structs, in Python: the slow rung that takes any JSON object and loses nothing.

For what a compiled decoder cannot take: names beyond a codec's bounds, a token id that is not an integer,
lone surrogates, NaN by opt-in, two values for one name. Members that fit are converted natively.
"""

from __future__ import annotations

import typing
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from fastcompletion._dialect import arguments, is_foreign, is_integer, members
from fastcompletion._extra import Added, Extensible, is_array, is_object
from fastcompletion._root import marks_of
from fastcompletion._spell import encode_added, respell

__all__ = ["build"]


def build(
    struct: type[Extensible],
    document: dict[str, Any],
    *,
    keep_unknown: bool,
    allow_nonfinite: bool = False,
    in_array: bool = False,
) -> Any:
    """One JSON object as ``struct``: what fits typed, what does not as it came, what is unknown in `extra`."""

    def fit(annotation: Any, value: Any) -> Any:
        if not is_object(value) and not is_array(value):
            # Where the schema has a float it is one, as the compiled decoders have it.
            if isinstance(value, Decimal) and float in arguments(annotation):
                return float(value)
            if not is_foreign(annotation):
                return value
        try:
            return msgspec.convert(value, annotation, str_keys=True)
        except (msgspec.ValidationError, UnicodeError, RecursionError):
            pass
        for part in arguments(annotation):
            origin = typing.get_origin(part)
            if is_object(value) and isinstance(part, type) and origin is None and issubclass(part, Extensible):
                return build(part, value, keep_unknown=keep_unknown, allow_nonfinite=allow_nonfinite)
            if is_object(value) and origin is dict:
                key, element = typing.get_args(part)
                return {
                    int(name) if key is int and is_integer(name) else name: fit(element, item)
                    for name, item in value.items()
                }
            if is_array(value) and origin is list:
                (element,) = typing.get_args(part)
                return [fit(element, item) for item in value]
        return value  # pyright: ignore[reportUnknownVariableType]

    known = members(struct)
    values: dict[str, Any] = dict.fromkeys(struct.__struct_fields__, UNSET)
    extras: dict[str, Any] = {}
    for name, value in document.items():
        if name in known:
            attribute, annotation, _ = known[name]
            values[attribute] = fit(annotation, value)
        elif keep_unknown or name in marks_of(struct):
            # As JSON, so that reading it gives what reading a learnt one gives.
            extras[name] = Raw(encode_added(respell(value, allow_nonfinite=allow_nonfinite)))
    if extras or in_array:
        values["added_"] = Added(extras, in_array)
    return struct(**values)

"""What a body means, read by the standard library alone: neither of the engines that the library is made of."""

from __future__ import annotations

import json
import math
import types
import typing
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

import msgspec

import fastcompletion as fc

__all__ = ["ROOTS", "meaning", "root_of", "shape"]

ROOTS = (fc.ChatCompletion, fc.ChatCompletionChunk, fc.Completion, fc.ErrorResponse)


def root_of(value: Any) -> type[msgspec.Struct]:
    """Which of the four kinds of body a decoded one is."""
    (root,) = (root for root in ROOTS if isinstance(value, root))
    return root


def meaning(body: bytes, annotation: Any = Any) -> Any:
    """The JSON value of a body, in a form in which only equal JSON values are equal.

    true is not 1, 1 is not 1.0, -0.0 is not 0.0, and digits count, however many. Where `annotation` (a Struct of the
    schema, for a body) has a float, it is the same float that counts.
    """
    document = json.loads(body, parse_float=_exact)
    if isinstance(document, list) and isinstance(annotation, type):  # Gemini's error bodies
        annotation = list[annotation]  # type: ignore[valid-type]
    return _tagged(document, annotation)


def _exact(text: str) -> Decimal | tuple[str, str]:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent of over 18 digits
        return ("digits", text)


def _parts(annotation: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def _inside(annotation: Any, container: type, name: str = "") -> Any:
    """The annotation of what is inside a list or an object."""
    for part in _parts(annotation):
        if typing.get_origin(part) is container:
            return typing.get_args(part)[-1]
        if container is dict and isinstance(part, type) and issubclass(part, msgspec.Struct):
            return _annotations(part).get(name, Any)
    return Any


@cache
def _annotations(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Of the members of an object, by name."""
    hints = typing.get_type_hints(struct)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(struct)}


def _tagged(value: Any, annotation: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tagged(item, _inside(annotation, dict, name)) for name, item in value.items()}
    if isinstance(value, list):
        element = _inside(annotation, list)
        return [_tagged(item, element) for item in value]
    if isinstance(value, Decimal):
        if float in _parts(annotation) and math.isfinite(value):
            nearest = float(value)
            if math.isfinite(nearest):
                return ("float", math.copysign(1, nearest), nearest)
        return ("float", value.is_signed(), value)
    return (type(value).__name__, value)


def shape(value: Any) -> Any:
    """The types of a decoded value, of all that is in it, and of its extra members."""
    if isinstance(value, msgspec.Struct):
        schema = next(base for base in type(value).__mro__ if base in _SCHEMA)
        members = {name: shape(getattr(value, name)) for name in _SCHEMA[schema]}
        extra = {name: shape(item) for name, item in typing.cast("fc.Usage", value).extra.items()}
        return (schema.__name__, members, extra)
    if isinstance(value, dict):
        return {(type(key).__name__, key): shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value).__name__


_SCHEMA: dict[type[msgspec.Struct], list[str]] = {
    value: [field.name for field in msgspec.structs.fields(value) if field.name != "added_"]
    for value in vars(fc).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not fc.Deviation
}

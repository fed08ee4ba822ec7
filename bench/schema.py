"""fastcompletion's schema, for contenders that must have an equal one: the same members with the same types.

Read from the Structs themselves, so that no contender can be timed with a smaller or an older schema.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from functools import cache, reduce
from operator import or_
from typing import Any, Literal, Union

import msgspec
from msgspec import Struct

import fastcompletion as fc

__all__ = ["DROP", "ROOTS", "Member", "members", "names", "rebuild"]

ROOTS: tuple[type[Struct], ...] = (fc.ChatCompletion, fc.ChatCompletionChunk, fc.Completion, fc.ErrorResponse)
DROP: Any = object()  # what `replace` answers for a part that a union shall not have


class Member(typing.NamedTuple):
    """One member of a JSON object in the schema."""

    name: str
    annotation: Any
    default: Any  # msgspec.NODEFAULT where it is required, UNSET where it may be absent, or what `object` says


@cache
def members(struct: type[Struct]) -> list[Member]:
    """The members that ``struct`` has on the wire, in the order of the schema."""
    annotations = typing.get_type_hints(struct)
    return [
        Member(field.name, annotations[field.name], field.default)
        for field in msgspec.structs.fields(struct)
        if field.name == field.encode_name  # the others are the library's own
    ]


@cache
def names() -> frozenset[str]:
    """Every name that the schema knows, of whatever object."""
    found: set[str] = set()
    seen: set[type[Struct]] = set()

    def visit(part: Any) -> Any:
        if isinstance(part, type) and issubclass(part, Struct) and part not in seen:
            seen.add(part)
            for member in members(part):
                found.add(member.name)
                rebuild(member.annotation, visit)
        return part

    for root in ROOTS:
        visit(root)
    return frozenset(found)


def rebuild(annotation: Any, replace: Callable[[Any], Any]) -> Any:
    """``annotation`` with ``replace`` applied to every class in it, those in unions, lists and maps too."""
    origin = typing.get_origin(annotation)
    if origin is Literal:
        return annotation
    parts = [rebuild(argument, replace) for argument in typing.get_args(annotation)]
    if origin in (Union, types.UnionType):
        return reduce(or_, [part for part in parts if part is not DROP])
    return origin[tuple(parts)] if origin else replace(annotation)

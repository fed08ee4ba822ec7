"""What servers do against the schema: finding it in one body, and remembering it for an upstream.

`find` is one walk over an untyped body beside the schema's annotations. Each difference is a `Finding`: a
member nobody listed, one that is absent, or one of another JSON kind. A `Dialect` keeps what was found, in
bounds, and `_compile` makes Structs of it. Learning only ever adds kinds, so what decoded before decodes
alike afterwards, whatever the order of bodies.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar, Union, cast

import msgspec
from msgspec import Raw, Struct, UnsetType

from fastcompletion._extra import ADDED_NAME, Extensible, is_array, is_object

__all__ = [
    "Deviation",
    "Dialect",
    "Finding",
    "arguments",
    "find",
    "is_foreign",
    "is_integer",
    "members",
    "object_literal",
    "once",
]

R = TypeVar("R")

MAX_EXTRAS_PER_OBJECT = 64  # more names than any known server adds to one object; each costs a slot in it
MAX_DEVIATIONS = 512  # per codec; 34 hostile servers together need 59. Bounds memory and recompiling under a flood
MAX_NAME_LENGTH = 128  # characters; longer names are data (ids, URLs), which never come twice
_EXAMPLE_LENGTH = 60


class Deviation(Struct, frozen=True):
    """One thing a server does against the schema.

    Args:
        path: Where: ``$.choices[0].message.content`` in one body; ``$.choices[].message.content`` in a
            codec's list, for any position.
        kind: ``extra`` (a member the schema lacks), ``absent`` (a required one is missing), or the JSON kind
            that came where the schema has another: ``null``, ``bool``, ``int``, ``float``, ``str``,
            ``array``, ``object``; ``name`` for a token id that is not an integer.
        expected: What the schema has there, as Python spells the type; "" for an extra.
        example: The value that came, as JSON, shortened; "" where absent.

    >>> import fastcompletion as fc
    >>> body = b'{"object": "chat.completion", "id": "x", "created": 1.5, "model": "m", "choices": []}'
    >>> fc.deviations(fc.decode(body))
    [Deviation(path='$.created', kind='float', expected='int', example='1.5')]
    """

    path: str
    kind: str
    expected: str
    example: str


class Finding(NamedTuple):
    """A deviation as the walk sees it: enough to learn from it, and to tell a person."""

    owner: type[Struct]  # the schema's Struct
    member: str  # name on the wire
    depth: int  # 0: the member itself; 1: the elements of its array or map; ...
    kind: str
    steps: tuple[str | int, ...]
    annotation: Any
    value: Any

    def describe(self, *, any_position: bool = False) -> Deviation:
        """For people: with positions in arrays, or as a codec lists it, for any position."""
        return Deviation(
            path="$" + "".join(_spell_step(step, any_position) for step in self.steps),
            kind=self.kind,
            expected="" if self.kind == "extra" else _spell_type(self.annotation),
            example="" if self.kind == "absent" else _shorten(self.value),
        )


def _spell_step(step: str | int, any_position: bool) -> str:
    if isinstance(step, int):
        return "[]" if any_position else f"[{step}]"
    return f".{step}" if step.isidentifier() and step.isascii() else f"[{json.dumps(step)}]"


def _spell_type(annotation: Any) -> str:
    """`list[Choice] | None`, as a person would write it."""
    parts: list[str] = []
    for part in arguments(annotation):
        if part is UnsetType:
            continue
        name = "None" if part is type(None) else getattr(part, "__name__", str(part))
        inner = [repr(item) if isinstance(item, str) else _spell_type(item) for item in typing.get_args(part)]
        parts.append(f"{name}[{', '.join(inner)}]" if inner else name)
    return " | ".join(parts)


def _shorten(value: Any) -> str:
    text = json.dumps(_outline(value), ensure_ascii=False)
    return text if len(text) <= _EXAMPLE_LENGTH else text[: _EXAMPLE_LENGTH - 3] + "..."


def _outline(value: Any, depth: int = 3) -> Any:
    """As much of a value as an example can show: bodies may be megabytes, and nested without end."""
    if isinstance(value, str):
        return value[:_EXAMPLE_LENGTH].encode("utf-8", "replace").decode()
    if isinstance(value, Decimal | Raw):
        return float(str(value) if isinstance(value, Decimal) else bytes(value))
    if depth == 0 and isinstance(value, dict | list):
        return "..."
    if is_object(value):
        return {_outline(name): _outline(item, depth - 1) for name, item in list(value.items())[:8]}
    if is_array(value):
        return [_outline(item, depth - 1) for item in value[:_EXAMPLE_LENGTH]]
    return value


# -- the schema's annotations, read once ------------------------------------------------------------------


def once(function: Callable[[type[Any]], R]) -> Callable[[type[Any]], R]:
    """`functools.cache` for questions about a class, typed so that ``type[Any]`` may be asked."""
    return cast("Callable[[type[Any]], R]", cache(function))


@once
def _hints(struct: type[Struct]) -> dict[str, Any]:
    """Attribute -> annotation of a schema Struct, without the slot that `Extensible` adds."""
    return {name: hint for name, hint in typing.get_type_hints(struct).items() if name in struct.__struct_fields__}


@once
def members(struct: type[Struct]) -> dict[str, tuple[str, Any, bool]]:
    """Name on the wire -> (attribute, annotation, required) of a schema Struct."""
    annotations = _hints(struct)
    return {
        field.encode_name: (
            field.name,
            annotations[field.name],
            # A caller may leave `object` out, a server may not.
            field.required or (field.encode_name == "object" and object_literal(struct) is not None),
        )
        for field in msgspec.structs.fields(struct)
        if field.encode_name != ADDED_NAME
    }


@once
def object_literal(struct: type[Struct]) -> str | None:
    """What `object` must say for a body of this class of our schema; None for a part of a body."""
    if not issubclass(struct, Extensible):
        return None
    annotation = _hints(struct).get("object")
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is Literal else None


@cache
def arguments(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation itself."""
    if typing.get_origin(annotation) in (Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    Decimal: "float",
    Raw: "float",  # `exact_float`
    str: "str",
    list: "array",
    dict: "object",
}


@cache
def _accepted(annotation: Any) -> frozenset[str]:
    """The scalar kinds that an annotation takes."""
    kinds: set[str] = set()
    for part in arguments(annotation):
        if part is float:
            kinds |= {"float", "int"}
        elif part in _KINDS:
            kinds.add(_KINDS[part])
    return frozenset(kinds)


@cache
def is_foreign(annotation: Any) -> bool:
    """Is there a type in it that the schema never uses, such as a datetime or an enum in a caller's subclass?

    What such a type takes is msgspec's affair: nothing is found out or learnt about it.
    """
    return not all(
        part in _KINDS
        or part in (Any, UnsetType)
        or typing.get_origin(part) in (Literal, list, dict)
        or (_is_struct(part) and not part.__struct_config__.array_like)
        for part in arguments(annotation)
    )


# -- the walk ---------------------------------------------------------------------------------------------


def find(struct: type[Struct], document: dict[str, Any], steps: tuple[str | int, ...] = ()) -> Iterator[Finding]:
    """Every deviation of one JSON object from ``struct``, in the order of the schema, extras last."""
    known = members(struct)
    for name, (_, annotation, required) in known.items():
        if name in document:
            yield from _find_in(struct, name, 0, annotation, document[name], (*steps, name))
        elif required:
            yield Finding(struct, name, 0, "absent", (*steps, name), annotation, None)
    for name, value in document.items():
        if name not in known and name != struct.__struct_config__.tag_field:
            yield Finding(struct, name, 0, "extra", (*steps, name), None, value)


def _find_in(
    owner: type[Struct], member: str, depth: int, annotation: Any, value: Any, steps: tuple[str | int, ...]
) -> Iterator[Finding]:
    kind = _KINDS[type(value)]
    if kind in _accepted(annotation) or is_foreign(annotation):
        return
    for part in arguments(annotation):
        if part is Any:
            return
        origin = typing.get_origin(part)
        if origin is Literal and value in typing.get_args(part):
            return
        if kind == "array" and origin is list:
            (element,) = typing.get_args(part)
            for index, item in enumerate(value):
                yield from _find_in(owner, member, depth + 1, element, item, (*steps, index))
            return
        if kind == "object" and _is_struct(part) and _has_tag_of(part, value):
            yield from find(part, value, steps)
            return
        if kind == "object" and origin is dict:
            key, element = typing.get_args(part)
            for name, item in value.items():
                if key is int and not is_integer(name):
                    yield Finding(owner, member, depth + 1, "name", (*steps, name), key, name)
                yield from _find_in(owner, member, depth + 1, element, item, (*steps, name))
            return
    yield Finding(owner, member, depth, kind, steps, annotation, value)


def _is_struct(part: Any) -> TypeGuard[type[Struct]]:
    return isinstance(part, type) and typing.get_origin(part) is None and issubclass(part, Struct)


def _has_tag_of(struct: type[Struct], value: dict[str, Any]) -> bool:
    config = struct.__struct_config__
    return config.tag_field is None or value.get(config.tag_field) == config.tag


def is_integer(name: str) -> bool:
    """Does msgspec take this name as an integer? Canonical decimals only: "01", "+1" and "-0" are text."""
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits[0] != "0" or name == "0") and len(digits) <= 4300


# -- what a codec has learnt ------------------------------------------------------------------------------


class Dialect:
    """The deviations of one upstream, each once, in bounds."""

    def __init__(self) -> None:
        self.extras: dict[type[Struct], list[str]] = {}
        self.kinds: dict[tuple[type[Struct], str, int], set[str]] = {}
        self.deviations: dict[tuple[type[Struct], str, int, str], Deviation] = {}
        self.full = False

    def learn(self, findings: Iterator[Finding]) -> bool:
        """Add what can be compiled into Structs; say whether anything was new."""
        news = False
        for finding in findings:
            key = (finding.owner, finding.member, finding.depth, finding.kind)
            if key in self.deviations or not self._can_learn(finding):
                continue
            if len(self.deviations) >= MAX_DEVIATIONS:
                self.full = True
                break
            self.deviations[key] = finding.describe(any_position=True)
            if finding.kind == "extra":
                self.extras.setdefault(finding.owner, []).append(finding.member)
            elif finding.member != "object" or object_literal(finding.owner) is None:
                # (`object` is decided by the shape of the whole body, not learnt: see `_compile`.)
                self.kinds.setdefault(key[:3], set()).add(finding.kind)
            news = True
        return news

    def _can_learn(self, finding: Finding) -> bool:
        if finding.kind == "name":
            return False
        if finding.kind == "float":  # compiled as Any, which would hide the types of what is inside
            return not any(typing.get_origin(part) or _is_struct(part) for part in arguments(finding.annotation))
        if finding.kind != "extra":
            return True
        # msgspec refuses quotes, backslashes and control characters in the name of a field.
        name = finding.member
        return (
            len(self.extras.get(finding.owner, ())) < MAX_EXTRAS_PER_OBJECT
            and len(name) <= MAX_NAME_LENGTH
            and name != ADDED_NAME
            and not any(
                character in '"\\' or character < " " or "\ud800" <= character <= "\udfff" for character in name
            )
        )

    def has(self, owner: type[Struct], member: str, kind: str) -> bool:
        """Whether a deviation of this kind was learnt of a member (not of what is inside it)."""
        return (owner, member, 0, kind) in self.deviations

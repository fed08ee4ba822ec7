"""Objects of the schema <-> dicts of their members, whatever is typed, extra, learnt or odd about them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from fastcompletion._dialect import members
from fastcompletion._errors import LimitError
from fastcompletion._extra import Added, is_array, is_object, read_raw, stored

__all__ = [
    "Members",
    "assemble",
    "changes",
    "elements",
    "fit",
    "joined",
    "members_in",
    "members_of",
    "merge",
    "none_if_null",
    "plain",
]

Members: TypeAlias = dict[str, Any]
S = TypeVar("S", bound=Struct)


def members_of(obj: Any) -> Iterator[tuple[str, Any]]:
    """The (name, value) pairs of an object, extras included, which are mostly `Raw`; a null among them is None."""
    for name, (attribute, _, _) in members(obj.__schema__).items():
        value = getattr(obj, attribute)
        if value is not UNSET:
            yield name, value
    for name, value in stored(obj).items():
        yield name, none_if_null(value)


def none_if_null(value: Any) -> Any:
    """A value, or None if it is the `Raw` of a null."""
    return None if isinstance(value, Raw) and bytes(value) == b"null" else value


def changes(before: Any, after: Any) -> Iterator[tuple[str, str, Any]]:
    """The (attribute, name, value) of what ``after`` has, and ``before``, of the same class, has not."""
    if after.added_ is not UNSET:
        yield from (("added_", name, value) for name, value in members_of(after))
        return
    for attribute, name in _names_of(after.__class__):
        value = getattr(after, attribute)
        if value is not UNSET and value != getattr(before, attribute):
            yield attribute, name, none_if_null(value)


@lru_cache(maxsize=64)  # of classes that are compiled and given up as codecs learn
def _names_of(cls: Any) -> tuple[tuple[str, str], ...]:
    """The (attribute, name on the wire) pairs of a class, learnt ones included."""
    known = ((attribute, name) for name, (attribute, _, _) in members(cls.__schema__).items())
    return (*known, *((slot, name) for name, slot in cls.__learnt__.items()))


class _Merged(Members):
    """An object that came in parts: its members, of which those of extras are `Raw`."""


def merge(own: Members, name: str, value: Any) -> None:
    """The last one that is not null; objects member by member, since servers send one in parts (sglext, x_groq)."""
    known = own.get(name)
    if known is not None and (parts := members_in(value)) is not None:
        if not isinstance(known, _Merged) and (first := members_in(known)) is not None:
            known = own[name] = _Merged(first)
        if isinstance(known, _Merged):
            known.update(parts)
            return
    own[name] = value


def members_in(value: Any) -> Members | None:
    """The members of an object, those of a `Raw` as `Raw`; None if it is none."""
    if isinstance(value, Raw) and bytes(value).startswith(b"{"):
        try:
            return _RAW_MEMBERS.decode(value)
        except _UNREADABLE:
            value = plain(value)
    return value if is_object(value) else None


def elements(value: Any) -> list[Any] | None:
    """The elements of an array, those of a `Raw` as `Raw`; None if it is none."""
    if isinstance(value, Raw) and bytes(value).startswith(b"["):
        try:
            return _RAW_ELEMENTS.decode(value)
        except _UNREADABLE:
            value = plain(value)
    return value if is_array(value) else None


_RAW_MEMBERS = msgspec.json.Decoder(dict[str, Raw])
_RAW_ELEMENTS = msgspec.json.Decoder(list[Raw])
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)  # lone surrogates, NaN by opt-in


def joined(parts: Any) -> Any:
    """One value of the parts of an array or an object: JSON as it came, if all of them are."""
    values = [*parts.values()] if is_object(parts) else parts
    if values and all(isinstance(value, Raw) for value in values):
        return Raw(msgspec.json.encode(parts))
    values = [plain(value) if isinstance(value, Raw) else _copied(value) for value in values]
    return dict(zip(parts, values, strict=True)) if is_object(parts) else values


def plain(value: Any) -> Any:
    """An extra as a value; as its bytes, where Python does not read them (too many digits, nested too deeply)."""
    try:
        return read_raw(value, exact=True)
    except LimitError:
        return value


def fit(struct: type[Any], name: str, value: Any) -> Any:
    """A value as the schema has it, where it fits."""
    annotation = members(struct)[name][1]
    try:
        if isinstance(value, Raw):
            return msgspec.json.decode(value, type=annotation)
        return msgspec.convert(value, annotation, str_keys=True)
    except _UNREADABLE:
        return plain(value)


def assemble(struct: type[S], own: Members) -> S:
    """An object of the schema; what it has no member for goes into `extra`."""
    known = members(struct)
    values: Members = dict.fromkeys(struct.__struct_fields__, UNSET)
    extras: Members = {}
    for name, part in own.items():
        value = joined(part) if isinstance(part, _Merged) else _copied(part)
        if name in known:
            values[known[name][0]] = fit(struct, name, value) if isinstance(value, Raw) else value
        else:
            extras[name] = value
    if "object" in values and values["object"] is UNSET:
        del values["object"]
    if extras:
        values["added_"] = Added(extras)
    return struct(**values)


def _copied(value: Any) -> Any:
    """A value that its new owner may change."""
    if is_array(value):
        return [*value]
    try:
        return copy.deepcopy(value) if is_object(value) else value
    except RecursionError:
        return value

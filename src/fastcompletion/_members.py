"""Objects of the schema <-> dicts of their members, whatever is typed, extra, learnt or odd about them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from fastcompletion._dialect import members
from fastcompletion._extra import Added, is_array, is_object, read_raw, stored

__all__ = ["Members", "assemble", "changes", "fit", "members_of", "merge", "plain"]

Members: TypeAlias = dict[str, Any]
S = TypeVar("S", bound=Struct)


def members_of(obj: Any) -> Iterator[tuple[str, Any]]:
    """The (name, value) pairs of an object, extras included, which are mostly `Raw`; a null among them is None."""
    for name, (attribute, _, _) in members(obj.__schema__).items():
        value = getattr(obj, attribute)
        if value is not UNSET:
            yield name, value
    for name, value in stored(obj).items():
        yield name, None if isinstance(value, Raw) and bytes(value) == b"null" else value


def changes(before: Any, after: Any) -> Iterator[tuple[str, Any]]:
    """What `members_of` would give of ``after``, but for what ``before``, of the same class, has too."""
    if after.added_ is not UNSET:
        yield from members_of(after)
        return
    for attribute, name in _names_of(after.__class__):
        value = getattr(after, attribute)
        if value is not UNSET and value != getattr(before, attribute):
            yield name, None if isinstance(value, Raw) and bytes(value) == b"null" else value


@lru_cache(maxsize=64)  # of classes that are compiled and given up as codecs learn
def _names_of(cls: Any) -> tuple[tuple[str, str], ...]:
    """The (attribute, name on the wire) pairs of a class, learnt ones included."""
    known = ((attribute, name) for name, (attribute, _, _) in members(cls.__schema__).items())
    return (*known, *((slot, name) for name, slot in cls.__learnt__.items()))


def merge(own: Members, name: str, value: Any) -> None:
    """The last one that is not null; objects member by member, since servers send one in parts (sglext, x_groq)."""
    known = own.get(name)
    if _is_map(known) and _is_map(value):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):  # a lone surrogate: the last one, whole
            merged = {**_map(known), **_map(value)}
            value = Raw(msgspec.json.encode(merged)) if isinstance(value, Raw) else merged
    own[name] = value


def _is_map(value: Any) -> bool:
    return is_object(value) or (isinstance(value, Raw) and bytes(value).startswith(b"{"))


def _map(value: Any) -> Members:
    return _RAW_MEMBERS.decode(value) if isinstance(value, Raw) else value


_RAW_MEMBERS = msgspec.json.Decoder(dict[str, Raw])


def plain(value: Any) -> Any:
    """An extra as a value."""
    if is_object(value):
        return {name: plain(item) for name, item in value.items()}
    return read_raw(value, exact=True)


def fit(struct: type[Any], name: str, value: Any) -> Any:
    """A value as the schema has it, where it fits."""
    annotation = members(struct)[name][1]
    try:
        if isinstance(value, Raw):
            return msgspec.json.decode(value, type=annotation)
        return msgspec.convert(value, annotation, str_keys=True)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return plain(value)


def assemble(struct: type[S], own: Members) -> S:
    """An object of the schema; what it has no member for goes into `extra`."""
    known = members(struct)
    values: Members = dict.fromkeys(struct.__struct_fields__, UNSET)
    extras: Members = {}
    for name, value in own.items():
        if name in known:
            values[known[name][0]] = fit(struct, name, value) if isinstance(value, Raw) else _copied(value)
        else:
            extras[name] = _copied(value)
    if "object" in values and values["object"] is UNSET:
        del values["object"]
    if extras:
        values["added_"] = Added(extras)
    return struct(**values)


def _copied(value: Any) -> Any:
    """A value that its new owner may change."""
    if is_array(value):
        return [*value]
    return copy.deepcopy(value) if is_object(value) else value

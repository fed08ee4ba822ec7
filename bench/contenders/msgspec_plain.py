"""msgspec alone: ordinary Structs of the same members. Lossy: what they do not name is dropped without a word."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct, defstruct

import fastcompletion as fc
from bench import schema
from bench.check import Keeps

NAME = "msgspec (lossy)"
KEEPS = Keeps.KNOWN
JOBS = ("decode", "encode")

_made: dict[type[Struct], type[Struct]] = {}


def _ordinary(part: Any) -> Any:
    """The same Struct as anyone would write it: unknown members allowed, tracked by the garbage collector."""
    if not isinstance(part, type) or not issubclass(part, Struct):
        return part
    if part not in _made:
        fields: list[Any] = []
        for name, annotation, default in schema.members(part):
            rebuilt = schema.rebuild(annotation, _ordinary)
            fields.append((name, rebuilt) if default is NODEFAULT else (name, rebuilt, default))
        _made[part] = defstruct(part.__name__, fields, kw_only=True)
    return _made[part]


decode = msgspec.json.Decoder(_ordinary(fc.ChatCompletion)).decode
encode = msgspec.json.Encoder().encode


def plain(completion: Any) -> Any:
    return msgspec.to_builtins(completion, str_keys=True)

"""pydantic models of the same members and types, with `extra="allow"`, so that they keep unknown members too.

Where the two could differ, they are as suits pydantic best: floats are floats (the schema's `int | float` is a slower
union), and members that may be absent may also be null.
"""

from __future__ import annotations

from typing import Any

import pydantic
from msgspec import NODEFAULT, UNSET, Struct, UnsetType

import fastcompletion as fc
from bench import schema
from bench.check import Keeps

NAME = "pydantic"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")


class _Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")


_made: dict[type[Struct], type[_Model]] = {}


def _model(part: Any) -> Any:
    if part is UnsetType:
        return schema.DROP
    if not isinstance(part, type) or not issubclass(part, Struct):
        return part
    if part not in _made:
        fields: dict[str, Any] = {}
        for name, annotation, default in schema.members(part):
            rebuilt = schema.rebuild(annotation, _model)
            if default is UNSET:
                fields[name] = rebuilt | None, None
            else:
                fields[name] = rebuilt, ... if default is NODEFAULT else default
        _made[part] = pydantic.create_model(part.__name__, __base__=_Model, **fields)
    return _made[part]


MODELS: dict[str, type[pydantic.BaseModel]] = {root.__name__: _model(root) for root in schema.ROOTS}
_Completion = MODELS[fc.ChatCompletion.__name__]

decode = _Completion.model_validate_json


def encode(completion: pydantic.BaseModel) -> bytes:
    return completion.model_dump_json(exclude_unset=True).encode()


def plain(completion: pydantic.BaseModel) -> Any:
    return completion.model_dump(mode="json", exclude_unset=True)

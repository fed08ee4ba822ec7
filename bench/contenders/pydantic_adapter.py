"""pydantic's `TypeAdapter` over the same models: its way to bytes that makes no str on the way."""

from __future__ import annotations

from typing import Any

import pydantic

import fastcompletion as fc
from bench.check import Keeps
from bench.contenders.pydantic_model import MODELS

NAME = "pydantic, TypeAdapter"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")

_adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(MODELS[fc.ChatCompletion.__name__])
decode = _adapter.validate_json


def encode(completion: pydantic.BaseModel) -> bytes:
    return _adapter.dump_json(completion, exclude_unset=True)


def plain(completion: pydantic.BaseModel) -> Any:
    return _adapter.dump_python(completion, mode="json", exclude_unset=True)

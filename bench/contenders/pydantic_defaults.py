"""pydantic's plain `model_dump_json()`: does not remember what was sent, and writes every member of the schema."""

from __future__ import annotations

import pydantic

from bench.check import Keeps
from bench.contenders.pydantic_model import decode, plain

__all__ = ["JOBS", "KEEPS", "NAME", "decode", "encode", "plain"]

NAME = "pydantic, all members"
KEEPS = Keeps.NULLS
JOBS = ("encode",)


def encode(completion: pydantic.BaseModel) -> bytes:
    return completion.model_dump_json().encode()

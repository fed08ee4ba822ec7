"""The OpenAI SDK as its client works: `construct` over the parsed body, which checks nothing.

The body is parsed by orjson, where the SDK itself uses the slower `json`.
"""

from __future__ import annotations

from typing import Any

import orjson
from openai.types.chat import ChatCompletion

from bench.check import Keeps

NAME = "openai SDK"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")


def decode(body: bytes) -> ChatCompletion:
    return ChatCompletion.construct(**orjson.loads(body))


def encode(completion: ChatCompletion) -> bytes:
    return completion.to_json(indent=None).encode()


def plain(completion: ChatCompletion) -> Any:
    return completion.to_dict(mode="json")

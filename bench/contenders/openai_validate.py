"""The OpenAI SDK's model, validating: not what its client does, but what a server that uses the models can do."""

from __future__ import annotations

from openai.types.chat import ChatCompletion

from bench.check import Keeps
from bench.contenders.openai_sdk import encode, plain

__all__ = ["JOBS", "KEEPS", "NAME", "decode", "encode", "plain"]

NAME = "openai SDK, validating"
KEEPS = Keeps.ALL
JOBS = ("decode",)

decode = ChatCompletion.model_validate_json

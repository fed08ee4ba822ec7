"""Against independent implementations: the standard library, pydantic, and the OpenAI SDK, on the same bodies."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import openai.types.chat as sdk
import openai.types.completion as sdk_text
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai._models import construct_type
from pydantic import BaseModel, TypeAdapter

import fastcompletion as fc
from tests import oracle, strategies, vectors
from tests.budget import examples

MODELS: dict[type[msgspec.Struct], type[BaseModel]] = {
    fc.ChatCompletion: sdk.ChatCompletion,
    fc.ChatCompletionChunk: sdk.ChatCompletionChunk,
    fc.Completion: sdk_text.Completion,
}
COUNT = st.integers(0, 10**6)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
LOGPROB = st.floats(-100, 0)


def optional(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | value


TOP = st.fixed_dictionaries(
    {"token": TEXT, "logprob": LOGPROB, "bytes": optional(st.lists(st.integers(0, 255), max_size=3))}
)
TOKEN = st.builds(lambda one, tops: {**one, "top_logprobs": tops}, TOP, st.lists(TOP, max_size=2))
LOGPROBS = st.fixed_dictionaries({"content": optional(st.lists(TOKEN, max_size=2)), "refusal": st.none()})
FUNCTION = st.fixed_dictionaries({"name": TEXT, "arguments": TEXT})
CALL = st.fixed_dictionaries({"id": TEXT, "type": st.just("function"), "function": FUNCTION})
USAGE = st.fixed_dictionaries(
    {"prompt_tokens": COUNT, "completion_tokens": COUNT, "total_tokens": COUNT},
    optional={
        "prompt_tokens_details": optional(st.fixed_dictionaries({}, optional={"cached_tokens": optional(COUNT)}))
    },
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": optional(TEXT), "refusal": optional(TEXT)},
    optional={"tool_calls": st.lists(CALL, max_size=2), "function_call": optional(FUNCTION)},
)
REASON = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "function_call"])
CHOICE = st.fixed_dictionaries(
    {"index": st.integers(0, 3), "message": MESSAGE, "finish_reason": REASON, "logprobs": optional(LOGPROBS)}
)
CHAT = st.fixed_dictionaries(
    {
        "id": TEXT,
        "object": st.just("chat.completion"),
        "created": COUNT,
        "model": TEXT,
        "choices": st.lists(CHOICE, max_size=2),
    },
    optional={
        "usage": optional(USAGE),
        "system_fingerprint": optional(TEXT),
        "service_tier": st.sampled_from(["default"]),
    },
)
CALL_DELTA = st.fixed_dictionaries(
    {"index": st.integers(0, 3)},
    optional={
        "id": TEXT,
        "type": st.just("function"),
        "function": st.fixed_dictionaries({}, optional={"name": TEXT, "arguments": TEXT}),
    },
)
DELTA = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": optional(TEXT),
        "refusal": optional(TEXT),
        "tool_calls": st.lists(CALL_DELTA, max_size=2),
    },
)
CHUNK_CHOICE = st.fixed_dictionaries(
    {"index": st.integers(0, 3), "delta": DELTA, "finish_reason": optional(REASON)},
    optional={"logprobs": optional(LOGPROBS)},
)
CHUNK = st.fixed_dictionaries(
    {
        "id": TEXT,
        "object": st.just("chat.completion.chunk"),
        "created": COUNT,
        "model": TEXT,
        "choices": st.lists(CHUNK_CHOICE, max_size=2),
    },
    optional={"usage": optional(USAGE), "system_fingerprint": optional(TEXT)},
)
TEXT_LOGPROBS = st.fixed_dictionaries(
    {
        "tokens": st.lists(TEXT, max_size=2),
        "token_logprobs": st.lists(LOGPROB, max_size=2),
        "text_offset": st.lists(COUNT, max_size=2),
        "top_logprobs": st.lists(st.dictionaries(TEXT, LOGPROB, max_size=2), max_size=2),
    }
)
TEXT_CHOICE = st.fixed_dictionaries(
    {
        "index": st.integers(0, 3),
        "text": TEXT,
        "finish_reason": st.sampled_from(["stop", "length", "content_filter"]),
        "logprobs": optional(TEXT_LOGPROBS),
    }
)
TEXT_COMPLETION = st.fixed_dictionaries(
    {
        "id": TEXT,
        "object": st.just("text_completion"),
        "created": COUNT,
        "model": TEXT,
        "choices": st.lists(TEXT_CHOICE, max_size=2),
    },
    optional={"usage": optional(USAGE), "system_fingerprint": optional(TEXT)},
)


def assert_agrees(ours: Any, theirs: Any, path: str = "$") -> None:
    """That every member that both have has the same value; theirs has None where ours has UNSET."""
    if isinstance(theirs, BaseModel):
        for name in type(theirs).model_fields:
            value = getattr(ours, name) if hasattr(ours, name) else ours.extra.get(name)
            assert_agrees(value, getattr(theirs, name), f"{path}.{name}")
        for name, value in (theirs.model_extra or {}).items():
            assert_agrees(ours.extra[name] if name in ours.extra else getattr(ours, name), value, f"{path}.{name}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), path
        for position, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_agrees(one, other, f"{path}[{position}]")
    elif theirs is None:
        assert ours is None or ours is msgspec.UNSET, path
    elif isinstance(ours, msgspec.Struct):
        assert json.loads(fc.encode(ours)) == theirs, path
    else:
        assert ours == theirs, path
        assert isinstance(ours, bool) == isinstance(theirs, bool), path


@examples(200)
@given(CHAT | CHUNK | TEXT_COMPLETION, strategies.layouts)
def test_the_sdk_agrees(document: Any, layout: strategies.Layout) -> None:
    body = json.dumps(document, indent=1 if layout.space == "pretty" else None).encode()
    ours: Any = fc.Codec(strict=True).decode(body)
    model = MODELS[oracle.root_of(ours)]
    validated = TypeAdapter(model).validate_json(body)
    assert_agrees(ours, validated)
    assert_agrees(ours, construct_type(value=json.loads(body), type_=model))
    assert json.loads(fc.encode(ours)) == document
    assert TypeAdapter(model).validate_json(fc.encode(ours)) == validated


@pytest.mark.parametrize("name", vectors.bodies())
def test_the_sdk_as_it_runs_agrees(name: str) -> None:
    """It constructs without validating: bodies of every dialect. What ours has beyond its types, it has as extras."""
    body = vectors.bodies()[name]
    document = json.loads(body.removeprefix(b"\xef\xbb\xbf"))
    value = fc.Codec().decode(body)
    for root, model in MODELS.items():
        if isinstance(value, root):
            theirs: Any = construct_type(value=document, type_=model)
            for member in ("id", "created", "model"):
                ours = getattr(value, member)
                assert (None if ours is msgspec.UNSET else ours) == getattr(theirs, member, None)
            if value.usage and isinstance(value.usage, fc.Usage):
                assert (value.usage.total_tokens or None) == (theirs.usage.total_tokens or None)
            return
    assert isinstance(value, fc.ErrorResponse)


@examples(150)
@given(strategies.bodies())
def test_the_standard_library_agrees(body: bytes) -> None:
    try:
        value = fc.Codec().decode(body)
    except fc.SchemaError:
        return
    document = json.loads(body)
    document = document[0] if isinstance(document, list) else document
    for member in type(value).__struct_encode_fields__:
        ours = getattr(value, member, msgspec.UNSET)
        if isinstance(ours, str | int | bool | None):
            assert ours == document[member]
            assert type(ours) is type(document[member])
    for name, item in value.extra.items():
        assert item == document[name]

"""`fastcompletion.openai` against the document it follows, and against the OpenAI library's own models."""

import json
import typing
from typing import Any, Literal, TypeGuard

import msgspec
import openai.types.chat as sdk
import pydantic
import pytest
from msgspec.structs import FieldInfo
from openai.types import completion_usage as sdk_usage
from openai.types.chat import chat_completion as sdk_completion
from openai.types.chat import chat_completion_audio as sdk_audio
from openai.types.chat import chat_completion_message as sdk_message
from openai.types.chat import chat_completion_message_custom_tool_call as sdk_custom
from openai.types.chat import chat_completion_message_function_tool_call as sdk_function
from openai.types.chat import chat_completion_token_logprob as sdk_logprob

from fastcompletion import openai

REQUIRED = "(required)"

# The three types of the document, member by member: type and default. The order is the document's (by name).
DOCUMENT: dict[str, dict[str, tuple[Any, Any]]] = {
    "ChatCompletion": {
        "choices": (list[openai.Choice], REQUIRED),
        "created": (int, REQUIRED),
        "id": (str, REQUIRED),
        "model": (str, REQUIRED),
        "object": (Literal["chat.completion"], REQUIRED),
        "system_fingerprint": (str | None, None),
        "usage": (openai.CompletionUsage | None, None),
    },
    "Choice": {
        "finish_reason": (Literal["stop", "length", "tool_calls", "content_filter", "function_call"], REQUIRED),
        "index": (int, REQUIRED),
        "logprobs": (openai.ChoiceLogprobs | None, None),
        "message": (openai.ChatCompletionMessage, REQUIRED),
    },
    "ChoiceLogprobs": {
        "content": (list[openai.ChatCompletionTokenLogprob] | None, None),
    },
}

# Every Struct, and the type of the OpenAI library that has the same members.
SDK: dict[str, type[pydantic.BaseModel]] = {
    "Annotation": sdk_message.Annotation,
    "AnnotationURLCitation": sdk_message.AnnotationURLCitation,
    "ChatCompletion": sdk_completion.ChatCompletion,
    "ChatCompletionAudio": sdk_audio.ChatCompletionAudio,
    "ChatCompletionMessage": sdk_message.ChatCompletionMessage,
    "ChatCompletionMessageCustomToolCall": sdk_custom.ChatCompletionMessageCustomToolCall,
    "ChatCompletionMessageFunctionToolCall": sdk_function.ChatCompletionMessageFunctionToolCall,
    "ChatCompletionTokenLogprob": sdk_logprob.ChatCompletionTokenLogprob,
    "Choice": sdk_completion.Choice,
    "ChoiceLogprobs": sdk_completion.ChoiceLogprobs,
    "CompletionTokensDetails": sdk_usage.CompletionTokensDetails,
    "CompletionUsage": sdk_usage.CompletionUsage,
    "Custom": sdk_custom.Custom,
    "FunctionCall": sdk_message.FunctionCall,
    "PromptTokensDetails": sdk_usage.PromptTokensDetails,
    "TopLogprob": sdk_logprob.TopLogprob,
}

# What the library has and the document, an earlier one, has not.
LATER = {
    "ChatCompletion": {"metadata", "moderation", "service_tier"},
    "ChoiceLogprobs": {"refusal"},
}

STRUCTS = [name for name in openai.__all__ if isinstance(getattr(openai, name), type)]

TOKEN = {"token": "Hi", "logprob": -0.25, "bytes": [72, 105]}


def fields(name: str) -> dict[str, FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(getattr(openai, name))}


def body(**changes: Any) -> dict[str, Any]:
    """A plain answer of the OpenAI API, with some top-level members changed."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "gpt-4o-mini",
        "choices": [choice()],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        "system_fingerprint": "fp_1",
        **changes,
    }


def choice(**changes: Any) -> dict[str, Any]:
    plain = {"index": 0, "message": message(), "logprobs": None, "finish_reason": "stop"}
    return {**plain, **changes}


def message(**changes: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "Hi", "refusal": None, **changes}


def in_message(**changes: Any) -> dict[str, Any]:
    return body(choices=[choice(message=message(**changes))])


FUNCTION_CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
CUSTOM_CALL = {"id": "call_2", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
CITATION = {
    "type": "url_citation",
    "url_citation": {"end_index": 2, "start_index": 0, "title": "Hi", "url": "https://example.org/"},
}

TYPICAL: dict[str, dict[str, Any]] = {
    "plain": body(),
    "no optional member": {key: value for key, value in body().items() if key not in {"usage", "system_fingerprint"}},
    "nothing chosen": body(choices=[]),
    "several choices": body(choices=[choice(), choice(index=1, finish_reason="length")]),
    "refusal": in_message(content=None, refusal="I cannot help with that."),
    "annotations": in_message(annotations=[CITATION]),
    "audio": in_message(
        content=None, audio={"id": "audio_1", "data": "UklGRg==", "expires_at": 1700003600, "transcript": "Hi"}
    ),
    "legacy function call": body(
        choices=[
            choice(
                message=message(content=None, function_call={"name": "f", "arguments": "{}"}),
                finish_reason="function_call",
            )
        ]
    ),
    "tool calls": body(
        choices=[
            choice(message=message(content=None, tool_calls=[FUNCTION_CALL, CUSTOM_CALL]), finish_reason="tool_calls")
        ]
    ),
    "logprobs": body(
        choices=[
            choice(
                logprobs={
                    "content": [
                        {**TOKEN, "top_logprobs": [TOKEN, {"token": "\ufffd", "logprob": -9999.0, "bytes": None}]},
                        {**TOKEN, "top_logprobs": []},
                    ]
                }
            )
        ]
    ),
    "usage details": body(
        usage={
            "prompt_tokens": 9,
            "completion_tokens": 2,
            "total_tokens": 11,
            "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 1,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }
    ),
}


def decode(value: Any) -> openai.ChatCompletion:
    return msgspec.json.decode(json.dumps(value), type=openai.ChatCompletion)


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def without_nulls(value: Any) -> Any:
    if is_object(value):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    if is_array(value):
        return [without_nulls(item) for item in value]
    return value


# The members


@pytest.mark.parametrize("name", DOCUMENT)
def test_members_of_the_document(name: str) -> None:
    hints = typing.get_type_hints(getattr(openai, name))
    ours = {
        field.name: (hints[field.name], REQUIRED if field.required else field.default)
        for field in fields(name).values()
    }
    assert ours == DOCUMENT[name]


def test_every_struct_is_compared_with_the_library() -> None:
    assert sorted(STRUCTS) == sorted(SDK)


@pytest.mark.parametrize("name", STRUCTS)
def test_members_of_the_library(name: str) -> None:
    theirs = {
        member: field.is_required()
        for member, field in SDK[name].model_fields.items()
        if member not in LATER.get(name, ())
    }
    ours = {member: field.required for member, field in fields(name).items()}
    tag = getattr(openai, name).__struct_config__.tag_field
    if tag is not None:
        ours[tag] = True  # a union of tagged Structs refuses an object without its tag
    assert ours == theirs


@pytest.mark.parametrize("name", STRUCTS)
def test_what_is_not_required_defaults_to_null(name: str) -> None:
    assert all(field.required or field.default is None for field in fields(name).values())


@pytest.mark.parametrize("name", LATER)
def test_what_the_library_added_later_is_still_there(name: str) -> None:
    assert LATER[name] <= SDK[name].model_fields.keys()


def test_both_tool_calls_of_the_library_have_the_same_function() -> None:
    assert sdk_function.Function.model_fields.keys() == sdk_message.FunctionCall.model_fields.keys()


@pytest.mark.parametrize("name", [name for name in STRUCTS if fields(name)])
def test_constructors_take_keywords_only(name: str) -> None:
    with pytest.raises(TypeError, match="positional"):
        getattr(openai, name)("x")


# Decoding


@pytest.mark.parametrize("name", TYPICAL)
def test_typical_bodies_come_back_as_sent(name: str) -> None:
    again = json.loads(msgspec.json.encode(decode(TYPICAL[name])))
    # Only the nulls of optional members are new.
    assert without_nulls(again) == without_nulls(TYPICAL[name])


def test_values() -> None:
    completion = decode(TYPICAL["logprobs"])
    assert completion.choices[0].message.content == "Hi"
    assert completion.usage == openai.CompletionUsage(prompt_tokens=9, completion_tokens=2, total_tokens=11)
    assert completion.choices[0].logprobs == openai.ChoiceLogprobs(
        content=[
            openai.ChatCompletionTokenLogprob(
                token="Hi",
                logprob=-0.25,
                bytes=[72, 105],
                top_logprobs=[
                    openai.TopLogprob(token="Hi", logprob=-0.25, bytes=[72, 105]),
                    openai.TopLogprob(token="\ufffd", logprob=-9999.0),
                ],
            ),
            openai.ChatCompletionTokenLogprob(token="Hi", logprob=-0.25, bytes=[72, 105], top_logprobs=[]),
        ]
    )


def test_tool_calls_are_told_apart_by_type() -> None:
    calls = decode(TYPICAL["tool calls"]).choices[0].message.tool_calls or []
    assert [call.type for call in calls] == ["function", "custom"]
    seen: list[str] = []
    for call in calls:
        if call.type == "custom":
            seen.append(call.custom.input)
        else:
            seen.append(call.function.arguments)
    assert seen == ['{"a": 1}', "SELECT 1"]


@pytest.mark.parametrize("reason", typing.get_args(openai.FinishReason))
def test_finish_reasons(reason: str) -> None:
    assert decode(body(choices=[choice(finish_reason=reason)])).choices[0].finish_reason == reason


def test_unknown_members_are_dropped() -> None:
    assert decode({**in_message(reasoning="hm"), "service_tier": "default"}) == decode(body())


# Refusals

MISSING = [
    (TYPICAL["plain"], "id", "$"),
    (TYPICAL["plain"], "object", "$"),
    (TYPICAL["plain"], "created", "$"),
    (TYPICAL["plain"], "model", "$"),
    (TYPICAL["plain"], "choices", "$"),
    (TYPICAL["plain"], "index", "$.choices[0]"),
    (TYPICAL["plain"], "message", "$.choices[0]"),
    (TYPICAL["plain"], "finish_reason", "$.choices[0]"),
    (TYPICAL["plain"], "role", "$.choices[0].message"),
    (TYPICAL["plain"], "total_tokens", "$.usage"),
    (TYPICAL["tool calls"], "type", "$.choices[0].message.tool_calls[0]"),
    (TYPICAL["tool calls"], "arguments", "$.choices[0].message.tool_calls[0].function"),
    (TYPICAL["tool calls"], "input", "$.choices[0].message.tool_calls[1].custom"),
    (TYPICAL["annotations"], "url", "$.choices[0].message.annotations[0].url_citation"),
    (TYPICAL["audio"], "transcript", "$.choices[0].message.audio"),
    (TYPICAL["logprobs"], "top_logprobs", "$.choices[0].logprobs.content[0]"),
    (TYPICAL["logprobs"], "logprob", "$.choices[0].logprobs.content[0].top_logprobs[0]"),
]


def holder(value: Any, path: str) -> Any:
    """The object at a path such as `$.choices[0].message`."""
    for step in path.replace("[", ".").replace("]", "").split(".")[1:]:
        value = value[int(step) if step.isdigit() else step]
    return value


@pytest.mark.parametrize(("typical", "member", "path"), MISSING)
def test_a_required_member_is_missing(typical: dict[str, Any], member: str, path: str) -> None:
    broken = json.loads(json.dumps(typical))
    del holder(broken, path)[member]
    with pytest.raises(msgspec.ValidationError) as refusal:
        decode(broken)
    expected = f"Object missing required field `{member}`"
    assert str(refusal.value) == (expected if path == "$" else f"{expected} - at `{path}`")


WRONG: list[tuple[str, Any, str]] = [
    ("$.id", 1, "Expected `str`, got `int`"),
    ("$.id", None, "Expected `str`, got `null`"),
    ("$.object", "text_completion", "Invalid enum value 'text_completion'"),
    ("$.object", "", "Invalid enum value ''"),
    ("$.object", None, "Expected `str`, got `null`"),
    ("$.created", 1700000000.5, "Expected `int`, got `float`"),
    ("$.created", "1700000000", "Expected `int`, got `str`"),
    ("$.choices", None, "Expected `array`, got `null`"),
    ("$.choices[0].index", 0.0, "Expected `int`, got `float`"),
    ("$.choices[0].finish_reason", "", "Invalid enum value ''"),
    ("$.choices[0].finish_reason", "abort", "Invalid enum value 'abort'"),
    ("$.choices[0].finish_reason", None, "Expected `str`, got `null`"),
    ("$.choices[0].message", None, "Expected `object`, got `null`"),
    ("$.choices[0].message.role", "user", "Invalid enum value 'user'"),
    ("$.choices[0].message.content", [{"type": "text", "text": "Hi"}], "Expected `str | null`, got `array`"),
    ("$.choices[0].message.tool_calls", {}, "Expected `array | null`, got `object`"),
    ("$.choices[0].message.tool_calls", [{**FUNCTION_CALL, "type": "server"}], "Invalid value 'server'"),
    ("$.choices[0].logprobs", [], "Expected `object | null`, got `array`"),
    ("$.usage", [], "Expected `object | null`, got `array`"),
    ("$.usage.prompt_tokens", None, "Expected `int`, got `null`"),
]


@pytest.mark.parametrize(("path", "value", "expected"), WRONG)
def test_a_member_is_of_the_wrong_kind(path: str, value: Any, expected: str) -> None:
    broken = body()
    parent, _, member = path.rpartition(".")
    holder(broken, parent)[member] = value
    with pytest.raises(msgspec.ValidationError) as refusal:
        decode(broken)
    assert str(refusal.value).startswith(f"{expected} - at `{path}")


# Encoding


def test_required_but_nullable_keys_are_written() -> None:
    completion = openai.ChatCompletion(
        id="chatcmpl-1",
        object="chat.completion",
        created=1700000000,
        model="m",
        choices=[
            openai.Choice(
                index=0,
                message=openai.ChatCompletionMessage(role="assistant"),
                finish_reason="stop",
            ),
            openai.Choice(
                index=1,
                message=openai.ChatCompletionMessage(role="assistant"),
                logprobs=openai.ChoiceLogprobs(
                    content=[
                        openai.ChatCompletionTokenLogprob(
                            token="a", logprob=-1.0, top_logprobs=[openai.TopLogprob(token="a", logprob=-1.0)]
                        )
                    ]
                ),
                finish_reason="stop",
            ),
        ],
    )
    first, second = json.loads(msgspec.json.encode(completion))["choices"]
    assert first["logprobs"] is None
    assert first["message"]["content"] is None
    assert first["message"]["refusal"] is None
    assert second["logprobs"]["content"][0]["bytes"] is None
    assert second["logprobs"]["content"][0]["top_logprobs"][0]["bytes"] is None
    assert json.loads(msgspec.json.encode(openai.ChoiceLogprobs())) == {"content": None}


def test_members_come_in_wire_order() -> None:
    encoded = json.loads(msgspec.json.encode(decode(TYPICAL["plain"])))
    assert list(encoded) == ["id", "object", "created", "model", "choices", "usage", "system_fingerprint"]
    assert list(encoded["choices"][0]) == ["index", "message", "logprobs", "finish_reason"]
    assert list(encoded["choices"][0]["message"])[:3] == ["role", "content", "refusal"]


def test_the_type_of_a_tool_call_is_written_but_not_a_parameter() -> None:
    call = openai.ChatCompletionMessageCustomToolCall(id="call_2", custom=openai.Custom(name="sql", input="SELECT 1"))
    assert call.type == "custom"
    assert json.loads(msgspec.json.encode(call)) == CUSTOM_CALL
    assert msgspec.to_builtins(call) == CUSTOM_CALL


@pytest.mark.parametrize("name", TYPICAL)
def test_the_library_accepts_what_we_encode(name: str) -> None:
    encoded = msgspec.json.encode(decode(TYPICAL[name]))
    theirs = sdk.ChatCompletion.model_validate_json(encoded)
    assert theirs.model_extra == {}
    assert json.loads(theirs.model_dump_json(exclude_unset=True)) == json.loads(encoded)
    assert decode(json.loads(theirs.model_dump_json())) == decode(TYPICAL[name])

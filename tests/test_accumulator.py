"""Chunks add up: every stream vector, the rules one by one, limits, growth, and the way back to chunks."""

from __future__ import annotations

import copy
import gc
import json
import random
import re
import time
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastcompletion as fc
from tests import strategies, vectors
from tests.budget import examples
from tests.test_stream import EXPECTED, OF_REPORTS, OF_STREAMS, cut
from tests.test_vectors import ABSENT, is_same, look_up

if TYPE_CHECKING:
    from collections.abc import Iterable

STREAMS = vectors.streams()


def accumulate(pieces: Iterable[bytes], codec: fc.Codec | None = None) -> fc.Accumulator:
    stream, total = fc.StreamDecoder(codec or fc.Codec()), fc.Accumulator()
    for piece in pieces:
        for item in stream.feed(piece):
            total.add(item)
    for item in stream.close():
        total.add(item)
    return total


def document(total: fc.Accumulator) -> Any:
    """What it comes to, as JSON; None where there is nothing."""
    try:
        return json.loads(fc.encode(total.text_completion() if total.is_text else total.completion()))
    except (fc.UpstreamError, fc.TruncatedError):
        return None


def added(*chunks: Any, **options: int) -> fc.Accumulator:
    """An accumulator with chunks, each a document, that came one after the other."""
    codec, total = fc.Codec(), fc.Accumulator(**options)
    for chunk in chunks:
        total.add(codec.decode(json.dumps(chunk)))  # type: ignore[arg-type]
    return total


def choice(delta: Any, **others: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta} | others]}


def message_of(*deltas: Any) -> Any:
    return document(added(*map(choice, deltas)))["choices"][0]["message"]


# -- vectors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_STREAMS)
def test_streams(name: str) -> None:
    expect = OF_STREAMS[name]
    total = accumulate([STREAMS[name]])
    found = document(total)
    assert is_same(found, expect["completion"])
    assert total.complete == expect["complete"]
    assert [error.kind for error in total.errors] == [error["kind"] for error in expect["errors"]]
    if found:
        assert is_same(json.loads(fc.encode(total.usage)), found["usage"])


@pytest.mark.parametrize("name", OF_REPORTS)
def test_reports(name: str) -> None:
    total = accumulate([STREAMS[name]])
    found = document(total)
    for where, expected in OF_REPORTS[name]["checks"]:
        if path := re.fullmatch(r"(len )?acc(\$\S*)", where):
            value = look_up(found, path[2])
            value = len(value) if path[1] else value
            assert value is ABSENT if expected == ABSENT else is_same(value, expected), where
        elif where == "acc complete":
            assert total.complete is expected


def test_reports_are_looked_up() -> None:
    checks = [where for expect in OF_REPORTS.values() for where, _ in expect["checks"]]
    assert sum("acc$" in where for where in checks) > 20


@pytest.mark.parametrize("name", STREAMS)
def test_cuts_do_not_matter(name: str) -> None:
    whole = STREAMS[name]
    expected = accumulate([whole])
    dice = random.Random(name)
    every = [cut(whole, range(size, len(whole), size)) for size in (1, 50, 1000)]
    every += [cut(whole, dice.choices(range(len(whole) + 1), k=9)) for _ in range(5)]
    for pieces in every:
        total = accumulate(pieces)
        assert document(total) == document(expected)
        assert total.anomalies == expected.anomalies
        assert len(total.errors) == len(expected.errors)


@pytest.mark.parametrize("name", STREAMS)
def test_looking_does_not_disturb(name: str) -> None:
    stream, total = fc.StreamDecoder(fc.Codec()), fc.Accumulator()
    kept = []
    for item in stream.feed(STREAMS[name]) + stream.close():
        before = copy.deepcopy(item) if isinstance(item, fc.ChatCompletionChunk) else item
        total.add(item)
        assert item == before
        if (found := document(total)) is not None:
            completion = total.text_completion() if total.is_text else total.completion()
            kept.append((completion, found))
    for completion, found in kept:  # what came later did not change it
        assert json.loads(fc.encode(completion)) == found
    for completion, _ in kept:  # and changing it changes nothing
        for one in completion.choices:
            if isinstance(one, fc.Choice):
                one.message.content = "changed"
                for call in one.message.tool_calls or ():
                    call.id = "changed"
        completion.choices.clear()
        if completion.usage:
            completion.usage.total_tokens = -1
    assert document(total) == (EXPECTED[name].get("completion", document(accumulate([STREAMS[name]]))))


# -- the rules -----------------------------------------------------------------------------------------------


def test_top_level() -> None:
    first = {"id": "", "created": 0, "model": "", "system_fingerprint": "a", "choices": [], "x": {"a": 1}, "y": [1]}
    second = {
        "id": "one",
        "created": 7,
        "model": "m",
        "system_fingerprint": None,
        "choices": [],
        "x": {"b": 2},
        "y": [2],
    }
    third = {"id": "two", "created": 8, "model": "n", "system_fingerprint": "b", "choices": [], "x": None, "z": 1.50}
    found = document(added(first, second, third))
    assert found == {
        "id": "one",
        "object": "chat.completion",
        "created": 7,
        "model": "n",
        "choices": [],
        "usage": None,
        "system_fingerprint": "b",
        "x": {"a": 1, "b": 2},
        "y": [2],
        "z": 1.5,
    }


def usage(prompt: int, completion: int, **others: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion} | others


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([{"usage": usage(1, 1)}, {"usage": usage(1, 2)}], usage(1, 2)),  # never a sum
        ([{"usage": usage(1, 2)}, {"usage": None}], usage(1, 2)),
        ([{"usage": usage(1, 2)}, {"usage": usage(0, 0)}], usage(1, 2)),
        ([{"usage": usage(0, 0)}], usage(0, 0)),
        ([{"usage": usage(9, 9, cost=1.5)}, {"usage": usage(1, 2)}], usage(1, 2)),  # whole, not member by member
        ([choice({}, usage=usage(3, 4))], usage(3, 4)),
        ([choice({}, usage=usage(3, 4)), {"usage": usage(1, 2)}], usage(1, 2)),
        ([{"x_groq": {"id": "r", "usage": usage(5, 6)}}], usage(5, 6)),
        ([{}], None),
    ],
)
def test_usage(chunks: list[Any], expected: Any) -> None:
    total = added(*({"object": "chat.completion.chunk", "choices": [], **chunk} for chunk in chunks))
    found = document(total)
    assert found["usage"] == expected
    assert isinstance(total.usage, fc.Usage) or expected is None


def test_choices_by_index() -> None:
    chunks = [
        {"choices": [{"index": index, "delta": {"content": text}}]} for index, text in ((2, "c"), (0, "a"), (2, "d"))
    ]
    found = document(added(*chunks, {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}]}))
    assert [(one["index"], one["message"]["content"]) for one in found["choices"]] == [(0, "ab"), (2, "cd")]
    assert not added(*chunks).complete


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [([None, "stop"], "stop"), (["", "stop", None, ""], "stop"), (["length", "stop"], "stop"), ([None], None)],
)
def test_finish_reasons(reasons: list[Any], expected: Any) -> None:
    total = added(*(choice({}, finish_reason=reason) for reason in reasons))
    assert document(total)["choices"][0]["finish_reason"] == expected
    assert total.complete == bool(expected)


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ([{"role": "assistant", "content": ""}], {"content": ""}),
        ([{"content": "a"}, {"content": None}, {}, {"content": ""}, {"content": "b"}], {"content": "ab"}),
        ([{"role": "tool"}, {"role": ""}, {"role": None}], {"role": "tool", "content": None}),
        ([{"content": ""}, {"refusal": "no"}, {"refusal": "pe"}], {"content": None, "refusal": "nope"}),
        (
            [{"reasoning": "a"}, {"reasoning": "b", "reasoning_content": "c"}],
            {"reasoning": "ab", "reasoning_content": "c"},
        ),
        ([None, {"content": "a"}], {"content": "a"}),
        ([{"role": "assistant"}, {"content": ""}, {"reasoning": ""}], {"content": "", "reasoning": ""}),
        ([{"content": "\ud83d"}, {"content": "\ude00!"}], {"content": "😀!"}),
        ([{"content": "\ud83d"}], {"content": "\ud83d"}),
        (
            [
                {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
                {"content": [{"type": "text", "text": "a"}]},
                {"content": "b"},
            ],
            {"content": "ab", "reasoning_content": "hm"},
        ),
        (
            [{"annotations": [{"type": "a"}]}, {"annotations": [{"type": "b"}]}],
            {"annotations": [{"type": "a"}, {"type": "b"}]},
        ),
        (
            [{"images": [1]}, {"images": [2, 3]}, {"executed_tools": ["x"]}],
            {"images": [1, 2, 3], "executed_tools": ["x"]},
        ),
        (
            [{"token_id": 1, "m": {"a": 1}}, {"token_id": 2, "m": {"b": 2}}, {"m": None}],
            {"token_id": 2, "m": {"a": 1, "b": 2}},
        ),
        (
            [
                {"reasoning_details": [{"type": "t", "index": 0, "text": "a", "signature": None}]},
                {
                    "reasoning_details": [
                        {"type": "t", "index": 0, "text": "b"},
                        {"type": "s", "index": 0, "summary": "c"},
                    ]
                },
                {"reasoning_details": [{"type": "t", "index": 0, "signature": "sig"}, {"text": "d"}, {"text": "e"}]},
            ],
            {
                "reasoning_details": [
                    {"type": "t", "index": 0, "text": "ab", "signature": "sig"},
                    {"type": "s", "index": 0, "summary": "c"},
                    {"text": "d"},
                    {"text": "e"},
                ]
            },
        ),
        (
            [
                {"function_call": {"name": "f", "arguments": ""}},
                {"function_call": {"name": "f", "arguments": '{"a"'}},
                {"function_call": {"arguments": ":1}"}},
            ],
            {"function_call": {"name": "f", "arguments": '{"a":1}'}},
        ),
        (
            [
                {"audio": {"id": "a", "transcript": "x"}},
                {"audio": {"id": "b", "data": "QQ==", "transcript": "y"}},
                {"audio": {"data": "Qg==", "expires_at": 7}},
            ],
            {"audio": {"id": "a", "data": "QUI=", "expires_at": 7, "transcript": "xy"}},
        ),
        (
            [{"audio": {"id": "a", "data": "QU"}}, {"audio": {"data": "JD"}}],
            {"audio": {"id": "a", "data": "QUJD", "expires_at": 0, "transcript": ""}},
        ),
    ],
)
def test_messages(deltas: list[Any], expected: Any) -> None:
    rest = {"role": "assistant", "content": None, "refusal": None}
    assert message_of(*deltas) == rest | expected


NO_INDEX = object()


def call(index: Any = NO_INDEX, id: Any = None, name: Any = None, arguments: Any = None) -> Any:
    """A fragment of a tool call."""
    found: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    found |= {} if index is NO_INDEX else {"index": index}
    return found | ({} if id is None else {"id": id, "type": "function"})


@pytest.mark.parametrize(
    ("fragments", "expected"),
    [
        # by index
        ([call(0, "a", "f", ""), call(0, None, None, "{"), call(0, None, None, "}")], [("a", "f", "{}")]),
        (
            [call(1, "b", "g", "1"), call(0, "a", "f", "2"), call(1, None, None, "3")],
            [("a", "f", "2"), ("b", "g", "13")],
        ),
        ([call("0", "a", "f", "1"), call(0, None, None, "2")], [("a", "f", "12")]),
        ([call(3, "a", "f", "1"), call(7, "b", "g", "2")], [("a", "f", "1"), ("b", "g", "2")]),
        # one index for all (vLLM, Ollama): another id and another name, or a call that is whole
        ([call(0, "a", "f", "{}"), call(0, "b", "f", "{}")], [("a", "f", "{}"), ("b", "f", "{}")]),
        ([call(0, "a", "f", "{"), call(0, "b", "g", "}")], [("a", "f", "{"), ("b", "g", "}")]),
        (
            [call(0, "a", "f", "{}"), call(0, "b", "g", ""), call(0, None, None, "{}")],
            [("a", "f", "{}"), ("b", "g", "{}")],
        ),
        # a new id on each fragment (LM Studio)
        ([call(0, "a", "f", "{"), call(0, "b", "", "}"), call(0, "c", None, "")], [("a", "f", "{}")]),
        ([call(0, "a", "f", "{"), call(0, "b", "f", "}")], [("a", "f", "{}")]),
        # without index
        ([call(id="a", name="f", arguments="{"), call(arguments="}")], [("a", "f", "{}")]),
        (
            [call(id="a", name="f", arguments="{}"), call(id="b", name="f", arguments="{}")],
            [("a", "f", "{}"), ("b", "f", "{}")],
        ),
        (
            [call(-1, "a", "f", "1"), call(-1, "b", "g", "2"), call(-1, "a", None, "3")],
            [("a", "f", "13"), ("b", "g", "2")],
        ),
        ([call(arguments="{}")], [("", "", "{}")]),
        # names
        (
            [call(0, "a", "get", ""), call(0, None, "_weather", ""), call(0, None, None, "{}")],
            [("a", "get_weather", "{}")],
        ),
        (
            [call(0, "a", "get", ""), call(0, None, "get_weather", "{}"), call(0, None, "x", "")],
            [("a", "get_weather", "{}")],
        ),
        # arguments
        ([call(0, "a", "f", {"x": [1, None]})], [("a", "f", '{"x":[1,null]}')]),
        ([call(0, "a", "f", None)], [("a", "f", "")]),
    ],
)
def test_tool_calls(fragments: list[Any], expected: Any) -> None:
    for deltas in ([{"tool_calls": [fragment]} for fragment in fragments], [{"tool_calls": fragments}]):
        message = message_of({"role": "assistant", "content": ""}, *deltas)
        assert message["content"] is None
        calls = message["tool_calls"]
        assert [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls] == expected
        assert all(one["type"] == "function" and "index" not in one for one in calls)


def test_custom_tools_and_members_beside() -> None:
    fragments: list[Any] = [
        {"index": 0, "id": "c", "type": "custom", "custom": {"name": "sql", "input": "sel"}, "extra_content": {"a": 1}},
        {"index": 0, "custom": {"input": "ect"}, "extra_content": {"b": 2}},
        {"index": 0, "extra_content": None},
    ]
    (found,) = message_of(*({"tool_calls": [fragment]} for fragment in fragments))["tool_calls"]
    assert found == {
        "id": "c",
        "type": "custom",
        "custom": {"name": "sql", "input": "select"},
        "extra_content": {"a": 1, "b": 2},
    }


def test_logprobs_and_token_ids() -> None:
    one, two = ({"token": text, "logprob": -1.5, "bytes": [1]} for text in "ab")
    chunks = [
        choice({"content": ""}, logprobs=None),
        choice({"content": "a"}, logprobs={"content": [one]}, token_ids=[1]),
        choice({"content": ""}, logprobs=None, token_ids=None),
        choice({"content": "b"}, logprobs={"content": [two], "refusal": None}, token_ids=[2, 3]),
        choice({"content": "b"}, logprobs={"content": [two], "refusal": [one], "odd": 1}),
        choice({"content": "b"}, logprobs={"content": [two], "refusal": [two], "odd": 2}),
        choice({"content": "b"}, logprobs={"content": [one], "refusal": None}),
    ]
    (found,) = document(added(*chunks))["choices"]
    assert found["logprobs"] == {"content": [one, two, two, two, one], "refusal": [one, two], "odd": 2}
    assert found["token_ids"] == [1, 2, 3]
    assert document(added(*chunks[:1]))["choices"][0]["logprobs"] is None


@pytest.mark.parametrize("value", [{}, [], 0, "", False, {"a": 1}, [1]])
@pytest.mark.parametrize("member", ["token_ids", "logprobs", "stop_reason"])
def test_odd_kinds_count_whatever_was_learnt(member: str, value: Any) -> None:
    chunks = [choice({"content": "a"}), choice({"content": "b"}, **{member: value}), choice({"content": "c"})]
    codec, total = fc.Codec(), fc.Accumulator()
    for chunk in chunks:
        codec.decode(json.dumps(chunk))
    for chunk in chunks:
        total.add(codec.decode(json.dumps(chunk)))  # type: ignore[arg-type]
    assert document(total) == document(added(*chunks))
    assert document(total)["choices"][0][member] == ([] if member == "token_ids" and value == [] else value)


def test_text_completions() -> None:
    def chunk(text: str, **others: Any) -> dict[str, Any]:
        return {"object": "text_completion", "id": "t", "choices": [{"index": 0, "text": text} | others]}

    probabilities = {"tokens": ["a"], "token_logprobs": [None], "text_offset": [0], "top_logprobs": None}
    total = added(
        chunk("a", logprobs=probabilities, prompt_token_ids=[5]),
        chunk("b", logprobs={"tokens": ["b"], "token_logprobs": [-1], "text_offset": [1], "top_logprobs": [{"b": -1}]}),
        chunk("", finish_reason="length"),
    )
    assert total.is_text
    assert total.complete
    completion = total.text_completion()
    assert isinstance(completion, fc.Completion)
    assert json.loads(fc.encode(completion)) == {
        "id": "t",
        "object": "text_completion",
        "created": 0,
        "model": "",
        "choices": [
            {
                "index": 0,
                "text": "ab",
                "logprobs": {
                    "tokens": ["a", "b"],
                    "token_logprobs": [None, -1],
                    "text_offset": [0, 1],
                    "top_logprobs": [{"b": -1}],
                },
                "finish_reason": "length",
                "prompt_token_ids": [5],
            }
        ],
        "usage": None,
    }
    with pytest.raises(TypeError, match="text_completion"):
        total.completion()
    with pytest.raises(TypeError, match="a chat completion"):
        added(choice({})).text_completion()


@pytest.mark.parametrize(
    ("chunks", "kind", "path"),
    [
        ([{"id": "a", "choices": []}, {"id": "b", "choices": []}], "id_changed", "$.id"),
        ([choice({"role": "assistant"}), choice({"role": "tool"})], "role_changed", "$.choices[0].message.role"),
        ([choice({}, finish_reason="a"), choice({}, finish_reason="b")], "finish_reason_changed", "$.choices[0]"),
        ([choice({}, finish_reason="a"), choice({"content": "b"})], "content_after_finish", "$.choices[0]"),
        (
            [choice({"content": "a"}, finish_reason="a"), choice({"content": "b"}, finish_reason="a")],
            "content_after_finish",
            "$.choices[0]",
        ),
        (
            [choice({}, finish_reason="a"), choice({"tool_calls": [call(0, "a", "f", "{}")]})],
            "content_after_finish",
            "$.choices[0]",
        ),
        ([{"choices": [{"delta": {"content": "a"}}]}], "choice_index_missing", "$.choices[0]"),
        ([{"choices": [{"index": True, "delta": {"content": "a"}}]}], "choice_index_missing", "$.choices[0]"),
        (
            [choice({"tool_calls": [call(0, "a", "f", "{}"), call(0, "b", "f", "{}")]})],
            "tool_index_reused",
            "$.choices[0].message.tool_calls",
        ),
        (
            [choice({"tool_calls": [call(0, "a", "f", "{}"), call(1, "a", "f", "{}")]})],
            "tool_call_repeated",
            "$.choices[0].message.tool_calls",
        ),
        (
            [choice({"tool_calls": [call(0, "a", "f", "{}"), call(0, None, "g", "")]})],
            "tool_name_after_arguments",
            "$.choices[0].message.tool_calls",
        ),
    ],
)
def test_anomalies(chunks: list[Any], kind: str, path: str) -> None:
    (anomaly,) = added(*chunks, chunks[-1]).anomalies[:1]
    assert (anomaly.kind, anomaly.path) == (kind, path)
    assert added(chunks[0]).anomalies == [] or len(chunks) == 1


def test_anomalies_are_bounded() -> None:
    total = added(*({"id": f"id-{number}", "choices": []} for number in range(500)))
    assert len(total.anomalies) == 100


# -- errors and limits ---------------------------------------------------------------------------------------


def test_nothing_came() -> None:
    with pytest.raises(fc.TruncatedError):
        fc.Accumulator().completion()
    total = accumulate([b'data: {"error":{"message":"boom","code":500}}\n\n'])
    with pytest.raises(fc.UpstreamError, match="boom") as caught:
        total.completion()
    assert caught.value.error.info.code == 500
    assert not total.complete


def test_named_events_and_errors_change_nothing() -> None:
    total = added(choice({"content": "a"}))
    before = document(total)
    total.add(fc.ServerSentEvent(b"{}", "odd"))
    total.add(fc.StreamError("invalid_json", fc.ErrorInfo("x", None, None, None)))
    assert document(total) == before
    assert [error.kind for error in total.errors] == ["invalid_json"]


MANY_CALLS = choice({"tool_calls": [call(index, f"id{index}", "f", "{}") for index in range(4)], "content": "x"}, odd=1)
MANY_CHOICES = {
    "id": "other",
    "usage": usage(9, 9),
    "choices": [{"index": i, "delta": {"content": "x"}} for i in range(5)],
}


ONE_CHOICE_TWICE: dict[str, Any] = {
    "choices": [
        {"index": 0, "delta": {"tool_calls": [call(index, f"id{index}", "f", "{}") for index in indexes]}}
        for indexes in ((0, 1), (2, 3))
    ]
}


@pytest.mark.parametrize(
    ("chunk", "limit"),
    [(MANY_CALLS, "max_tool_calls"), (ONE_CHOICE_TWICE, "max_tool_calls"), (MANY_CHOICES, "max_choices")],
)
def test_a_refused_chunk_changes_nothing(chunk: Any, limit: str) -> None:
    before = [choice({"content": "a", "tool_calls": [call(0, "id0", "f", "")]}), {"id": "x", "choices": []}]
    total = added(*before, max_choices=4, max_tool_calls=3)
    expected = document(total)
    for _ in range(2):
        with pytest.raises(fc.LimitError) as caught:
            total.add(fc.decode(json.dumps(chunk)))  # type: ignore[arg-type]
        assert caught.value.limit == limit
        assert document(total) == expected
        assert total.anomalies == added(*before).anomalies
    total.add(fc.decode(json.dumps(choice({"content": "b"}))))  # type: ignore[arg-type]
    assert document(total) == document(added(*before, choice({"content": "b"})))


def test_as_many_calls_as_are_allowed() -> None:
    total = added(MANY_CALLS, MANY_CALLS, max_tool_calls=4)
    assert len(document(total)["choices"][0]["message"]["tool_calls"]) == 4


def test_arguments_go_on_at_the_limit() -> None:
    first = choice({"tool_calls": [call(0, "a", "f", "{")]})
    total = added(first, choice({"tool_calls": [call(0, None, None, '"a"')]}), first, max_tool_calls=1)
    with pytest.raises(fc.LimitError):  # the arguments are whole now: another id is another call
        total.add(fc.decode(json.dumps(choice({"tool_calls": [call(0, None, None, "}}"), call(0, "b", "f", "")]}))))  # type: ignore[arg-type]
    (found,) = document(total)["choices"][0]["message"]["tool_calls"]
    assert found["function"] == {"name": "f", "arguments": '{"a"{'}


UNREADABLE = {"a long integer": "1" * 5000, "a lone surrogate": '"\\ud83d"', "deep": "[" * 300 + "]" * 300}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize(
    "chunk",
    [
        choice({"images": [1]}),
        choice({"reasoning_details": [{"type": "t", "index": 0, "n": 1}]}),
        choice({"odd": {"a": 1}}),
        choice({"tool_calls": [call(0, "a", "f", "{}") | {"odd": 1}]}),
        {"choices": [], "x_groq": {"id": "r", "usage": {"prompt_tokens": 1}}},
        {"choices": [], "metadata": {"a": 1}},
        {"choices": [], "odd": {"a": 1}},
    ],
)
def test_what_python_cannot_read_is_kept(chunk: Any, text: str) -> None:
    before = fc.decode(json.dumps(choice({"content": "a", "images": [0], "odd": {"b": 2}})), fc.ChatCompletionChunk)
    body = json.dumps(chunk).replace("1", text)
    total = fc.Accumulator()
    total.add(before)
    total.add(fc.decode(body, fc.ChatCompletionChunk))
    encoded = fc.encode(total.completion())
    assert text.encode() in encoded
    assert b'"content":"a"' in encoded
    assert b'"images":[0' in encoded.replace(b" ", b"")


def test_indexes_cannot_take_memory() -> None:
    total = added({"choices": [{"index": 10**12, "delta": {"tool_calls": [call(10**12, "a", "f", "{}")]}}]})
    (one,) = document(total)["choices"]
    assert one["index"] == 10**12
    assert len(one["message"]["tool_calls"]) == 1


# -- growth --------------------------------------------------------------------------------------------------


def seconds(number: int) -> float:
    token = {"token": "tok", "logprob": -0.5, "bytes": [1], "top_logprobs": [{"token": "t", "logprob": -1.0}] * 2}
    chunk = fc.decode(json.dumps(choice({"content": "tok"}, logprobs={"content": [token]})), fc.ChatCompletionChunk)
    total = fc.Accumulator()
    began = time.thread_time()
    for _ in range(number):
        total.add(chunk)
    completion = total.completion()
    took = time.thread_time() - began
    assert completion.choices[0].message.content == "tok" * number
    logprobs = completion.choices[0].logprobs
    assert logprobs
    assert len(logprobs.content or ()) == number
    return took


def test_time_is_linear() -> None:
    seconds(500)
    few = min(seconds(5_000) for _ in range(3))
    assert seconds(50_000) < 40 * few  # 10 times as long, on a quiet machine


def test_time_is_linear_for_odd_calls() -> None:
    def took(number: int) -> float:
        fragments = [call(0, f"id{position}", "f", '{"a') for position in range(number)]
        codec, total = fc.Codec(), fc.Accumulator(max_tool_calls=1)
        chunks = [codec.decode(json.dumps(choice({"tool_calls": [one]}))) for one in fragments]
        began = time.thread_time()
        for chunk in chunks:
            total.add(chunk)  # type: ignore[arg-type]
        return time.thread_time() - began

    few = min(took(500) for _ in range(3))
    assert took(5_000) < 40 * few


# -- any chunks ----------------------------------------------------------------------------------------------


@examples(150)
@given(st.lists(strategies.bodies(fc.ChatCompletionChunk, most_edits=4), min_size=1, max_size=5))
def test_any_chunks_add_up(bodies: list[bytes]) -> None:
    codec, lasting = fc.Codec(), fc.Codec()
    totals = fc.Accumulator(), fc.Accumulator(), fc.Accumulator()
    for body in bodies:
        try:
            chunk: Any = codec.decode(body)
        except fc.SchemaError:
            continue
        if isinstance(chunk, fc.ErrorResponse):
            continue
        totals[0].add(chunk)
        totals[1].add(fc.Codec().decode(body))  # type: ignore[arg-type]
        lasting.decode(body)
        totals[2].add(lasting.decode(body))  # type: ignore[arg-type]
    found = [document(total) for total in totals]
    assert found[0] == found[1] == found[2]


def some(**options: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have some of the members, each with one of a few values, so that many are alike."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in options.items()})


FRAGMENTS = some(
    index=[0, 0, 1, -1, "0"],
    id=["a", "b", None],
    type=["function", None],
    function=[{"arguments": "{"}, {"arguments": "}"}, {"name": "f", "arguments": "{}"}, {"name": "g"}, {}],
    odd=[1, {"a": 1}, {"b": 2}],
)
DELTAS = st.builds(
    lambda one, calls: one | ({"tool_calls": calls} if calls else {}),
    some(
        role=["assistant", "tool", None],
        content=["", "a", "b", None, [{"type": "text", "text": "c"}]],
        reasoning=["", "r", None],
        reasoning_content=["", "s", None],
        odd=[1, None, {"a": 1}, {"b": 2}],
        images=[[1], []],
    ),
    st.lists(FRAGMENTS, max_size=2),
)
TOKENS = [{"token": "a", "logprob": -1}], [{"token": "b", "logprob": -2}]
CHOICES = st.builds(
    lambda delta, one: {"index": 0, "delta": delta} | one,
    DELTAS,
    some(
        index=[0, 1],
        finish_reason=["stop", "length", "", None],
        logprobs=[None, {"content": TOKENS[0]}, {"content": TOKENS[1], "refusal": None}, {"refusal": TOKENS[0]}],
        token_ids=[[1], [2, 3], None],
        stop_reason=[0, "x", None],
        odd=[1, None],
    ),
)
CHUNKS = st.builds(
    lambda chosen, one: {"object": "chat.completion.chunk", "choices": [chosen]} | one,
    CHOICES,
    some(
        id=["a", "b", ""],
        created=[0, 1, 2],
        model=["m", "n", ""],
        usage=[None, usage(1, 1), usage(1, 2), usage(0, 0)],
        obfuscation=["x", "y"],
        odd=[1, 2, None, {"a": 1}, {"b": 2}],
        kv_transfer_params=[{"a": 1}, {"b": 2}],
    ),
)


@examples(100)
@given(st.lists(CHUNKS, min_size=1, max_size=3), st.lists(st.integers(0, 11), min_size=2, max_size=8))
def test_chunks_like_the_one_before_add_up_like_others(different: list[Any], order: list[int]) -> None:
    # One codec gives objects of one class, which are compared to those before; those of many codecs are not.
    bodies = [json.dumps(different[position % len(different)]) for position in order]
    codec, alike, others = fc.Codec(), fc.Accumulator(max_tool_calls=2), fc.Accumulator(max_tool_calls=2)
    for body in bodies:
        codec.decode(body)
    for body in bodies:
        told = []
        for total, chunk in ((alike, codec.decode(body)), (others, fc.Codec().decode(body))):
            sent = fc.encode(chunk)
            try:
                total.add(chunk)  # type: ignore[arg-type]
                told.append("")
            except fc.LimitError as error:
                told.append(error.limit)
            assert fc.encode(chunk) == sent
        assert told[0] == told[1]
        assert document(alike) == document(others)
    assert {*map(repr, alike.anomalies)} == {*map(repr, others.anomalies)}


# -- the way back --------------------------------------------------------------------------------------------


def again(completion: fc.ChatCompletion, size: int | None = None) -> fc.ChatCompletion:
    codec, total = fc.Codec(), fc.Accumulator()
    for chunk in fc.chunks(completion, size=size):
        encoded = fc.encode(chunk)
        assert isinstance(codec.decode(encoded), fc.ChatCompletionChunk)
        total.add(codec.decode(encoded))  # type: ignore[arg-type]
    return total.completion()


@pytest.mark.parametrize("name", OF_STREAMS)
@pytest.mark.parametrize("size", [None, 1, 5])
def test_what_was_accumulated_goes_back_and_forth(name: str, size: int | None) -> None:
    total = accumulate([STREAMS[name]])
    if document(total) is None:
        return
    completion = total.completion()
    assert again(completion, size) == completion
    assert json.loads(fc.encode(again(completion, size))) == document(total)


@examples(150)
@given(strategies.bodies(fc.ChatCompletion, most_edits=4), st.sampled_from([None, 1, 3, 1000]))
def test_any_completion_goes_back_and_forth(body: bytes, size: int | None) -> None:
    try:
        completion = fc.Codec().decode(body, fc.ChatCompletion)
    except (fc.SchemaError, fc.UpstreamError):
        return
    once = again(completion, size)
    assert again(once, size) == once
    assert again(once, None) == once


def test_a_complete_document_comes_back_whole() -> None:
    completion = fc.decode(strategies.render(strategies.complete(fc.ChatCompletion)), fc.ChatCompletion)
    found, expected = json.loads(fc.encode(again(completion))), json.loads(fc.encode(completion))
    for one in expected["choices"]:
        one["message"]["content"] = one["message"]["content"] or None
        for tool_call in one["message"]["tool_calls"]:
            del tool_call["index"]
    assert found == expected


def test_a_completion_without_choices_has_a_chunk() -> None:
    completion = fc.decode(b'{"object":"chat.completion","id":"x","choices":[]}', fc.ChatCompletion)
    assert again(completion).id == "x"


def test_pieces() -> None:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
    completion = fc.decode(json.dumps(body), fc.ChatCompletion)
    for size, pieces in ((2, ["He", "ll", "o"]), (5, ["Hello"]), (None, ["Hello"])):
        found = [chunk.choices[0].delta.content for chunk in fc.chunks(completion, size=size)]
        assert [text for text in found if text] == pieces
    with pytest.raises(ValueError, match="at least 1"):
        fc.chunks(completion, size=0)


def test_tokens_are_pieces() -> None:
    tokens = [fc.TokenLogprob(token=text, logprob=-1) for text in ("Hel", "lo")]
    message = fc.Message(role="assistant", content="Hello")
    one = fc.Choice(index=0, message=message, logprobs=fc.ChoiceLogprobs(content=tokens), finish_reason="stop")
    completion = fc.ChatCompletion(id="x", created=1, model="m", choices=[one], usage=None)
    found = [chunk.choices[0] for chunk in fc.chunks(completion)]
    assert [part.delta.content for part in found[1:-1]] == ["Hel", "lo"]
    assert [part.logprobs and part.logprobs.content for part in found[1:-1]] == [tokens[:1], tokens[1:]]
    assert found[-1].finish_reason == "stop"


def test_what_came_is_freed_with_the_accumulator() -> None:
    chunks = [fc.decode(json.dumps(choice({"content": text}))) for text in ("Hi", " there")]
    total = fc.Accumulator()
    for chunk in chunks:
        total.add(chunk)  # type: ignore[arg-type]
    total.completion()
    held = weakref.ref(total)
    gc.disable()  # it would free a cycle too, but in a busy server only long after
    try:
        del total
        assert held() is None
    finally:
        gc.enable()

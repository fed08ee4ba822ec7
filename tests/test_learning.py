"""A codec learns its upstream's dialect: what it lists, how much at most, between threads, and in flat memory."""

from __future__ import annotations

import datetime as dt
import enum
import gc
import json
import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

import fastcompletion as fc
from tests import oracle, vectors

BODY: dict[str, Any] = {
    "object": "chat.completion",
    "id": "x",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
LONG = "FASTCOMPLETION_LONG" in os.environ  # 100,000 decodes for each test of memory, instead of a few


def body(**members: Any) -> bytes:
    return json.dumps({**BODY, **members}).encode()


def assert_round_trip(codec: fc.Codec, sent: bytes) -> Any:
    value: Any = codec.decode(sent)
    assert oracle.meaning(codec.encode(value)) == oracle.meaning(sent)
    return value


# -- what is listed ------------------------------------------------------------------------------------------


def test_deviations_in_the_order_in_which_they_were_met() -> None:
    codec = fc.Codec()
    codec.decode(body())
    assert codec.deviations == []
    codec.decode(body(region="eu"))
    codec.decode(body(choices=[{"index": "0", "message": {"content": None}, "finish_reason": "stop"}]))
    codec.decode(body(region="us", usage={"prompt_tokens": 1.5, "total_tokens": None}))
    assert [(one.path, one.kind, one.expected, one.example) for one in codec.deviations] == [
        ("$.region", "extra", "", '"eu"'),
        ("$.choices[].index", "str", "int", '"0"'),
        ("$.choices[].message.role", "absent", "str", ""),
        ("$.usage.prompt_tokens", "float", "int", "1.5"),
        ("$.usage.total_tokens", "null", "int", "null"),
    ]
    assert fc.Codec().deviations == []  # of another codec


def test_deviations_of_one_body() -> None:
    codec = fc.Codec()
    codec.decode(body(region="eu"))
    value: Any = codec.decode(body(cost=1))
    assert [one.path for one in fc.deviations(value)] == ["$.cost"]
    value.choices[0].message.extra["mine"] = 1
    assert [one.path for one in fc.deviations(value)] == ["$.choices[0].message.mine", "$.cost"]
    assert [one.path for one in fc.deviations(value.choices[0].message)] == ["$.mine"]
    assert [one.path for one in fc.deviations(value, against=fc.openai.ChatCompletion)][-1] == "$.cost"


def test_learnt_bodies_take_the_compiled_way(monkeypatch: Any) -> None:
    """By the second body of a dialect nothing is built in Python, and nothing is looked at twice."""
    codec = fc.Codec()
    bodies = [one for name, one in vectors.bodies().items() if name.startswith("c") and b"\\ud8" not in one]
    for one in bodies:
        codec.decode(one)
    slow = []
    monkeypatch.setattr("fastcompletion._codec.build", lambda *_, **__: slow.append(1))
    for one in bodies:
        codec.decode(one)
    assert len(slow) <= 2


# -- bounds --------------------------------------------------------------------------------------------------


def test_names_without_end() -> None:
    codec = fc.Codec()
    for number in range(200):
        codec.decode(body(**{f"n{number}": number}))
    known = len(codec.deviations)
    gc.collect()
    tracemalloc.start()
    for number in range(100_000 if LONG else 5_000):
        sent = body(
            **{f"name{number}": number, "n1": 1, "usage": {"prompt_tokens": 1, "total_tokens": 1, f"x{number}": 0}}
        )
        if number % 50 == 0:
            assert assert_round_trip(codec, sent).extra[f"name{number}"] == number
        else:
            codec.decode(sent)
        if number == 1000:
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000
    assert len(codec.deviations) < known + 100
    assert assert_round_trip(codec, body()) == fc.Codec().decode(body())


def test_deviations_without_end() -> None:
    codec = fc.Codec()
    for number in range(400):
        document: Any = json.loads(body())
        message = document["choices"][0]["message"]
        message["tool_calls"] = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]
        targets = [document, document["usage"], message, document["choices"][0], message["tool_calls"][0]]
        targets.append(message["tool_calls"][0]["function"])
        for target in targets:
            target[f"n{number}"] = number
        assert_round_trip(codec, json.dumps(document).encode())
    assert len(codec.deviations) <= 512
    assert len(codec.deviations) > 240
    by_place: dict[str, int] = {}
    for one in codec.deviations:
        place = one.path.rpartition(".")[0]
        by_place[place] = by_place.get(place, 0) + 1
    assert max(by_place.values()) <= 64


def test_long_names_are_not_learnt() -> None:
    codec = fc.Codec()
    for number in range(3):
        assert_round_trip(codec, body(**{"k" * 200 + str(number): 1}))
        assert_round_trip(codec, body(usage={"prompt_tokens": 1, "total_tokens": 1, "é" * 200: 1}))
    assert codec.deviations == []


# -- threads -------------------------------------------------------------------------------------------------


def test_many_threads_share_a_codec() -> None:
    bodies = [one for name, one in vectors.bodies().items() if name.startswith("c")]
    bodies += [body(**{f"n{number}": number, "usage": None if number % 2 else {"odd": number}}) for number in range(40)]
    expected = [fc.Codec().decode(one) for one in bodies]
    codec = fc.Codec()
    barrier = threading.Barrier(6)

    def work(start: int) -> None:
        barrier.wait()
        for turn in range(2):
            for position in range(len(bodies)):
                number = (position * (start + 1) + turn) % len(bodies)
                value = codec.decode(bodies[number])
                assert value == expected[number]
                assert oracle.meaning(codec.encode(value), oracle.root_of(value)) == oracle.meaning(
                    bodies[number], oracle.root_of(value)
                )

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, start) for start in range(6)]:
            done.result()


# -- memory --------------------------------------------------------------------------------------------------


def test_memory_is_flat() -> None:
    codec = fc.Codec()
    bodies = [
        *list(vectors.bodies().values())[:40],
        body(odd=1),
        b'{"error":"x"}',
        body(x="\ud83d"),
        body(**{"k" * 200: 1}),
    ]
    broken = [one[: len(one) // 2] for one in bodies]

    def decode_all(times: int) -> None:
        for _ in range(times):
            for one in bodies:
                codec.encode(codec.decode(one))
            for one in broken:
                try:
                    codec.decode(one)
                except fc.FastCompletionError:
                    continue

    decode_all(3)
    gc.collect()
    tracemalloc.start()
    decode_all(2)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    decode_all(100_000 // len(bodies) if LONG else 20)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 50_000


def test_a_small_extra_does_not_keep_a_large_body() -> None:
    text = "x" * 8_000_000
    codec = fc.Codec()
    codec.decode(body(odd={"a": "small"}))
    for _ in range(2):
        tracemalloc.start()
        value: Any = codec.decode(body(odd={"a": "small"}, prompt_text=text))
        kept = value.usage, value.extra
        odd = value.extra["odd"]
        value.prompt_text = None
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert held < 1_000_000
        assert odd == {"a": "small"}
        assert kept[1]["odd"] == {"a": "small"}


# -- what a review broke -------------------------------------------------------------------------------------


class Inner(msgspec.Struct):
    x: int


class Colour(enum.Enum):
    RED = "red"


class Ours(fc.ChatCompletion, kw_only=True):
    """With members of types that the schema never uses, and of a name like that of a slot."""

    when: dt.datetime | None = None
    colour: Colour | None = None
    numbers: set[int] | None = None
    inner: Inner | None = None
    x1_: int = 5


def test_subclasses_with_types_that_only_msgspec_knows() -> None:
    good = body(when="2020-01-01T00:00:00Z", colour="red", numbers=[1], inner={"x": 1})
    odd = [
        body(when="zzz"),
        body(colour="blue"),
        body(numbers=["a"]),
        body(inner={"x": "1"}),
        body(a=1, b=2, c=3, inner={"x": 1}),
        good.replace(b'"m"', b'"\\ud83d"'),
    ]
    codec = fc.Codec()
    for sent in [good, *odd, *odd, good]:
        value = codec.decode(sent, Ours)
        assert value.x1_ in (5, msgspec.UNSET)
        if b"2020" in sent:
            assert isinstance(value.when, dt.datetime)
            assert (value.colour, value.numbers) == (Colour.RED, {1})
    assert dict(codec.decode(body(a=1, b=2, c=3), Ours).extra) == {"a": 1, "b": 2, "c": 3}
    strict = fc.Codec(strict=True)
    assert strict.decode(good, Ours).colour is Colour.RED
    for sent in odd[:4]:
        with pytest.raises(fc.SchemaError):
            strict.decode(sent, Ours)


@pytest.mark.parametrize("strict", [False, True])
def test_the_order_does_not_matter_where_unknown_members_are_dropped(strict: bool) -> None:
    choices = b'"choices":[{"index":0,"message":{"role":"a"}}]'
    bodies = [
        b'{"object":"chat.completion.chunk","id":"x","created":1,"model":"m","choices":[]}',
        b'{"object":"chat.completion.chunk","id":"x","created":1,"model":"m","choices":[],"error":{"message":"m"}}',
        b'{"object":"error","message":"m"}',
        b'{"object":"error","message":"m",' + choices + b"}",
        b'{"error":{"message":"m"},' + choices + b"}",
        b'{"choices":[{"text":"a","message":{}}]}',
        b'{"choices":[{"text":"a"}]}',
    ]

    def outcome(codec: fc.Codec, sent: bytes) -> Any:
        try:
            return codec.decode(sent)
        except fc.SchemaError as error:
            return error.path, error.reason

    expected = [outcome(fc.Codec(strict=strict, unknown="drop"), sent) for sent in bodies]
    for order in (range(7), range(6, -1, -1), (1, 0, 3, 2, 5, 4, 6)):
        codec = fc.Codec(strict=strict, unknown="drop")
        for _ in range(2):
            for number in order:
                assert outcome(codec, bodies[number]) == expected[number]

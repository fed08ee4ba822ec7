"""What `encode` writes: the same JSON value, whatever Python values callers have put in, and nothing is changed."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import types
import uuid
from collections import OrderedDict, defaultdict, deque
from typing import Any

import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastcompletion as fc
from tests import oracle
from tests.budget import examples


def completion(**members: Any) -> fc.ChatCompletion:
    return fc.ChatCompletion(id="x", created=1, model="m", choices=[], **members)


# -- how it is called ----------------------------------------------------------------------------------------


def test_unset_is_left_out_and_null_is_kept() -> None:
    usage = fc.Usage(prompt_tokens=1, completion_tokens=None, total_tokens=1)
    assert fc.encode(usage) == b'{"prompt_tokens":1,"completion_tokens":null,"total_tokens":1}'
    assert fc.encode(completion(usage=None)) == (
        b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[],"usage":null}'
    )


def test_encode_into() -> None:
    usage = fc.Usage(prompt_tokens=1, total_tokens=1)
    expected = fc.encode(usage)
    for size in (0, 1, 64):
        buffer = bytearray(size)
        fc.encode_into(usage, buffer)
        assert buffer == expected
        fc.encode_into(usage, buffer, -1)
        assert buffer == expected * 2
        fc.encode_into(usage, buffer, 3)
        assert buffer == expected[:3] + expected
    usage.extra["x"] = {1: np.int8(2)}  # takes another way
    buffer = bytearray(b"abc!")
    fc.encode_into(usage, buffer, 3)
    assert buffer == b"abc" + fc.encode(usage)


@pytest.mark.parametrize("obj", [[fc.Usage(prompt_tokens=1, total_tokens=1)], {"a": None}, 7, "x", None, True, {1: 2}])
def test_other_values(obj: Any) -> None:
    assert json.loads(fc.encode(obj)) == json.loads(msgspec.json.encode(obj))
    buffer = bytearray()
    fc.encode_into(obj, buffer)
    assert buffer == fc.encode(obj)


# -- long texts ----------------------------------------------------------------------------------------------

TEXTS = {
    "ascii": "All work and no play. " * 500,
    "cjk": "模型在每一步只预测下一个词元" * 500,
    "emoji": "😀 fine " * 2000,
    "code": 'x = {"a": "b\\n"}\n\t' * 1000,
    "controls": "\x00\x1f\x7f\u2028 " * 3000,
    "nearly short": "y" * 4096,
    "surrogate": "z" * 5000 + "\ud83d",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("member", ["content", "reasoning", "reasoning_content", "refusal"])
def test_long_texts(text: str, member: str) -> None:
    message = fc.Message(role="assistant", **{member: text})
    choices = [fc.Choice(index=0, message=message), fc.Choice(index=1, message=fc.Message(role="a", content="short"))]
    obj = fc.ChatCompletion(id="x", created=1, model="m", choices=choices)
    codec = fc.Codec()
    before = copy.deepcopy(obj)
    for _ in range(40):  # what is long is remembered for a while, and forgotten
        assert json.loads(codec.encode(obj))["choices"][0]["message"][member] == text
    assert obj == before
    assert obj.choices is choices
    assert choices[0].message is message
    assert getattr(message, member) is text


def test_long_texts_of_text_completions_and_chunks() -> None:
    text = TEXTS["cjk"]
    one = fc.Completion(id="x", created=1, model="m", choices=[fc.CompletionChoice(index=0, text=text)])
    delta = fc.ChunkChoice(index=0, delta=fc.Delta(content=text))
    other = fc.ChatCompletionChunk(id="x", created=1, model="m", choices=[delta])
    for _ in range(3):
        assert json.loads(fc.encode(one))["choices"][0]["text"] == text
        assert json.loads(fc.encode(other))["choices"][0]["delta"]["content"] == text


# -- transfer params -----------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Kind(str, enum.Enum):
    A = "a"


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Model(pydantic.BaseModel):
    block_ids: list[int] = [1, 2]
    name: str = pydantic.Field(default="n", serialization_alias="alias")
    inner: Any = None


class MyStr(str):
    __slots__ = ()


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyDict(dict[Any, Any]):
    pass


class MyList(list[Any]):
    pass


class MyStruct(msgspec.Struct):
    a: int = 1


GRID = np.arange(6, dtype=np.int32).reshape(2, 3)
WHEN = dt.datetime(2025, 6, 15, 12, 30, tzinfo=dt.timezone.utc)
VALUES: list[tuple[Any, Any]] = [
    *((np.dtype(kind).type(3), 3) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    *((np.dtype(kind).type(1.5), 1.5) for kind in ("f2", "f4", "f8")),
    (np.longdouble(1.5), 1.5),
    (np.array([1.5], dtype=np.longdouble), [1.5]),
    (np.bool_(True), True),
    (np.str_("s"), "s"),
    (GRID, [[0, 1, 2], [3, 4, 5]]),
    (np.asfortranarray(GRID), [[0, 1, 2], [3, 4, 5]]),
    (GRID.T, [[0, 3], [1, 4], [2, 5]]),
    (GRID[:, ::2], [[0, 2], [3, 5]]),
    (GRID[::-1], [[3, 4, 5], [0, 1, 2]]),
    (np.array(7), 7),
    (np.zeros((0, 3)), []),
    (np.array([True, False]), [True, False]),
    (np.array([1.5, 2.5], dtype=np.float16), [1.5, 2.5]),
    (np.array([1, 2], dtype=">i4"), [1, 2]),
    (np.array(["a", "bc"]), ["a", "bc"]),
    (np.array(["2025-06-15"], dtype="datetime64[D]"), ["2025-06-15T00:00:00"]),
    (np.array([1, "a", None], dtype=object), [1, "a", None]),
    (Point(1, Point(2)), {"x": 1, "y": {"x": 2, "y": None}}),
    (
        Model(inner=[Model()]),
        {"block_ids": [1, 2], "alias": "n", "inner": [{"block_ids": [1, 2], "alias": "n", "inner": None}]},
    ),
    (np.datetime64("2025-06-15"), "2025-06-15"),
    (np.timedelta64(3, "s"), "PT3S"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (pathlib.Path("a") / "b", str(pathlib.Path("a") / "b")),
    ({1}, [1]),
    (frozenset({"a"}), ["a"]),
    (deque([1, deque([2])]), [1, [2]]),
    ((1, (2,)), [1, [2]]),
    (Colour.RED, "red"),
    (Number.ONE, 1),
    (Kind.A, "a"),
    (WHEN, "2025-06-15T12:30:00Z"),
    (WHEN.replace(tzinfo=None), "2025-06-15T12:30:00"),
    (dt.date(2025, 6, 15), "2025-06-15"),
    (dt.time(12, 30), "12:30:00"),
    (dt.timedelta(seconds=90), "PT90S"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (b"ab", "YWI="),
    (bytearray(b"ab"), "YWI="),
    (memoryview(b"ab"), "YWI="),
    (decimal.Decimal("1.50"), 1.5),
    (MyStr("s"), "s"),
    (MyInt(2), 2),
    (MyFloat(2.5), 2.5),
    (MyDict(a=1), {"a": 1}),
    (MyList([1]), [1]),
    (MyStruct(), {"a": 1}),
    (OrderedDict(a=1), {"a": 1}),
    (defaultdict(list, a=[1]), {"a": [1]}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    ({1: "a", None: "b", 1.5: "c", Number.ONE: "d"}, {"1": "d", "null": "b", "1.5": "c"}),
    ({np.int64(5): 1, MyStr("k"): 2, Colour.RED: 3}, {"5": 1, "k": 2, "red": 3}),
    ({uuid.UUID(int=1): 1, WHEN: 2}, {"00000000-0000-0000-0000-000000000001": 1, "2025-06-15T12:30:00Z": 2}),
    (10**30, 10**30),
    (None, None),
    (msgspec.Raw(b'{"a": 1.50}'), {"a": 1.5}),
    (fc.Usage(prompt_tokens=1, total_tokens=2), {"prompt_tokens": 1, "total_tokens": 2}),
]


@pytest.mark.parametrize(
    ("value", "expected"), VALUES, ids=[f"{type(value).__name__}-{n}" for n, (value, _) in enumerate(VALUES)]
)
@pytest.mark.parametrize("place", ["kv_transfer_params", "ec_transfer_params", "extra", "extra below"])
def test_python_values(value: Any, expected: Any, place: str) -> None:
    params = {"a": value, "deep": [{"b": [value]}], "same": value}
    before = copy.copy(params)
    obj = completion(usage=fc.Usage(prompt_tokens=1, total_tokens=1))
    if place == "extra":
        obj.extra["params"] = params
    elif place == "extra below":
        assert obj.usage
        obj.usage.extra["params"] = params
    else:
        setattr(obj, place, params)
    for codec in (fc.Codec(), fc.Codec(allow_nan=True), fc):
        for _ in range(2):
            found = json.loads(codec.encode(obj))
            found = found["usage"] if place == "extra below" else found
            assert found[place.removesuffix(" below").replace("extra", "params")] == {
                "a": expected,
                "deep": [{"b": [expected]}],
                "same": expected,
            }
    assert params.keys() == before.keys()
    assert all(params[name] is before[name] for name in params)
    if place.endswith("params"):
        assert getattr(obj, place) is params


class Odd:
    pass


LOOP: list[Any] = []
LOOP.append({"again": LOOP})


def nested(depth: int, value: Any = None) -> Any:
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "where", "reason"),
    [
        (Odd(), "", "Odd"),
        ({"a": [1, {"b c": Odd()}]}, ".a[1]['b c']", "Odd"),
        (Point(1, Odd()), ".y", "Odd"),
        (Model(inner={"x": Odd()}), ".inner.x", "Odd"),
        (np.array([1, Odd()], dtype=object), "[1]", "Odd"),
        (deque([Odd()]), "[0]", "Odd"),
        (LOOP, "[0].again", "itself"),
        ({(1, 2): 3}, "", "(1, 2)"),
        (1j, "", "complex"),
        (np.array([1j]), "[0]", "complex"),
        (Point("\ud83d"), ".x", "surrogate"),  # in plain values they are written as escapes
        ([deque(["\ud83d"])], "[0][0]", "surrogate"),
        (pathlib.PurePosixPath("\udcff"), "", "surrogate"),  # a file name that is not UTF-8
        (nested(50, Odd()), "[0]" * 50, "Odd"),
    ],
)
@pytest.mark.parametrize("place", ["kv_transfer_params", "ec_transfer_params", "extra"])
def test_what_cannot_be_encoded_is_named(value: Any, where: str, reason: str, place: str) -> None:
    obj = completion()
    if place == "extra":
        obj.extra["params"] = {"p": value}
    else:
        setattr(obj, place, {"p": value})
    path = f"$.{place.replace('extra', 'params')}.p{where}"
    for codec in (fc.Codec(), fc):
        for _ in range(2):
            with pytest.raises(TypeError) as caught:
                codec.encode(obj)
            assert str(caught.value).endswith(f"(at {path})")
            assert reason in str(caught.value)
        with pytest.raises(TypeError):
            codec.encode_into(obj, bytearray())


@pytest.mark.parametrize("depth", [1_100, 5_000, 100_000])
def test_what_nests_deeply_ends_soon_and_is_named(depth: int) -> None:
    """How deep is too deep depends on the interpreter."""
    for value in (nested(depth, Odd()), {"fine": nested(2_000), "not": nested(depth, Odd())}):
        with pytest.raises(TypeError, match=r"^(Nested too deeply|.*\bOdd\b).* \(at \$\.kv_transfer_params\.\S*\)$"):
            fc.encode(completion(kv_transfer_params={"p": value}))
    try:
        encoded = fc.encode(completion(kv_transfer_params={"p": nested(depth)}))
    except TypeError as error:
        assert str(error) == f"Nested too deeply (at $.kv_transfer_params.p{'[0]' * 62})"
    else:
        assert encoded.count(b"[") == depth + 1


NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "where", "written"),
    [
        (NAN, "", b"NaN"),
        (float("inf"), "", b"Infinity"),
        (-np.float64("inf"), "", b"-Infinity"),
        *((np.dtype(kind).type(NAN), "", b"NaN") for kind in ("f2", "f4", "f8", "g")),
        (np.array(NAN), "", b"NaN"),
        (np.array([1.0, NAN]), "[1]", b"[1.0,NaN]"),
        (np.array([[1.0], [NAN]], dtype=np.float32), "[1][0]", b"[[1.0],[NaN]]"),
        (np.array([None, NAN], dtype=object), "[1]", b"[null,NaN]"),
        ((1, NAN), "[1]", b"[1,NaN]"),
        ({NAN}, "[0]", b"[NaN]"),
        (deque([deque([NAN])]), "[0][0]", b"[[NaN]]"),
        (MyFloat("nan"), "", b"NaN"),
        (Point(NAN), ".x", b'{"x":NaN,"y":null}'),
        (Point(1, (NAN,)), ".y[0]", b'{"x":1,"y":[NaN]}'),
        (Model(inner=NAN), ".inner", b'{"block_ids":[1,2],"alias":"n","inner":NaN}'),
        (types.MappingProxyType({"b": NAN}), ".b", b'{"b":NaN}'),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_nan_in_transfer_params_is_an_error(value: Any, where: str, written: bytes) -> None:
    for place in ("kv_transfer_params", "ec_transfer_params"):
        obj = completion(**{place: {"a": [1, {"b": value}], "null": None}})
        for codec in (fc.Codec(), fc):
            with pytest.raises(ValueError, match=r"\(at [^ ]+\)$") as caught:
                codec.encode(obj)
            assert not isinstance(caught.value, TypeError)
            assert str(caught.value).endswith(f"(at $.{place}.a[1].b{where})")
            with pytest.raises(ValueError, match=r"\(at [^ ]+\)$"):
                codec.encode_into(obj, bytearray())
        assert b'"a":[1,{"b":' + written + b'}],"null":null}' in fc.Codec(allow_nan=True).encode(obj)


@pytest.mark.parametrize("name", ["\ud83d", "plain"])
@pytest.mark.parametrize("text", ["\udc00", "a\ud83db"])
def test_lone_surrogates_are_written_as_escapes(name: str, text: str) -> None:
    value = {name: [text, {"a": {name: text}}]}
    for obj in (
        completion(kv_transfer_params=value),
        completion(ec_transfer_params=value),
        completion(prompt_text=text),
    ):
        obj.extra["params"] = value
        encoded = fc.encode(obj)
        assert encoded.isascii()
        found = json.loads(encoded)
        assert found["params"] == value
        assert found.get("prompt_text", text) == text
        assert found.get("kv_transfer_params", value) == found.get("ec_transfer_params", value) == value
        buffer = bytearray()
        fc.encode_into(obj, buffer)
        assert buffer == encoded


PARAMS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@examples(200)
@given(st.dictionaries(st.text(max_size=4), PARAMS, max_size=4))
def test_plain_params_come_back(params: dict[str, Any]) -> None:
    encoded = fc.encode(completion(kv_transfer_params=params))
    assert json.loads(encoded)["kv_transfer_params"] == params
    found = fc.decode(encoded, fc.ChatCompletion)
    assert oracle.meaning(fc.encode(found)) == oracle.meaning(encoded)


# -- nothing is changed --------------------------------------------------------------------------------------


def test_encoding_changes_nothing() -> None:
    body = (
        b'{"object":"chat.completion","id":"x","created":1,"model":"m","choices":[{"index":0,"message":{"role":"a",'
        b'"content":"%s","odd":[1]}}],"kv_transfer_params":{"a":[1,2]},"odd":{"b":1}}' % (b"long " * 2000)
    )
    codec = fc.Codec()
    for _ in range(2):
        obj = codec.decode(body, fc.ChatCompletion)
        assert isinstance(obj.kv_transfer_params, dict)
        obj.kv_transfer_params["array"] = np.arange(3)
        obj.extra["new"] = {1: Point(1)}
        obj.choices[0].extra["more"] = deque([1])
        parts = [obj, obj.choices, obj.choices[0], obj.choices[0].message, obj.kv_transfer_params]
        states = [repr(part) for part in parts]
        first = codec.encode(obj)
        assert codec.encode(obj) == first
        assert [repr(part) for part in parts] == states
        assert parts[4] is obj.kv_transfer_params
        assert parts[2] is obj.choices[0]

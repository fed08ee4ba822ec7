"""Members that the schema lacks, at every level; and objects as values: equal, copied, pickled, shown."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import MutableMapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastcompletion as fc
from tests import oracle, strategies
from tests.budget import examples

NAMES = [
    "", "type", "__class__", "__dict__", 'quo"te', "back\\slash", "line\nbreak", "é", "日本", "😀", "text", "extra",
    "added_", "x0_", "Id", "ID", "choices ", "object_", "self", "name", "items", "a.b", "[0]", "$", "\x00", "\ud83d",
]  # fmt: skip
BODY = {
    "object": "chat.completion",
    "id": "x",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hi",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            "logprobs": {"content": [{"token": "t", "logprob": -1, "top_logprobs": [{"token": "u", "logprob": -2}]}]},
        }
    ],
    "usage": {"prompt_tokens": 1, "total_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
    "prompt_logprobs": [None, {"5": {"logprob": -1}}],
}
PLACES: dict[str, Any] = {
    "completion": lambda one: one,
    "choice": lambda one: one.choices[0],
    "message": lambda one: one.choices[0].message,
    "tool call": lambda one: one.choices[0].message.tool_calls[0],
    "function": lambda one: one.choices[0].message.tool_calls[0].function,
    "logprobs": lambda one: one.choices[0].logprobs,
    "token": lambda one: one.choices[0].logprobs.content[0],
    "top token": lambda one: one.choices[0].logprobs.content[0].top_logprobs[0],
    "usage": lambda one: one.usage,
    "details": lambda one: one.usage.prompt_tokens_details,
    "prompt token": lambda one: one.prompt_logprobs[1][5],
}


def in_document(place: str, document: Any) -> Any:
    """The same place in a document."""
    steps: dict[str, list[Any]] = {
        "completion": [],
        "choice": ["choices", 0],
        "message": ["choices", 0, "message"],
        "tool call": ["choices", 0, "message", "tool_calls", 0],
        "function": ["choices", 0, "message", "tool_calls", 0, "function"],
        "logprobs": ["choices", 0, "logprobs"],
        "token": ["choices", 0, "logprobs", "content", 0],
        "top token": ["choices", 0, "logprobs", "content", 0, "top_logprobs", 0],
        "usage": ["usage"],
        "details": ["usage", "prompt_tokens_details"],
        "prompt token": ["prompt_logprobs", 1, "5"],
    }
    for step in steps[place]:
        document = document[step]
    return document


def fresh(body: bytes) -> Any:
    return fc.Codec().decode(body)


def learnt(body: bytes) -> Any:
    codec = fc.Codec()
    codec.decode(body)
    return codec.decode(body)


def built(body: bytes) -> Any:
    """By the rung for bodies that no compiled decoder takes."""
    codec = fc.Codec()
    for number in range(70):  # more names than a codec learns
        codec.decode(json.dumps({**BODY, f"n{number}": 1}))
    return codec.decode(body)


WAYS = {"fresh": fresh, "learnt": learnt, "built": built}


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("place", PLACES)
def test_any_name_at_every_level(place: str, name: str) -> None:
    document = copy.deepcopy(BODY)
    if name in in_document(place, document):
        name += "2"
    in_document(place, document)[name] = {"a": [1, None]}
    body = json.dumps(document).encode()
    for way in (fresh, learnt):
        value = way(body)
        extra = PLACES[place](value).extra
        assert extra[name] == {"a": [1, None]}
        assert list(extra) == [name]
        assert name in extra
        assert oracle.meaning(fc.encode(value)) == oracle.meaning(body)
        extra[name] = 7
        assert in_document(place, json.loads(fc.encode(value)))[name] == 7
        del extra[name]
        assert json.loads(fc.encode(value)) == BODY
        extra[name] = "back"
        assert in_document(place, json.loads(fc.encode(value)))[name] == "back"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("place", PLACES)
def test_a_mutable_mapping(place: str, way: Any) -> None:
    document = copy.deepcopy(BODY)
    in_document(place, document).update({"one": 1.50, "two": None, "three": [{"a": 12345678901234567890123}]})
    value = way(json.dumps(document).encode())
    extra = PLACES[place](value).extra
    assert isinstance(extra, fc.Extra)
    assert isinstance(extra, MutableMapping)
    assert dict(extra) == {"one": 1.5, "two": None, "three": [{"a": 12345678901234567890123}]}
    assert extra == {"one": 1.5, "two": None, "three": [{"a": 12345678901234567890123}]}
    assert len(extra) == 3
    assert set(extra.keys()) == {"one", "two", "three"}
    assert (
        extra.raw("three") == b'[{"a": 12345678901234567890123}]'
        or extra.raw("three") == b'[{"a":12345678901234567890123}]'
    )
    assert extra.get("four", 4) == 4
    with pytest.raises(KeyError):
        extra["four"]
    with pytest.raises(KeyError):
        extra.raw("four")
    with pytest.raises(KeyError):
        del extra["four"]
    assert extra.pop("two") is None
    assert extra.setdefault("two", 2) == 2
    extra.update({"five": 5}, one=11)
    extra.update([("six", 6)])
    assert in_document(place, json.loads(fc.encode(value)))["one"] == 11
    assert dict(extra) == {"one": 11, "two": 2, "three": [{"a": 12345678901234567890123}], "five": 5, "six": 6}
    extra["three"].append("lost")  # a fresh value each time
    assert extra["three"] == [{"a": 12345678901234567890123}]
    for name in list(extra):
        del extra[name]
    assert not extra
    assert json.loads(fc.encode(value)) == BODY


@pytest.mark.parametrize("place", PLACES)
def test_members_of_the_schema_are_attributes(place: str) -> None:
    one = PLACES[place](fresh(json.dumps(BODY).encode()))
    name = type(one).__struct_encode_fields__[0]
    with pytest.raises(ValueError, match="set the attribute"):
        one.extra[name] = 1
    assert name not in one.extra


def test_objects_that_callers_make() -> None:
    usage = fc.Usage(prompt_tokens=1, total_tokens=1)
    assert dict(usage.extra) == {}
    usage.extra["cost_center"] = "a"
    assert json.loads(fc.encode(usage)) == {"prompt_tokens": 1, "total_tokens": 1, "cost_center": "a"}
    usage.extra["ready"] = msgspec.Raw(b"1.50")
    assert usage.extra.raw("ready") == b"1.50"
    assert usage.extra["ready"] == 1.5


# -- objects as values ---------------------------------------------------------------------------------------

ODD = json.dumps(
    {**BODY, "odd": 1.50, "usage": {"prompt_tokens": None, "total_tokens": "1", "Odd": {"a": None}}}
).encode()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_equality(way: Any) -> None:
    one, other = way(ODD), fresh(ODD)
    assert one == other
    assert not (one != other)  # noqa: SIM202 (the operator is the test)
    assert one.choices[0] == other.choices[0]
    assert one != fresh(ODD.replace(b"1.5", b"1.25"))
    assert one != fresh(json.dumps(BODY).encode())
    assert one != 7
    assert one.usage != fc.Message(role="a")
    other.model = "other"
    assert one != other
    other.model = one.model
    other.extra["odd"] = 1.5
    assert one == other
    other.choices[0].message.extra["deep"] = 1
    assert one != other
    with pytest.raises(TypeError):
        hash(one)


def test_what_is_decoded_equals_what_is_made() -> None:
    body = b'{"prompt_tokens":1,"total_tokens":2}'
    assert fc.decode(body, fc.Usage) == fc.Usage(prompt_tokens=1, total_tokens=2)
    odd = fc.Usage(prompt_tokens=1, total_tokens=2)
    odd.extra["x"] = [1]
    assert learnt_usage(b'{"prompt_tokens":1,"total_tokens":2,"x":[1]}') == odd


def learnt_usage(body: bytes) -> fc.Usage:
    codec = fc.Codec()
    codec.decode(body, fc.Usage)
    return codec.decode(body, fc.Usage)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_repr(way: Any) -> None:
    value = way(ODD)
    assert repr(value) == repr(fresh(ODD))
    assert repr(value).startswith("ChatCompletion(id='x', object='chat.completion'")
    assert "extra={'odd': 1.5}" in repr(value)
    assert "UNSET" not in repr(value)
    assert "added" not in repr(value)
    assert dict(item for item in value.__rich_repr__() if isinstance(item, tuple))["model"] == "m"


def independent(one: Any, other: Any) -> None:
    """That a change of one is no change of the other."""
    assert one == other
    assert type(one) is type(other) or isinstance(other, type(one).__mro__[1])
    one.model = "changed"
    one.extra["odd"] = "changed"
    assert other.model == "m"
    assert other.extra["odd"] == 1.5


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_copies(way: Any) -> None:
    value = way(ODD)
    shallow = copy.copy(value)
    assert shallow.choices is value.choices
    independent(shallow, value)
    value = way(ODD)
    deep = copy.deepcopy(value)
    assert deep.choices[0] is not value.choices[0]
    deep.choices[0].message.extra["new"] = 1
    assert "new" not in value.choices[0].message.extra
    deep = copy.deepcopy(value)
    independent(deep, value)
    value = way(ODD)
    replaced = msgspec.structs.replace(value, model="replaced")
    assert replaced.model == "replaced"
    assert replaced.extra == value.extra
    assert json.loads(fc.encode(replaced)) == {**json.loads(ODD), "model": "replaced"}
    assert msgspec.structs.asdict(value)["model"] == "m"


def test_deepcopies_hold_what_a_caller_put_in() -> None:
    value = fresh(ODD)
    inner = [1]
    value.extra["mine"] = inner
    value.kv_transfer_params = {"a": inner}
    deep = copy.deepcopy(value)
    inner.append(2)
    assert deep.extra["mine"] == [1]
    assert deep.kv_transfer_params == {"a": [1]}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int, way: Any) -> None:
    value = way(ODD)
    found = pickle.loads(pickle.dumps(value, protocol))
    assert found == value
    assert isinstance(found, fc.ChatCompletion)
    assert oracle.meaning(fc.encode(found)) == oracle.meaning(ODD)
    part = pickle.loads(pickle.dumps(value.choices[0].message, protocol))
    assert part == value.choices[0].message


def test_pickle_into_another_process() -> None:
    value = learnt(ODD)
    value.extra["mine"] = {"a": 1}
    program = (
        "import pickle, sys, fastcompletion as fc\n"
        "value = pickle.load(sys.stdin.buffer)\n"
        "assert isinstance(value, fc.ChatCompletion), value\n"
        "sys.stdout.buffer.write(pickle.dumps((value, fc.encode(value))))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(value), capture_output=True, check=True)
    found, encoded = pickle.loads(done.stdout)
    assert found == value
    assert json.loads(encoded) == json.loads(fc.encode(value))


class Mine(fc.ChatCompletion):
    """With members of a user's own."""

    provider: str | msgspec.UnsetType = msgspec.UNSET

    def who(self) -> str:
        return self.provider or "nobody"


def test_subclasses_of_users() -> None:
    body = json.dumps({**BODY, "provider": "P", "odd": 1.5}).encode()
    codec = fc.Codec()
    for _ in range(3):
        value = codec.decode(body, Mine)
        assert (value.who(), dict(value.extra)) == ("P", {"odd": 1.5})
        for found in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert isinstance(found, Mine)
            assert found == value
        with pytest.raises(ValueError, match="set the attribute"):
            value.extra["provider"] = "Q"


@examples(100)
@given(strategies.bodies())
def test_any_body_as_a_value(body: bytes) -> None:
    try:
        value = fc.Codec().decode(body)
    except fc.SchemaError:
        return
    root = oracle.root_of(value)
    for found in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert found == value
        assert repr(found) == repr(value) or "Raw object at" in repr(value)  # a float beyond a double
        assert oracle.meaning(fc.encode(found), root) == oracle.meaning(body, root)


@examples(100)
@given(st.dictionaries(st.text(st.characters(), max_size=5), st.integers() | st.text(max_size=3), max_size=5))
def test_any_members_added(members: dict[str, Any]) -> None:
    usage = fc.Usage(prompt_tokens=1, total_tokens=1)
    known = set(fc.Usage.__struct_encode_fields__)
    for name, item in members.items():
        if name not in known:
            usage.extra[name] = item
    expected = {name: item for name, item in members.items() if name not in known}
    assert dict(usage.extra) == expected
    assert json.loads(fc.encode(usage)) == {"prompt_tokens": 1, "total_tokens": 1, **expected}
    assert fc.Codec().decode(fc.encode(usage), fc.Usage) == usage

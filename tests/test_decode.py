"""What `decode` takes, what it makes of it, and what it says of what it refuses."""

from __future__ import annotations

import contextlib
import gc
import json
import weakref
from typing import Any

import msgspec
import pytest

import fastcompletion as fc
from tests import oracle

CHAT = b'{"object":"chat.completion","id":"x","created":1,"model":"m","choices":[%s]}'
CHOICE = b'{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}'
BODY = CHAT % CHOICE


# -- what it takes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 10_000])
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda body: body.decode()])
def test_kinds_of_body(kind: Any, size: int) -> None:
    body = BODY.replace(b"Hi", b"Hi" + b"x" * size)
    codec = fc.Codec()
    expected = fc.Codec().decode(body)
    for _ in range(3):
        assert codec.decode(kind(body)) == expected
        assert codec.decode(kind(body), fc.ChatCompletion) == expected


def test_views_that_are_not_contiguous() -> None:
    spread = bytes(byte for pair in zip(BODY, b"-" * len(BODY), strict=True) for byte in pair)
    codec = fc.Codec()
    for _ in range(3):
        assert codec.decode(memoryview(spread)[::2]) == fc.decode(BODY)


@pytest.mark.parametrize("size", [0, 10_000])
def test_a_buffer_may_change_afterwards(size: int) -> None:
    body = BODY.replace(b'"id"', b'"odd":{"a":"bcd"},"id"').replace(b"Hi", b"Hi" + b"x" * size)
    codec = fc.Codec()
    for _ in range(3):
        buffer = bytearray(body)
        value = codec.decode(buffer)
        encoded = codec.encode(value)
        buffer[:] = b"!" * len(buffer)
        assert codec.encode(value) == encoded
        assert value.extra["odd"] == {"a": "bcd"}


@pytest.mark.parametrize("body", [None, 7, ["x"], object()])
def test_other_kinds_are_type_errors(body: Any) -> None:
    with pytest.raises(TypeError):
        fc.Codec().decode(body)


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b" \r\n\t", b"\xef\xbb\xbf \n"])
@pytest.mark.parametrize("after", [b"", b" \n", b"\r\n\r\n"])
def test_what_stands_around_a_body(before: bytes, after: bytes) -> None:
    codec = fc.Codec()
    for _ in range(3):
        assert codec.decode(before + BODY + after) == fc.decode(BODY)
        assert codec.decode((before + BODY + after).decode()) == fc.decode(BODY)


def test_one_byte_order_mark() -> None:
    for codec in (fc.Codec(), fc):
        with pytest.raises(fc.MalformedError) as caught:
            codec.decode(b"\xef\xbb\xbf\xef\xbb\xbf" + BODY)
        assert caught.value.offset == 3
    with pytest.raises(fc.MalformedError) as caught:
        fc.decode(b"\xef\xbb\xbf" + BODY[:-1] + b"!")
    assert caught.value.offset == 3 + len(BODY) - 1


# -- what it makes of it -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "root"),
    [
        (b'{"object":"chat.completion","choices":[]}', fc.ChatCompletion),
        (b'{"object":"chat.completion.chunk","choices":[]}', fc.ChatCompletionChunk),
        (b'{"object":"text_completion","choices":[]}', fc.Completion),
        (b'{"choices":[{"message":{"content":"Hi"}}]}', fc.ChatCompletion),
        (b'{"choices":[{"delta":{"content":"Hi"}}]}', fc.ChatCompletionChunk),
        (b'{"choices":[{"text":"Hi"}]}', fc.Completion),
        (b'{"object":null,"choices":[{"message":{}}]}', fc.ChatCompletion),
        (b'{"object":"","choices":[{"delta":{}}]}', fc.ChatCompletionChunk),
        (b'{"object":"","choices":[]}', fc.ChatCompletionChunk),  # Azure's first chunk
        (b'{"object":7,"choices":[{"text":""}]}', fc.Completion),
        (b'{"object":"chat.completion","choices":[{"delta":{}}]}', fc.ChatCompletionChunk),  # mlx-lm
        (b'{"object":"text_completion","choices":[{"message":{}}]}', fc.ChatCompletion),  # TGI 2.0.0
        (b'{"object":"extensions.chat.completion.chunk","choices":[{"delta":{}}]}', fc.ChatCompletionChunk),
        (b'{"error":{"message":"boom"}}', fc.ErrorResponse),
        (b'{"object":"chat.completion","choices":null,"error":{"message":"boom"}}', fc.ErrorResponse),
        (b'{"object":"chat.completion","choices":[{"message":{}}],"error":{"message":"boom"}}', fc.ChatCompletion),
        (b'{"object":"chat.completion","choices":[{"message":{}}],"error":null}', fc.ChatCompletion),
    ],
)
def test_dispatch(body: bytes, root: type) -> None:
    shared = fc.Codec()
    for other in (BODY, b'{"error":"x"}', b'{"choices":[{"text":"a","message":{},"delta":{}}],"error":{}}'):
        shared.decode(other)
    for codec in (fc.Codec(), shared):
        for _ in range(3):
            value = codec.decode(body)
            assert isinstance(value, root)
            assert oracle.meaning(codec.encode(value)) == oracle.meaning(body)
            assert value.object == json.loads(body).get("object", msgspec.UNSET)


ERRORS: list[tuple[Any, fc.ErrorInfo]] = [
    ({"error": {"message": "m", "type": "t", "param": None, "code": "c"}}, fc.ErrorInfo("m", "t", "c", None)),
    (
        {"error": {"code": "content_filter", "message": "m", "status": 400}},
        fc.ErrorInfo("m", None, "content_filter", None),
    ),
    ({"error": {"message": "m", "code": 400}, "user_id": "u"}, fc.ErrorInfo("m", None, 400, None)),
    ({"error": {"code": "1214", "message": "m"}}, fc.ErrorInfo("m", None, "1214", None)),
    ({"object": "error", "message": "m", "type": "t", "param": "p", "code": 404}, fc.ErrorInfo("m", "t", 404, "p")),
    ({"error": "m", "error_type": "overloaded"}, fc.ErrorInfo("m", "overloaded", None, None)),
    ({"error": "m"}, fc.ErrorInfo("m", None, None, None)),
    ({"detail": "m"}, fc.ErrorInfo("m", None, None, None)),
    ({"detail": [{"loc": ["body"], "msg": "a"}, {"msg": "b"}]}, fc.ErrorInfo("a; b", None, None, None)),
    ({"message": "m", "type": "t", "code": "c", "status_code": 429}, fc.ErrorInfo("m", "t", "c", None)),
    ({"base_resp": {"status_code": 1008, "status_msg": "m"}}, fc.ErrorInfo("m", None, 1008, None)),
    ([{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}], fc.ErrorInfo("m", None, 429, None)),
    ({"error": {"message": {"detail": "m"}, "type": 7}}, fc.ErrorInfo("m", None, None, None)),
]


@pytest.mark.parametrize(("document", "info"), ERRORS)
def test_error_bodies(document: Any, info: fc.ErrorInfo) -> None:
    body = json.dumps(document).encode()
    codec = fc.Codec()
    for _ in range(3):
        value = codec.decode(body)
        assert isinstance(value, fc.ErrorResponse)
        assert value.info == info
        assert codec.decode(body, fc.ErrorResponse) == value
        assert oracle.meaning(codec.encode(value)) == oracle.meaning(body)
        for asked in (fc.ChatCompletion, fc.ChatCompletionChunk, fc.Completion):
            with pytest.raises(fc.UpstreamError) as caught:
                codec.decode(body, asked)
            assert caught.value.error == value
            assert caught.value.raw == body
            assert str(caught.value) == (info.message or "The server answered with an error")


class Mine(fc.ChatCompletion):
    """A schema of a user's own, with members that one server adds."""

    provider: str | msgspec.UnsetType = msgspec.UNSET


class View(msgspec.Struct):
    model: str
    usage: fc.Usage | None = None


def test_the_type_that_is_asked_for() -> None:
    body = b'{"object":"chat.completion","id":"x","created":1,"model":"m","choices":[],"provider":"P","cost":1}'
    codec = fc.Codec()
    for _ in range(3):
        mine = codec.decode(body, Mine)
        assert isinstance(mine, Mine)
        assert (mine.provider, dict(mine.extra)) == ("P", {"cost": 1})
        assert dict(codec.decode(body).extra) == {"provider": "P", "cost": 1}
        assert codec.decode(body, View) == View("m")
        assert codec.decode(body, dict)["cost"] == 1
        assert codec.decode(b'{"prompt_tokens":1,"odd":2}', fc.Usage).extra["odd"] == 2
        assert isinstance(codec.decode(body, fc.ChatCompletionChunk), fc.ChatCompletionChunk)
    with pytest.raises(fc.SchemaError) as caught:
        codec.decode(b'{"usage":null,"model":7}', View)
    assert (caught.value.path, caught.value.offset) == ("$.model", 22)


def test_documents_are_strict() -> None:
    body = BODY[:-1] + b',"usage":{"prompt_tokens":1,"total_tokens":2}}'
    response = fc.decode(body, fc.vllm.ChatCompletionResponse)
    assert response.choices[0].message.content == "Hi"
    with pytest.raises(fc.SchemaError, match="required"):
        fc.decode(b'{"object":"chat.completion"}', fc.vllm.ChatCompletionResponse)


# -- options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member", "path", "offset"),
    [
        (b'"odd":1', "$.odd", 6),
        (b'"usage":7', "$.usage", 8),
        (b'"choices":[{"index":0}]', "$.choices[0].message", None),
        (b'"choices":[{"index":"0","message":{"role":"a"}}]', "$.choices[0].index", 20),
        (b'"choices":[{"index":0,"message":{"role":"a","content":["x"]}}]', "$.choices[0].message.content", 54),
    ],
)
def test_strict_codecs_name_the_place(member: bytes, path: str, offset: int | None) -> None:
    body = b'{"object":"chat.completion","id":"x","created":1,"model":"m","choices":[],' + member + b"}"
    codec = fc.Codec(strict=True)
    codec.decode(BODY)
    for _ in range(2):
        with pytest.raises(fc.SchemaError) as caught:
            codec.decode(body)
        assert caught.value.path == path
        if offset is not None:
            assert caught.value.offset == offset + body.index(member)
    assert codec.deviations == []
    codec.decode(BODY)


def test_unknown_members_can_be_dropped() -> None:
    body = (
        b'{"object":"chat.completion","choices":[{"message":{"content":"a","odd":1}}],"odd":{"a":[1,2]},"usage":null}'
    )
    codec = fc.Codec(unknown="drop")
    for _ in range(3):
        value = codec.decode(body)
        assert dict(value.extra) == {}
        assert json.loads(codec.encode(value)) == {
            "object": "chat.completion",
            "choices": [{"message": {"content": "a"}}],
            "usage": None,
        }
    assert not any(deviation.kind == "extra" for deviation in codec.deviations)


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown must be"):
        fc.Codec(unknown="skip")  # type: ignore[arg-type]


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
@pytest.mark.parametrize("place", [b'"odd":%s', b'"usage":{"cost":%s}', b'"kv_transfer_params":{"a":[%s]}'])
def test_nan_and_infinity(constant: bytes, place: bytes) -> None:
    body = BODY[:-1] + b"," + place % constant + b"}"
    for codec in (fc.Codec(), fc):
        for _ in range(2):
            with pytest.raises(fc.MalformedError) as caught:
                codec.decode(body)
            assert caught.value.offset == body.index(constant)
    tolerant = fc.Codec(allow_nan=True)
    for _ in range(2):
        assert constant in tolerant.encode(tolerant.decode(body))


# -- UTF-8 ---------------------------------------------------------------------------------------------------

TOKEN = b'{"token":"t","logprob":-1,"bytes":[1],"odd":"%s","top_logprobs":[]}'
TOKEN_BYTES = b'{"token":"t","logprob":-1,"bytes":["%s"],"top_logprobs":[]}'
PLACES = {
    "known string": b'"model":"%s"',
    "unknown value": b'"odd":"%s"',
    "unknown name": b'"od%s":1',
    "nested in an unknown member": b'"odd":{"a":[{"b":"%s"}]}',
    "unknown member of a choice": b'"choices":[{"index":0,"message":{"content":"a"},"odd":"%s"}]',
    "unknown member of usage": b'"usage":{"prompt_tokens":1,"odd":["%s"]}',
    "transfer params": b'"kv_transfer_params":{"a":"%s"}',
    "name in transfer params": b'"kv_transfer_params":{"%s":1}',
    "token": b'"choices":[{"message":{},"logprobs":{"content":[' + TOKEN + b"]}}]",
    "bytes of a token": b'"choices":[{"message":{},"logprobs":{"content":[' + TOKEN_BYTES + b"]}}]",
}


@pytest.mark.parametrize("size", [0, 5000])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"])
def test_invalid_utf8_is_an_error_with_its_offset(place: str, bad: bytes, size: int) -> None:
    def body(text: bytes) -> bytes:
        padding = b'"padding":"' + b"x" * size + b'"'
        return b'{"object":"chat.completion",' + padding + b"," + PLACES[place].replace(b"%s", text) + b',"choices":[]}'

    for options in ({}, {"unknown": "drop"}, {"allow_nan": True}):
        codec = fc.Codec(**options)  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(fc.MalformedError, match="UTF-8") as caught:
                codec.decode(body(bad))
            assert caught.value.offset == body(bad).index(bad)
            assert fc.encode(codec.decode(body("é😀".encode())))  # now it is learnt


@pytest.mark.parametrize("size", [0, 5000])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", [rb"\ud83d", rb"a\udc00b", rb"\ud83d\ud83d\ude00"])
def test_lone_surrogates_come_and_go(place: str, text: bytes, size: int) -> None:
    padding = b'"padding":"' + b"x" * size + b'"'
    body = b'{"object":"chat.completion",' + padding + b"," + PLACES[place].replace(b"%s", text) + b"}"
    codec = fc.Codec()
    for _ in range(3):
        value = codec.decode(body)
        assert oracle.meaning(codec.encode(value)) == oracle.meaning(body)
        codec.decode(body.replace(text, b"plain"))


def test_a_str_with_a_lone_surrogate_is_not_utf8() -> None:
    with pytest.raises(fc.MalformedError) as caught:
        fc.decode('{"é": "\ud83d"}')
    assert caught.value.offset == 8


# -- limits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [100, 1_000, 100_000])
@pytest.mark.parametrize("place", [b'"odd":%s', b'"kv_transfer_params":{"a":%s}', b'"choices":%s'])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth(depth: int, place: bytes, opening: bytes, closing: bytes) -> None:
    body = b'{"object":"chat.completion",' + place.replace(b"%s", opening * depth + b"1" + closing * depth) + b"}"
    codec = fc.Codec()
    for _ in range(2):
        try:
            value = codec.decode(body)
        except fc.LimitError as error:
            assert depth > 100
            assert error.limit == "nesting depth"
            assert error.path.startswith("$." + place.split(b'"')[1].decode())
            assert error.offset is not None
            continue
        assert codec.encode(value).count(opening) >= depth
        repr(value)


@pytest.mark.parametrize(
    "number",
    [
        "9" * 19,
        "1" + "0" * 30,
        "-" + "9" * 4301,
        "7" * 20_000,
        "9007199254740993e0",  # a float, and stays one
        "1e400",
        "-1e-400",
        "0." + "1" * 5000,
        "1E+0000000000000000000000001",
    ],
)
@pytest.mark.parametrize("place", ['"odd":%s', '"kv_transfer_params":{"a":%s}', '"created":%s', '"usage":{"cost":%s}'])
def test_numbers_of_any_size(number: str, place: str) -> None:
    body = ('{"object":"chat.completion","choices":[],' + place % number + "}").encode()
    codec = fc.Codec()
    for _ in range(3):
        encoded = codec.encode(codec.decode(body))
        if place.startswith('"usage'):  # a float by the schema
            assert float(json.loads(encoded, parse_int=float)["usage"]["cost"]) == float(number)
        else:
            found = json.loads(encoded, parse_int=str, parse_float=str)
            value = found.get("odd") or found.get("created") or found["kv_transfer_params"]["a"]
            assert value.lower().replace("+", "").replace("e0", "e") == number.lower().replace("+", "").replace(
                "e0", "e"
            ) or (oracle.meaning(value.encode()) == oracle.meaning(number.encode()))


# -- what it refuses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "error", "path", "offset", "reason"),
    [
        (b"", fc.TruncatedError, "$", 0, "end"),
        (b"   ", fc.TruncatedError, "$", 3, "end"),
        (b"<html>", fc.MalformedError, "$", 0, "value"),
        (b'{"id": }', fc.MalformedError, "$.id", 7, "value"),
        (b'{"id": "x",}', fc.MalformedError, "$", 11, "name"),
        (b'{"choices": [1 2]}', fc.MalformedError, "$.choices", 15, "Expected"),
        (b'{"choices": []} x', fc.MalformedError, "$", 16, "Trailing"),
        (b'{"id": "a\nb"}', fc.MalformedError, "$.id", 9, "control"),
        (b'{"id": "\\x"}', fc.MalformedError, "$.id", 9, "escape"),
        (b'{"created": 01}', fc.MalformedError, "$.created", 13, "number"),
        (b'{"choices": [{"message": {"content": "abc', fc.TruncatedError, "$.choices[0].message.content", 41, "end"),
        (b"[]", fc.SchemaError, "$", 0, "array"),
        (b"7", fc.SchemaError, "$", 0, "number"),
        (b"null", fc.SchemaError, "$", 0, "null"),
        (b'"text"', fc.SchemaError, "$", 0, "string"),
        (b'{"object": "list", "data": []}', fc.SchemaError, "$.object", 11, "choices"),
        (b'{"id": "x"}', fc.SchemaError, "$", 0, "choices"),
    ],
)
def test_refusals(body: bytes, error: type[fc.DecodeError], path: str, offset: int, reason: str) -> None:
    learnt = fc.Codec()
    learnt.decode(BODY)
    for codec in (fc.Codec(), learnt, fc):
        for given in (body, bytearray(body), body.decode()):
            with pytest.raises(error) as caught:
                codec.decode(given)
            assert type(caught.value) is error
            assert (caught.value.path, caught.value.offset) == (path, offset)
            assert reason.lower() in caught.value.reason.lower()
            assert caught.value.data == body[offset : offset + 60]
            assert path in str(caught.value)
            assert f"byte {offset}" in str(caught.value)


def test_the_cause_is_kept() -> None:
    with pytest.raises(fc.MalformedError) as caught:
        fc.decode(b'{"id": }')
    assert isinstance(caught.value.__cause__, msgspec.DecodeError)


def test_one_type_of_error_for_all() -> None:
    for error in (fc.MalformedError, fc.SchemaError, fc.TruncatedError, fc.LimitError):
        assert issubclass(error, fc.DecodeError)
        assert issubclass(error, ValueError)
        assert issubclass(error, fc.FastCompletionError)
    assert issubclass(fc.UpstreamError, fc.FastCompletionError)
    assert not issubclass(fc.UpstreamError, ValueError)


@pytest.mark.parametrize(
    "body",
    [b'{"choices":[],"new":1}', b'{"choices":[', b"[1]", b'{"choices":[],"text":"\\ud800"}', b"\xff"],
)
def test_what_a_caller_holds_is_freed_when_it_returns(body: bytes) -> None:
    class Held:
        pass

    def call() -> weakref.ref[Held]:
        held = Held()
        with contextlib.suppress(fc.DecodeError):
            fc.Codec().decode(body)
        return weakref.ref(held)

    gc.disable()  # it would free a cycle of an error and a frame too, but in a busy server only long after
    try:
        assert call()() is None
    finally:
        gc.enable()

"""Streams: every vector, whole and cut anywhere; what is no stream; errors; the way back."""

from __future__ import annotations

import json
import random
import re
import tracemalloc
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastcompletion as fc
from tests import oracle, vectors
from tests.budget import examples
from tests.test_vectors import ABSENT, is_same, look_up

if TYPE_CHECKING:
    from collections.abc import Iterable

STREAMS = vectors.streams()
EXPECTED = {
    name: json.loads(path.read_text(encoding="utf-8"))
    for name in STREAMS
    for path in Path(vectors.ROOT).glob(f"*/{name}.expect.json")
}
assert EXPECTED.keys() == STREAMS.keys()
OF_STREAMS = {name: expect for name, expect in EXPECTED.items() if "framing" in expect}
OF_REPORTS = {name: expect for name, expect in EXPECTED.items() if "checks" in expect}
assert len(OF_STREAMS) > 50
assert len(OF_REPORTS) > 20

CHUNK = b'{"object":"chat.completion.chunk","id":"x","created":1,"model":"m","choices":[{"index":0,"delta":%s}]}'
HELLO = CHUNK % b'{"content":"Hello"}'
STOP = b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'


def event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def run(pieces: Iterable[bytes], codec: fc.Codec | None = None) -> tuple[fc.StreamDecoder, list[fc.StreamItem]]:
    """All items of a stream, those of `close` included."""
    stream = fc.StreamDecoder(codec or fc.Codec())
    items = [item for piece in pieces for item in stream.feed(piece)]
    return stream, items + stream.close()


def outcome(stream: fc.StreamDecoder, items: list[fc.StreamItem]) -> Any:
    """All that a stream gave, in a form that compares."""
    told = [(item.kind, item.info, item.raw) if isinstance(item, fc.StreamError) else item for item in items]
    return told, stream.done, stream.complete, stream.ignored


def cut(stream: bytes, positions: Iterable[int]) -> list[bytes]:
    cuts = [0, *sorted(positions), len(stream)]
    return [stream[start:end] for start, end in pairwise(cuts)]


# -- vectors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_STREAMS)
def test_streams(name: str) -> None:
    expect = OF_STREAMS[name]
    stream, items = run([STREAMS[name]])
    errors, chunks = [], 0
    for item in items:
        if isinstance(item, fc.StreamError):
            kind, info = item.kind, item.info
            found = {"kind": kind, "message": info.message, "type": info.type, "code": info.code}
            errors.append(found | {"after_chunks": chunks})
        else:
            assert isinstance(item, fc.ChatCompletionChunk | fc.ChatCompletion | fc.Completion)
            chunks += 1
    assert errors == expect["errors"]
    assert chunks == expect["chunks"]
    assert stream.ignored == expect["ignored"]
    assert (stream.done, stream.complete) == (expect["done"], expect["complete"])


@pytest.mark.parametrize("name", OF_REPORTS)
def test_reports(name: str) -> None:
    expect = OF_REPORTS[name]
    stream, items = run([STREAMS[name]])
    errors = [item for item in items if is_error(item)]
    documents = [
        json.loads(fc.encode(item)) for item in items if isinstance(item, msgspec.Struct) and item not in errors
    ]
    documents += [json.loads(item.raw) for item in errors if b"data: " + item.raw in STREAMS[name] and item.response]
    failed = [item for item in errors if item.kind == "invalid_json"]
    assert bool(failed) == (expect["decode"] == "error")
    for where, expected in expect["checks"]:
        if path := re.fullmatch(r"(len )?events\[([0-9]+)\](\$\S*)", where):
            found = look_up(documents[int(path[2])], path[3])
            found = len(found) if path[1] else found
            assert found is ABSENT if expected == ABSENT else is_same(found, expected), where
        elif where == "events[1] is_error":
            assert is_error(items[1]) is expected
        elif path := re.fullmatch(r"events\[([0-9]+)\](\$\S*) \(utf-16 units, last\)", where):
            assert ord(look_up(documents[int(path[1])], path[2])[-1]) == int(expected, 16)
        elif where in ("events.count", "events before error"):
            assert len(documents) == expected
        elif where == "done":
            assert stream.done is expected
        elif where == "no empty event dispatched":
            assert all(is_error(item) for item in items)
        elif where == "error.event":
            assert [is_error(item) for item in items].index(True) == expected
        elif where == "error.kind":
            assert failed[0].cause
        elif where.startswith("re-encoded event 0 contains"):
            assert expected.encode() in fc.encode(items[0])
        else:  # in the tests of the accumulator, and of all cuts below; a lenient reading that is not ours
            assert re.match(r"(len )?acc\$|acc complete$|feed$|lenient: ", where), where


def is_error(item: Any) -> bool:
    return isinstance(item, fc.StreamError)


@pytest.mark.parametrize("name", STREAMS)
def test_cuts_do_not_matter(name: str) -> None:
    whole = STREAMS[name]
    expected = outcome(*run([whole]))
    assert outcome(*run(whole[place : place + 1] for place in range(len(whole)))) == expected
    dice = random.Random(name)
    for size in (7, 100, 1000):
        assert outcome(*run(cut(whole, range(size, len(whole), size)))) == expected
    for _ in range(20):
        cuts = dice.choices(range(len(whole) + 1), k=dice.randrange(1, 20))
        assert outcome(*run(cut(whole, cuts))) == expected, cuts


@pytest.mark.parametrize("name", STREAMS)
def test_raw_events_are_the_stream(name: str) -> None:
    whole = STREAMS[name]
    expected = outcome(*run([whole]))
    for size in (1, 100, len(whole)):
        stream = fc.StreamDecoder(fc.Codec(), raw=True)
        events = [event for piece in cut(whole, range(size, len(whole), size)) for event in stream.feed_events(piece)]
        items = [item for event in events for item in event.items] + stream.close()
        assert b"".join(event.raw for event in events) + stream.left == whole
        assert outcome(stream, items) == expected


@pytest.mark.parametrize("name", STREAMS)
def test_chunks_go_back_as_they_came(name: str) -> None:
    codec = fc.Codec()
    for _ in ("as it was", "as learnt"):
        stream = fc.StreamDecoder(codec, raw=True)
        for one in stream.feed_events(STREAMS[name]):
            payload = b"\n".join(re.findall(rb"^data: ?(.*?)\r?$", one.raw, re.MULTILINE))
            for item in one.items:
                if isinstance(item, fc.ChatCompletionChunk | fc.Completion | fc.ChatCompletion):
                    root = oracle.root_of(item)
                    assert oracle.meaning(codec.encode(item), root) == oracle.meaning(payload, root)


# -- how servers end, fail and pad ---------------------------------------------------------------------------


@pytest.mark.parametrize("done", [b"[DONE]", b" [DONE] ", b"[DONE]\t"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n", b"\n\n"])
def test_done_in_all_its_spellings(done: bytes, end: bytes) -> None:
    stream, items = run([event(HELLO) + event(STOP) + b"data:" + done + end])
    assert len(items) == 2
    assert (stream.done, stream.complete) == (True, True)


@pytest.mark.parametrize("done", [b"[DONE]", b" [DONE] "])
def test_what_follows_done_is_ignored(done: bytes) -> None:
    whole = event(STOP) + event(done) + event(HELLO) + event(b"{") + event(done)
    for pieces in ([whole], cut(whole, range(len(whole)))):
        stream, items = run(pieces)
        assert len(items) == 1
        assert stream.ignored == 3


@pytest.mark.parametrize(
    "noise",
    [
        b": OPENROUTER PROCESSING\n\n",
        b":\n\n",
        b"data:\n\n",
        b"data: null\n\n",
        b"data: {}\n\n",
        b'event: ping\ndata: {"type": "ping"}\n\n',
        b"event: ping\ndata: anything\n\n",
        b"event: ping\n\n",
        b'data: {"type": "ping"}\n\n',
        b"retry: 3000\n\n",
        b"id: 7\n\n",
        b"\n\n\n",
        b"\xef\xbb\xbf",
    ],
)
def test_noise(noise: bytes) -> None:
    stream, items = run([noise + event(HELLO) + noise.removeprefix(b"\xef\xbb\xbf") + event(STOP)])
    assert [type(item) for item in items] == [fc.ChatCompletionChunk] * 2 or [
        item.__class__.__mro__[1] for item in items
    ] == [fc.ChatCompletionChunk] * 2
    assert stream.complete


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        (event(b'{"error":{"message":"boom","code":500}}'), "boom", 500),
        (event(b'{"error":"boom"}'), "boom", None),
        (event(b'[{"error":{"message":"boom","code":429}}]'), "boom", 429),
        (event(b'{"object":"error","message":"boom","code":400}'), "boom", 400),
        (b"event: error\n" + event(b'{"message":"boom"}'), "boom", None),
        (b"event: error\n" + event(b"boom"), "boom", None),
        (b"event: error\n" + event(b'{"unheard":"of"}'), '{"unheard":"of"}', None),
        (b'error: {"message":"boom","code":400}\n\n', "boom", 400),
        (b"error: boom\n\n", "boom", None),
        (event(b'{"detail":"boom"}'), "boom", None),
    ],
)
def test_errors_of_the_server(text: bytes, message: str, code: Any) -> None:
    stream, items = run([event(HELLO) + text + event(b"[DONE]")])
    chunk, error = items
    assert isinstance(chunk, fc.ChatCompletionChunk)
    assert isinstance(error, fc.StreamError)
    assert (error.kind, error.info.message, error.info.code) == ("server", message, code)
    assert error.raw in text
    assert error.raw
    assert stream.done
    assert not stream.complete


@pytest.mark.parametrize("member", [b'"error":{"message":"boom","code":502}', b'"x_groq":{"id":"r","error":"boom"}'])
def test_an_error_beside_choices_comes_after_them(member: bytes) -> None:
    body = b'{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"error"}],%s}' % member
    codec = fc.Codec()
    for _ in ("as it was", "as learnt"):
        _, items = run([event(HELLO) + event(body) + event(HELLO)], codec)
        assert [is_error(item) for item in items] == [False, False, True, False]
        chunk, error = items[1:3]
        assert isinstance(chunk, fc.ChatCompletionChunk)
        assert chunk.choices[0].delta.content == "Hi"
        assert oracle.meaning(codec.encode(chunk), fc.ChatCompletionChunk) == oracle.meaning(
            body, fc.ChatCompletionChunk
        )
        assert isinstance(error, fc.StreamError)
        assert error.info.message == "boom"
        assert error.response


def test_null_errors_are_none() -> None:
    body = b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"error":null,"x_groq":{"error":null}}'
    _, items = run([event(body), event(body)])
    assert [is_error(item) for item in items] == [False, False]


def test_bad_json_is_an_item_with_place_and_cause() -> None:
    _, items = run([event(HELLO) + event(b'{"choices": [}') + event(STOP)])
    error = items[1]
    assert isinstance(error, fc.StreamError)
    assert (error.kind, error.raw, error.info.message) == ("invalid_json", b'{"choices": [}', '{"choices": [}')
    assert isinstance(error.cause, fc.MalformedError)
    assert (error.cause.path, error.cause.offset) == ("$.choices[0]", 13)
    assert len(items) == 3


@pytest.mark.parametrize("data", [b'{"unheard": "of"}', b"[]", b"7", b'"text"', b'{"a": \xff}'])
def test_json_that_is_no_chunk_is_an_item(data: bytes) -> None:
    _, items = run([event(HELLO) + event(data) + event(STOP)])
    error = items[1]
    assert isinstance(error, fc.StreamError)
    assert (error.kind, error.raw) == ("invalid_json", data)
    assert error.cause


def test_events_of_other_types() -> None:
    _, items = run([b"event: hidden_states\n" + event(b'{"states": [1]}') + b"event: sglext_ids\n" + event(HELLO)])
    named, chunk, incomplete = items
    assert named == fc.ServerSentEvent(b'{"states": [1]}', "hidden_states")
    assert isinstance(chunk, fc.ChatCompletionChunk)
    assert is_error(incomplete)


def test_chunks_without_choices() -> None:
    usage = b'{"id":"x","usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'
    mislabelled = b'{"object":"chat.completion","choices":[],"usage":null}'
    for data in (usage, mislabelled):
        codec = fc.Codec()
        for _ in range(2):
            _, items = run([event(data) + event(STOP)], codec)
            assert isinstance(items[0], fc.ChatCompletionChunk)
            assert oracle.meaning(codec.encode(items[0])) == oracle.meaning(data)


def test_several_choices_all_have_to_end() -> None:
    first = b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"},{"index":1,"delta":{"content":"a"}}]}'
    second = b'{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}'
    stream, items = run([event(first)])
    assert not stream.complete
    assert is_error(items[-1])
    stream, items = run([event(first) + event(second)])
    assert stream.complete
    assert not is_error(items[-1])


def test_an_event_without_its_blank_line() -> None:
    stream, items = run([event(HELLO) + b"data: " + STOP])
    assert len(items) == 2  # whole JSON: it lacks nothing but the blank line
    assert stream.complete
    assert stream.left == b"data: " + STOP
    stream, items = run([event(HELLO) + b"data: " + STOP[:-1]])
    assert not stream.complete
    error = items[1]
    assert isinstance(error, fc.StreamError)
    assert (error.kind, error.raw) == ("incomplete", b"data: " + STOP[:-1])


def test_a_named_event_that_is_cut_off() -> None:
    stream, items = run([event(HELLO) + event(STOP) + b'event: odd\ndata: {"a":'])
    assert len(items) == 2
    assert stream.left == b'event: odd\ndata: {"a":'


# -- what is no stream ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [b"", b"\n", b"\xef\xbb\xbf", b" \r\n\t"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_completion_instead_of_a_stream(space: bytes, size: int) -> None:
    body = space + b'{"object":"chat.completion","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'
    stream, items = run(cut(body, range(size, len(body), size)))
    (completion,) = items
    assert isinstance(completion, fc.ChatCompletion)
    assert stream.complete
    assert stream.left == body


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        (b'{"error":{"message":"quota","code":429}}', "quota", 429),
        (b'[{"error":{"message":"quota","code":429}}]', "quota", 429),
        (b"<html><title>502 Bad Gateway</title></html>", "<html><title>502 Bad Gateway</title></html>", None),
        (b'"Internal Server Error"', '"Internal Server Error"', None),
        (b'{"error":{"mess', '{"error":{"mess', None),
        (b'{"data":[]}', '{"data":[]}', None),
    ],
)
def test_something_else_instead_of_a_stream(body: bytes, message: str, code: Any) -> None:
    for pieces in ([body], cut(body, range(len(body)))):
        stream, items = run(pieces)
        (error,) = items
        assert isinstance(error, fc.StreamError)
        assert (error.kind, error.info.message, error.info.code) == ("not_sse", message, code)
        assert error.raw == stream.left == body
        assert (error.response is None) == (error.cause is not None)


@pytest.mark.parametrize("body", [b"", b"\n\n", b"\xef\xbb", b"\xef\xbb\xbf", b"\n" * 10_000])
def test_nothing_at_all(body: bytes) -> None:
    for pieces in ([body], cut(body, range(len(body)))):
        _, items = run(pieces)
        assert [item.kind for item in items if isinstance(item, fc.StreamError)] == ["incomplete"]


def test_closing() -> None:
    stream = fc.StreamDecoder(fc.Codec())
    first = stream.close()
    assert stream.close() == first
    with pytest.raises(ValueError, match="closed"):
        stream.feed(b"data: x\n\n")
    stream = fc.StreamDecoder(fc.Codec())
    stream.feed(event(HELLO))
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.feed(b"data: x\n\n")
    with pytest.raises(ValueError, match="raw=True"):
        stream.feed_events(b"")


# -- limits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [b"data: ", b"data: {", b"{", b"<", b"data: x\ndata: ", b": "])
def test_what_never_ends_is_refused(head: bytes) -> None:
    stream = fc.StreamDecoder(fc.Codec(), max_event_bytes=10_000)
    stream.feed(head)
    for _ in range(9):
        stream.feed(b"x" * 1000)
    with pytest.raises(fc.LimitError) as caught:
        stream.feed(b"x" * 1000)
    assert caught.value.limit == "max_event_bytes"
    with pytest.raises(fc.LimitError):
        stream.feed(b"x")
    assert all(is_error(item) for item in stream.close())


def test_choices_without_end_are_bounded() -> None:
    stream = fc.StreamDecoder(fc.Codec())
    for index in range(0, 5000, 50):
        choices = b",".join(b'{"index":%d,"delta":{}}' % number for number in range(index, index + 50))
        stream.feed(event(b'{"choices":[%s]}' % choices))
    assert len(stream._reasons) < 2000
    assert not stream.complete


# -- any bytes -----------------------------------------------------------------------------------------------

FRAGMENTS = [
    b"data: ", b"data:", b"data", b"event: error\n", b"event: ping\n", b"event: x\n", b"error: ", b"id: 1\n", b"\n",
    b"\n\n", b"\r\n\r\n", b"\r", b": c\n", HELLO, STOP, b"[DONE]", b"null", b"{}", b"[]", b"{", b"}", b"7", b"\xff",
    b'{"error":{"message":"boom"}}', b'{"choices":null}', b'{"choices":[null]}', b'{"choices":[{}]}', b"\xef\xbb\xbf",
    b'{"choices":[{"index":[],"delta":null}]}', b'{"choices":[{"index":"0","finish_reason":{}}]}', b'{"choices":{}}',
    b'{"object":"chat.completion","choices":[]}', b'{"object":"text_completion","choices":[{"text":"a","index":0}]}',
    b'{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}', b'{"x_groq":{"error":"e"},"id":""}',
    b'"\\ud83d"', b'{"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}', b'{"added_":1,"choices":[]}',
]  # fmt: skip


@examples(400)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20), st.data())
def test_any_bytes_are_items(fragments: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(fragments)
    expected = outcome(*run([whole]))
    cuts = data.draw(st.lists(st.integers(0, len(whole)), max_size=6))
    assert outcome(*run(cut(whole, cuts))) == expected
    shared = fc.Codec()
    run([whole], shared)
    assert outcome(*run([whole], shared)) == expected
    encoder = fc.StreamEncoder()
    for item in expected[0]:
        if isinstance(item, msgspec.Struct):
            encoder.add(item)  # type: ignore[arg-type]


# -- the way back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_what_was_decoded_is_encoded_to_the_same_items(name: str) -> None:
    codec = fc.Codec()
    _, items = run([STREAMS[name]], codec)
    encoder = fc.StreamEncoder(codec)
    kept = [item for item in items if not is_error(item) or item.kind == "server"]
    for item in kept:
        encoder.add(item)
    encoder.add_done()
    sent = encoder.take()
    assert encoder.take() == b""
    stream, again = run([sent], codec)
    assert stream.done
    chunks = [item for item in kept if not is_error(item)]
    assert [item for item in again if not is_error(item)] == chunks
    told = [item.info for item in again if is_error(item) and item.kind == "server"]
    beside = [item for item in chunks if getattr(item, "extra", {}).get("error")]  # told by the chunk, and by itself
    assert len(told) - len(beside) == sum(is_error(item) for item in kept)


def test_errors_are_encoded_with_their_message() -> None:
    encoder = fc.StreamEncoder()
    for item in run([event(HELLO) + event(b"{")])[1]:
        encoder.add(item)
    _, (_, error) = run([encoder.take()])
    assert isinstance(error, fc.StreamError)
    assert (error.kind, error.info.message) == ("server", "{")


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("cut_at", range(0, 12, 3))
def test_an_error_never_stands_inside_an_open_event(end: bytes, cut_at: int) -> None:
    encoder = fc.StreamEncoder()
    raw = event(HELLO) + (b"data: " + HELLO)[: cut_at * 9] + end
    for position in range(len(raw)):
        encoder.add_raw(raw[position : position + 1])
    encoder.add(fc.ErrorResponse(error="gone"))
    encoder.add_done()
    encoder.add_done()
    sent = encoder.take()
    assert sent.startswith(raw)
    assert sent.count(b"[DONE]") == 1
    _, items = run([sent])
    assert isinstance(items[0], fc.ChatCompletionChunk)
    error = items[-1]
    assert isinstance(error, fc.StreamError)
    assert (error.kind, error.info.message) == ("server", "gone")


@pytest.mark.parametrize("end", [b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r\n", b"\r\n\n"])
def test_nothing_is_added_after_whole_events(end: bytes) -> None:
    encoder = fc.StreamEncoder()
    encoder.add_raw(b"data: a" + end)
    encoder.add_comment("ping")
    assert encoder.take() == b"data: a" + end + b": ping\n\n"


def test_what_cannot_be_encoded_leaves_nothing_behind() -> None:
    encoder = fc.StreamEncoder()
    chunk = fc.decode(HELLO, fc.ChatCompletionChunk)
    encoder.add(chunk)
    chunk.kv_transfer_params = {"x": object()}
    with pytest.raises(TypeError, match=r"\$\.kv_transfer_params\.x"):
        encoder.add(chunk)
    assert encoder.take() == event(fc.encode(fc.decode(HELLO)))


TEMPLATES = [
    fc.decode(HELLO, fc.ChatCompletionChunk),
    fc.decode(
        b'{"choices":[{"delta":{"content":"0"},"x":1,"index":10}],"y":"\\ud83d","z":[0,1]}', fc.ChatCompletionChunk
    ),
]


@pytest.mark.parametrize("template", TEMPLATES)
@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_templates(template: fc.ChatCompletionChunk, text: str) -> None:
    encode = fc.ChunkTemplate(template).encode
    for delta in (text, fc.Delta(content=text), fc.Delta(reasoning_content=text, role="assistant")):
        (item,) = fc.StreamDecoder(fc.Codec()).feed(encode(delta))
        assert isinstance(item, fc.ChatCompletionChunk)
        expected = msgspec.structs.replace(template)
        (choice,) = template.choices
        as_delta = fc.Delta(content=delta) if isinstance(delta, str) else delta
        expected.choices = [msgspec.structs.replace(choice, delta=as_delta)]
        assert json.loads(fc.encode(item), parse_float=Decimal) == json.loads(fc.encode(expected), parse_float=Decimal)


def test_a_template_has_one_choice() -> None:
    with pytest.raises(ValueError, match="one choice, not 0"):
        fc.ChunkTemplate(fc.decode(b'{"choices":[]}', fc.ChatCompletionChunk))


# -- what a review broke -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\n\n"])
def test_line_ends_in_extras_do_not_break_the_frame(end: str) -> None:
    body = (
        '{"object":"chat.completion.chunk","id":"a","choices":[{"index":0,"delta":{"odd":{%s"a":"\\n"}}}],"x":[1,%s2]}'
    )
    chunk = fc.decode(body % (end, end), fc.ChatCompletionChunk)
    encoder = fc.StreamEncoder()
    encoder.add(chunk)
    template = fc.ChunkTemplate(chunk)
    for sent in (encoder.take(), template.encode(chunk.choices[0].delta)):
        (item,) = fc.StreamDecoder(fc.Codec()).feed(sent)
        assert item == chunk


DEEP = b"[" * 480 + b"]" * 480


@pytest.mark.parametrize(
    "error", [b"1e999", b"1" * 5000, b'{"code":' + b"1" * 5000 + b"}", DEEP, b'{"message":' + DEEP + b"}", b"true"]
)
@pytest.mark.parametrize("member", [b'"error":%s', b'"x_groq":{"error":%s}'])
def test_no_error_beside_choices_stops_the_stream(error: bytes, member: bytes) -> None:
    body = b'{"choices":[{"index":0,"delta":{"content":"kept"}}],' + member.replace(b"%s", error) + b"}"
    _, items = run([event(HELLO) + event(body) + event(HELLO)])
    assert [is_error(item) for item in items] == [False, False, True, False]
    assert items[2].kind == "server"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body", [b'{"error":' + DEEP + b"}", b'{"detail":' + DEEP + b"}", b'{"error":{"message":' + DEEP + b"}}"]
)
def test_errors_that_nest_deeply_are_errors(body: bytes) -> None:
    with pytest.raises(fc.UpstreamError):
        fc.decode(body, fc.ChatCompletion)
    for pieces in ([event(body)], [body]):
        assert all(is_error(item) for item in run(pieces)[1])


def test_errors_that_are_kept_hold_no_pieces() -> None:
    stream, kept = fc.StreamDecoder(fc.Codec()), []
    tracemalloc.start()
    for _ in range(20):
        kept += stream.feed(b"data: nope\n\n: " + b"x" * 500_000 + b"\n")
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(kept) == 20
    assert held < 1_500_000


def test_dropping_codecs_see_errors() -> None:
    codec = fc.Codec(unknown="drop")
    body = b'{"choices":[{"index":0,"delta":{"content":"a"}}],"odd":1,"error":{"message":"boom"}}'
    for _ in range(2):
        _, items = run([event(HELLO) + event(body)], codec)
        assert [is_error(item) for item in items] == [False, False, True]
        assert "odd" not in items[1].extra  # type: ignore[union-attr]

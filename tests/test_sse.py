"""Server-sent events: the standard, whatever the cuts; linear in time, bounded in memory; and the way back."""

from __future__ import annotations

import random
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcompletion._errors import LimitError
from fastcompletion._sse import DONE, ServerSentEvent, SSEDecoder, encode_comment, encode_event
from tests import sse_reference, vectors
from tests.budget import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FRAMING = {case["id"]: case for case in vectors.jsonl("framing.jsonl")}
ENCODE = {case["id"]: case for case in vectors.jsonl("encode.jsonl")}
MANY = 5000  # bytes from which only some of the cuts are tried


# -- cuts -----------------------------------------------------------------------------------------------------


def cut(stream: bytes, *positions: int) -> list[bytes]:
    """A stream cut at ``positions``, given in order."""
    return [stream[start:end] for start, end in zip((0, *positions), (*positions, len(stream)), strict=True)]


def pieces_of(stream: bytes, size: int) -> list[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def splits(stream: bytes) -> Iterator[list[bytes]]:
    """A stream under every rule by which it is to be cut: whole, evenly, once, twice, anyhow, with empty pieces."""
    length = len(stream)
    chance = random.Random(length)
    yield [stream]
    yield pieces_of(stream, 1)
    yield pieces_of(stream, 2)
    yield [b"", *(piece for byte in pieces_of(stream, 1) for piece in (byte, b""))]
    places = range(length + 1)
    for place in places if length <= 1000 else chance.sample(places, 100 if length <= MANY else 10):
        yield cut(stream, place)
    if length <= 60:
        for first in places:
            for second in range(first, length + 1):
                yield cut(stream, first, second)
    for _ in range(20 if length <= MANY else 3):
        count = chance.randint(0, min(length, 30))
        yield cut(stream, *sorted(chance.choices(places, k=count)))


# -- what a decoder makes of pieces ----------------------------------------------------------------------------


Seen = tuple[Any, ...]


def drive(pieces: Iterable[bytes], **options: Any) -> tuple[list[ServerSentEvent], Seen]:
    """The events of a stream through `feed`, and its state at the end, comments and what is left included."""
    decoder = SSEDecoder(comments=True, **options)
    events: list[ServerSentEvent] = []
    comments: list[str] = []
    for piece in pieces:
        events += decoder.feed(piece)
        comments += decoder.comments
    return events, (decoder.last_event_id, decoder.retry, comments, decoder.close())


def drive_data(pieces: Iterable[bytes], feeds_data: Callable[[], bool]) -> tuple[list[tuple[str, bytes]], Seen]:
    """The same as pairs of type and data, through `feed_data` or `feed`, whichever ``feeds_data`` says each time."""
    decoder = SSEDecoder(comments=True)
    pairs: list[tuple[str, bytes]] = []
    comments: list[str] = []
    for piece in pieces:
        if feeds_data():
            payloads = decoder.feed_data(piece)
            assert set(decoder.named) <= set(range(len(payloads)))
            pairs += [(decoder.named.get(at, "message"), payload) for at, payload in enumerate(payloads)]
        else:
            pairs += [(event.event, event.data) for event in decoder.feed(piece)]
            assert not decoder.named
        comments += decoder.comments
    return pairs, (decoder.last_event_id, decoder.retry, comments, decoder.close())


def as_text(events: Iterable[ServerSentEvent]) -> list[tuple[str, str, str, int | None]]:
    return [(event.event, event.text, event.id, event.retry) for event in events]


def check(stream: bytes, pieces: list[bytes], expected: list[ServerSentEvent], state: Seen) -> None:
    """One way to cut a stream, through each way to decode it."""
    assert drive(pieces) == (expected, state)
    pairs = [(event.event, event.data) for event in expected]
    assert drive_data(pieces, lambda: True) == (pairs, state)

    with_raw, (*rest, left) = drive(pieces, raw=True)
    assert as_text(with_raw) == as_text(expected)
    assert (*rest,) == state[:-1]
    assert b"".join(event.raw for event in with_raw) + left == stream
    assert left.endswith(state[-1])


# -- the standard -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FRAMING.values(), ids=FRAMING.keys())
def test_the_reference_meets_the_framing_vectors(case: dict[str, Any]) -> None:
    parsed = sse_reference.parse(case["bytes"])
    assert [event._asdict() for event in parsed.events] == case["events"]
    assert parsed._asdict() | {"events": None} == case["final"] | {"events": None}


@pytest.mark.parametrize("case", FRAMING.values(), ids=FRAMING.keys())
def test_framing_vectors_under_every_cut(case: dict[str, Any]) -> None:
    stream = case["bytes"]
    expected = [(event["event"], event["data"], event["id"], event["retry"]) for event in case["events"]]
    final = case["final"]
    events, state = drive([stream])
    assert as_text(events) == expected
    assert state[:-1] == (final["last_event_id"], final["retry"], final["comments"])
    for pieces in splits(stream):
        check(stream, pieces, events, state)


FRAGMENTS = [
    *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef", b"\xe2\x82", b"\xff", b"\0"),
    *(b"data: x\n\n", b"data: {}\n\n", b"data:{}\n\n", b"data: x\r\n\r\n", b"data:x\r\n\r\n", b"data: ", b"data:"),
    *(b"data", b"\ndata: ", b"\n\ndata: ", b"\n\ndata:", b": c\n", b":", b"::", b" ", b"x", b"7", "é🧪\u2028".encode()),
    *(b"event: e\n", b"event", b"event: message\n", b"id: 1\n", b"id", b"id: \0\n", b"retry: 10\n", b"retry: x\n"),
    *(b"error: {}\n", b"Data: x\n", b"\x85", b"\x0b"),
]
SOUP = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.binary(max_size=3)), max_size=25).map(b"".join)


@st.composite
def cut_soup(draw: st.DrawFn) -> list[bytes]:
    stream = draw(SOUP)
    return cut(stream, *sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8))))


@examples(400)
@given(cut_soup())
def test_any_bytes_decode_as_the_reference_parses_them(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    parsed = sse_reference.parse(stream)
    expected, state = drive([stream])
    assert as_text(expected) == parsed.events
    assert state[:-1] == (parsed.last_event_id, parsed.retry, parsed.comments)
    check(stream, pieces, expected, state)


@examples(200)
@given(cut_soup(), st.randoms(use_true_random=False))
def test_feed_and_feed_data_take_turns(pieces: list[bytes], chance: random.Random) -> None:
    expected, state = drive(pieces)
    pairs = [(event.event, event.data) for event in expected]
    assert drive_data(pieces, lambda: chance.random() < 0.5) == (pairs, state)


@pytest.mark.parametrize(
    "stream",
    [
        b"data:a\n\ndata: b\n\n",
        b"data: a\n\ndata:b\n\ndata: c\n\n",
        b"data:a\r\n\r\ndata: b\r\n\r\n",
        b"data: a\n\n\ndata: b\n\n",
        b"data: a\n\ndata: b\ndata: c\n\n",
        b"data: a\ndata: b\n",
        b"data: a\ndata: b\n\ndata: c\n",
        b"data: a\n\n: b\n\ndata: c\n\n",
        b"data: a\r\n\r\ndata: b\rc\r\n\r\n",
        b"data: a\r\n\r\ndata: b\n\r\n\r\n",
        b"data: a\r\n\r\ndata: b\r\n\r",
        b"data: a\r\n\r\ndata: b\n\n",
        b"data: a\r\n\r\ndata: b\n",
        b"data: \n\ndata:\n\ndata: \n\n",
        b"data\n\ndata: a\n\n",
    ],
)
def test_what_is_nearly_plain_decodes_as_the_reference_parses_it(stream: bytes) -> None:
    expected, state = drive([stream])
    assert as_text(expected) == sse_reference.parse(stream).events
    for pieces in splits(stream):
        check(stream, pieces, expected, state)


def test_an_event_comes_with_the_byte_that_completes_it() -> None:
    decoder = SSEDecoder()
    fed = [decoder.feed_data(bytes([byte])) for byte in b"data: a\r\n\r\ndata: b\r\rdata: c\n\n"]
    assert [at for at, payloads in enumerate(fed) if payloads] == [9, 19, 28]


@examples(150)
@given(cut_soup())
def test_what_is_left_tells_what_the_unfinished_block_was(pieces: list[bytes]) -> None:
    stream = b"".join(pieces)
    events, (*_, left) = drive(pieces)
    assert stream.endswith((left, left + b"\n"))  # an LF after the CR of a blank line is part of no block
    finished = as_text(drive([stream, b"\n\n"])[0])
    of_left = [(event.event, event.text) for event in drive([b"\n", left, b"\n\n"])[0]]
    assert [event[:2] for event in finished[len(events) :]] == of_left


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda piece: memoryview(bytearray(piece))])
def test_pieces_of_any_kind_of_bytes(kind: Callable[[bytes], Any]) -> None:
    decoder = SSEDecoder()
    for piece in (b"data: a\n\nda", b"ta: b\n", b"\n"):
        given_piece = kind(piece)
        payloads = decoder.feed_data(given_piece)
        assert all(type(payload) is bytes for payload in payloads)
    assert payloads == [b"b"]
    assert decoder.feed(kind(b"data: c\n\n")) == [ServerSentEvent(b"c")]


def test_a_buffer_may_be_reused_after_a_feed() -> None:
    decoder = SSEDecoder()
    buffer = bytearray(b"data: abc")
    assert decoder.feed_data(buffer) == []
    buffer[:] = b"#########"
    assert decoder.feed_data(b"\n\n") == [b"abc"]


@pytest.mark.parametrize("piece", ["data: a\n\n", 8, None, [100]])
def test_other_pieces_are_a_type_error(piece: Any) -> None:
    decoder = SSEDecoder()
    for feed in (decoder.feed, decoder.feed_data):
        with pytest.raises(TypeError, match="bytes"):
            feed(piece)
    assert decoder.feed_data(b"data: a\n\n") == [b"a"]


def test_numbers_that_no_one_waits_for_are_ignored() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"retry: 5\nretry: " + b"9" * 641 + b"\n")
    assert decoder.retry == 5
    decoder.feed(b"retry: " + b"0" * 5000 + b"7\n")
    assert decoder.retry == 7
    decoder.feed(b"retry: " + b"9" * 640 + b"\n")
    assert decoder.retry == int("9" * 640)


# -- options ----------------------------------------------------------------------------------------------------


def test_named_tells_the_types_of_the_last_feed_data() -> None:
    decoder = SSEDecoder()
    assert decoder.feed_data(b"data: a\n\nevent: error\ndata: b\n\nevent: message\ndata: c\n\n") == [b"a", b"b", b"c"]
    assert decoder.named == {1: "error"}
    assert decoder.feed_data(b"data: d\n\n") == [b"d"]
    assert decoder.named == {}
    decoder.feed_data(b"event: error\ndata: e\n\n")
    assert decoder.named == {0: "error"}
    decoder.feed(b"event: error\ndata: f\n\n")
    assert decoder.named == {}


def test_comments_are_those_of_the_last_feed() -> None:
    decoder = SSEDecoder(comments=True)
    decoder.feed_data(b": a\ndata: x\n:b\n\n: un")
    assert decoder.comments == [" a", "b"]
    decoder.feed_data(b"finished")
    assert decoder.comments == []
    decoder.feed_data(b"\n")
    assert decoder.comments == [" unfinished"]
    decoder.feed_data(b"data: y\n\n")
    assert decoder.comments == []
    without = SSEDecoder()
    without.feed_data(b": a\n")
    assert without.comments == []


def test_extra_fields_come_as_events_when_their_block_ends() -> None:
    stream = b'id: 1\nerror: {"code": 500}\nevent: e\n\ndata: a\nerror:x\nerror\nfoo: y\n\nerror: z\n'
    expected = [
        ServerSentEvent(b'{"code": 500}', "error", "1"),
        ServerSentEvent(b"x", "error", "1"),
        ServerSentEvent(b"", "error", "1"),
        ServerSentEvent(b"a", "message", "1"),
    ]
    for pieces in splits(stream):
        events, (*_, left) = drive(pieces, extra_fields=("error", "warning"))
        assert events == expected
        assert left == b"error: z\n"
        with_raw, (*_, left) = drive(pieces, extra_fields=("error", "warning"), raw=True)
        assert as_text(with_raw) == as_text(expected)
        assert [len(event.raw) for event in with_raw] == [37, 0, 0, 30]
        assert b"".join(event.raw for event in with_raw) + left == stream


@pytest.mark.parametrize("name", ["", "data", "event", "id", "retry", "a:b", "a\nb", "a\r"])
def test_extra_fields_that_cannot_be(name: str) -> None:
    with pytest.raises(ValueError, match="extra_fields"):
        SSEDecoder(extra_fields=(name,))


def test_raw_is_all_since_the_event_before() -> None:
    stream = b"\xef\xbb\xbf: hello\n\ndata: a\n\ndata: b\n\n: ping\n\nid: 1\n\ndata:c\r\n\r\ndata: d\n\n: bye\n\n"
    for pieces in splits(stream):
        events, (*_, left) = drive(pieces, raw=True)
        assert [event.raw for event in events] == [
            b"\xef\xbb\xbf: hello\n\ndata: a\n\n",
            b"data: b\n\n",
            b": ping\n\nid: 1\n\ndata:c\r\n\r",
            b"\ndata: d\n\n",
        ]
        assert left == b": bye\n\n"


@examples(150)
@given(cut_soup())
def test_raw_decodes_to_its_event(pieces: list[bytes]) -> None:
    last_id = ""
    for event in drive(pieces, raw=True)[0]:
        # What begins with a byte order mark in the middle of a stream must not lose it.
        (alone,) = drive([b"\n", event.raw])[0] if event.raw[:3] != b"\xef\xbb\xbf" else drive([event.raw])[0]
        assert (alone.event, alone.data, alone.retry) == (event.event, event.data, event.retry)
        assert event.id == (alone.id or event.id if b"id" in event.raw else last_id)
        last_id = event.id


# -- close ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "left"),
    [
        (b"", b""),
        (b"\xef\xbb\xbf", b""),
        (b"\xef\xbb", b"\xef\xbb"),
        (b"data: a\n\n", b""),
        (b"data: a\r\n\r\n", b""),
        (b"data: a\n\n: ping\n", b""),
        (b"data: a\n\nfoo: b\n\n", b""),
        (b"data: a\n\ndata: [DONE]", b"data: [DONE]"),
        (b"data: a\n\ndata: [DONE]\n", b"data: [DONE]\n"),
        (b"data: a\r\n\r\ndata: [DONE]\r\n", b"data: [DONE]\r\n"),
        (b"data: a\r\rdata: [DONE]\r", b"data: [DONE]\r"),
        (b": a\rid: 2\r\n: in\n\x00dat", b"id: 2\r\n: in\n\x00dat"),
        (b'{"error": {}}\n', b'{"error": {}}\n'),
    ],
)
def test_close_returns_what_was_left(stream: bytes, left: bytes) -> None:
    for pieces in splits(stream):
        decoder = SSEDecoder()
        for piece in pieces:
            decoder.feed_data(piece)
        assert decoder.close() == left
        assert decoder.close() == left


def test_a_closed_decoder_takes_nothing() -> None:
    for decoder in (SSEDecoder(), SSEDecoder(raw=True)):
        decoder.feed(b"data: a\n\nda")
        decoder.close()
        for feed in (decoder.feed, decoder.feed_data):
            for piece in (b"ta: b\n\n", b"x", b""):
                with pytest.raises(ValueError, match="closed"):
                    feed(piece)
        assert decoder.close() == b"da"


# -- the limit --------------------------------------------------------------------------------------------------


def drive_to_limit(pieces: Iterable[bytes], data_only: bool, **options: Any) -> tuple[list[bytes], int | None]:
    """The payloads before the limit, and the offset at which it was passed."""
    decoder = SSEDecoder(**options)
    payloads: list[bytes] = []
    try:
        for piece in pieces:
            payloads += decoder.feed_data(piece) if data_only else [event.data for event in decoder.feed(piece)]
        decoder.close()
    except LimitError as error:
        assert error.limit == "max_event_bytes"
        assert decoder.close() == b""
        return payloads, error.offset
    return payloads, None


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("head", [b"data: ", b"data:"])
def test_the_limit_is_exact(end: bytes, head: bytes) -> None:
    line = head + b"x" * (20 - len(head))
    fits = b"data: a" + end * 2 + line + end * 2 + b"data: b" + end * 2
    over = fits + line + b"x" + end * 2 + b"data: c" + end * 2
    for stream, offset in ((fits, None), (over, len(fits) + 20)):
        for pieces in splits(stream):
            for data_only in (True, False):
                found = drive_to_limit(pieces, data_only, max_event_bytes=20)
                assert found == ([b"a", line[len(head) :], b"b"], offset)


@examples(200)
@given(cut_soup(), st.integers(1, 40), st.booleans(), st.booleans())
def test_the_limit_does_not_depend_on_the_cuts(pieces: list[bytes], limit: int, raw: bool, data_only: bool) -> None:
    options: dict[str, Any] = {"max_event_bytes": limit, "raw": raw, "extra_fields": ("error",)}
    assert drive_to_limit(pieces, data_only, **options) == drive_to_limit([b"".join(pieces)], data_only, **options)


def test_events_before_the_limit_are_returned_and_the_error_stays() -> None:
    decoder = SSEDecoder(max_event_bytes=16)
    assert decoder.feed_data(b"data: a\n\ndata: b\n\ndata: " + b"x" * 20) == [b"a", b"b"]
    for _ in range(2):
        with pytest.raises(LimitError, match="max_event_bytes") as caught:
            decoder.feed_data(b"\n\ndata: c\n\n")
        assert (caught.value.limit, caught.value.offset, caught.value.data) == ("max_event_bytes", 34, b"x" * 10)
    assert decoder.close() == b""


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_close_raises_a_limit_that_no_feed_has_raised(end: bytes) -> None:
    decoder = SSEDecoder(max_event_bytes=16)
    assert decoder.feed_data(b"data: a\n\ndata: " + b"x" * 20 + end) == [b"a"]
    with pytest.raises(LimitError):
        decoder.close()
    assert decoder.close() == b""


def test_the_limit_holds_for_all_that_is_kept() -> None:
    endless = [b"data\n", b"foo\n", b"id: 1\n", b"data: x\n: c\n", b"x"]
    for piece in endless:
        with pytest.raises(LimitError):
            _feed_for_long(SSEDecoder(max_event_bytes=1000), piece)
    for piece in [*endless, b"\n", b": ping\n\n", b"\r\n"]:
        with pytest.raises(LimitError):
            _feed_for_long(SSEDecoder(max_event_bytes=1000, raw=True), piece)


def test_what_is_not_kept_does_not_count() -> None:
    for piece in (b"\n", b": ping\n", b"id: 1\n\n", b"data: x\n\n", b"\r\n"):
        decoder = SSEDecoder(max_event_bytes=16)
        _feed_for_long(decoder, piece)
        assert decoder.close() == b""


def _feed_for_long(decoder: SSEDecoder, piece: bytes, times: int = 2000) -> None:
    for _ in range(times):
        decoder.feed_data(piece)


@pytest.mark.parametrize("piece", [b"xy", b"data\n", b"data: x\n", b"\r"])
def test_memory_is_bounded_by_the_limit(piece: bytes) -> None:
    limit = 1 << 17
    decoder = SSEDecoder(max_event_bytes=limit, raw=True)
    tracemalloc.start()
    try:
        with pytest.raises(LimitError):
            _feed_for_long(decoder, piece, 2 * limit)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert limit < peak < 2 * limit + 20_000  # what the error itself takes


def test_no_limit() -> None:
    decoder = SSEDecoder(max_event_bytes=None)
    payload = b"x" * (17 << 20)
    assert decoder.feed_data(b"data: " + payload) == []
    assert decoder.feed_data(b"\n\n") == [payload]
    with pytest.raises(LimitError):
        SSEDecoder().feed_data(b"data: " + payload)
    with pytest.raises(ValueError, match="max_event_bytes"):
        SSEDecoder(max_event_bytes=0)


# -- time -------------------------------------------------------------------------------------------------------


def seconds(stream: bytes, size: int, **options: Any) -> float:
    """CPU time of this thread for a stream of one event in pieces of ``size``; the best of three."""
    pieces = pieces_of(stream, size)
    best = float("inf")
    for _ in range(3):
        decoder = SSEDecoder(max_event_bytes=None, **options)
        start = time.thread_time()
        found = [payload for piece in pieces for payload in decoder.feed_data(piece)]
        best = min(best, time.thread_time() - start)
        assert len(found) == 1
    return best


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (b"x", {}),
        (b"xxxx\ndata: ", {}),
        (b"\rdata:", {"raw": True}),
        (b"xxxxxx\n: comment\nfoo\ndata: ", {"comments": True}),
    ],
    ids=["one line", "lines", "empty lines", "comments"],
)
def test_a_dripped_event_takes_linear_time(line: bytes, options: dict[str, Any]) -> None:
    def event(size: int) -> bytes:
        return b"data: " + line * (size // len(line)) + b"\n\n"

    # Four times the bytes: 4 where it is linear, 16 where it is quadratic.
    assert seconds(event(1 << 20), 16, **options) < 10 * seconds(event(1 << 18), 16, **options)


# -- the way back -----------------------------------------------------------------------------------------------


def encode(event: dict[str, Any]) -> bytes:
    return encode_comment(event["comment"]) if "comment" in event else encode_event(**event)


@pytest.mark.parametrize("case", ENCODE.values(), ids=ENCODE.keys())
def test_encode_vectors(case: dict[str, Any]) -> None:
    event = case["event"]
    if case["error"]:
        with pytest.raises(ValueError, match=r"^(data|event|id|retry)\b"):
            encode(event)
        return
    encoded = encode(event)
    assert encoded == case["bytes"]
    if "data" in event:
        assert encode_event(**event | {"data": event["data"].encode()}) == encoded
        assert encode_event(**event | {"data": bytearray(event["data"].encode())}) == encoded


TEXT = st.text(st.one_of(st.sampled_from("\r\n :\0x\ufeff"), st.characters(exclude_categories=["Cs"])), max_size=12)
LINE = TEXT.map(lambda text: text.replace("\r", "").replace("\n", ""))


@examples(200)
@given(
    TEXT,
    st.none() | LINE.filter(bool),
    st.none() | LINE.map(lambda text: text.replace("\0", "")),
    st.none() | st.integers(0, 10**12),
    TEXT,
)
def test_what_is_encoded_decodes(data: str, event: str | None, id: str | None, retry: int | None, note: str) -> None:
    encoded = encode_event(data, event, id, retry)
    expected = ServerSentEvent(
        data.replace("\r\n", "\n").replace("\r", "\n").encode(), event or "message", id or "", retry
    )
    assert encode_event(data.encode(), event, id, retry) == encoded
    decoder = SSEDecoder(comments=True)
    assert decoder.feed(encode_comment(note) + encoded + DONE) == [
        expected,
        ServerSentEvent(b"[DONE]", id=expected.id),
    ]
    assert len(decoder.comments) == 1 + note.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    again = encode_event(expected.data, expected.event, expected.id, expected.retry)
    assert SSEDecoder().feed(again) == [expected]


def test_blocks_without_data() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(encode_event(id="7") + encode_event(retry=0)) == []
    assert (decoder.last_event_id, decoder.retry, decoder.close()) == ("7", 0, b"")
    with pytest.raises(ValueError, match=r"^event"):
        encode_event(event="ping")
    with pytest.raises(ValueError, match=r"^data"):
        encode_event()


@pytest.mark.parametrize("wrong", [1.5, "3", -1, True])
def test_retry_is_an_int_of_milliseconds(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^retry"):
        encode_event("x", retry=wrong)


@pytest.mark.parametrize("wrong", [5, ["a"], {}])
def test_payloads_of_other_types_are_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError):
        encode_event(wrong)
    with pytest.raises(TypeError):
        encode_comment(wrong)


def test_lone_surrogates_are_refused_everywhere() -> None:
    for fields in ({"data": "\ud83e"}, {"data": "x", "event": "\ud83e"}, {"data": "x", "id": "\ud83e"}):
        with pytest.raises(ValueError, match=rf"^{list(fields)[-1]}"):
            encode_event(**fields)
    with pytest.raises(ValueError, match=r"^comment"):
        encode_comment("\ud83e")


def test_an_event_is_a_value() -> None:
    event = ServerSentEvent(b"caf\xc3\xa9 \xff")
    assert event.text == "café \ufffd"
    assert (event.event, event.id, event.retry, event.raw) == ("message", "", None, b"")
    with pytest.raises(AttributeError):
        event.data = b""  # type: ignore[misc]

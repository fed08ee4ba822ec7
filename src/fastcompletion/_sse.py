r"""Bytes <-> server-sent events, as the WHATWG HTML standard has them (9.2.5, 9.2.6). Knows no JSON.

Nearly every piece that comes from an upstream is a run of `data: ...` lines with a blank line after each.
`_split` proves that with a few searches in C and has the payloads at the same time; whatever it cannot prove
goes through `_decode_lines`, line by line, which is exact for any bytes. Both leave the same state behind, so
that they take turns on one stream.

us per event (2,001 events of 297 bytes, CPython 3.11, thread CPU time, best of 7, contenders interleaved; the last
column is no decoder, only a measure):

    pieces           feed_data   feed   feed, raw   openai-python 3.57   piece.split(b"\n\n")
    one buffer            0.17   0.21        0.27                  2.7                   0.23
    one event each        0.76   1.07        1.23                  3.2                   0.28
    16 kB                 0.17   0.22        0.28                  2.8                   0.23
    1 to 7 bytes          14.6   16.5        17.0                   49                    3.9

The last row is 74 pieces an event: 0.20 us each with `feed_data`. With CR LF (sse-starlette) the first three rows
of `feed_data` are 0.18, 1.11 and 0.21, without the space after `data:` 0.29, 1.19 and 0.28. Line by line it is
1.8 us an event, 2.8 in pieces of its own.
"""

from __future__ import annotations

import sys
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fastcompletion._errors import LimitError

__all__ = ["DONE", "Piece", "SSEDecoder", "ServerSentEvent", "encode_comment", "encode_event"]

Piece: TypeAlias = bytes | bytearray | memoryview

DONE = b"data: [DONE]\n\n"
"""The event with which OpenAI-compatible servers end a stream, ready to send."""

_BOM = b"\xef\xbb\xbf"
_COLON = ord(":")
_CR = ord("\r")
_LF = ord("\n")
_FIELDS = frozenset({"data", "event", "id", "retry"})
_RETRY_DIGITS = 640  # the lowest limit that Python's own int() can be set to; more digits take quadratic time


class ServerSentEvent(Struct, frozen=True, gc=False):
    r"""One event of a stream.

    Args:
        data: The payload as sent: the values of the `data` lines, joined with LF. Not checked for UTF-8.
        event: The type of event; "message" where the server names none.
        id: The last event id that the stream had when the event came: ids persist.
        retry: The reconnection time in milliseconds, if the event itself has one.
        raw: With `SSEDecoder(raw=True)`, the bytes as they came.

    >>> from fastcompletion._sse import SSEDecoder
    >>> SSEDecoder().feed(b"event: error\ndata: {}\n\n")
    [ServerSentEvent(data=b'{}', event='error', id='', retry=None, raw=b'')]
    """

    data: bytes
    event: str = "message"
    id: str = ""
    retry: int | None = None
    raw: bytes = b""

    @property
    def text(self) -> str:
        r"""`data` as text, with U+FFFD for what is not UTF-8, as the standard asks.

        >>> from fastcompletion._sse import ServerSentEvent
        >>> ServerSentEvent(b"caf\xc3\xa9 \xff").text
        'café �'
        """
        return self.data.decode("utf-8", "replace")


class SSEDecoder:
    r"""Turns the pieces of one stream, cut anywhere, into events; each with the piece that completes it.

    Time is linear in the bytes fed, whatever the cuts. Memory is bounded by ``max_event_bytes`` (twice that at
    the worst; twelve times for a block of nothing but bare ``extra_fields``). `feed` and `feed_data` may take
    turns, also inside an event. One decoder is for one stream and one thread.

    Args:
        max_event_bytes: How much may be held of an event that is not complete: its lines from its first field
            on, in bytes (with ``raw``, everything since the last event). Default 16 MiB; None: no limit. The
            events before one that is over it are still returned; then, at once where there are none and
            otherwise in the next call, `LimitError` is raised, and by every `feed` from there on.
        comments: Collect comments in `comments`. Default False.
        extra_fields: Names of fields outside the standard that count as events: each such line becomes
            an event of that type, with the value as its data, when its block ends, before the block's own
            event. For servers like llama.cpp before its PR 16109, which report an error as ``error: {...}``.
            Default (): other fields are ignored, as the standard asks.
        raw: Give each event its `raw` bytes: all that came since the event before, comments included, to the
            end of its blank line. All of them joined, and then what `close` returns, are the stream, byte for
            byte. Where a CR LF ends the blank line, the event comes with the CR and the LF is the
            first byte of the next `raw`. Of several events in one block, the last one has it. Default False.

    Attributes:
        named: The events that `feed_data` last returned and whose type is not "message": type by
            position in that list. Empty after any other feed.
        comments: With ``comments=True``, the comments that ended in the last feed: the text after the colon.

    >>> from fastcompletion._sse import SSEDecoder
    >>> decoder = SSEDecoder()
    >>> decoder.feed_data(b'data: {"n": 1}\n\nda')
    [b'{"n": 1}']
    >>> decoder.feed_data(b"ta: [DONE]\n\n")
    [b'[DONE]']
    >>> decoder.close()
    b''
    """

    __slots__ = (
        "_after_cr",
        "_at_start",
        "_block_retry",
        "_closed",
        "_data",
        "_event",
        "_extra",
        "_extra_fields",
        "_failure",
        "_id",
        "_keep_comments",
        "_keep_raw",
        "_kept",
        "_last_event_id",
        "_limit",
        "_offset",
        "_partial",
        "_retry",
        "_told",
        "_wary",
        "comments",
        "named",
    )

    def __init__(
        self,
        *,
        max_event_bytes: int | None = 16 * 1024 * 1024,
        comments: bool = False,
        extra_fields: tuple[str, ...] = (),
        raw: bool = False,
    ) -> None:
        if max_event_bytes is not None and max_event_bytes < 1:
            raise ValueError(f"max_event_bytes must be at least 1, or None, not {max_event_bytes}")
        for name in extra_fields:
            if not name or name in _FIELDS or any(mark in name for mark in ":\r\n"):
                raise ValueError(f"extra_fields: {name!r} cannot be the name of an extra field")
        self._limit = sys.maxsize if max_event_bytes is None else max_event_bytes
        self._keep_comments = comments
        self._keep_raw = raw
        self._extra_fields = {name.encode(): name for name in extra_fields}
        self.named: dict[int, str] = {}
        self.comments: list[str] = []
        # What came and is not decoded yet: bytearrays, since a list of small pieces takes 20 times their size.
        self._partial = bytearray()  # the line that has not ended
        self._kept = bytearray()  # before it, the block's lines from its first field on; raw: since the last event
        self._offset = 0  # of the first byte of `_partial` in the stream
        # The block so far.
        self._data = bytearray()  # each value with its LF: empty means that there was no `data` line
        self._event = b""
        self._block_retry: int | None = None
        self._extra: list[tuple[str, bytes]] = []
        # The stream so far.
        self._id = ""  # becomes the last event id when the block ends
        self._last_event_id = ""
        self._retry: int | None = None
        self._at_start = True  # a byte order mark may come
        self._after_cr = False  # an LF would belong to the CR before it
        self._failure: LimitError | None = None
        self._told = False  # the failure has been raised
        self._closed = False
        self._wary = True  # one of the last five needs a look before the next piece

    @property
    def last_event_id(self) -> str:
        r"""The id to send as `Last-Event-ID` when the stream is to be resumed; "" where there is none.

        >>> from fastcompletion._sse import SSEDecoder
        >>> decoder = SSEDecoder()
        >>> _ = decoder.feed_data(b"id: 7\ndata: a\n\nid: 8\n")
        >>> decoder.last_event_id
        '7'
        """
        return self._last_event_id

    @property
    def retry(self) -> int | None:
        r"""The reconnection time that the server last asked for, in milliseconds; None where it never did.

        A number of over 640 digits is ignored.

        >>> from fastcompletion._sse import SSEDecoder
        >>> decoder = SSEDecoder()
        >>> _ = decoder.feed_data(b"retry: 3000\n")
        >>> decoder.retry
        3000
        """
        return self._retry

    def feed(self, piece: Piece) -> list[ServerSentEvent]:
        r"""Decode the next piece of the stream.

        Args:
            piece: Bytes as they came from the network, cut anywhere; may be empty. Nothing keeps a hold on it.

        Returns:
            The events that it completes, in order.

        Raises:
            LimitError: an event is over ``max_event_bytes`` (see the class).
            ValueError: the decoder is closed.

        >>> from fastcompletion._sse import SSEDecoder
        >>> [event.text for event in SSEDecoder().feed(b"data: a\ndata: b\n\ndata: c\n\n")]
        ['a\nb', 'c']
        """
        found = self._feed(piece)
        if isinstance(found, tuple):
            return list(found)
        if not found:
            return []
        last_id = self._last_event_id
        if self._keep_raw:
            return [ServerSentEvent(data, "message", last_id, None, b"data: " + data + b"\n\n") for data in found]
        return [ServerSentEvent(data, "message", last_id) for data in found]

    def feed_data(self, piece: Piece) -> list[bytes]:
        r"""Decode the next piece of the stream, for the payloads alone: the same events, several times faster.

        Args:
            piece: As for `feed`.

        Returns:
            The `data` of each event that `feed` would have returned. Where one of them is of another type
            than "message", `named` says so.

        Raises:
            LimitError: an event is over ``max_event_bytes`` (see the class).
            ValueError: the decoder is closed.

        >>> from fastcompletion._sse import SSEDecoder
        >>> decoder = SSEDecoder(extra_fields=("error",))
        >>> decoder.feed_data(b"data: a\n\nevent: ping\ndata: b\n\nerror: {}\n\n")
        [b'a', b'b', b'{}']
        >>> decoder.named
        {1: 'ping', 2: 'error'}
        """
        found = self._feed(piece)
        if isinstance(found, tuple):
            if named := {at: event.event for at, event in enumerate(found) if event.event != "message"}:
                self.named = named
                self._wary = True
            return [event.data for event in found]
        return found

    def close(self) -> bytes:
        r"""End the stream. May be called again, with the same result.

        Returns:
            What came of an event and a line that never ended, exactly as it came; b"" where the stream ended
            between events. With ``raw=True``, all that came since the last event. The standard drops it;
            ``SSEDecoder().feed(left + b"\n\n")`` tells what event it would have been.

        Raises:
            LimitError: an event was over ``max_event_bytes``, and no call has raised it so far.

        >>> from fastcompletion._sse import SSEDecoder
        >>> decoder = SSEDecoder()
        >>> decoder.feed_data(b"data: a\n\n: ping\ndata: [DO")
        [b'a']
        >>> _ = decoder.feed_data(b"NE]\n")
        >>> left = decoder.close()
        >>> left
        b'data: [DONE]\n'
        >>> SSEDecoder().feed_data(left + b"\n\n")
        [b'[DONE]']
        """
        self._closed = self._wary = True
        if not self._told:
            self._raise_failure()
        return bytes(self._kept + self._partial)

    # -- the way of a piece -------------------------------------------------------------------------------

    def _feed(self, piece: Piece) -> list[bytes] | tuple[ServerSentEvent, ...]:
        """The payloads, where all events are plain ones (that have nothing else); the events otherwise."""
        if not isinstance(piece, bytes):
            piece = _to_bytes(piece)
        if self._wary:
            piece = self._begin(piece)
            if not piece:
                return []
        partial = self._partial
        has_cr = _CR in piece  # looking for an int is 6 to 13 times as fast as for bytes
        if not has_cr and _LF not in piece:
            partial += piece
            if len(partial) + len(self._kept) > self._limit and piece:
                self._fail(self._offset, partial)
                self._raise_failure()
            return []
        if not has_cr and not partial and not self._kept:
            # One event a piece, as servers write them: half the time of `_split`.
            size = len(piece)
            if piece.find(_LF) == size - 2 and piece[-1] == _LF and piece.startswith(b"data: ") and size <= self._limit:
                self._offset += size
                return [piece[6:-2]]
        if partial:  # never holds a CR or LF, so each byte is joined once
            partial += piece
            text = bytes(partial)
            partial.clear()
        else:
            text = piece
        # What `feed` writes as `raw` of plain events is "data: ", the payload, LF LF.
        if not self._kept and (not self._keep_raw or (text.startswith(b"data: ") and not has_cr)):
            end = b"\r\n\r\n" if has_cr else b"\n\n"
            cut = text.rfind(end) + len(end)
            payloads = _split(text, cut, end) if cut >= len(end) else None
            if payloads is not None and (len(text) <= self._limit or self._within_limit(payloads)):
                self._offset += cut
                if cut != len(text):
                    partial += text[cut:]
                    if len(partial) > self._limit:
                        self._fail(self._offset, partial)
                return payloads
        events = self._decode_lines(text)
        if not events:
            self._raise_failure()
        return tuple(events)

    def _begin(self, piece: bytes) -> bytes:
        """What there is to decode of a piece before which something is to be looked at."""
        if self.named:
            self.named = {}
        if self.comments:
            self.comments = []
        if self._closed:
            raise ValueError("The decoder is closed")
        self._raise_failure()
        if not piece:
            return piece
        if self._at_start:
            piece = bytes(self._partial) + piece
            self._partial.clear()
            if piece != _BOM and _BOM.startswith(piece):
                self._partial += piece
                return b""
            self._at_start = False
            skipped = len(_BOM) if piece.startswith(_BOM) else 0
            keeps = self._keep_raw
        else:
            skipped = 1 if self._after_cr and piece[0] == _LF else 0
            self._after_cr = False
            keeps = self._keep_raw or bool(self._kept)  # else the CR has not been kept either
        if keeps:
            self._kept += piece[:skipped]
        self._offset += skipped
        self._wary = False
        return piece[skipped:]

    def _decode_lines(self, text: bytes) -> list[ServerSentEvent]:
        """The events of a text that starts where a line does; exact for any bytes."""
        events: list[ServerSentEvent] = []
        kept, limit = self._kept, self._limit
        for line in text.splitlines(keepends=True):  # of bytes: at CR, LF and CR LF only
            content = line.rstrip(b"\r\n")
            if len(kept) + len(content) > limit and (content or not self._data):
                self._fail(self._offset, content)
                return events
            if len(content) == len(line):
                self._partial += line
                return events
            self._offset += len(line)
            if not content:
                self._end_block(line, events)
            elif content[0] != _COLON:
                kept += line
                self._take_field(content)
            else:
                if self._keep_comments:
                    self.comments.append(content[1:].decode("utf-8", "replace"))
                    self._wary = True
                if kept or self._keep_raw:  # not before an event: servers send them for hours, without blank lines
                    kept += line
        if text.endswith(b"\r"):
            self._after_cr = self._wary = True
        return events

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            self._data += value
            self._data += b"\n"
        elif name == b"event":
            self._event = value
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry":
            if value.isdigit() and len(digits := value.lstrip(b"0")) <= _RETRY_DIGITS:
                self._retry = self._block_retry = int(digits or b"0")
        elif name in self._extra_fields:
            self._extra.append((self._extra_fields[name], value))

    def _end_block(self, line: bytes, events: list[ServerSentEvent]) -> None:
        """Dispatch what a block holds, at the blank line that ends it."""
        self._last_event_id = self._id
        found = [ServerSentEvent(value, name, self._id) for name, value in self._extra]
        if self._data:
            self._data.pop()
            name = self._event.decode("utf-8", "replace") or "message"
            found.append(ServerSentEvent(bytes(self._data), name, self._id, self._block_retry))
            self._data.clear()
        self._event = b""
        self._block_retry = None
        if self._keep_raw:
            self._kept += line
            if found:
                # Cut after a CR at once: whether its LF came along must make no difference.
                over = line == b"\r\n"
                raw = bytes(self._kept[:-1] if over else self._kept)
                found[-1] = replace(found[-1], raw=raw)
                self._kept.clear()
                self._kept += b"\n" if over else b""
        else:
            self._kept.clear()
        if self._extra:
            self._extra.clear()
        events += found

    # -- limits -------------------------------------------------------------------------------------------

    def _within_limit(self, payloads: list[bytes]) -> bool:
        return len(b"data: ") + len(max(payloads, key=len)) <= self._limit

    def _fail(self, line_offset: int, line: bytes | bytearray) -> None:
        """Note the failure, to be raised when no event before it is left to return; and let go of the memory."""
        over = max(0, self._limit - len(self._kept))
        self._failure = LimitError(
            f"An event is over {self._limit:,} bytes (max_event_bytes)",
            limit="max_event_bytes",
            offset=line_offset + over,
            data=bytes(line[over : over + 60]),
        )
        self._wary = True
        for held in (self._partial, self._kept, self._data, self._extra):
            held.clear()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._told = True
            raise self._failure.with_traceback(None)


def _split(text: bytes, cut: int, end: bytes) -> list[bytes] | None:
    """The payloads of the events in ``text``, if each is one `data` line and nothing else is there.

    ``end`` ends each of them, the last one just before ``cut``; what follows may be the start of one more line.
    Exact: where neither a payload nor what follows holds a line end, the blank lines between them are all.
    """
    if text.startswith(b"data: "):
        payloads = text[6 : cut - len(end)].split(b"\n\ndata: " if end == b"\n\n" else b"\r\n\r\ndata: ")
    elif text.startswith(b"data:") and end + b"data: " not in text:  # axum, and with it TGI, writes no space
        payloads = text[5 : cut - len(end)].split(end + b"data:")
    else:
        return None
    for payload in payloads:  # 20 ns each, where a count of the LFs takes 150 for 300 bytes
        if _LF in payload:
            return None
    if end == b"\n\n":
        return None if text.find(_LF, cut) >= 0 else payloads
    has_cr = any(_CR in payload for payload in payloads)
    return None if has_cr or text.find(b"\n", cut) >= 0 or text.find(b"\r", cut) >= 0 else payloads


# -- the way back -----------------------------------------------------------------------------------------


def encode_event(
    data: Piece | str | None = None, event: str | None = None, id: str | None = None, retry: int | None = None
) -> bytes:
    r"""Encode one event, ready to send.

    Args:
        data: The payload. Text is written as UTF-8; bytes are written as they are and should be UTF-8. Each CR, LF or
            CR LF in it starts a new `data` line, and arrives as LF. None: a block that gives no event at the other
            end, for an ``id`` or ``retry`` alone; some clients take even that for an event (openai-python 3.57).
        event: The type of event. Default None: not written, which means "message".
        id: The last event id from here on; "" takes it back. Default None: stays as it is.
        retry: The reconnection time in milliseconds, 0 or more. Default None: not written.

    Raises:
        ValueError: something that would break the frame or be lost at the other end: a line end in ``event``
            or ``id``, a NUL in ``id``, text that is not Unicode (lone surrogates), a ``retry`` that is negative
            or no int, an ``event`` without data, or nothing at all.

    >>> from fastcompletion._sse import encode_event
    >>> encode_event('{"n": 1}')
    b'data: {"n": 1}\n\n'
    >>> encode_event(b"a\r\nb", event="note", id="7")
    b'event: note\nid: 7\ndata: a\ndata: b\n\n'
    """
    if data is None:
        if event is not None:
            raise ValueError("event: readers drop an event without data")
        if id is None and retry is None:
            raise ValueError("data: there is nothing to encode")
        block = b"\n"
    else:
        payload = _encode_text("data", data) if isinstance(data, str) else _to_bytes(data)
        block = b"data: " + _continue_lines(payload, b"data: ") + b"\n\n"
    if retry is not None:
        if type(retry) is not int or retry < 0:
            raise ValueError(f"retry must be an int of milliseconds, 0 or more, not {retry!r}")
        block = b"retry: %d\n" % retry + block
    if id is not None:
        block = b"id: " + _encode_value("id", id, "\r\n\0") + b"\n" + block
    if event is not None:
        block = b"event: " + _encode_value("event", event, "\r\n") + b"\n" + block
    return block


def encode_comment(text: Piece | str = "") -> bytes:
    r"""Encode a comment, which readers ignore: to keep a connection alive.

    No blank line comes after it, since openai-python and httpx-sse take one for an event once the stream has had
    an `id` (openai-python#2722). Send it between events or lines, never inside a line.

    Args:
        text: What to say. Default "": the shortest one. Each line of it becomes a comment.

    Raises:
        ValueError: ``text`` is not Unicode (lone surrogates).

    >>> from fastcompletion._sse import encode_comment
    >>> encode_comment("ping")
    b': ping\n'
    """
    comment = _encode_text("comment", text) if isinstance(text, str) else _to_bytes(text)
    if not comment:
        return b":\n"
    return b": " + _continue_lines(comment, b": ") + b"\n"


def _continue_lines(text: bytes, head: bytes) -> bytes:
    """Turn each line end, of whichever kind, into LF and the head of one more line."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.replace(b"\n", b"\n" + head)


def _encode_value(name: str, value: str, refused: str) -> bytes:
    for mark in refused:
        if mark in value:
            raise ValueError(f"{name}: {mark!r} would break the frame")
    return _encode_text(name, value)


def _encode_text(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}: the character {text[error.start]!r} cannot be UTF-8") from error


def _to_bytes(piece: Piece) -> bytes:
    return bytes(memoryview(piece))  # bytes() alone would take an int, for that many zeros

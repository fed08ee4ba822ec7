"""Files -> the bodies in them: one body, JSONL, or the records of a batch's output file.

JSONL is read a line at a time, in bounded memory. A line ends at the byte 0A and nowhere else: U+2028, U+2029 and
U+0085, where `str.splitlines` also splits, may stand in JSON strings (RFC 8259, section 7).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

import fastcompletion as fc
from fastcompletion.cli._lenient import get, text_or_empty
from fastcompletion.cli._text import clean

__all__ = ["BODY_OF_BATCH", "TOLERANT", "Batch", "CannotRunError", "Entry", "InputFile", "refusal", "unwrap"]

_HEAD = 1 << 20  # bytes of a file that may be read to find out whether it is one body or JSONL
TOLERANT: Final = fc.Codec(allow_nan=True)  # where bodies are read but not judged: Python servers write NaN


class CannotRunError(Exception):
    """What is asked for cannot be done with this file; the text says why, and what to do."""


class Entry(NamedTuple):
    """The text of one body or batch record."""

    text: bytes
    line: int  # of the file, from 1, where the text starts
    is_line: bool  # a line of JSONL; else the whole file


_NOT_JSON: Final[Mapping[bytes, str]] = {
    b"\x1f\x8b": "is compressed with gzip; try: gzip -dc {name} | fastcompletion {command} -",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; try: zstd -dc {name} | fastcompletion {command} -",
    b"\xff\xfe": "is UTF-16, and JSON is UTF-8; try: iconv -f UTF-16 -t UTF-8 {name} | fastcompletion {command} -",
    b"\xfe\xff": "is UTF-16, and JSON is UTF-8; try: iconv -f UTF-16 -t UTF-8 {name} | fastcompletion {command} -",
}
_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:data|event|id|retry|error)(?::|[\r\n])|:)")


class InputFile:
    """An open input, and the name by which messages call it."""

    def __init__(self, path: Path, command: str) -> None:
        self.name = clean(str(path))
        self._hints = {"name": self.name, "command": command}
        self.is_stdin = str(path) == "-"
        try:
            if not self.is_stdin and path.is_dir():
                examples = clean(str(path / "*.jsonl"))
                raise CannotRunError(f"{self.name}: is a directory; name its files, such as {examples}")
            self.stream: BinaryIO = sys.stdin.buffer if self.is_stdin else path.open("rb")
        except OSError as error:
            raise CannotRunError(f"{self.name}: {error.strerror or error}") from error
        self._unread = self._read()
        self._ahead: list[tuple[int, bytes]] = []  # what `is_stream` has read
        self._is_stream: bool | None = None

    def close(self) -> None:
        """Close the file, if it is not stdin."""
        if not self.is_stdin:
            self.stream.close()

    @property
    def is_terminal(self) -> bool:
        """Whether a person has to type it."""
        return self.is_stdin and sys.stdin.isatty()

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of server-sent events, by its first line that is not blank."""
        if self._is_stream is None:
            self._is_stream = False
            for number, line in self._unread:
                self._ahead.append((number, line))
                if not _is_blank(line):
                    self._is_stream = bool(_EVENTS.match(line))
                    break
        return self._is_stream

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Number, from 1, and bytes of each line."""
        while self._ahead:
            yield self._ahead.pop(0)
        yield from self._unread

    def _read(self) -> Iterator[tuple[int, bytes]]:
        number, is_first = 0, True
        while True:
            try:
                line = self.stream.readline()
            except OSError as error:
                raise CannotRunError(f"{self.name}: {error.strerror or error}") from error
            if not line:
                return
            number += 1
            if is_first and not _is_blank(line):
                is_first = False
                for start, hint in _NOT_JSON.items():
                    if line.startswith(start):
                        raise CannotRunError(f"{self.name}: {hint.format(**self._hints)}")
            yield number, line

    def entries(self) -> Iterator[Entry]:
        """The bodies of the file: each event, each line that is not blank, or the whole file if it is one JSON value.

        A first line that is complete JSON makes it JSONL. Otherwise the file is one pretty-printed body, or JSONL whose
        first line is broken; which of the two is seen from at most the first MiB.
        """
        if self.is_stream:
            yield from self._events()
            return
        lines = self.lines()
        head: list[tuple[int, bytes]] = []
        for number, line in lines:
            if not _is_blank(line):
                head.append((number, line))
                break
        if not head:
            return
        is_jsonl = _is_complete(head[0][1])
        if not is_jsonl:
            size = len(head[0][1])
            for number, line in lines:
                head.append((number, line))
                size += len(line)
                if size >= _HEAD:
                    break
            start = b"".join(line for _, line in head)
            is_broken = refusal(start) is fc.MalformedError
            is_jsonl = is_broken and any(_is_record(line) for _, line in head)
            if not is_jsonl:
                # The rest cannot mend what is broken already.
                rest = () if is_broken else (line for _, line in lines)
                yield Entry(b"".join((start, *rest)), head[0][0], is_line=False)
                return
        for number, line in head:
            if not _is_blank(line):
                yield Entry(line, number, is_line=True)
        for number, line in lines:
            if not _is_blank(line):
                yield Entry(line, number, is_line=True)

    def _events(self) -> Iterator[Entry]:
        """What the events of a stream hold, but for pings and the like."""
        decoder = fc.SSEDecoder(raw=True, extra_fields=("error",))
        start = 1
        try:
            for _, line in self.lines():
                for event in decoder.feed(line):
                    if event.event != "ping" and event.data.strip() not in _NOTHING:
                        yield Entry(event.data, start + _lines_before_data(event.raw), is_line=True)
                    start += event.raw.count(b"\n")
            left = decoder.close()
        except fc.LimitError as error:
            raise CannotRunError(f"{self.name}: {error}") from error
        for data in fc.SSEDecoder().feed_data(left + b"\n\n"):
            if data.strip() not in _NOTHING:
                yield Entry(data, start + _lines_before_data(left), is_line=True)


_NOTHING = (b"", b"[DONE]", b"null", b"{}")


def _lines_before_data(block: bytes) -> int:
    lines = block.split(b"\n")
    return next((number for number, line in enumerate(lines) if line.startswith((b"data", b"error"))), 0)


def _is_blank(line: bytes) -> bool:
    return not line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")


def refusal(text: bytes) -> type[fc.FastCompletionError] | None:
    """The class of the error with which the library refuses a text, or None."""
    try:
        TOLERANT.decode(text)
    except fc.FastCompletionError as error:
        return type(error)
    return None


def _is_complete(text: bytes) -> bool:
    return refusal(text) not in (fc.MalformedError, fc.TruncatedError)


def _is_record(line: bytes) -> bool:
    """Is this line, by itself, a body or a batch record?"""
    return line.strip().startswith(b"{") and (refusal(line) is None or unwrap(line) is not None)


# -- batch output ----------------------------------------------------------------------------------------------------


class _BatchResponse(msgspec.Struct):
    body: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    status_code: Any = None
    request_id: Any = None


class _BatchRecord(msgspec.Struct):
    """A line of a batch's output file, of OpenAI's API or of vLLM's `run_batch`."""

    custom_id: Any
    response: _BatchResponse | None = None
    error: Any = None
    choices: Any = msgspec.UNSET


_BATCH = msgspec.json.Decoder(_BatchRecord)


class Batch(NamedTuple):
    """What a batch record holds."""

    custom_id: str
    status: int | None
    request_id: str | None
    body: bytes | None
    offset: int  # of the body in the record
    error: str  # why there is no body


def unwrap(text: bytes) -> Batch | None:
    """The batch record that a text is, or None."""
    if b'"custom_id"' not in text:
        return None
    try:
        record = _BATCH.decode(text.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if record.choices is not msgspec.UNSET or (record.response is None and record.error is None):
        return None
    response = record.response or _BatchResponse()
    body = None if isinstance(response.body, msgspec.UnsetType) else bytes(response.body)
    if body == b"null":
        body = None
    return Batch(
        custom_id=str(record.custom_id),
        status=response.status_code if isinstance(response.status_code, int) else None,
        request_id=response.request_id if isinstance(response.request_id, str) else None,
        body=body,
        offset=0 if body is None else text.find(body),
        error="" if body is not None else _message_of(record.error) or "no body and no error",
    )


BODY_OF_BATCH: Final = ("response", "body")


def _message_of(error: Any) -> str:
    """The message in the `error` of a batch record: a text, an object with a message, or an error body."""
    while isinstance(error, dict):
        error = get(error, "message") or get(error, "error")
    return text_or_empty(error)

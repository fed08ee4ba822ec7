"""The command line: `show` prints a response for a person, `check` lists what responses do against a schema.

Files go in: one body, or JSONL with a body or a batch record on each line. What was asked for goes to stdout, all else
(errors, notes, the summary, the progress bar) to stderr. The exit code is 0 for clean, 1 for findings, and 2 where the
command could not do its work. Bodies are other people's data: nothing they hold reaches a terminal as a control
character, and no body, however broken, ends in a traceback.

JSONL is read a line at a time, in bounded memory. A line ends at the byte 0A and nowhere else: U+2028, U+2029 and
U+0085, where `str.splitlines` also splits, may stand in JSON strings (RFC 8259, section 7).
"""

from __future__ import annotations

import errno
import heapq
import io
import json
import math
import os
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, NamedTuple

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.syntax import Syntax
from rich.text import Text

import fastcompletion as fc
from fastcompletion._senders import senders_of

__all__ = ["app", "main"]

CLEAN, FINDINGS, COULD_NOT_RUN = 0, 1, 2  # exit codes

_HEAD = 1 << 20  # bytes of a file that may be read to find out whether it is one body or JSONL
_KINDS_COUNTED = 1_000  # rows of the summary; a hostile log could have a new one on every line
_SHOWN_ERRORS = 3  # messages of error bodies that the summary quotes
_LEAST_LIKELY = 5  # tokens that `show` lists from log probabilities
_SENTINEL = -9999.0  # "very unlikely", of OpenAI and vLLM: not a log probability (llama.cpp's lies even lower)
_BAR_AFTER = 0.5  # seconds of work before there is a progress bar
_BAR_EVERY = 0.1  # seconds between two looks of it
_LIST_SHOWN = 8  # names of members that are listed before the rest is counted

_CHECKING = fc.Codec()
_TOLERANT = fc.Codec(allow_nan=True)  # for `show`, and for "is this line complete?": Python servers write NaN


class _CannotRunError(Exception):
    """What is asked for cannot be done with this file; the text says why, and what to do."""


# -- from a file to bodies -------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
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
_EVENTS = re.compile(rb"(?:data|event|id|retry):|:")
_IS_EVENTS = "is a stream of server-sent events; try: grep '^data: {{' {name} | cut -c 7- | fastcompletion {command} -"


class _File:
    """An open input, and the name by which messages call it."""

    def __init__(self, path: Path, command: str) -> None:
        self.name = _clean(str(path))
        self._hints = {"name": self.name, "command": command}
        self.is_stdin = str(path) == "-"
        if path.is_dir():
            raise _CannotRunError(
                f"{self.name}: is a directory; name its files, such as {_clean(str(path / '*.jsonl'))}"
            )
        try:
            self.stream: BinaryIO = sys.stdin.buffer if self.is_stdin else path.open("rb")
        except OSError as error:
            raise _CannotRunError(f"{self.name}: {error.strerror or error}") from error

    def close(self) -> None:
        if not self.is_stdin:
            self.stream.close()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Number, from 1, and bytes of each line."""
        number, is_first = 0, True
        while True:
            try:
                line = self.stream.readline()
            except OSError as error:
                raise _CannotRunError(f"{self.name}: {error.strerror or error}") from error
            if not line:
                return
            number += 1
            if is_first and not _is_blank(line):
                is_first = False
                for start, hint in _NOT_JSON.items():
                    if line.startswith(start):
                        raise _CannotRunError(f"{self.name}: {hint.format(**self._hints)}")
                if _EVENTS.match(line):
                    raise _CannotRunError(f"{self.name}: {_IS_EVENTS.format(**self._hints)}")
            yield number, line

    def entries(self) -> Iterator[_Entry]:
        """The bodies of the file: each line that is not blank, or the whole file if it is one JSON value.

        A first line that is complete JSON makes it JSONL. Otherwise the file is one pretty-printed body, or JSONL whose
        first line is broken; which of the two is seen from at most the first MiB.
        """
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
            is_broken = _refusal(start) is fc.MalformedError
            is_jsonl = is_broken and any(_is_record(line) for _, line in head)
            if not is_jsonl:
                # The rest cannot mend what is broken already.
                rest = () if is_broken else (line for _, line in lines)
                yield _Entry(b"".join((start, *rest)), head[0][0], is_line=False)
                return
        for number, line in head:
            if not _is_blank(line):
                yield _Entry(line, number, is_line=True)
        for number, line in lines:
            if not _is_blank(line):
                yield _Entry(line, number, is_line=True)


def _is_blank(line: bytes) -> bool:
    return not line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n")


def _refusal(text: bytes) -> type[fc.FastCompletionError] | None:
    """The class of the error with which the library refuses a text, or None."""
    try:
        _TOLERANT.decode(text)
    except fc.FastCompletionError as error:
        return type(error)
    return None


def _is_complete(text: bytes) -> bool:
    return _refusal(text) not in (fc.MalformedError, fc.TruncatedError)


def _is_record(line: bytes) -> bool:
    """Is this line, by itself, a body or a batch record?"""
    return line.strip().startswith(b"{") and (_refusal(line) is None or _unwrap(line) is not None)


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


class _Batch(NamedTuple):
    """What a batch record holds."""

    custom_id: str
    status: int | None
    request_id: str | None
    body: bytes | None
    offset: int  # of the body in the record
    error: str  # why there is no body


def _unwrap(text: bytes) -> _Batch | None:
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
    return _Batch(
        custom_id=str(record.custom_id),
        status=response.status_code if isinstance(response.status_code, int) else None,
        request_id=response.request_id if isinstance(response.request_id, str) else None,
        body=body,
        offset=0 if body is None else text.find(body),
        error="" if body is not None else _message_of(record.error) or "no body and no error",
    )


_BODY_OF_BATCH: Final = ("response", "body")


def _message_of(error: Any) -> str:
    """The message in the `error` of a batch record: a text, an object with a message, or an error body."""
    while isinstance(error, dict):
        error = _get(error, "message") or _get(error, "error")
    return _str(error)


# -- where in a file a member is -------------------------------------------------------------------------------------

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_TOKEN = re.compile(rb'"[^"]*"|[][{},:\n]|[^][{},:"\s]+')
_STEP = re.compile(r'\.([^.\[]+)|\[([0-9]+)\]|\[("(?:[^"\\]|\\.)*")\]')

_Steps = tuple[str | int, ...]


def _steps_of(path: str) -> _Steps:
    """`$.choices[0]["a b"]` as names and positions."""
    return tuple(
        int(match[2]) if match[2] else json.loads(match[3]) if match[3] else match[1] for match in _STEP.finditer(path)
    )


def _find_lines(text: bytes, wanted: Collection[_Steps]) -> dict[_Steps, int]:
    """The lines, from 0, where the values at these places of a valid JSON text start, and those of all around them."""
    places = {steps[:length] for steps in wanted for length in range(len(steps) + 1)}
    plain = _ESCAPE.sub(b"__", text)  # of the same length, and every quote in it begins or ends a string
    found: dict[_Steps, int] = {}
    line = 0
    at: list[str | int | None] = []  # in each open container the name or position; None where a name comes next
    for match in _TOKEN.finditer(plain):
        token = match[0]
        if token == b"\n":
            line += 1
        elif token == b":":
            pass
        elif token == b",":
            at[-1] = at[-1] + 1 if isinstance(at[-1], int) else None
        elif token in (b"]", b"}"):
            at.pop()
        elif at and at[-1] is None:
            at[-1] = json.loads(text[match.start() : match.end()].decode(errors="replace"))
        else:
            here = tuple(at)
            if here in places:
                found[here] = line  # type: ignore[index] # no None in it
            if token == b"{":
                at.append(None)
            elif token == b"[":
                at.append(0)
    return found


# -- findings --------------------------------------------------------------------------------------------------------


class _Dialect(str, Enum):
    any = "any"
    openai = "openai"
    vllm = "vllm"


class _Format(str, Enum):
    text = "text"
    json = "json"


_AGAINST: Final[Mapping[_Dialect, type[msgspec.Struct] | None]] = {
    _Dialect.any: None,
    _Dialect.openai: fc.openai.ChatCompletion,
    _Dialect.vllm: fc.vllm.ChatCompletionResponse,
}
_CALLED: Final[Mapping[_Dialect, str]] = {
    _Dialect.any: "schema",
    _Dialect.openai: "OpenAI document",
    _Dialect.vllm: "vLLM document",
}


class _Finding(NamedTuple):
    """One thing that `check` reports."""

    line: int
    path: str
    kind: str  # of a `Deviation`; or "malformed", "truncated", "limit" or "schema", after the error; or "other"
    reason: str
    expected: str = ""
    example: str = ""
    senders: str | None = None
    offset: int | None = None

    def text(self) -> str:
        return self.reason + (f" ({_who(self.kind, self.senders)})" if self.senders else "")


def _who(kind: str, senders: str) -> str:
    return f"also absent from {senders}" if kind == "absent" else f"also sent by {senders}"


_LITERAL = re.compile(r"Literal\[([^]]*)\]")


def _words(deviation: fc.Deviation, called: str = "schema") -> str:
    """What a deviation is, in words."""
    expected = _LITERAL.sub(lambda match: match[1].replace("', '", "' | '"), deviation.expected)
    if deviation.kind == "extra":
        return f"not in the {called}: {_clean(deviation.example)}"
    if deviation.kind == "absent":
        return f"absent, expected {expected}"
    if deviation.kind == "name":
        return f"expected an integer as the name, got {_clean(deviation.example)}"
    if deviation.kind == "null":
        return f"expected {expected}, got null"
    return f"expected {expected}, got {deviation.kind} {_clean(deviation.example)}"


_KIND_OF_ERROR: Final[Mapping[type[fc.DecodeError], str]] = {
    fc.MalformedError: "malformed",
    fc.TruncatedError: "truncated",
    fc.LimitError: "limit",
    fc.SchemaError: "schema",
}


def _finding_of(error: fc.DecodeError, entry: _Entry, skipped: int = 0) -> _Finding:
    """The finding that a refused text is; ``skipped`` bytes of the entry lie before it."""
    offset = None if error.offset is None else error.offset + skipped
    line = entry.line if entry.is_line else entry.line + entry.text.count(b"\n", 0, offset or 0)
    reason = _clean(error.reason) + ("" if offset is None else f" at byte {offset}")
    if (
        isinstance(error, fc.MalformedError)
        and not entry.is_line
        and offset is not None
        and _refusal(entry.text[:offset]) is None
    ):
        reason += "; for several bodies, put each on a line of its own, as jq -c . does"
    return _Finding(line, error.path, _KIND_OF_ERROR.get(type(error), "schema"), reason, offset=offset)


class _Checked(NamedTuple):
    """What `check` says about one entry."""

    findings: list[_Finding]
    error: str | None = None  # the message, where the body is a server's error: a note, not a finding


def _deviations(obj: fc.AnyCompletion, against: type[msgspec.Struct] | None = None) -> list[fc.Deviation]:
    """What a body has against a schema.

    Raises:
        LimitError: nested too deeply to be walked, though not to be decoded.
    """
    try:
        return fc.deviations(obj, against=against)
    except (TypeError, RecursionError) as error:
        raise fc.LimitError("Nested too deeply to be compared with the schema", limit="nesting depth") from error


def _check(entry: _Entry, dialect: _Dialect) -> _Checked:
    """Hold one body against what the dialect stands for."""
    batch = _unwrap(entry.text)
    if batch and batch.body is None:
        return _Checked([], error=batch.error)
    text, skipped = (batch.body, batch.offset) if batch and batch.body is not None else (entry.text, 0)
    try:
        obj = _CHECKING.decode(text)
        of_document = dialect is _Dialect.any or isinstance(obj, fc.ChatCompletion)
        is_error = isinstance(obj, fc.ErrorResponse)
        deviations = _deviations(obj, _AGAINST[dialect]) if of_document and not is_error else []
    except fc.DecodeError as error:
        return _Checked([_finding_of(error, entry, skipped)])
    if isinstance(obj, fc.ErrorResponse):
        return _Checked([], error=obj.info.message or "no message")
    if not of_document:
        line = _line_finder(entry, batch is not None, ["$"])("$")
        reason = (
            f"the {_CALLED[dialect]} is about whole chat completions, and this is a {type(obj).__name__};"
            " check it with --dialect any"
        )
        return _Checked([_Finding(line, "$", "other", reason)])
    line_of = _line_finder(entry, batch is not None, [deviation.path for deviation in deviations])
    findings = [
        _Finding(
            line_of(deviation.path),
            deviation.path,
            deviation.kind,
            _words(deviation, _CALLED[dialect]),
            deviation.expected,
            deviation.example,
            senders_of(deviation.path, deviation.kind, deviation.example),
        )
        for deviation in deviations
    ]
    return _Checked(sorted(findings, key=lambda finding: finding.line))


class _line_finder:  # noqa: N801 (called, like a function)
    """Which line of the file the value at a path starts on; for one that is absent, the object it is missing from."""

    def __init__(self, entry: _Entry, is_batch: bool, paths: Iterable[str]) -> None:
        self._first = entry.line
        self._prefix: _Steps = _BODY_OF_BATCH if is_batch else ()
        self._lines: dict[_Steps, int] = {}
        if not entry.is_line and b"\n" in entry.text.rstrip():
            wanted = {self._prefix + _steps_of(path) for path in paths}
            if wanted:
                self._lines = _find_lines(entry.text, wanted)

    def __call__(self, path: str) -> int:
        if not self._lines:
            return self._first
        steps = self._prefix + _steps_of(path)
        while steps and steps not in self._lines:
            steps = steps[:-1]
        return self._first + self._lines.get(steps, 0)


# -- text for people -------------------------------------------------------------------------------------------------

# What a terminal would obey, or would show in another order than it is (bidirectional controls: CVE-2021-42574).
_CONTROLS: Final[Mapping[int, str]] = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for codes in (
        range(0x09),
        range(0x0A, 0x20),
        range(0x7F, 0xA0),
        (0x061C, 0x200E, 0x200F),
        range(0x2028, 0x202F),
        range(0x2066, 0x206A),
        range(0xD800, 0xE000),
    )
    for code in codes
} | {0x0A: "\\n", 0x0D: "\\r"}


def _clean(text: str) -> str:
    """A text as one line of a terminal may have it: control characters, and halves of surrogate pairs, as escapes."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROLS)


def _lines(text: str) -> list[str]:
    """The lines of a text, without a last empty one."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _count(number: int, thing: str) -> str:
    plural = thing if number == 1 else f"{thing[:-1]}ies" if thing.endswith("body") else f"{thing}s"
    return f"{number:,} {plural}"


def _console(*, stderr: bool = False) -> Console:
    """A console that styles on a terminal and leaves it where NO_COLOR says so."""
    return Console(stderr=stderr, color_system=None if os.environ.get("NO_COLOR") else "auto", highlight=False)


def _warn(message: str) -> None:
    typer.echo(message, err=True)


# -- show ------------------------------------------------------------------------------------------------------------


class _Page:
    """What `show` prints, line by line: styled and wrapped on a terminal, plain and unwrapped elsewhere."""

    def __init__(self) -> None:
        self._console = _console()
        self._is_styled = self._console.is_terminal
        self._is_empty = True

    def line(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """Print parts, each a text or (text, style)."""
        self._is_empty = False
        cleaned = [(_clean(part), "") if isinstance(part, str) else (_clean(part[0]), part[1]) for part in parts]
        if self._is_styled:
            wrapped = Text.assemble(*cleaned).wrap(self._console, max(self._console.width - indent, 20))
            for line in wrapped or [Text()]:
                self._console.print(Text(" " * indent) + line, soft_wrap=True)
        else:
            sys.stdout.write(" " * indent + "".join(text for text, _ in cleaned).rstrip() + "\n")

    def section(self, title: str, *rest: str | tuple[str, str]) -> None:
        if not self._is_empty:
            sys.stdout.flush()
            self.line("")
        self.line((title, "bold"), *rest)

    def field(self, name: str, value: object, *rest: str | tuple[str, str], indent: int = 2) -> None:
        """Print a name and a value, unless there is none."""
        if value is not None and value is not msgspec.UNSET and value != "":
            self.line((f"{name:<14}", "cyan"), value if isinstance(value, str) else _json(value), *rest, indent=indent)

    def block(self, name: str, text: str, style: str = "", indent: int = 2) -> None:
        """Print a name, and a text of many lines below it, unless there is none."""
        if text:
            self.line((name, "cyan"), indent=indent)
            for line in _lines(text):
                self.line((line, style), indent=indent + 2)

    def json(self, text: str) -> None:
        """Print JSON that is laid out already."""
        if self._is_styled:
            # Outside strings JSON has no such characters, and in strings it may escape them.
            escaped = text.translate({code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F})
            self._console.print(Syntax(escaped, "json", theme="ansi_dark", background_color="default", word_wrap=True))
        else:
            sys.stdout.write(text + "\n")


# Any member may be of any kind: where a server deviates, a decoded body is not what its types say.


def _get(obj: Any, name: str) -> Any:
    """A member of a Struct, in its schema or beyond, or of a dict; None where it is null or absent."""
    if not isinstance(obj, msgspec.Struct):
        return _dict(obj).get(name)
    struct: Any = obj
    value = getattr(struct, name) if hasattr(struct, name) else struct.extra.get(name)
    return None if value is msgspec.UNSET else value


def _list(value: Any) -> list[Any]:
    items: list[Any] = value if value.__class__ is list else []
    return items


def _dict(value: Any) -> dict[Any, Any]:
    members: dict[Any, Any] = value if value.__class__ is dict else {}
    return members


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    try:
        return _TOLERANT.encode(value).decode()
    except TypeError:  # it came from JSON, so that only depth can be in the way
        return "(nested too deeply to be shown)"


def _indented(text: bytes) -> str:
    """JSON laid out for people, its numbers and strings untouched."""
    try:
        return msgspec.json.format(text, indent=2).decode()
    except (msgspec.DecodeError, RecursionError):  # NaN, or nested without end
        return text.decode()


def _names(members: Mapping[str, Any]) -> str:
    names = list(members)
    more = f", and {len(names) - _LIST_SHOWN} more" if len(names) > _LIST_SHOWN else ""
    return ", ".join(names[:_LIST_SHOWN]) + more if names else "empty"


def _time(created: Any) -> str | None:
    if isinstance(created, bool) or not isinstance(created, int | float):
        return None if created is None else _json(created)
    try:
        moment = datetime.fromtimestamp(created, tz=timezone.utc)
    except (OverflowError, ValueError, OSError):
        return str(created)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC ({created})"


def _show_body(page: _Page, obj: fc.AnyCompletion, batch: _Batch | None) -> None:
    if batch:
        _show_batch(page, batch)
    if isinstance(obj, fc.ErrorResponse):
        _show_error(page, obj)
    else:
        _show_head(page, obj)
        for position, choice in enumerate(_list(obj.choices)):
            _show_choice(page, choice, position)
        _show_usage(page, obj.usage)
        _show_rest(page, obj)
    _show_deviations(page, obj)


def _show_batch(page: _Page, batch: _Batch) -> None:
    page.section("batch record", f" {batch.custom_id}")
    page.field("HTTP status", batch.status)
    page.field("request id", batch.request_id)
    if batch.body is None:
        page.field("error", batch.error)


def _show_error(page: _Page, obj: fc.ErrorResponse) -> None:
    info = obj.info
    page.section("error", ": ", (info.message or "no message", "red"))
    page.field("type", info.type)
    page.field("code", info.code)
    page.field("param", info.param)
    for name in ("metadata", "innererror"):
        page.field(name, _get(obj.error, name))
    if not isinstance(obj.detail, str):
        page.field("detail", obj.detail)
    page.field("user id", obj.user_id)


def _show_head(page: _Page, obj: fc.ChatCompletion | fc.ChatCompletionChunk | fc.Completion) -> None:
    kind = "text completion"
    if not isinstance(obj, fc.Completion):
        kind = "chat completion" if isinstance(obj, fc.ChatCompletion) else "chat completion chunk"
    page.section(kind, " by ", (_str(_get(obj, "model")) or "unnamed model", "bold green"))
    page.field("id", _get(obj, "id"))
    page.field("created", _time(_get(obj, "created")))
    page.field("provider", _get(obj, "provider"))
    page.field("fingerprint", _get(obj, "system_fingerprint"))
    page.field("service tier", _get(obj, "service_tier"))
    page.field("request id", _get(obj, "request_id"))
    page.field("metadata", _get(obj, "metadata") or None)
    if not _list(obj.choices):
        page.field("choices", "none")


def _show_choice(page: _Page, choice: Any, position: int) -> None:
    if not isinstance(choice, fc.Choice | fc.ChunkChoice | fc.CompletionChoice):
        page.section(f"choice {position}", f": {_json(choice)}")
        return
    index = _get(choice, "index")
    page.section(f"choice {position if index is None else index}")
    page.field("finish reason", _get(choice, "finish_reason"))
    page.field("natively", _get(choice, "native_finish_reason"))
    page.field("stop reason", _get(choice, "stop_reason"))
    page.field("matched stop", _get(choice, "matched_stop"))
    message = _get(choice, "delta" if isinstance(choice, fc.ChunkChoice) else "message")
    if isinstance(message, fc.Message | fc.Delta):
        _show_message(page, message)
    elif message is not None:
        page.field("message", message)
    page.block("text", _str(_get(choice, "text")))
    _show_logprobs(page, _get(choice, "logprobs"))
    _show_prompt_logprobs(page, choice, indent=2)
    for name in ("token_ids", "prompt_token_ids"):
        if (ids := _get(choice, name)) is not None:
            page.field(name.replace("_", " "), f"{len(_list(ids)):,}")
    if isinstance(experts := _get(choice, "routed_experts"), str):
        page.field("routed experts", f"{len(experts):,} characters of base64")
    for version in _list(_get(choice, "weight_versions")):
        page.field(
            "weights", f"version {_get(version, 'version')}, tokens {_get(version, 'start')} to {_get(version, 'end')}"
        )
    _show_filter(page, _get(choice, "content_filter_results"))
    _show_usage(page, _get(choice, "usage"), title=f"usage of choice {position if index is None else index}")


def _show_message(page: _Page, message: fc.Message | fc.Delta) -> None:
    role = _get(message, "role")
    if role != "assistant":
        page.field("role", role)
    page.block("reasoning", message.reasoning_text, "dim")
    page.block("text", message.text)
    if parts := _list(_get(message, "content")):
        kinds = Counter(str(_get(part, "type")) for part in parts)
        page.field("content parts", ", ".join(f"{number} {kind}" for kind, number in kinds.items()))
    page.block("refusal", _str(_get(message, "refusal")), "yellow")
    for position, call in enumerate(_list(_get(message, "tool_calls"))):
        _show_call(page, call, position)
    if (function := _get(message, "function_call")) is not None:
        page.field("function call", _get(function, "name") or "unnamed")
        _show_arguments(page, _get(function, "arguments"))
    for annotation in _list(_get(message, "annotations")):
        _show_annotation(page, annotation)
    if (audio := _get(message, "audio")) is not None:
        data = _get(audio, "data")
        size = f"{len(data):,} characters of base64" if isinstance(data, str) else "no data"
        page.field("audio", f"{_get(audio, 'id') or 'no id'}, {size}")
        page.block("transcript", _str(_get(audio, "transcript")), indent=4)


def _show_call(page: _Page, call: Any, position: int) -> None:
    index = _get(call, "index")
    function = _get(call, "function")
    custom = _get(call, "custom")
    called = function if function is not None else custom
    name = _get(called, "name") or ("unnamed" if not isinstance(called, str) else called)
    call_id = _get(call, "id")
    page.field(
        f"tool call {position if index is None else index}",
        str(name),
        (f" ({call_id})" if call_id not in (None, "") else "", "dim"),
        (f" {_get(call, 'type')}" if _get(call, "type") not in (None, "function") else "", "dim"),
    )
    _show_arguments(page, _get(function, "arguments"))
    if text := _str(_get(custom, "input")):
        for line in _lines(text):
            page.line(line, indent=4)


def _show_arguments(page: _Page, arguments: Any) -> None:
    """Arguments laid out where they are JSON, as they are where not: cut off, or a fragment."""
    if arguments is None or arguments == "":
        return
    if not isinstance(arguments, str):
        text = _indented(_json(arguments).encode())
    else:
        try:
            text = msgspec.json.format(arguments, indent=2)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            text = arguments
    for line in _lines(text):
        page.line(line, indent=4)


def _show_annotation(page: _Page, annotation: Any) -> None:
    citation = _get(annotation, "url_citation")
    if citation is None:
        page.field("annotation", _get(annotation, "type"))
        return
    title, start, end = (_get(citation, name) for name in ("title", "start_index", "end_index"))
    where = "" if start is None or end is None else f" (characters {start} to {end})"
    page.field("cites", f"{title}: {_get(citation, 'url')}{where}" if title else f"{_get(citation, 'url')}{where}")


class _Token(NamedTuple):
    logprob: float
    text: str
    rank: int | None = None


def _show_logprobs(page: _Page, logprobs: Any) -> None:
    if logprobs is None:
        return
    if not isinstance(logprobs, fc.ChoiceLogprobs | fc.CompletionLogprobs):
        page.field("logprobs", f"{_json(logprobs):.60}")
        return
    if isinstance(logprobs, fc.CompletionLogprobs):
        texts, numbers = _list(_get(logprobs, "tokens")), _list(_get(logprobs, "token_logprobs"))
        pairs = [(texts[at] if at < len(texts) else "?", number) for at, number in enumerate(numbers)]
        _summarise(
            page, "logprobs", [_Token(number, str(text)) for text, number in pairs if _is_number(number)], len(pairs)
        )
        return
    for name, title in (("content", "logprobs"), ("refusal", "of refusal")):
        items = _list(_get(logprobs, name))
        tokens = [
            _Token(number, str(_get(item, "token"))) for item in items if _is_number(number := _get(item, "logprob"))
        ]
        _summarise(page, title, tokens, len(items))


def _show_prompt_logprobs(page: _Page, obj: Any, indent: int = 0) -> None:
    """The prompt's log probabilities: at each position vLLM has the actual token first, then the likeliest others."""
    positions = _list(_get(obj, "prompt_logprobs"))
    ids = _list(_get(obj, "prompt_token_ids"))
    tokens: list[_Token] = []
    for position, candidates in enumerate(positions):
        if not (by_id := _dict(candidates)):
            continue
        token_id = ids[position] if position < len(ids) else None
        actual = by_id.get(token_id) if isinstance(token_id, int) else None
        if actual is None:
            actual = next(iter(by_id.values()))
        if _is_number(number := _get(actual, "logprob")):
            tokens.append(_Token(number, str(_get(actual, "decoded_token")), _get(actual, "rank")))
    if positions:
        if not indent:
            page.section("prompt")
        _summarise(page, "prompt logprobs" if indent else "logprobs", tokens, len(positions))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _summarise(page: _Page, title: str, tokens: list[_Token], number: int) -> None:
    """Number, mean and perplexity of some tokens, and the least likely of them."""
    if not number:
        return
    likely = [token.logprob for token in tokens if token.logprob > _SENTINEL]
    parts = [_count(number, "token")]
    if likely:
        mean = math.fsum(likely) / len(likely)
        parts += [f"mean {mean:.4g}", f"perplexity {math.exp(min(-mean, 700)):.4g}"]
    if hopeless := len(tokens) - len(likely):
        parts.append(f"{hopeless:,} very unlikely")
    if missing := number - len(tokens):
        parts.append(f"{missing:,} without a value")
    page.field(title, ", ".join(parts))
    for token in heapq.nsmallest(_LEAST_LIKELY, tokens):
        rank = "" if token.rank is None else f"  rank {token.rank}"
        page.line(f"{token.logprob:>10.4g}  {_json(token.text)}{rank}", indent=4)


_COUNTS: Final = (
    ("prompt", "prompt_tokens", "prompt_tokens_details"),
    ("completion", "completion_tokens", "completion_tokens_details"),
    ("total", "total_tokens", ""),
)
_OTHER_COUNTS: Final = (
    ("cached", "cached_tokens"),
    ("cache hits", "prompt_cache_hit_tokens"),
    ("cache misses", "prompt_cache_miss_tokens"),
    ("reasoning", "reasoning_tokens"),
    ("cost", "cost"),
    ("cost details", "cost_details"),
    ("own key", "is_byok"),
)


def _show_usage(page: _Page, usage: Any, title: str = "usage") -> None:
    if usage is None or usage is msgspec.UNSET:
        return
    page.section(title)
    for name, member, details in _COUNTS:
        value = _get(usage, member)
        page.field(name, value, (_spell_details(_get(usage, details) if details else None), "dim"))
    for name, member in _OTHER_COUNTS:
        page.field(name, _get(usage, member))


def _fields_of(struct: type[msgspec.Struct]) -> list[str]:
    """The members of a class of the schema, in its order."""
    return [name for name in struct.__struct_fields__ if name.isidentifier() and not name.endswith("_")]


def _spell_details(details: Any) -> str:
    if not isinstance(details, fc.PromptTokensDetails | fc.CompletionTokensDetails):
        return ""
    values = {name: _get(details, name) for name in _fields_of(details.__schema__)}
    spelled = ", ".join(
        f"{_json(value)} {name.removesuffix('_tokens').replace('_', ' ')}"
        for name, value in values.items()
        if value is not None
    )
    return f"  ({spelled})" if spelled else ""


def _show_filter(page: _Page, results: Any) -> None:
    if not (verdicts := _dict(results)):
        return
    filtered = [name for name, verdict in verdicts.items() if _get(verdict, "filtered") or _get(verdict, "detected")]
    page.field("content filter", ", ".join(filtered) if filtered else f"nothing in {_names(verdicts)}")


def _show_rest(page: _Page, obj: fc.ChatCompletion | fc.ChatCompletionChunk | fc.Completion) -> None:
    """What only some servers send, beside the choices."""
    _show_prompt_logprobs(page, obj)
    for name in ("kv_transfer_params", "ec_transfer_params", "sglext"):
        if (params := _get(obj, name)) is not None:
            page.section(name, f": {_names(_dict(params))}")
    if metrics := _get(obj, "metrics"):
        page.section("metrics")
        for name in _fields_of(fc.RequestMetrics):
            page.field(name.replace("_", " "), _get(metrics, name))
    if (ids := _get(obj, "prompt_token_ids")) is not None:
        page.section("prompt token ids", f": {len(_list(ids)):,}")
    if isinstance(prompt := _get(obj, "prompt_text"), str):
        page.section("prompt text")
        page.block("as rendered", prompt, "dim")
    searched = _get(obj, "web_search")
    results: list[Any] = [searched] if isinstance(searched, dict) else _list(searched)
    if results:
        page.section("web search")
    for position, result in enumerate(results, 1):
        date = _get(result, "publish_date")
        page.line(f"{position}. {_get(result, 'title') or 'untitled'}", (f"  {date}" if date else "", "dim"), indent=2)
        if link := _get(result, "link"):
            page.line((str(link), "underline"), indent=5)
    for result in _list(_get(obj, "prompt_filter_results")):
        page.section("prompt filter")
        _show_filter(page, _get(result, "content_filter_results"))
    if moderation := _get(obj, "moderation"):
        page.section("moderation")
        for side in ("input", "output"):
            verdict = _get(moderation, side)
            results = _list(_get(verdict, "results"))
            flagged = any(_get(result, "flagged") for result in results)
            page.field(side, _get(verdict, "message") or ("flagged" if flagged else "not flagged"))


_POSITION = re.compile(r"\[[0-9]+\]")


def _show_deviations(page: _Page, obj: fc.AnyCompletion) -> None:
    """Extras and deviations, alike ones (in other choices, or tokens) in one line."""
    groups: dict[tuple[str, str], list[fc.Deviation]] = {}
    try:
        deviations = _deviations(obj)
    except fc.LimitError as error:
        page.section("unusual", f": {error.reason}")
        return
    for deviation in deviations:
        groups.setdefault((_POSITION.sub("[]", deviation.path), deviation.kind), []).append(deviation)
    for title, are_extras in (("extras", True), ("unusual", False)):
        chosen = {key: group for key, group in groups.items() if (key[1] == "extra") == are_extras}
        if chosen:
            rest = ": not in the schema, and kept" if are_extras else ": not as the schema has it, and kept"
            page.section(title, (rest, "dim"))
        for (path, kind), group in chosen.items():
            senders = senders_of(path, kind, group[0].example)
            times = f", {len(group):,} times" if len(group) > 1 else ""
            place = group[0].path if len(group) == 1 else path
            what = group[0].example if are_extras else _words(group[0])
            page.line(
                (place, "cyan"),
                f": {what}",
                times,
                (f" ({_who(kind, senders)})" if senders else "", "dim"),
                indent=2,
            )


# -- check -----------------------------------------------------------------------------------------------------------


class _Report:
    """Where findings go, what is counted, and the progress bar, which must not get in their way."""

    def __init__(self, format: _Format, paths: list[Path]) -> None:
        self._format = format
        self._stdout = _console()
        self._stderr = _console(stderr=True)
        self._total = sum(path.stat().st_size for path in paths if path.is_file())
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._done = 0  # bytes
        self._looked = time.monotonic()
        self._patience = _BAR_AFTER
        self._counts: Counter[tuple[str, str]] = Counter()
        self._senders: dict[tuple[str, str], str] = {}
        self._uncounted = 0
        self._errors: Counter[str] = Counter()
        self.bodies = self.findings = self.bodies_with_findings = self.error_bodies = 0

    def add(self, name: str, checked: _Checked, size: int = 0) -> None:
        """Print and count what one body has."""
        self.bodies += 1
        self._done += size
        self.bodies_with_findings += bool(checked.findings)
        if checked.error is not None:
            self.error_bodies += 1
            if checked.error in self._errors or len(self._errors) < _KINDS_COUNTED:
                self._errors[checked.error] += 1
        for finding in checked.findings:
            self.findings += 1
            self._print(name, finding)
            key = (_POSITION.sub("[]", finding.path), finding.kind)
            if key in self._counts or len(self._counts) < _KINDS_COUNTED:
                self._counts[key] += 1
                if finding.senders:
                    self._senders.setdefault(key, senders_of(key[0], key[1]) or finding.senders)
            else:
                self._uncounted += 1
        self._progress()

    def say(self, message: str) -> None:
        """Print a message on stderr, above the bar."""
        (self._bar.console if self._bar else self._stderr).print(message, soft_wrap=True, markup=False)

    def _print(self, name: str, finding: _Finding) -> None:
        if self._format is _Format.json:
            members = {
                "file": name,
                "line": finding.line,
                "path": finding.path,
                "kind": finding.kind,
                "message": finding.reason,
                "expected": finding.expected,
                "example": finding.example,
                "senders": finding.senders,
                "offset": finding.offset,
            }
            self._write(json.dumps(members))  # in ASCII, so that no encoding of stdout can break it
        elif self._stdout.is_terminal:
            who = f" ({_who(finding.kind, finding.senders)})" if finding.senders else ""
            place = Text.assemble((name, "bold"), f":{finding.line}: ", (finding.path, "cyan"), ": ")
            self._write(place + Text.assemble(finding.reason, (who, "dim")))
        else:
            self._write(f"{name}:{finding.line}: {finding.path}: {finding.text()}")

    def _write(self, line: str | Text) -> None:
        if not self._stdout.is_terminal:
            sys.stdout.write(f"{line}\n")
        elif self._bar:  # both on one terminal: above the bar
            self._bar.console.print(line, soft_wrap=True, markup=False)
        else:
            self._stdout.print(line, soft_wrap=True, markup=False)

    def _progress(self) -> None:
        """Draw the bar where it is time for it."""
        now = time.monotonic()
        if now - self._looked < self._patience or not self._stderr.is_terminal:
            return
        self._looked, self._patience = now, _BAR_EVERY
        if self._bar is None:
            columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=self._stderr, transient=True, auto_refresh=False)
            self._task = self._bar.add_task("", total=self._total or None)
            self._bar.start()
        words = f"{_count(self.bodies, 'body')}, {_count(self.findings, 'finding')}"
        self._bar.update(self._task, completed=self._done, description=words, refresh=True)

    def close(self) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def summary(self) -> None:
        """Counts for each path and kind, and in all; on stderr."""
        width = max((len(path) for path, _ in self._counts), default=0)
        for (path, kind), number in self._counts.most_common():
            senders = self._senders.get((path, kind), "")
            row = Text.assemble(f"{number:>9,}  ", (f"{path:<{width}}", "cyan"), f"  {kind:<9}  ", (senders, "dim"))
            row.rstrip()
            self._stderr.print(row, soft_wrap=True)
        if self._uncounted:
            self._stderr.print(f"{self._uncounted:>9,}  others", soft_wrap=True)
        found = "No findings" if not self.findings else _count(self.findings, "finding")
        place = f"in {_count(self.bodies, 'body')}"
        if self.findings:
            place = f"in {self.bodies_with_findings:,} of {_count(self.bodies, 'body')}"
        style = "bold red" if self.findings else "bold green"
        self._stderr.print(Text.assemble((found, style), f" {place}."), soft_wrap=True)
        if self.error_bodies:
            quoted = [
                f"{_clean(message):.60}" + (f" ({number:,})" if number > 1 else "")
                for message, number in self._errors.most_common(_SHOWN_ERRORS)
            ]
            more = ["..."] if len(self._errors) > _SHOWN_ERRORS else []
            note = f"Not checked: {_count(self.error_bodies, 'error body')}: {'; '.join(quoted + more)}"
            self._stderr.print(Text(note), soft_wrap=True)


# -- the commands ----------------------------------------------------------------------------------------------------


def _examples(*lines: str) -> str:
    return "\b\n" + "\n".join(lines)  # \b: keep the lines as they are


app = typer.Typer(
    name="fastcompletion",
    help="Read the JSON that OpenAI-compatible servers answer with.",
    epilog=_examples(
        "fastcompletion show response.json",
        "fastcompletion check --dialect openai logs/*.jsonl",
        "curl -s $URL/v1/chat/completions -d @request.json | fastcompletion show",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def _leaving_pipes_alone(code: int) -> Generator[None, None, None]:
    """End quietly when the reader of stdout has gone, as after `| head`."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EINVAL):  # EINVAL: a closed pipe on Windows
            raise
        # Else the interpreter would try again to flush, at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(code) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fastcompletion {fc.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(
    help=(
        "Print a response for a person: who answered, what, how sure, at what cost, and what is unusual about it.\n\n"
        "Takes a chat completion, one of its chunks, a text completion or an error body, from any server; alone, on the"
        " lines of JSONL, or in the records of a batch's output file."
    ),
    epilog=_examples(
        "fastcompletion show response.json",
        "fastcompletion show log.jsonl --line 120",
        "curl -s $URL/v1/chat/completions -d @request.json | fastcompletion show",
        "fastcompletion show --json response.json | jq .usage",
    ),
)
def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE|-]", help="One body, or JSONL. - or nothing: stdin.", show_default=False, allow_dash=True
        ),
    ] = Path("-"),
    line: Annotated[
        int | None,
        typer.Option(
            "--line", "-n", min=1, metavar="N", help="The line of JSONL to show. Default: the first response."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the body as JSON instead, indented.")] = False,
) -> None:
    """Print one response for a person."""
    with _leaving_pipes_alone(CLEAN):
        try:
            code = _show(file, line, as_json=as_json)
        except _CannotRunError as error:
            _warn(f"Error: {error}")
            raise typer.Exit(COULD_NOT_RUN) from error
    raise typer.Exit(code)


def _show(path: Path, wanted: int | None, *, as_json: bool) -> int:
    if str(path) == "-" and sys.stdin.isatty():
        _warn("Reading a response from the terminal; end it with Ctrl-D.")
    with closing(_File(path, "show")) as file:
        entries = file.entries()
        chosen: _Entry | None = None
        last = 0
        for entry in entries:
            last = entry.line
            if wanted is None or entry.line >= wanted or not entry.is_line:
                chosen = entry
                break
        if chosen is None and wanted is None:
            raise _CannotRunError(f"{file.name}: is empty; there is no response to show")
        if chosen is None:
            raise _CannotRunError(f"{file.name}: has no line {wanted}; the last response is on line {last}")
        if wanted is not None and chosen.line != wanted:
            if not chosen.is_line:
                raise _CannotRunError(f"{file.name}: is one body, not JSONL; leave --line out")
            raise _CannotRunError(f"{file.name}: line {wanted} is blank; the next response is on line {chosen.line}")
        code = _show_entry(chosen, file.name, as_json=as_json)
        sys.stdout.flush()
        if wanted is None and chosen.is_line and (others := sum(1 for _ in entries)):
            _warn(
                f"This is the first of {others + 1:,} responses in {file.name}, on line {chosen.line}; "
                "choose another with --line N"
            )
    return code


def _show_entry(entry: _Entry, name: str, *, as_json: bool) -> int:
    batch = _unwrap(entry.text)
    if batch and batch.body is None:
        if as_json:
            raise _CannotRunError(f"{name}: the batch record {batch.custom_id} has no body: {batch.error}")
        _show_batch(_Page(), batch)
        return CLEAN
    text, skipped = (batch.body, batch.offset) if batch and batch.body is not None else (entry.text, 0)
    codec = _CHECKING
    try:
        try:
            obj = codec.decode(text)
        except fc.MalformedError:
            codec = _TOLERANT
            obj = codec.decode(text)
            _warn("Note: NaN or Infinity in it, which is not JSON; other readers will refuse it.")
    except fc.DecodeError as error:
        finding = _finding_of(error, entry, skipped)
        _warn(f"{name}:{finding.line}: {finding.path}: {finding.reason}")
        return FINDINGS
    page = _Page()
    if not as_json:
        _show_body(page, obj, batch)
    else:
        if batch:
            _warn(f"Note: the body of the batch record {_clean(batch.custom_id)}.")
        page.json(_indented(codec.encode(obj)))
    return CLEAN


@app.command(
    help=(
        "List what responses do against a schema, a line for each: FILE:LINE: PATH: WHAT (WHO ELSE SENDS THIS).\n\n"
        "Exits with 0 when there is nothing to list, with 1 when there is, and with 2 when a file cannot be read."
        " Broken bodies are listed with what is wrong and the byte, counted from 0 at the start of the body or line."
        " Of a batch's output file, the bodies are checked. Error bodies are not checked, but counted in the summary."
    ),
    epilog=_examples(
        "fastcompletion check response.json",
        "fastcompletion check --dialect openai --summary logs/*.jsonl",
        "zstd -dc log.jsonl.zst | fastcompletion check --format json - | jq -r .path | sort | uniq -c",
    ),
)
def check(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Bodies or JSONL. -: stdin.", allow_dash=True, show_default=False),
    ],
    dialect: Annotated[
        _Dialect,
        typer.Option(
            help=(
                "What to hold the bodies against. any: all that this library knows of any server;"
                " openai, vllm: the documents of OpenAI's and of vLLM's chat completion."
            ),
        ),
    ] = _Dialect.any,
    format: Annotated[_Format, typer.Option(help="text, or json: an object a line, with its parts.")] = _Format.text,
    summary: Annotated[
        bool | None,
        typer.Option(
            "--summary/--no-summary",
            help="Count the findings by path and kind at the end, on stderr. Default: on a terminal.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List what responses do against a schema."""
    report = _Report(format, files)
    could_run = True
    with _leaving_pipes_alone(FINDINGS):  # only findings are written
        try:
            for path in files:
                could_run &= _check_file(path, dialect, report)
        finally:
            report.close()
    if summary or (summary is None and sys.stderr.isatty()):
        report.summary()
    raise typer.Exit(COULD_NOT_RUN if not could_run else FINDINGS if report.findings else CLEAN)


def _check_file(path: Path, dialect: _Dialect, report: _Report) -> bool:
    """Check one file; say whether it could be read."""
    is_empty = True
    try:
        with closing(_File(path, "check")) as file:
            for entry in file.entries():
                is_empty = False
                report.add(file.name, _check(entry, dialect), len(entry.text))
            if is_empty:
                report.add(file.name, _Checked([_Finding(1, "$", "truncated", "empty: no body in it", offset=0)]))
    except _CannotRunError as error:
        report.say(f"Error: {error}")
        return False
    return True


def main() -> None:
    """Run the command line, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # rather than fail where it cannot say "é"
    try:
        app(prog_name="fastcompletion")
    except Exception:  # noqa: BLE001 (a code of its own: 1 is for findings)
        traceback.print_exc()
        sys.stderr.write("This is a bug in fastcompletion, not in your file; please report it with the lines above.\n")
        sys.exit(COULD_NOT_RUN)

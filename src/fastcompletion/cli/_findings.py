"""Bodies -> what they do against a schema, with the line of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple

import msgspec

import fastcompletion as fc
from fastcompletion.cli._inputs import BODY_OF_BATCH, Entry, refusal, unwrap
from fastcompletion.cli._senders import senders_of
from fastcompletion.cli._text import clean

__all__ = [
    "Checked",
    "Checker",
    "Dialect",
    "Finding",
    "OutputFormat",
    "deviations_of",
    "finding_of",
    "who",
    "words_for",
]


class Dialect(str, Enum):
    """What `check` holds bodies against."""

    any = "any"
    openai = "openai"
    vllm = "vllm"


class OutputFormat(str, Enum):
    """How `check` prints."""

    text = "text"
    json = "json"


_AGAINST: Final[Mapping[Dialect, type[msgspec.Struct] | None]] = {
    Dialect.any: None,
    Dialect.openai: fc.openai.ChatCompletion,
    Dialect.vllm: fc.vllm.ChatCompletionResponse,
}
_CALLED: Final[Mapping[Dialect, str]] = {
    Dialect.any: "schema",
    Dialect.openai: "OpenAI document",
    Dialect.vllm: "vLLM document",
}


class Finding(NamedTuple):
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
        """What it is, and who else sends it."""
        return self.reason + (f" ({who(self.kind, self.senders)})" if self.senders else "")


def who(kind: str, senders: str) -> str:
    """Who else does that."""
    return f"also absent from {senders}" if kind == "absent" else f"also sent by {senders}"


_LITERAL = re.compile(r"Literal\[([^]]*)\]")


def words_for(deviation: fc.Deviation, called: str = "schema") -> str:
    """What a deviation is, in words."""
    expected = _LITERAL.sub(lambda match: match[1].replace("', '", "' | '"), deviation.expected)
    if deviation.kind == "extra":
        return f"not in the {called}: {clean(deviation.example)}"
    if deviation.kind == "absent":
        return f"absent, expected {expected}"
    if deviation.kind == "name":
        return f"expected an integer as the name, got {clean(deviation.example)}"
    if deviation.kind == "null":
        return f"expected {expected}, got null"
    return f"expected {expected}, got {deviation.kind} {clean(deviation.example)}"


_KIND_OF_ERROR: Final[Mapping[type[fc.DecodeError], str]] = {
    fc.MalformedError: "malformed",
    fc.TruncatedError: "truncated",
    fc.LimitError: "limit",
    fc.SchemaError: "schema",
}


def finding_of(error: fc.DecodeError, entry: Entry, skipped: int = 0) -> Finding:
    """The finding that a refused text is; ``skipped`` bytes of the entry lie before it."""
    offset = None if error.offset is None else error.offset + skipped
    line = entry.line if entry.is_line else entry.line + entry.text.count(b"\n", 0, offset or 0)
    reason = clean(error.reason) + ("" if offset is None else f" at byte {offset}")
    if (
        isinstance(error, fc.MalformedError)
        and not entry.is_line
        and offset is not None
        and refusal(entry.text[:offset]) is None
    ):
        reason += "; for several bodies, put each on a line of its own, as jq -c . does"
    return Finding(line, error.path, _KIND_OF_ERROR.get(type(error), "schema"), reason, offset=offset)


class Checked(NamedTuple):
    """What `check` says about one entry."""

    findings: list[Finding]
    error: str | None = None  # the message, where the body is a server's error: a note, not a finding


def deviations_of(obj: fc.AnyCompletion, against: type[msgspec.Struct] | None = None) -> list[fc.Deviation]:
    """What a body has against a schema.

    Raises:
        LimitError: nested too deeply to be walked, though not to be decoded.
    """
    try:
        return fc.deviations(obj, against=against)
    except (TypeError, RecursionError) as error:
        raise fc.LimitError("Nested too deeply to be compared with the schema", limit="nesting depth") from error


class Checker:
    """Holds bodies against what a dialect stands for."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._codec = fc.Codec()
        self._strict = fc.Codec(strict=True)
        # A strict codec sees in microseconds that a body is clean, and takes 0.1 ms to say where it is not. Bodies of
        # one log are alike, so the last one tells whether to ask it.
        self._may_be_clean = dialect is Dialect.any

    def check(self, entry: Entry) -> Checked:
        """What one body, or the one in a batch record, has against it."""
        batch = unwrap(entry.text)
        if batch and batch.body is None:
            return Checked([], error=batch.error)
        prefix = BODY_OF_BATCH if batch else ()
        text, skipped = (batch.body, batch.offset) if batch and batch.body is not None else (entry.text, 0)
        if self._may_be_clean and self._is_clean(text):
            return Checked([])
        try:
            obj = self._codec.decode(text)
            if isinstance(obj, fc.ErrorResponse):
                return Checked([], error=obj.info.message or "no message")
            if self._dialect is not Dialect.any and not isinstance(obj, fc.ChatCompletion):
                reason = (
                    f"the {_CALLED[self._dialect]} is about whole chat completions, and this is a"
                    f" {type(obj).__name__}; check it with --dialect any"
                )
                (line,) = _lines_for(entry, ["$"], prefix)
                return Checked([Finding(line, "$", "other", reason)])
            deviations = deviations_of(obj, _AGAINST[self._dialect])
        except fc.DecodeError as error:
            return Checked([finding_of(error, entry, skipped)])
        self._may_be_clean = self._dialect is Dialect.any and not deviations
        lines = _lines_for(entry, [deviation.path for deviation in deviations], prefix)
        findings = [
            Finding(
                line,
                deviation.path,
                deviation.kind,
                words_for(deviation, _CALLED[self._dialect]),
                deviation.expected,
                deviation.example,
                senders_of(deviation.path, deviation.kind, deviation.example),
            )
            for line, deviation in zip(lines, deviations, strict=True)
        ]
        return Checked(sorted(findings, key=lambda finding: finding.line))

    def _is_clean(self, text: bytes) -> bool:
        try:
            return not isinstance(self._strict.decode(text), fc.ErrorResponse)
        except fc.DecodeError:
            return False


def _lines_for(entry: Entry, paths: list[str], prefix: _Steps) -> list[int]:
    """The line of the file on which the value at each path starts; for an absent one, the object that lacks it."""
    if entry.is_line or not paths or b"\n" not in entry.text.rstrip():
        return [entry.line] * len(paths)
    places = [prefix + _steps_of(path) for path in paths]
    lines = _find_lines(entry.text, places)

    def line_of(steps: _Steps) -> int:
        while steps not in lines:  # the whole text, (), is among them
            steps = steps[:-1]
        return entry.line + lines[steps]

    return [line_of(steps) for steps in places]


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


def _find_lines(text: bytes, wanted: Iterable[_Steps]) -> dict[_Steps, int]:
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

r"""Where in the bytes a JSON text goes wrong, and where in it a member is.

Only for the way to an error: a decoder has refused a body, and the error must name place and cause exactly, whatever
that decoder's own message says. A body goes in as bytes; out come offsets (bytes from its start) and paths. Nothing
here raises, whatever the bytes; nothing recurses, so that nesting may have any depth; time is linear in the body.

JSON is RFC 8259 in UTF-8, with what the RFC leaves to the reader: a byte order mark may come first, escapes may be
lone surrogates, numbers have any size. A fault is at the first byte that nothing valid has there after the bytes
before it. A body that ends without one, and too early, is truncated.

A path is `$`, then `.name` for a member, `["na\"me"]` where the name is no identifier, and `[3]` for an element.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import repeat
from typing import NamedTuple, cast

__all__ = ["Fault", "deeper_than", "find_fault", "offset_of", "path_at"]


class Fault(NamedTuple):
    """What is wrong with a body, and where."""

    kind: str  # "malformed", "utf8", "truncated", or "nonfinite" (NaN, Infinity, -Infinity: what `json.dumps` writes)
    reason: str  # for people, and may change
    offset: int  # where the fault is; for "utf8" and "nonfinite" where the sequence or the word starts
    path: str  # the member whose name or value is being read there


_BOM = b"\xef\xbb\xbf"
_QUOTE, _COMMA, _COLON, _ARRAY, _OBJECT = b'",:[{'
_CLOSING = 2  # from an opening bracket to the closing one, in ASCII
_NEVER = sys.maxsize
_CUT = "Unexpected end of the body"
_KINDS = {_CUT: "truncated"} | {f"`{word}` is not JSON": "nonfinite" for word in ("NaN", "Infinity", "-Infinity")}

# What a walk expects: in a container the first member or the end, or another member; else what is inside or behind one.
_FIRST, _NEXT, _NAME_END, _VALUE, _VALUE_END = range(5)

# The grammar. What one of these patterns can match it can match in one way only, so that backtracking costs linear
# time. It also costs some 200 bytes for each repetition of a group: hence {0,99}; a walk that meets more goes around
# again. Elements and members are runs of whole ones that need no look inside, each with its comma or before the end.
_S = rb"[ \t\n\r]*"
_TEXT = rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,99}'
_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+|)(?:[eE][-+]?[0-9]+|)"
_SCALAR = rb'"%b"|%b|true|false|null' % (_TEXT, _NUMBER)
_ELEMENTS = rb"(?:(?:%b)%b(?:,%b(?!\])|(?=\]))){0,99}" % (_SCALAR, _S, _S)
_NAME = rb'"%b"%b:%b' % (_TEXT, _S, _S)
_MEMBERS = rb"(?:%b(?:%b|\[%b%b\])%b(?:,%b(?!\})|(?=\}))){0,99}" % (_NAME, _SCALAR, _S, _ELEMENTS, _S, _S)

_word = re.compile(rb"true|false|null|%b(?![-+.0-9eE])" % _NUMBER).match
_nonfinite = re.compile(rb"NaN|-?Infinity").match
_word_start = re.compile(
    rb"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    rb"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][-+]?[0-9]*)?|-"
).match
_nonfinite_start = re.compile(rb"N(?:aN?)?|-?I(?:n(?:f(?:i(?:n(?:i(?:ty?)?)?)?)?)?)?").match


def _always(pattern: bytes) -> Callable[[bytes, int, int], re.Match[bytes]]:
    """The matcher of a pattern that matches anywhere, if only nothing."""
    return cast("Callable[[bytes, int, int], re.Match[bytes]]", re.compile(pattern).match)


_space = _always(_S)
_text = _always(_TEXT)
_escape_start = _always(rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
# A run, and whether behind it the container ends or, in an object, a member with another container begins.
_run_in = {
    _ARRAY: _always(rb"%b(?=(?P<end>\])?)" % _ELEMENTS),
    _OBJECT: _always(rb'%b(?:(?=(?P<name>"))%b(?=[\[{])|(?=(?P<end>\})))?' % (_MEMBERS, _NAME)),
}


def find_fault(body: bytes, *, allow_nonfinite: bool = False) -> Fault | None:
    """The first fault of ``body``, or None if it is valid JSON.

    >>> find_fault(b'{"choices": [{"index": 0}, {"index": 01}]}')
    Fault(kind='malformed', reason='Invalid number', offset=38, path='$.choices[1].index')
    >>> find_fault(b'{"choices": [{"index": 0}, {"index"')
    Fault(kind='truncated', reason='Unexpected end of the body', offset=35, path='$.choices[1].index')
    """
    if _BOM.startswith(body):  # a mark that is cut short, or nothing at all
        return Fault("truncated", _CUT, len(body), "$")
    end = len(body)
    try:
        body.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":  # what is cut short may be good: the walk will tell
            end = error.start
    reason, offset, path = _walk(body, end, end, allow_nonfinite=allow_nonfinite)
    if end < len(body) and reason in {"", _CUT}:
        return Fault("utf8", "Invalid UTF-8", end, path_at(body, end))
    return Fault(_KINDS.get(reason, "malformed"), reason, offset, path) if reason else None


def path_at(body: bytes, offset: int) -> str:
    """The path of the innermost member that has the byte at ``offset`` in its name, its value or between the two.

    In a broken body, and behind its fault, the path of the fault.

    >>> path_at(b'{"choices": [{"index": 0}]}', 17)
    '$.choices[0].index'
    """
    return _walk(body, min(offset + 1, len(body)), offset, allow_nonfinite=True)[2]


def _walk(body: bytes, end: int, at: int, *, allow_nonfinite: bool) -> tuple[str, int, str]:
    """Read ``body[:end]``: the first fault's reason (or "") and offset, and the path there or, if earlier, ``at``."""
    opened: list[int] = []  # where the open containers start
    members: list[int] = []  # where in each of them the member that is being read starts, or never
    pos = min(len(_BOM), end) if body.startswith(_BOM) else 0
    expected, reason = _VALUE, ""
    while not reason:
        if expected == _VALUE_END and opened and pos < end:  # at the end a number might go on
            members[-1] = _NEVER
        pos = _space(body, pos, end).end()
        container = body[opened[-1]] if opened else 0
        if expected <= _NEXT:
            run = _run_in[container](body, pos, end)
            if run.lastgroup == "end" and (expected == _FIRST or run.end() > pos):
                expected = _VALUE_END
            elif container == _ARRAY:
                members[-1] = run.end()
                expected = _VALUE
            elif run.lastgroup == "name":
                members[-1] = run.start("name")
                expected = _VALUE
            pos = run.end()
        if pos == end:
            reason = _CUT if opened or expected == _VALUE else ""
            break
        char = body[pos]
        if expected == _VALUE:
            if char in b"[{":
                opened.append(pos)
                members.append(_NEVER)
                pos += 1
                expected = _FIRST
            else:
                pos, reason = _scalar(body, pos, end, allow_nonfinite=allow_nonfinite)
                expected = _VALUE_END
        elif expected == _VALUE_END:
            if not opened:
                reason = "Trailing data after the JSON value"
            elif char == _COMMA:
                pos += 1
                expected = _NEXT
            elif char == container + _CLOSING:
                pos += 1
                opened.pop()
                members.pop()
            else:
                reason = f"Expected `,` or `{container + _CLOSING:c}`"
        elif expected == _NAME_END:
            if char == _COLON:
                pos += 1
                expected = _VALUE
            else:
                reason = "Expected `:`"
        elif char == _QUOTE:
            members[-1] = pos
            pos, reason = _string(body, pos, end)
            expected = _NAME_END
        else:
            reason = "Expected a member name"
    if members and members[-1] > min(pos, at):
        members.pop()
    plain = _plain(body[: members[-1]]) if members else b""
    return reason, pos, "".join(["$", *map(_step, repeat(body), repeat(plain), opened, members)])


def _scalar(body: bytes, pos: int, end: int, *, allow_nonfinite: bool) -> tuple[int, str]:
    """Where the string, number or literal at ``pos`` ends, and ""; or where its fault is, and the reason."""
    if body[pos] == _QUOTE:
        return _string(body, pos, end)
    if match := _word(body, pos, end):
        return match.end(), ""
    if match := _nonfinite(body, pos, end):
        return (match.end(), "") if allow_nonfinite else (pos, f"`{match.group().decode()}` is not JSON")
    match = (_nonfinite_start(body, pos, end) if allow_nonfinite else None) or _word_start(body, pos, end)
    if not match:
        return pos, "Expected a value"
    if match.end() == end:
        return end, _CUT
    return match.end(), "Invalid literal" if match.group().isalpha() else "Invalid number"


def _string(body: bytes, pos: int, end: int) -> tuple[int, str]:
    """The same for the string at ``pos``."""
    pos += 1
    while (stop := _text(body, pos, end).end()) > pos:
        pos = stop
    if pos < end and body[pos] == _QUOTE:
        return pos + 1, ""
    stop = _escape_start(body, pos, end).end()
    if stop == end:
        return end, _CUT
    return stop, "Invalid escape" if stop > pos else "Control character in a string"


# From here on for bytes that are JSON, as far as they go: nothing is checked again.

_BRACKETS = dict(zip(b"[{]}", (1, 1, -1, -1), strict=True))  # what each of them adds to the depth
_brackets = re.compile(rb"[][{}]").finditer
_structure = re.compile(rb"[][{},]").finditer
_before_value = _always(rb'%b(?:("+)%b:%b)?' % (_S, _S, _S))  # in plain bytes
_steps = re.compile(r'\.[^.[]+|\["(?:[^"\\]|\\.)*"\]|\[(?:[0-9]+|\.\.\.)\]').findall


def deeper_than(body: bytes, depth: int) -> int | None:
    """Where the first container of ``body``, valid JSON, starts that stands inside ``depth`` others; None without one.

    >>> deeper_than(b'{"choices": [{"index": 0}, {"index": 1}]}', 2)
    13
    """
    opened = 0
    for match in _brackets(_plain(body)):
        opened += _BRACKETS[match.group()[0]]
        if opened > depth:
            return match.start()
    return None


def offset_of(body: bytes, path: str) -> int | None:
    """Where the value at ``path`` starts; None if it is not there, or ``body`` is not valid JSON.

    Of members with the same name the last counts, as for the decoders. A step may be `[...]`, as msgspec has it for any
    member of a map: the only one, whatever its name. Time is linear in the body for each step.

    >>> offset_of(b'{"choices": [{"index": 0}]}', "$.choices[0].index")
    23
    """
    steps = _steps(path)
    if "".join(["$", *steps]) != path or find_fault(body, allow_nonfinite=True):
        return None
    plain = _plain(body)
    pos = _space(plain, len(_BOM) if body.startswith(_BOM) else 0, len(plain)).end()
    for step in steps:
        values = _values(body, plain, pos, len(plain))
        if step == "[...]" and len(values) == 1:
            (pos,) = values.values()
        elif (spelled := _spelled(step[1:]) if step[0] == "." else step) in values:
            pos = values[spelled]
        else:
            return None
    return pos


def _values(body: bytes, plain: bytes, start: int, end: int) -> dict[str, int]:
    """Where the values in the container at ``start`` are, as far as ``end``, by the step of a path to each."""
    values: dict[str, int] = {}
    depth, pos = 0, start + 1
    for match in _structure(plain, start, end) if plain[start] in b"[{" else ():
        depth += _BRACKETS.get(plain[match.start()], 0)
        if depth == 0 or (depth == 1 and match.group() == b","):
            before = _before_value(plain, pos, end)
            if before.end() < match.start():
                step = f"[{len(values)}]" if plain[start] == _ARRAY else _step(body, plain, start, before.start(1))
                values[step] = before.end()
            if depth == 0:
                break
            pos = match.end()
    return values


def _step(body: bytes, plain: bytes, start: int, member: int) -> str:
    """The step of a path into the container at ``start``, to the member at ``member``."""
    if body[start] == _ARRAY:
        return f"[{len(_values(body, plain, start, member))}]"
    stop, reason = _string(body, member, len(body))
    return "" if reason else _spelled(json.loads(body[member:stop].decode(errors="replace")))


def _spelled(name: str) -> str:
    if name.isascii() and name.isidentifier():
        return f".{name}"
    return f"[{json.dumps(name, ensure_ascii=not name.isprintable())}]"  # lone surrogates are not printable


def _plain(body: bytes) -> bytes:
    """Bytes of the same length, with only quotes for each string."""
    return re.sub(rb'"[^"]*"?', lambda match: b'"' * len(match.group()), re.sub(rb"\\.", b"__", body))

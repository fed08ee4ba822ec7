r"""Where in the bytes a JSON text goes wrong, and where in it a member is.

Only for the way to an error: a decoder has refused a body, and the error must name place and cause exactly, whatever
that decoder's own message says. A body goes in as bytes; out come offsets (bytes from its start) and paths
(`$.choices[0].message`). Nothing here raises, whatever the bytes; nothing recurses, so that a body may be nested to
any depth; time is linear in the body.

JSON is RFC 8259 in UTF-8, with what the RFC leaves to the reader: a byte order mark may come first, escapes may be
lone surrogates, numbers have any size. A fault is at the first byte that nothing valid has there after the bytes
before it. A body that ends without one, and too early, is truncated.

A path is `$`, then `.name` for a member, `["na\"me"]` where the name is no identifier, and `[3]` for an element.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import accumulate, count, repeat
from typing import NamedTuple, cast

__all__ = ["Fault", "find_fault", "has_lone_surrogate", "max_depth", "offset_of", "path_at"]


class Fault(NamedTuple):
    """What is wrong with a body, and where."""

    kind: str  # "malformed", "utf8", "truncated", or "nonfinite" (NaN, Infinity, -Infinity: what `json.dumps` writes)
    reason: str  # for people, and may change
    offset: int  # where the fault is; for "utf8" and "nonfinite" where the sequence or the word starts
    path: str  # the member whose name or value is being read there


_BOM = b"\xef\xbb\xbf"
_QUOTE, _COMMA, _COLON, _END_ARRAY, _END_OBJECT = b'",:]}'
_NAME, _AFTER_NAME, _VALUE, _AFTER_VALUE = range(4)  # what a walk expects
_NEVER = sys.maxsize
_CUT = "Unexpected end of the body"
_KINDS = {_CUT: "truncated"} | {f"`{word}` is not JSON": "nonfinite" for word in ("NaN", "Infinity", "-Infinity")}

# The grammar. What one of these patterns can match it can match in one way only, so that backtracking costs linear
# time. It also costs some 200 bytes for each repetition of a group: hence {0,99}; a walk that meets more goes around
# again. A flat value is a scalar or a container of scalars: what a walk need not look into.
_S = rb"[ \t\n\r]*"
_TEXT = rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*){0,99}'
_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+|)(?:[eE][-+]?[0-9]+|)"
_SCALAR = rb'(?:"%b"|%b|true|false|null)' % (_TEXT, _NUMBER)
_LABEL = rb'"%b"%b:%b' % (_TEXT, _S, _S)
_ELEMENT = _SCALAR + _S
_MEMBER = _LABEL + _SCALAR + _S
_ARRAY = rb"\[%b(?:%b,%b){0,99}%b\]" % (_S, _ELEMENT, _S, _ELEMENT)
_OBJECT = rb"\{%b(?:%b,%b){0,99}%b\}" % (_S, _MEMBER, _S, _MEMBER)
_FLAT = rb"(?:%b|%b|%b)" % (_SCALAR, _ARRAY, _OBJECT)
_STARTS = (  # of literals and numbers
    rb"t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
    rb"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:(?<=[0-9])[eE][-+]?[0-9]*)?|-"
)

_label = re.compile(_LABEL).match
_flat = re.compile(rb"(%b)%b(?=[],}])" % (_FLAT, _S)).match
_nonfinite = re.compile(rb"NaN|-?Infinity").match
_word = re.compile(rb"true|false|null|%b(?![-+.0-9eE])" % _NUMBER).match
_start = re.compile(_STARTS).match
_lenient_start = re.compile(rb"N(?:aN?)?|-?I(?:n(?:f(?:i(?:n(?:i(?:ty?)?)?)?)?)?)?|" + _STARTS).match


def _always(pattern: bytes) -> Callable[[bytes, int, int], re.Match[bytes]]:
    """The matcher of a pattern that matches anywhere, if only nothing."""
    return cast("Callable[[bytes, int, int], re.Match[bytes]]", re.compile(pattern).match)


_space = _always(_S)
_text = _always(_TEXT)
_escape_start = _always(rb"(?:\\(?:u[0-9a-fA-F]{0,3})?)?")
_numbers = _always(rb"(?:%b%b,%b){0,99}" % (_NUMBER, _S, _S))
_members = _always(rb"(?:%b%b%b,%b){0,99}" % (_LABEL, _FLAT, _S, _S))

# For bodies that are known to be valid: nothing to check. "Plain" is a body without escapes.
_ESCAPE = re.compile(rb"\\.")
_SURROGATE = re.compile(rb"\\(?:u(?:[dD][89abAB]..\\u[dD][c-fC-F]..|([dD][89a-fA-F]..)|....)|[^u])")
_plain_label = _always(rb'(?:"[^"]*"%b:%b)?' % (_S, _S))
_plain_scalar = _always(rb'"[^"]*"|[^],}\s]*')
_between_brackets = _always(rb'[^][{}"]*(?:"[^"]*"[^][{}"]*){0,99}')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = re.compile(r'\.[^.[]+|\["(?:[^"\\]|\\.)*"\]|\[(?:[0-9]+|\.\.\.)\]')


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
        if error.reason != "unexpected end of data":  # where the end of the body cuts a sequence, the walk may go on
            end = error.start
    reason, offset, path = _walk(body, end, end, allow_nonfinite=allow_nonfinite)
    if end < len(body) and reason in {"", _CUT}:
        return Fault("utf8", "Invalid UTF-8", end, path)
    return Fault(_KINDS.get(reason, "malformed"), reason, offset, path) if reason else None


def path_at(body: bytes, offset: int) -> str:
    """The path of the innermost member that has the byte at ``offset`` in its name, its value or between the two.

    In a broken body, and an offset behind the fault, the path of the fault.

    >>> path_at(b'{"choices": [{"index": 0}]}', 17)
    '$.choices[0].index'
    """
    return _walk(body, min(offset + 1, len(body)), offset, allow_nonfinite=True)[2]


def _walk(body: bytes, end: int, at: int, *, allow_nonfinite: bool) -> tuple[str, int, str]:
    """Read ``body[:end]``: reason ("" for none) and offset of its first fault, the path there or, if earlier, ``at``."""
    ends = bytearray()  # what closes each open container
    keys: list[int] = []  # the open member of each: its index in an array, where its name is in an object
    first = last = _NEVER  # the innermost of these members is body[first:last]
    pos = min(len(_BOM), end) if body.startswith(_BOM) else 0
    expected, reason = _VALUE, ""
    while not reason:
        pos = _space(body, pos, end).end()
        if expected == _NAME:
            pos = _members(body, pos, end).end()
        elif expected == _VALUE and ends and ends[-1] == _END_ARRAY:
            first = _numbers(body, pos, end).end()
            keys[-1] += body.count(b",", pos, first)
            pos = first
        if pos == end:
            reason = _CUT if ends or expected == _VALUE else ""
            break
        char = body[pos]
        if expected == _VALUE:
            expected = _AFTER_VALUE
            if match := _flat(body, pos, end):
                pos, last = match.end(), match.end(1)
            elif char in b"[{":
                ends.append(char + 2)  # in ASCII the closing bracket is two behind the opening one
                keys.append(0)
                first = _NEVER
                pos = _space(body, pos + 1, end).end()
                if pos == end or body[pos] != ends[-1]:
                    expected = _NAME if char == b"{"[0] else _VALUE
            else:
                pos, reason = _scalar(body, pos, end, allow_nonfinite=allow_nonfinite)
                if not reason and (pos < end or char not in b"-0123456789"):  # a number that is cut might go on
                    last = pos
        elif expected == _NAME:
            if char != _QUOTE:
                reason = "Expected a member name"
                break
            first = keys[-1] = pos
            if match := _label(body, pos, end):
                pos, expected = match.end(), _VALUE
            else:
                pos, reason = _string(body, pos, end)
                expected = _AFTER_NAME
        elif expected == _AFTER_NAME:
            if char != _COLON:
                reason = "Expected `:`"
                break
            pos, expected = pos + 1, _VALUE
        elif not ends:
            reason = "Trailing data after the JSON value"
        elif char == ends[-1]:
            pos += 1
            first, last = 0, pos
            ends.pop()
            keys.pop()
        elif char == _COMMA:
            pos += 1
            first = last = _NEVER
            expected = _NAME if ends[-1] == _END_OBJECT else _VALUE
            keys[-1] += 1
        else:
            reason = f"Expected `,` or `{ends[-1]:c}`"
    if not first <= min(pos, at) < last:
        del ends[-1:], keys[-1:]
    path = ["$", *map(_spelled, repeat(body), ends, keys)]
    return reason, pos, "".join(path)


def _spelled(body: bytes, end: int, key: int) -> str:
    """How a path spells the member ``key`` of the container that ``end`` closes."""
    if end == _END_ARRAY:
        return f"[{key}]"
    stop, reason = _string(body, key, len(body))
    if reason:  # the name itself is broken: the path is that of the object
        return ""
    return _spelled_name(json.loads(body[key:stop].decode(errors="replace")))


def _spelled_name(name: str) -> str:
    if name.isascii() and name.isidentifier():
        return f".{name}"
    # Escaped where that is needed to print it: lone surrogates and control characters are not printable.
    return f"[{json.dumps(name, ensure_ascii=not name.isprintable())}]"


def _scalar(body: bytes, pos: int, end: int, *, allow_nonfinite: bool) -> tuple[int, str]:
    """Where the string, number or literal at ``pos`` ends, and ""; else where its fault is, and the reason."""
    if body[pos] == _QUOTE:
        return _string(body, pos, end)
    if match := _word(body, pos, end):
        return match.end(), ""
    if match := _nonfinite(body, pos, end):
        return (match.end(), "") if allow_nonfinite else (pos, f"`{match.group().decode()}` is not JSON")
    match = (_lenient_start if allow_nonfinite else _start)(body, pos, end)
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


def has_lone_surrogate(body: bytes) -> bool:
    r"""Whether a string in ``body``, valid JSON, escapes half a surrogate pair without the other half.

    >>> has_lone_surrogate(rb'["\ud83d\ude00"]'), has_lone_surrogate(rb'["\ud83d"]')
    (False, True)
    """
    return any(match.lastindex for match in _SURROGATE.finditer(body))


def max_depth(body: bytes) -> int:
    """How many containers of ``body``, valid JSON, are open at once.

    >>> max_depth(b'{"choices": [{"index": 0}, {"index": 1}]}')
    3
    """
    brackets = re.sub(rb'"[^"]*"?', b"", _ESCAPE.sub(b"", body)).translate(None, _NO_BRACKETS)
    return max(accumulate(1 if char in b"[{" else -1 for char in brackets), default=0)


def offset_of(body: bytes, path: str) -> int | None:
    """Where the value at ``path`` starts; None if it is not there, or ``body`` is not valid JSON.

    Of members with the same name the last one counts, as for the decoders. A step may be `[...]`, as msgspec has it for
    members of a map: whatever the name, if there is only one. Time is linear in the body for each step.

    >>> offset_of(b'{"choices": [{"index": 0}]}', "$.choices[0].index")
    23
    """
    steps = _STEP.findall(path)
    if "".join(["$", *steps]) != path or find_fault(body, allow_nonfinite=True):
        return None
    plain = _ESCAPE.sub(b"__", body)  # of the same length, and every quote in it begins or ends a string
    pos = _space(plain, len(_BOM) if body.startswith(_BOM) else 0, len(plain)).end()
    for step in steps:
        members = dict(_members_of(body, plain, pos))
        if step == "[...]" and len(members) == 1:
            (pos,) = members.values()
        elif (spelled := _spelled_name(step[1:]) if step[0] == "." else step) in members:
            pos = members[spelled]
        else:
            return None
    return pos


def _members_of(body: bytes, plain: bytes, pos: int) -> Iterator[tuple[str, int]]:
    """How a path spells each member of the container at ``pos``, and where its value is; a scalar has none."""
    end = plain[pos] + 2
    if end not in b"]}":
        return
    for index in count():
        pos = _space(plain, pos + 1, len(plain)).end()
        if plain[pos] == end:
            return
        key = index if end == _END_ARRAY else pos
        pos = _plain_label(plain, pos, len(plain)).end()
        yield _spelled(body, end, key), pos
        pos = _space(plain, _end_of(plain, pos), len(plain)).end()
        if plain[pos] == end:
            return


def _end_of(plain: bytes, pos: int) -> int:
    """Where the value at ``pos`` ends."""
    if plain[pos] not in b"[{":
        return _plain_scalar(plain, pos, len(plain)).end()
    depth = 0
    while True:
        pos = _between_brackets(plain, pos, len(plain)).end()
        if plain[pos] != _QUOTE:  # else there are more strings than one match passes
            depth += 1 if plain[pos] in b"[{" else -1
            pos += 1
            if not depth:
                return pos

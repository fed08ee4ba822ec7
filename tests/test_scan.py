"""`_scan` against the standard library, against documents built around a known place, and against itself.

The standard library's ``json`` differs from it, knowingly, in this:

* it accepts NaN, Infinity and -Infinity: the oracle below refuses them;
* it refuses a byte order mark in a str, and guesses UTF-16 and UTF-32 in bytes: the oracle drops the one, decodes UTF-8;
* it refuses integers of more than 4300 digits, as `int` does: the oracle does not convert them;
* it recurses, so that its depth is limited: what is deep is tested without it.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcompletion._scan import Fault, find_fault, has_lone_surrogate, max_depth, offset_of, path_at

BOM = b"\xef\xbb\xbf"

# Characters where spelling, escaping or encoding could go wrong, among ordinary ones.
texts = st.text(st.sampled_from('ab_1"\\/[]{},:.\n\t\x00\x7f\x85é\u2028\ud83d\ude00中😀 ') | st.characters(), max_size=8)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**40, max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)
containers = st.lists(values, max_size=5) | st.dictionaries(texts, values, max_size=5)


@st.composite
def bodies(draw: st.DrawFn, of: st.SearchStrategy[Any] = values) -> bytes:
    """Valid JSON in one of the ways `json.dumps` writes it."""
    value = draw(of)
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:\r")]))
    text = json.dumps(
        value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 2])), separators=separators
    )
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(value, separators=separators).encode()


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """A body after one to three accidents."""
    body = draw(bodies(containers))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body)))
        stop = min(len(body), start + draw(st.integers(0, 4)))
        noise = st.sampled_from(list(b'"\\[]{}:,.-+eE0123tfnuNI \n\x00\x1f\x80\xc3\xa9\xf0\xff')) | st.integers(0, 255)
        patch = st.builds(bytes, st.lists(noise, max_size=4)) | bodies(scalars) | st.just(body[start : start + 40])
        body = draw(st.sampled_from([body[:start], body[:start] + draw(patch) + body[stop:], body[start:]]))
    return body


def refuse(word: str) -> None:
    raise ValueError(word)


def accepts(body: bytes) -> bool:
    """Whether the standard library takes ``body`` for JSON."""
    try:
        text = body.decode().removeprefix("\ufeff")
        json.loads(text, parse_constant=refuse, parse_int=len)
    except ValueError:
        return False
    return True


def fault_of(body: bytes) -> Fault:
    fault = find_fault(body)
    assert fault is not None
    return fault


def spelled(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", step):
        return f".{step}"
    return f"[{json.dumps(step, ensure_ascii=not step.isprintable())}]"


def walk(value: object, path: str = "$") -> Iterator[tuple[str, object]]:
    """Every value in ``value``, with its path."""
    yield path, value
    if isinstance(value, list | dict):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(inner, path + spelled(step))


# -- against the standard library


@given(bodies())
def test_valid_json_has_no_fault(body: bytes) -> None:
    assert find_fault(body) is None
    assert find_fault(b" \t\r\n" + body + b"\n\n") is None
    assert find_fault(BOM + body) is None


@given(mutants())
def test_a_fault_is_found_where_the_standard_library_refuses(body: bytes) -> None:
    fault = find_fault(body)
    assert (fault is None) == accepts(body)
    if fault and fault.kind != "nonfinite":
        assert find_fault(body, allow_nonfinite=True) is not None


@given(mutants())
def test_the_fault_is_the_first_byte_that_nothing_valid_has_there(body: bytes) -> None:
    fault = find_fault(body)
    if fault is None:
        return
    kind, reason, offset, path = fault
    assert path == path_at(body, offset)
    if kind == "truncated":
        assert offset == len(body)
        assert accepts(completed(body))
        return
    assert find_fault(body[: offset + len(reason)]) == fault or kind == "utf8"  # what follows does not matter
    before = find_fault(body[:offset])
    assert before is None or before.kind == "truncated"
    if kind == "malformed":
        at = fault_of(body[: offset + 1])
        assert at[:3] == fault[:3] or body[offset] >= 0x80
    if kind == "utf8":
        with pytest.raises(UnicodeDecodeError) as caught:
            body.decode()
        assert caught.value.start == offset


def completed(body: bytes) -> bytes:
    """``body`` with the end it lacks, built from whatever `find_fault` does not refuse."""
    while (fault := find_fault(body)) is not None:
        candidates = (body + bytes([byte]) for byte in b'"]}:0ruealsn\x80\x90\xa0\xbb\xbf')
        body = next(longer for longer in candidates if (fault := find_fault(longer)) is None or fault.kind == "truncated")
    return body

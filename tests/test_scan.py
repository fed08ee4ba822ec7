"""`_scan` against the standard library, against documents built around a known place, and against itself.

The standard library's ``json`` differs from it, knowingly, in this:

* it accepts NaN, Infinity and -Infinity: the oracle below refuses them;
* it refuses a byte order mark in a str, and takes UTF-16 and UTF-32 in bytes: the oracle drops the one, decodes UTF-8;
* it refuses integers of more than 4300 digits, as `int` does: the oracle does not convert them;
* it recurses, so that its depth is limited: what is deep is tested without it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcompletion._scan import Fault, deeper_than, find_fault, offset_of, path_at

BOM = b"\xef\xbb\xbf"
CUT = "Unexpected end of the body"

# Characters where spelling, escaping or encoding could go wrong, among ordinary ones.
texts = st.text(
    st.sampled_from('ab_1"\\/[]{},:.\n\t\x00\x7f\x85é\u2028\ud83d\ude00中😀 ') | st.characters(), max_size=8
)
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
def test_a_fault_is_at_the_first_byte_that_nothing_valid_has_there(body: bytes) -> None:
    fault = find_fault(body)
    if fault is None:
        return
    assert fault.path == path_at(body, fault.offset)
    if fault.kind == "truncated":
        assert fault.offset == len(body)
        assert accepts(completed(body))
        return
    before = find_fault(body[: fault.offset])
    assert before is None or before.kind == "truncated"
    if fault.kind == "malformed":
        assert find_fault(body[: fault.offset + 1]) == fault
    if fault.kind == "utf8":
        with pytest.raises(UnicodeDecodeError) as caught:
            body.decode()
        assert caught.value.start == fault.offset


def completed(body: bytes) -> bytes:
    """``body`` with an end, made of the first bytes that are no fault there."""
    while find_fault(body):
        longer = (body + bytes([byte]) for byte in b'"]}:0ruealsn\x80\x90\xa0\xbb\xbf')
        body = next(each for each in longer if (fault := find_fault(each)) is None or fault.kind == "truncated")
    return body


@given(bodies(containers))
def test_every_prefix_is_truncated(body: bytes) -> None:
    for whole in body, BOM + body:
        for cut in range(len(whole)):
            assert fault_of(whole[:cut])[:3] == ("truncated", CUT, cut)


@pytest.mark.parametrize("blank", [b"", b" \n", BOM, BOM + b"\t"])
def test_nothing_is_truncated(blank: bytes) -> None:
    assert find_fault(blank) == Fault("truncated", CUT, len(blank), "$")


# -- places

# Values that are wrong: how, where in them, and where in a path below theirs.
BROKEN = [
    (b"nope", "malformed", 1, ""),
    (b"truth", "malformed", 3, ""),
    (b"Nan", "malformed", 0, ""),
    (b"'x'", "malformed", 0, ""),
    (b",", "malformed", 0, ""),
    (b"\x00", "malformed", 0, ""),
    (b"\xc3\xa9", "malformed", 0, ""),
    (b"\xff", "utf8", 0, ""),
    (b"01", "malformed", 1, ""),
    (b"-a", "malformed", 1, ""),
    (b"1.e5", "malformed", 2, ""),
    (b"1e+]", "malformed", 3, ""),
    (b"NaN", "nonfinite", 0, ""),
    (b"Infinity", "nonfinite", 0, ""),
    (b"-Infinity", "nonfinite", 0, ""),
    (b'"a\nb"', "malformed", 2, ""),
    (b'"\\x41"', "malformed", 2, ""),
    (b'"\\u12G4"', "malformed", 5, ""),
    (b'"abc\xed\xa0\x80"', "utf8", 4, ""),
    (b'"abc\\\xff"', "utf8", 5, ""),
    (b'"' + b"\\n\\u00e9" * 500 + b"\x1f", "malformed", 4001, ""),
    (b"[}", "malformed", 1, "[0]"),
    (b"[" + b"{}," * 500 + b"]", "malformed", 1501, "[500]"),
    (b"[" + b"1, " * 500 + b"]", "malformed", 1501, "[500]"),
    (b"{" + b'"a":[],' * 500 + b"}", "malformed", 3501, ""),
    (b'{"a" 1}', "malformed", 5, ".a"),
    (b'{"a": 1 "b": 2}', "malformed", 8, ""),
    (b'{"a": 1, b: 2}', "malformed", 9, ""),
    (b'{"a": 1, "b\x00": 2}', "malformed", 11, ""),
    (b'{"\\n" : [1, 2], "b\xff": 2}', "utf8", 18, '["b\ufffd"]'),
    (b'{"' + b"\\t" * 500 + b'": [[], 2]]', "malformed", 1012, ""),
]
paths = st.lists(st.integers(0, 4) | texts, min_size=1, max_size=6)


@given(st.data(), paths, st.sampled_from(BROKEN), st.binary(max_size=10))
def test_the_place_of_a_fault(
    data: st.DataObject, steps: list[str | int], broken: tuple[bytes, str, int, str], rest: bytes
) -> None:
    wrong, kind, offset, below = broken
    body, path = planted(data, steps)
    fault = fault_of(body + wrong + rest)
    assert (fault.kind, fault.offset, fault.path) == (kind, len(body) + offset, path + below)


@given(st.data(), paths)
def test_the_place_of_a_cut(data: st.DataObject, steps: list[str | int]) -> None:
    body, path = planted(data, steps)
    for cut in b"", b" ", b'"', b'"abc', b'"\\', b'"\\u00', b'"\xf0\x9f', b"tru", b"-", b"12", b"1.5e", b"{", b'{"':
        assert find_fault(body + cut) == Fault("truncated", CUT, len(body + cut), path)


def planted(data: st.DataObject, steps: list[str | int]) -> tuple[bytes, str]:
    """The start of a document that has other members before the value at ``steps``, up to that; and its path."""
    body, path = b"", "$"
    for step in steps:
        space = data.draw(st.sampled_from([b"", b" ", b"\n\t"]))
        if isinstance(step, int):
            before = data.draw(st.lists(bodies(), min_size=step, max_size=step))
            body += b"[" + space + b"".join(value + space + b"," + space for value in before)
        else:
            before = data.draw(st.lists(bodies(st.dictionaries(texts, values, min_size=1, max_size=2)), max_size=2))
            body += b"{" + space + b"".join(members[1:-1] + b"," + space for members in before)
            body += json.dumps(step).encode() + space + b":" + space
        path += spelled(step)
    return body, path


def test_every_byte_is_part_of_a_member() -> None:
    body = b' {"a": [1, {"b" : null}] , "c d":"x", "e":[ [],7 ] } '
    rule = " $aaaaaa0aa1bbbbbbbbbb1a$$$ccccccccc$$eeeeee22e3ee$$ "
    meant = {"a": "$.a", "0": "$.a[0]", "1": "$.a[1]", "b": "$.a[1].b", "c": '$["c d"]'}
    meant |= {" ": "$", "$": "$", "e": "$.e", "2": "$.e[0]", "3": "$.e[1]"}
    assert [path_at(body, offset) for offset in range(len(body))] == [meant[mark] for mark in rule]
    assert [path_at(BOM + body, offset + 3) for offset in range(len(body))] == [meant[mark] for mark in rule]
    assert path_at(BOM, 0) == path_at(BOM + body, 1) == path_at(body, 10**9) == "$"


def test_behind_a_fault_the_path_is_that_of_the_fault() -> None:
    assert path_at(b'{"a": {"b": x}, "c": 1}', 21) == "$.a.b"
    assert path_at(b'{"a": NaN, "c": 1}', 11) == "$.c"


def members_of(value: object, path: str = "$") -> Iterator[tuple[str, object]]:
    """``value`` and all it contains, each with its path."""
    yield path, value
    if isinstance(value, list | dict):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from members_of(inner, path + spelled(step))


def spelled(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", step):
        return f".{step}"
    return f"[{json.dumps(step, ensure_ascii=not step.isprintable())}]"


@given(bodies(), st.sampled_from([b"", b" ", BOM, BOM + b"\n"]))
def test_offset_of_finds_every_value_and_path_at_leads_back(body: bytes, lead: bytes) -> None:
    for path, value in members_of(json.loads(body)):
        offset = offset_of(lead + body, path)
        assert offset is not None
        assert json.JSONDecoder().raw_decode((lead + body)[offset:].decode())[0] == value
        assert path_at(lead + body, offset) == path


@pytest.mark.parametrize(
    ("path", "rest"),
    [
        ("$", b'{"a": {"b": 1'),
        ("$.a", b'{"x": 3'),  # the last of two
        ("$.a.x", b"3"),
        ("$.a.b", None),  # only the first has it
        ("$.b", None),
        ("$.e[0]", b'{"f"'),
        ("$.e[1]", None),
        ("$.e[...]", b'{"f"'),
        ("$.e[...][...]", b'"1,2"'),
        ("$.e[0].f[0]", None),  # a string has no elements
        ("$.e[0][0]", None),
        ("$[...]", None),  # of four members, three with different names
        ('$["b c"]', b'["\\"]"'),
        ("$.b c", b'["\\"]"'),  # as msgspec spells a member of a Struct
        ('$["b c"][2]', b"77]"),
        ('$["b c"][2].x', None),
        ('$["b c"][3]', None),
        ('$["b c"][02]', None),
        ('$["b c"][-1]', None),
        ('$["b c"][]', None),
        ('$["b c]', None),
        ("$.e[", None),
        ("$.", None),
        ("$.a.", None),
        ("$a", None),
        ("a", None),
        ("", None),
    ],
)
def test_offset_of(path: str, rest: bytes | None) -> None:
    body = b'{"a": {"b": 1, "x": 2}, "b c":["\\"]", 55, 77], "a":{"x": 3, "y":4}, "e":[{"f":"1,2"}]}'
    assert offset_of(body, path) == (None if rest is None else body.index(rest))


def test_offset_of_in_what_is_not_json() -> None:
    assert offset_of(b'{"a": 1', "$.a") is None
    assert offset_of(b'{"a": \xff}', "$.a") is None
    assert offset_of(b"", "$") is None
    assert offset_of(b'{"b": [NaN, 1]}', "$.b[1]") == 12


# -- the rest


@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity"])
def test_nonfinite_numbers_can_be_allowed(word: bytes) -> None:
    body = b'{"a": [1, ' + word + b"]}"
    assert find_fault(body) == Fault("nonfinite", f"`{word.decode()}` is not JSON", 10, "$.a[1]")
    assert find_fault(body, allow_nonfinite=True) is None
    assert find_fault(word, allow_nonfinite=True) is None
    for cut in range(len(body)):
        assert find_fault(body[:cut], allow_nonfinite=True) == Fault("truncated", CUT, cut, path_at(body[:cut], cut))
    for wrong in word.lower(), word[:-1], word + word, b"+" + word, b"-NaN":
        fault = find_fault(body.replace(word, wrong), allow_nonfinite=True)
        assert fault is not None
        assert fault.kind == "malformed"


@pytest.mark.parametrize(
    ("body", "kind", "offset"),
    [
        (b'"\xf0\x9f\x98', "truncated", 4),  # cut, and good if it goes on
        (b'{"\xe4\xbd', "truncated", 4),
        (b"[\xe4\xbd", "malformed", 1),  # cut, but nothing could make it good
        (b'"\\\xe4', "malformed", 2),
        (b'"\xf0\x9f\x98"', "utf8", 1),
        (b'["\xff", x]', "utf8", 2),
        (b'[x, "\xff"]', "malformed", 1),
        (b"{} \xff", "utf8", 3),
        (b"tr\xff", "utf8", 2),
        (b"1\xff", "utf8", 1),
        (b"\xef\xbb", "truncated", 2),
        (b"\xef\xbb{}", "utf8", 0),
        (b"\xef\xbc", "malformed", 0),
        (BOM + BOM + b"1", "malformed", 3),
        (b" " + BOM + b"1", "malformed", 1),
        ("{}".encode("utf-16-le"), "malformed", 1),
        ("{}".encode("utf-16-be"), "malformed", 0),
        ("{}".encode("utf-16"), "utf8", 0),
        (b"{}\x00", "malformed", 2),
    ],
)
def test_encodings(body: bytes, kind: str, offset: int) -> None:
    fault = fault_of(body)
    assert (fault.kind, fault.offset) == (kind, offset)


@pytest.mark.parametrize(
    "body", [b"0", b"-0.0e-0", b'""', b"null", b"9" * 5000, b"[1e999999]", b'["\\ud800"]', b"\n[]\t"]
)
def test_good(body: bytes) -> None:
    assert find_fault(body) is None


@pytest.mark.parametrize("body", [b"-", b"1.", b"1e", b"1e+", b'"', b"fals", b"n"])
def test_scalars_can_be_truncated(body: bytes) -> None:
    assert find_fault(body) == Fault("truncated", CUT, len(body), "$")


def depth_before(body: bytes, offset: int) -> int:
    """How many containers are open at a place in a valid body."""
    outside = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", body[:offset])
    return sum(outside.count(char) for char in (b"[", b"{")) - sum(outside.count(char) for char in (b"]", b"}"))


@given(bodies())
def test_deeper_than(body: bytes) -> None:
    def depth(value: object) -> int:
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth, inner), default=0) if isinstance(inner, list | type({}.values())) else 0

    deepest = depth(json.loads(body))
    assert deeper_than(body, deepest) is None
    for less in range(deepest):
        offset = deeper_than(body, less)
        assert offset is not None
        assert body[offset] in b"[{"
        assert depth_before(body, offset) == less


DEEP = 1_000_000


def test_depth_does_not_matter() -> None:
    assert find_fault(b"[" * DEEP + b"]" * DEEP) is None
    assert deeper_than(b"[" * DEEP + b"]" * DEEP, DEEP - 1) == DEEP - 1
    fault = fault_of(b"[" * DEEP)
    assert fault == Fault("truncated", CUT, DEEP, "$" + "[0]" * DEEP)
    fault = fault_of(b'{"a":[1,' * 1000 + b"}")
    assert fault == Fault("malformed", "Expected a value", 8000, "$" + ".a[1]" * 1000)


# What a careless scanner takes quadratic time for, repeated within an array and broken at the end.
SHAPES = {
    "arrays": b"[",
    "spaced arrays": b"[ \n",
    "objects": b'{"a":',
    "both, with members": b'[{"a":1,"b":[2,',
    "numbers": b"1, ",
    "strings": b'"a", ',
    "flat objects": b'{"a":"b","c":[1,2]},',
    "objects with objects": b'{"a":{"b":{}}},',
    "quotes": b'"',
    "backslashes": b"\\",
    "digits": b"1",
    "white space": b" ",
}


def grows(call: Callable[[bytes], object], small: bytes, large: bytes) -> float:
    """How many times as long ``call`` takes for ``large``."""

    def seconds(body: bytes) -> float:
        began = time.process_time()
        call(body)
        return time.process_time() - began

    return seconds(large) / max(min(seconds(small), seconds(small)), 0.001)


@pytest.mark.parametrize("shape", SHAPES)
def test_time_is_linear(shape: str) -> None:
    small, large = (b"[" + SHAPES[shape] * (size // len(SHAPES[shape])) + b"\x00" for size in (2**18, 2**20))
    assert grows(fault_of, small, large) < 10


@pytest.mark.parametrize("text", [b"text ", b"\\n\\u00e9", b"\xe4\xbd\xa0"])
def test_time_is_linear_in_a_string(text: bytes) -> None:
    small, large = (b'{"' + text * (size // len(text)) for size in (2**18, 2**20))
    assert grows(fault_of, small, large) < 10
    assert grows(fault_of, b"[" + small + b'": 1, x', b"[" + large + b'": 1, x') < 10


@pytest.mark.parametrize("call", [lambda body: deeper_than(body, 9), lambda body: offset_of(body, "$[7][5].b")])
def test_time_is_linear_in_valid_bodies(call: Callable[[bytes], object]) -> None:
    member = b'[{"a": "\\n\\u00e9", "b": {"c": [1.5, null]}}, 1],'
    small, large = (b"[" + member * (size // len(member)) + b"0]" for size in (2**18, 2**20))
    assert grows(call, small, large) < 10

"""Every body of `tests/vectors/responses`: its verdict, each of its checks, and its round trip."""

from __future__ import annotations

import json
import re
import tracemalloc
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import fastcompletion as fc
from tests import vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.vectors import Response

RESPONSES = vectors.responses()
ACCEPTED = [vector for vector in RESPONSES if vector.decode == "ok"]
REFUSED = [vector for vector in RESPONSES if vector.decode == "error"]
assert ACCEPTED
assert REFUSED

ABSENT = {"$absent": True}
KINDS: dict[str, tuple[type[fc.DecodeError], str]] = {
    "malformed JSON": (fc.MalformedError, ""),
    "invalid UTF-8": (fc.MalformedError, "UTF-8"),
}


def learnt_codec(body: bytes) -> fc.Codec:
    """A codec that has met the body before."""
    codec = fc.Codec()
    try:
        codec.decode(body)
    except fc.DecodeError:
        codec.decode(b'{"object":"chat.completion","choices":[],"kv_transfer_params":{}}')
    return codec


def shared_codec(body: bytes) -> Any:
    """The codec of the module, which every other test has taught something."""
    return fc


CODECS: dict[str, Callable[[bytes], Any]] = {
    "fresh": lambda body: fc.Codec(),
    "learnt": learnt_codec,
    "shared": shared_codec,
}


@pytest.fixture(params=sorted(CODECS))
def codec_for(request: pytest.FixtureRequest) -> Callable[[bytes], Any]:
    return CODECS[request.param]


# -- paths ---------------------------------------------------------------------------------------------------

STEP = re.compile(r"\.([A-Za-z_][A-Za-z_0-9]*)|\[([0-9]+)\]|\['([^']*)'\]")


def look_up(document: Any, path: str) -> Any:
    """The value at `path`, or ABSENT if its last step leads nowhere; a step before that must exist."""
    assert path.startswith("$"), path
    position = 1
    while position < len(path):
        step = STEP.match(path, position)
        assert step, f"not a path: {path}"
        assert document is not ABSENT, f"{path} goes on below what is absent"
        name, index, quoted = step.groups()
        if index is not None:
            assert isinstance(document, list), path
            document = document[int(index)] if int(index) < len(document) else ABSENT
        else:
            assert isinstance(document, dict), path
            document = document.get(quoted if name is None else name, ABSENT)
        position = step.end()
    return document


def test_paths() -> None:
    document = {"a": [{"b": None}], "": 1, "x y": 2}
    assert look_up(document, "$") is document
    assert look_up(document, "$.a[0].b") is None
    assert look_up(document, "$.a[1]") is ABSENT
    assert look_up(document, "$.c") is ABSENT
    assert look_up(document, "$['']") == 1
    assert look_up(document, "$['x y']") == 2
    with pytest.raises(AssertionError):
        look_up(document, "$.c.d")
    with pytest.raises(AssertionError):
        look_up(document, "$.a .b")


def is_same(value: Any, expected: Any) -> bool:
    """Equal JSON values: true is not 1, and 1 is not 1.0."""
    return json.dumps(value, sort_keys=True) == json.dumps(expected, sort_keys=True)


def depth_of(value: Any) -> int:
    """How deep arrays and objects are nested in `value`."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, list | dict)]:
        depth += 1
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
    return depth


# -- checks --------------------------------------------------------------------------------------------------


def check_accepted(vector: Response, codec: Any, where: str, expected: Any) -> None:
    """One check of a body that is accepted; one that is not known fails."""
    completion = codec.decode(vector.body)
    encoded = codec.encode(completion)
    document = json.loads(encoded)
    if where == "is_error":
        assert isinstance(completion, fc.ErrorResponse) is expected
    elif path := re.fullmatch(r"(\$\S*)(?: \(empty key\))?", where):
        found = look_up(document, path[1])
        assert found is ABSENT if expected == ABSENT else is_same(found, expected)
    elif path := re.fullmatch(r"(\$\S*) \(exact digits\)", where):
        found = look_up(json.loads(encoded, parse_int=str, parse_float=str), path[1])
        assert found == expected
    elif path := re.fullmatch(r"len (\$\S*)", where):
        assert len(look_up(document, path[1])) == expected
    elif path := re.fullmatch(r"keys of (\$\S*)", where):
        assert list(look_up(document, path[1])) == expected
    elif path := re.fullmatch(r"depth of (\$\S*)", where):
        assert depth_of(look_up(document, path[1])) == expected
    elif path := re.fullmatch(r"text view of \$\.choices\[([0-9]+)\]\.message", where):
        assert completion.choices[int(path[1])].message.text == expected
    elif path := re.fullmatch(r"retained bytes after keeping only \$\.([a-z_]+) \(approx\)", where):
        check_retained(vector, codec, path[1], expected)
    elif path := re.fullmatch(r"same body with depth ([0-9]+)", where):
        check_depth(vector, codec, int(path[1]), expected)
    else:
        pytest.fail(f"no such check: {where}")


def check_refused(vector: Response, codec: Any, where: str, expected: Any) -> None:
    """One check of a body that is refused; one that is not known fails."""
    with pytest.raises(fc.DecodeError) as caught:
        codec.decode(vector.body)
    if where == "error.kind":
        error, reason = KINDS[expected]
        assert type(caught.value) is error
        assert reason in caught.value.reason
    elif where == "error.path":
        assert caught.value.path == expected
    else:
        pytest.fail(f"no such check: {where}")


def check_retained(vector: Response, codec: Any, name: str, expected: str) -> None:
    limit = re.fullmatch(r"< ([0-9]+) KiB", expected)
    assert limit, expected
    document = json.loads(vector.body)
    document["choices"][0]["message"]["content"] *= 8 * 2**20 // len(document["choices"][0]["message"]["content"])
    body = json.dumps(document).encode()
    assert len(body) > 7 * 2**20
    codec.decode(body)  # whatever is learnt and compiled stays
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = codec.decode(bytes(bytearray(body))).extra[name]
        retained = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert kept == document[name]
    assert retained < int(limit[1]) * 1024


def check_depth(vector: Response, codec: Any, depth: int, expected: str) -> None:
    document = json.loads(vector.body)
    document["x_deep"] = "HERE"
    before, after = json.dumps(document).encode().split(b'"HERE"')
    body = before + b"[" * depth + b"]" * depth + after
    if expected == "clean decode error":
        with pytest.raises(fc.DecodeError):
            codec.decode(body)
        return
    assert expected == "ok or clean decode error, encode must accept what decode accepted"
    try:
        completion = codec.decode(body)
    except fc.DecodeError:
        return
    assert codec.encode(completion).count(b"[") == body.count(b"[")


@pytest.mark.parametrize(
    ("vector", "where", "expected"),
    [pytest.param(vector, *check, id=f"{vector.name}-{check[0]}") for vector in ACCEPTED for check in vector.checks],
)
def test_accepted(vector: Response, where: str, expected: Any, codec_for: Callable[[bytes], Any]) -> None:
    check_accepted(vector, codec_for(vector.body), where, expected)


@pytest.mark.parametrize(
    ("vector", "where", "expected"),
    [pytest.param(vector, *check, id=f"{vector.name}-{check[0]}") for vector in REFUSED for check in vector.checks],
)
def test_refused(vector: Response, where: str, expected: Any, codec_for: Callable[[bytes], Any]) -> None:
    check_refused(vector, codec_for(vector.body), where, expected)


@pytest.mark.parametrize("vector", ACCEPTED, ids=lambda vector: vector.name)
def test_round_trip(vector: Response, codec_for: Callable[[bytes], Any]) -> None:
    assert vector.roundtrip == "semantic-equal"
    codec = codec_for(vector.body)
    expected = json.loads(vector.body, parse_float=Decimal)
    for body in (vector.body, bytearray(vector.body), vector.body.decode()):
        completion = codec.decode(body)
        encoded = codec.encode(completion)
        assert json.loads(encoded, parse_float=Decimal) == expected
        assert codec.decode(encoded) == completion


def test_an_unknown_check_fails() -> None:
    for vector, check in ((ACCEPTED[0], check_accepted), (REFUSED[0], check_refused)):
        with pytest.raises(pytest.fail.Exception, match="no such check"):
            check(vector, fc.Codec(), "the weather of $.id", "fine")

"""The one reader of `tests/vectors`; its README says what is in there."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Response", "bodies", "events", "jsonl", "responses", "streams"]

ROOT = Path(__file__).with_name("vectors")


class Response(NamedTuple):
    """The body of one public bug report, and what must be found in it."""

    name: str
    body: bytes
    decode: str  # "ok" or "error"
    checks: list[tuple[str, Any]]
    roundtrip: str  # "semantic-equal" or "n/a"


@cache
def responses() -> list[Response]:
    """The bodies (`.json`, `.bin`) of `responses`."""
    found = [path for path in _glob("responses", "c*") if path.suffix == ".bin" or path.suffixes == [".json"]]
    assert found, "no bodies in responses"
    return [_response(path) for path in found]


def _response(path: Path) -> Response:
    expect = json.loads(path.with_name(f"{path.stem}.expect.json").read_text(encoding="utf-8"))
    assert expect["decode"] in ("ok", "error")
    assert expect["roundtrip"] in ("semantic-equal", "n/a")
    assert expect["checks"], path.name
    checks = [(where, expected) for where, expected in expect["checks"]]
    return Response(path.stem, path.read_bytes(), expect["decode"], checks, expect["roundtrip"])


@cache
def streams() -> dict[str, bytes]:
    """Every event stream, by name."""
    return {path.stem: path.read_bytes() for path in _glob("responses", "*.sse") + _glob("streams", "*.sse")}


@cache
def events() -> dict[str, bytes]:
    """The JSON objects that the streams carry one a line, by stream and number: bodies like any other."""
    found = {}
    for name, stream in streams().items():
        for number, line in enumerate(stream.splitlines()):
            text = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and text.startswith(b"{") and _is_object(text):
                found[f"{name}:{number}"] = text
    assert len(found) > 200, "the streams carry fewer events than they did"
    return found


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@cache
def bodies() -> dict[str, bytes]:
    """Every body that `decode` takes, by name: responses, and what is in events of streams, pings left out."""
    pings = (b"{}", b'{"type":"ping"}')
    found = {vector.name: vector.body for vector in responses() if vector.decode == "ok"}
    return found | {name: body for name, body in events().items() if body not in pings}


@cache
def jsonl(name: str) -> list[dict[str, Any]]:
    """The cases of `framing.jsonl` or `encode.jsonl`, with `bytes_b64` decoded into `bytes`."""
    (path,) = _glob(".", name)
    cases = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert cases, f"{name} is empty"
    for case in cases:
        encoded = case.pop("bytes_b64")
        case["bytes"] = None if encoded is None else base64.b64decode(encoded, validate=True)
    return cases


def _glob(folder: str, pattern: str) -> list[Path]:
    found = sorted((ROOT / folder).glob(pattern))
    assert found, f"no {pattern} in {ROOT / folder}"
    return found

"""Throw damaged and odd bodies at `decode` for as long as you like: ``python -m tests.fuzz --minutes 10``.

The invariant: any bytes give a value or a `FastCompletionError`, and a value encodes to JSON that means the
same. Anything else stops the run, prints the bytes and exits with 1. Bodies are the vectors, changed twice:
as values (members added, dropped, replaced by values of other members and by oddities, moved into other
bodies) and as bytes (cut, flipped, spliced). A codec lives through a thousand of them, so that what it has learnt, and the
bounds of learning, are part of the test; a new one must agree with it.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import time
import traceback
from typing import Any

import fastcompletion as fc
from tests.oracle import meaning, root_of
from tests.vectors import bodies as vector_bodies

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**63, 2**64, 10**40, -0.0, 1e300, "", "x", "\ud800", "é😀", "NaN",
    [], [[]], {}, {"": None}, {"a": {"b": [1, {"c": "\\"}]}}, "chat.completion", "error", [None] * 3,
]  # fmt: skip
ODD_NAMES = ["", "type", "__class__", "extra", "added_", "x0_", 'q"', "\\", "\n", "é", "Id", "ID", "object", "error",
             "detail", "message", "delta", "text", "base_resp", "\udc00", "k" * 200]  # fmt: skip
TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud83d", b"null", b"NaN", b"-Infinity", b"1e999",
          b"-", b"0", b"01", b"1.", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\n", b" ",
          b"[" * 2000, b"1" * 5000, b"true", b'{"error":{"message":"m"}}']  # fmt: skip


def places(value: Any) -> list[Any]:
    """Every container in a document."""
    found = [value] if isinstance(value, dict | list) else []
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += places(item)
    return found


def change_values(rng: random.Random, document: Any, others: list[Any]) -> Any:
    document = copy.deepcopy(document)
    for _ in range(rng.randrange(4)):
        place = rng.choice(places(document) or [[]])
        new = rng.choice(ODD_VALUES) if rng.random() < 0.7 else rng.choice(places(rng.choice(others)))
        if isinstance(place, list):
            if place and rng.random() < 0.5:
                place[rng.randrange(len(place))] = copy.deepcopy(new)
            else:
                place.insert(rng.randrange(len(place) + 1), copy.deepcopy(new))
        elif place and rng.random() < 0.6:
            name = rng.choice(list(place))
            if rng.random() < 0.4:
                del place[name]
            else:
                place[name] = copy.deepcopy(new)
        else:
            name = rng.choice(ODD_NAMES) if rng.random() < 0.8 else f"n{rng.randrange(10**6)}"
            place[name] = copy.deepcopy(new)
    return document


def change_bytes(rng: random.Random, body: bytes, others: list[bytes]) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            del changed[at:]
        elif kind == 1 and changed:
            changed[min(at, len(changed) - 1)] = rng.randrange(256)
        elif kind == 2:
            changed[at:at] = rng.choice(TOKENS)
        elif kind == 3:
            del changed[at : at + rng.randrange(1, 20)]
        else:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            changed[at:at] = other[start : start + rng.randrange(1, 200)]
    return bytes(changed)


def spell(rng: random.Random, document: Any) -> bytes:
    text = json.dumps(
        document,
        ensure_ascii=rng.random() < 0.5,
        indent=rng.choice((None, None, None, 1)),
        separators=rng.choice(((",", ":"), (", ", ": "))),
    )
    return text.encode("utf-8", "surrogatepass")


def outcome(codec: fc.Codec, body: bytes) -> Any:
    try:
        value = codec.decode(body)
    except fc.FastCompletionError as error:
        return type(error)
    encoded = codec.encode(value)
    root = root_of(value)
    try:
        sent = meaning(body.removeprefix(b"\xef\xbb\xbf"), root)
    except ValueError:  # digits beyond what the standard library reads
        return root
    assert meaning(encoded, root) == sent, "encode(decode(body)) means something else"
    repr(value)
    fc.deviations(value)
    return root


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    rng = random.Random(options.seed)
    bodies = list(vector_bodies().values())
    documents = [json.loads(body.decode("utf-8", "replace")) for body in bodies]
    print(f"seed {options.seed}, {len(bodies)} bodies, {options.minutes} minutes", flush=True)
    started, tried, accepted = time.monotonic(), 0, 0
    while time.monotonic() - started < options.minutes * 60:
        if tried % 1000 == 0:
            lasting = fc.Codec()
        body = change_bytes(rng, spell(rng, change_values(rng, rng.choice(documents), documents)), bodies)
        try:
            first, again = outcome(lasting, body), outcome(lasting, body)
            assert first == again, f"first {first}, then {again}"
            if tried % 8 == 0:
                assert (fresh := outcome(fc.Codec(), body)) == first, f"learnt {first}, fresh {fresh}"
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            print("body:", body, file=sys.stderr)
            return 1
        tried += 1
        accepted += issubclass(first, (fc.ChatCompletion, fc.ChatCompletionChunk, fc.Completion, fc.ErrorResponse))
    print(f"{tried} bodies tried, {accepted} accepted: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())

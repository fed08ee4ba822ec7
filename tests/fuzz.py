"""Throw damaged and odd bodies and streams at the library as long as you like: ``python -m tests.fuzz --minutes 10``.

The invariant for bodies: any bytes give a value or a `FastCompletionError`, and a value encodes to JSON that means
the same. For streams: any bytes give items, the same however they are cut, and the accumulator takes every item or
refuses it with an error of ours, and has a completion that can be encoded after each. Anything else stops the run,
prints the bytes and exits with 1.

Bodies are the vectors, changed twice: as values (members added, dropped, replaced by values of other members and by
oddities, moved into other bodies) and as bytes (cut, flipped, spliced). Streams are made of such bodies and of
the stream vectors. A codec lives through a thousand of them, so that what it has learnt, and the bounds of learning,
are part of the test; a new one must agree with it.
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
from tests.vectors import streams as vector_streams

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**63, 2**64, 10**40, -0.0, 1e300, "", "x", "\ud800", "é😀", "NaN",
    [], [[]], {}, {"": None}, {"a": {"b": [1, {"c": "\\"}]}}, "chat.completion", "error", [None] * 3,
]  # fmt: skip
ODD_NAMES = ["", "type", "__class__", "extra", "added_", "x0_", 'q"', "\\", "\n", "é", "Id", "ID", "object", "error",
             "detail", "message", "delta", "text", "base_resp", "\udc00", "k" * 200]  # fmt: skip
TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud83d", b"null", b"NaN", b"-Infinity", b"1e999",
          b"-", b"0", b"01", b"1.", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\n", b" ",
          b"[" * 2000, b"1" * 5000, b"true", b'{"error":{"message":"m"}}']  # fmt: skip
LINES = [b"data: ", b"data:", b"event: error\n", b"event: ping\n", b"event: x\n", b"error: ", b"id: 1\n", b"retry: 1\n",
         b"\n", b"\n\n", b"\r\n", b"\r", b": c\n\n", b"data: [DONE]\n\n", b"\xef\xbb\xbf"]  # fmt: skip


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


def change_stream(rng: random.Random, streams: list[bytes], documents: list[Any]) -> bytes:
    """Events of one stream, some of them with other values, some from elsewhere, in damaged frames."""
    events = rng.choice(streams).split(b"\n\n")
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(events) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            events[at:at] = [b"data: " + spell(rng, change_values(rng, rng.choice(documents), documents))]
        elif kind == 1:
            events[at : at + 1] = []
        elif kind == 2:
            events[at:at] = [rng.choice(LINES) for _ in range(rng.randrange(1, 4))]
        elif kind == 3:
            events[at:at] = rng.sample(events, rng.randrange(len(events) + 1))
        elif at < len(events) and events[at].startswith(b"data: {"):
            try:
                document = json.loads(events[at][6:].decode("utf-8", "replace"))
            except ValueError:
                continue
            events[at] = b"data: " + spell(rng, change_values(rng, document, documents))
    stream = b"\n\n".join(events)
    return change_bytes(rng, stream, [*streams, *LINES]) if rng.random() < 0.5 else stream


def outcome_of_stream(rng: random.Random, codec: fc.Codec, stream: bytes, sizes: tuple[int, int]) -> Any:
    """All that a stream gives, cut into pieces of random sizes; checks the accumulator on the way."""
    decoder, total = fc.StreamDecoder(codec), fc.Accumulator()
    told: list[Any] = []
    position = 0
    ended = False
    while not ended:
        size = rng.randint(*sizes)
        ended = position >= len(stream)
        items = decoder.close() if ended else decoder.feed(stream[position : position + size])
        position += size
        for item in items:
            told.append((item.kind, item.info, item.raw) if isinstance(item, fc.StreamError) else item)
            try:
                total.add(item)
            except fc.FastCompletionError as error:
                told.append(type(error))
    return told, completion_of(total), decoder.done, decoder.complete, decoder.ignored


def completion_of(total: fc.Accumulator) -> Any:
    """What it comes to, or the type of the error; checks that `chunks` gives it back."""
    try:
        if total.is_text:
            fc.encode(total.text_completion())
            return total.text_completion()
        completion = total.completion()
    except fc.FastCompletionError as error:
        return type(error)
    encoded = fc.encode(completion)
    again = fc.Accumulator()
    for chunk in fc.chunks(fc.Codec().decode(encoded, fc.ChatCompletion), size=100):
        again.add(chunk)
    if completion.choices:
        back = fc.encode(again.completion())
        try:
            expected = meaning(encoded, fc.ChatCompletion)
        except ValueError:  # digits beyond what the standard library reads
            return completion
        assert meaning(back, fc.ChatCompletion) == expected, "chunks() gives another"
    return completion


def try_body(rng: random.Random, codec: fc.Codec, body: bytes) -> Any:
    first, again = outcome(codec, body), outcome(codec, body)
    assert first == again, f"first {first}, then {again}"
    if rng.randrange(8) == 0:
        assert (fresh := outcome(fc.Codec(), body)) == first, f"learnt {first}, fresh {fresh}"
    return first


def try_stream(rng: random.Random, codec: fc.Codec, stream: bytes) -> None:
    whole = outcome_of_stream(rng, codec, stream, (len(stream), len(stream)) if stream else (1, 1))
    for sizes in ((1, 7), (50, 5000)):
        assert outcome_of_stream(rng, codec, stream, sizes) == whole, f"in pieces of {sizes} bytes it is another"
    if rng.randrange(8) == 0:
        assert outcome_of_stream(rng, fc.Codec(), stream, (1, 5000)) == whole, "what was learnt makes it another"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    rng = random.Random(options.seed)
    bodies = list(vector_bodies().values())
    streams = list(vector_streams().values())
    documents = [json.loads(body.decode("utf-8", "replace")) for body in bodies]
    print(f"seed {options.seed}, {len(bodies)} bodies, {len(streams)} streams, {options.minutes} minutes", flush=True)
    started, tried, accepted = time.monotonic(), 0, 0
    while time.monotonic() - started < options.minutes * 60:
        if tried % 1000 == 0:
            lasting = fc.Codec()
        if tried % 4:
            damaged = change_bytes(rng, spell(rng, change_values(rng, rng.choice(documents), documents)), bodies)
        else:
            damaged = change_stream(rng, streams, documents)
        try:
            if tried % 4:
                found = try_body(rng, lasting, damaged)
                accepted += not issubclass(found, fc.FastCompletionError)
            else:
                try_stream(rng, lasting, damaged)
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            print("body:" if tried % 4 else "stream:", damaged, file=sys.stderr)
            return 1
        tried += 1
    print(f"{tried - tried // 4} bodies tried, {accepted} accepted, and {tried // 4} streams: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the library does with streams that servers really sent, and a long one. The second half of `make demo`."""

from __future__ import annotations

import importlib
import json
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import fastcompletion as fc
from bench import stream_contenders, streams
from bench.check import difference
from bench.clock import Call, calls_for, sample
from bench.stream_contenders import StreamContender
from bench.table import Column, show

__all__ = ["StreamOutcome", "examine_stream", "main"]

_LONG = {"long": ("plain", 2000), "long-logprobs": ("logprobs", 500)}
_FOLDER = Path(__file__).resolve().parent.parent / "tests" / "vectors" / "streams"
_SHOWN = {
    "openai-tools-parallel": "two tool calls",
    "azure-prompt-filter": "first chunk without id or choices",
    "vllm-tool-index0-for-all": "every tool call at index 0",
    "sglang-reasoning-sglext": "a named event",
    "ollama-no-index": "tool calls without index",
    "openrouter-comments-reasoning-details": "keep-alive comments",
    "moonshot-usage-in-choice": "usage inside the choice",
    "groq-event-error": "an error in the middle",
    "llamacpp-error-field": "an error that is no data",
    "bad-json-chunk": "a chunk that is cut off",
    "finish-but-no-done": "no [DONE]",
    "done-but-no-finish": "[DONE] too early",
    "json-error-body-not-sse": "an error body, no stream",
    "long": "generated, like vLLM's",
    "long-logprobs": "with the 5 likeliest tokens",
}
_COLUMNS = (
    Column("stream"),
    Column("what it shows"),
    Column("chunks", right=True),
    Column("errors"),
    Column("finish"),
    Column("[DONE]"),
    Column("complete"),
    Column("tokens", right=True),
    Column("any cuts"),
    Column("round trip"),
    Column("SDK chunks", right=True),
    Column("us a chunk", right=True),
    Column("SDK us", right=True),
)
_LEGEND = """\
Streams. A stream is complete when the finish reason of every choice has come. `any cuts` compares what comes out when
the bytes come in pieces of 16 kB, of 7 bytes and of 1; `round trip` compares each chunk, encoded again, with what came.
The last columns say how many chunks the OpenAI SDK's own client gives, and compare times: of long streams, in 16 kB."""


class StreamOutcome(NamedTuple):
    """What became of one stream."""

    name: str
    chunks: int
    errors: list[str]
    completion: fc.ChatCompletion | None
    done: bool
    complete: bool
    cuts_equal: bool
    lost: str | None  # the first difference of a chunk that was encoded again
    sdk: str  # how many chunks the SDK gives, "raises" or "absent"
    ns: float | None  # for a chunk of a long stream
    sdk_ns: float | None


def examine_stream(name: str, whole: bytes) -> StreamOutcome:
    """Decode a stream whole and cut, and see what it adds up to."""
    pieces = _cut(whole, 16384)
    items, stream = _decode(pieces)
    cuts_equal = all(_told(_decode(_cut(whole, size))[0]) == _told(items) for size in (7, 1))
    total = fc.Accumulator()
    for item in items:
        total.add(item)
    try:
        completion = total.completion()
    except fc.FastCompletionError:  # nothing but an error came
        completion = None
    chunks = sum(not isinstance(item, fc.StreamError | fc.ServerSentEvent) for item in items)
    errors = [error.kind for error in total.errors]
    ours, sdk = _decoders()
    is_long = name in _LONG
    return StreamOutcome(
        name,
        chunks,
        errors,
        completion,
        stream.done,
        stream.complete,
        cuts_equal,
        _lost(whole),
        "absent" if sdk is None else _ask(sdk, pieces),
        _time(ours, pieces) / chunks if is_long else None,
        _time(sdk, pieces) / chunks if is_long and sdk is not None else None,
    )


def _decoders() -> tuple[StreamContender, StreamContender | None]:
    found = {one.name: one for one in stream_contenders.contenders_for("decode stream")[0]}
    return found[stream_contenders.OURS], found.get(stream_contenders.SDK_LOOP)


def _ask(sdk: StreamContender, pieces: list[bytes]) -> str:
    try:
        return f"{len(sdk.run(sdk.prepare(pieces))):,}"
    except (importlib.import_module("openai").OpenAIError, ValueError, TypeError, AttributeError):
        return "raises"


def _time(contender: StreamContender, pieces: list[bytes], samples: int = 5) -> float:
    call: Call = (contender.run, contender.prepare(pieces))
    calls = calls_for(call, 2_000_000)
    return statistics.median(sample(call, calls) for _ in range(samples))


def _cut(whole: bytes, size: int) -> list[bytes]:
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def _decode(pieces: Iterable[bytes]) -> tuple[list[fc.StreamItem], fc.StreamDecoder]:
    stream = fc.StreamDecoder(fc.Codec())
    items = [item for piece in pieces for item in stream.feed(piece)]
    return items + stream.close(), stream


def _told(items: list[fc.StreamItem]) -> list[Any]:
    return [(item.kind, item.info, item.raw) if isinstance(item, fc.StreamError) else item for item in items]


def _lost(whole: bytes) -> str | None:
    stream = fc.StreamDecoder(fc.Codec(), raw=True)
    for event in stream.feed_events(whole):
        for item in event.items:
            if isinstance(item, fc.ChatCompletionChunk | fc.ChatCompletion | fc.Completion):
                (sent,) = fc.SSEDecoder().feed_data(event.raw)
                if found := difference(json.loads(sent), json.loads(fc.encode(item))):
                    return found
    return None


def _row(outcome: StreamOutcome) -> list[str]:
    choices = outcome.completion.choices if outcome.completion else []
    total = outcome.completion.token_counts.total if outcome.completion else None
    return [
        outcome.name,
        _SHOWN[outcome.name],
        f"{outcome.chunks:,}",
        ", ".join(outcome.errors),
        (choices[0].finish_reason or "") if choices else "",
        "yes" if outcome.done else "",
        "yes" if outcome.complete else "",
        "" if total is None else f"{total:,}",
        "equal" if outcome.cuts_equal else "WRONG",
        "WRONG" if outcome.lost else "equal",
        outcome.sdk,
        *("" if ns is None else f"{ns / 1000:,.1f}" for ns in (outcome.ns, outcome.sdk_ns)),
    ]


def _summary(outcomes: list[StreamOutcome]) -> list[str]:
    wrong = [outcome.name for outcome in outcomes if outcome.lost or not outcome.cuts_equal]
    chunks = sum(outcome.chunks for outcome in outcomes)
    every_one = f"all but {', '.join(wrong)}" if wrong else "every one"
    raises = sum(outcome.sdk == "raises" for outcome in outcomes)
    lines = [
        f"{len(outcomes)} streams of {chunks:,} chunks (the most telling above): {every_one} the same under any cuts,",
        f"and each chunk as it came after encoding again. The OpenAI SDK raises in {raises} of them.",
    ]
    times = [
        f"{outcome.sdk_ns / outcome.ns:.0f} times as long as fastcompletion for a chunk of {outcome.name}"
        for outcome in outcomes
        if outcome.ns is not None and outcome.sdk_ns is not None
    ]
    return [*lines, f"It takes {', '.join(times)}."] if times else lines


def main(names: Iterable[str] | None = None) -> int:
    """Show what becomes of each stream.

    Returns:
        1 if any came out otherwise when cut, or lost something; else 0.
    """
    print("", _LEGEND, sep="\n")
    every = {path.stem: path.read_bytes() for path in sorted(_FOLDER.glob("*.sse"))}
    every |= {name: b"".join(streams.events(*long)) for name, long in _LONG.items()}
    chosen = [*every] if names is None else [*names]
    outcomes = {name: examine_stream(name, every[name]) for name in chosen}
    show(_COLUMNS, [_row(outcomes[name]) for name in _SHOWN if name in outcomes])
    print(*_summary([*outcomes.values()]), sep="\n")
    return int(any(outcome.lost or not outcome.cuts_equal for outcome in outcomes.values()))

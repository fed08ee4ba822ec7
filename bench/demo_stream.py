"""What the library does with streams that servers really sent, and a long one. The second half of `make demo`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import fastcompletion as fc
from bench import stream_contenders, streams
from bench.check import difference
from bench.clock import Call, calls_for, sample
from bench.contenders import AbsentError
from bench.table import Column, show

__all__ = ["StreamOutcome", "examine_stream", "main"]

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
}
_COLUMNS = (
    Column("stream"),
    Column("what it shows"),
    Column("chunks", right=True),
    Column("errors"),
    Column("finish"),
    Column("[DONE]"),
    Column("text", dispensable=True),
    Column("calls", right=True),
    Column("tokens", right=True),
    Column("any cuts"),
    Column("round trip"),
)
_LEGEND = """\
Streams. `any cuts` compares what comes out when the bytes come whole, in 7-byte pieces and one by one; `round trip`
compares each chunk, encoded again, with what came."""


class StreamOutcome(NamedTuple):
    """What became of one stream."""

    name: str
    chunks: int
    errors: list[str]
    completion: fc.ChatCompletion | None
    done: bool
    cuts_equal: bool
    lost: str | None  # the first difference of a chunk that was encoded again


def examine_stream(name: str, whole: bytes) -> StreamOutcome:
    """Decode a stream whole and cut, and see what it adds up to."""
    items, stream = _decode([whole])
    cuts_equal = all(
        _told(_decode(whole[start : start + size] for start in range(0, len(whole), size))[0]) == _told(items)
        for size in (7, 1)
    )
    total = fc.Accumulator()
    for item in items:
        total.add(item)
    try:
        completion = total.completion()
    except fc.FastCompletionError:  # nothing but an error came
        completion = None
    chunks = sum(not isinstance(item, fc.StreamError | fc.ServerSentEvent) for item in items)
    errors = [error.kind for error in total.errors]
    return StreamOutcome(name, chunks, errors, completion, stream.done, cuts_equal, _lost(whole))


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
    text = choices[0].message.text if choices else ""
    calls = sum(len(choice.message.tool_calls or ()) for choice in choices)
    total = outcome.completion.token_counts.total if outcome.completion else None
    return [
        outcome.name,
        _SHOWN[outcome.name],
        str(outcome.chunks),
        ", ".join(outcome.errors),
        (choices[0].finish_reason or "") if choices else "",
        "yes" if outcome.done else "",
        json.dumps(text, ensure_ascii=False)[:18] if text else "",
        str(calls or ""),
        "" if total is None else str(total),
        "equal" if outcome.cuts_equal else "WRONG",
        "WRONG" if outcome.lost else "equal",
    ]


def _beside_the_sdk(number: int = 2000, samples: int = 5) -> list[str]:
    """How long the chunks of a long stream take."""
    lines = []
    for job, verb in (("decode stream", "decoded"), ("accumulate", "accumulated")):
        found, absent = stream_contenders.contenders_for(job)
        times: dict[str, float] = {}
        for contender in found[:2]:
            argument = stream_contenders.check(contender, job, "plain", number, "16 kB pieces")
            call: Call = (contender.run, argument)
            calls = calls_for(call, 2_000_000)
            times[contender.name] = min(sample(call, calls) for _ in range(samples)) / streams.chunks_in(number) / 1000
        words = ", ".join(f"{name} {taken:,.2f} us" for name, taken in times.items())
        ours, *others = times.values()
        ratio = f": {others[0] / ours:.0f} times as long" if others else f" ({'; '.join(absent)})"
        lines.append(f"A stream of {streams.chunks_in(number):,} chunks, {verb}, a chunk: {words}{ratio}.")
    return lines


def main(names: Iterable[str] | None = None) -> int:
    """Show what becomes of each stream.

    Returns:
        1 if any came out otherwise when cut, or lost something; else 0.
    """
    print("", _LEGEND, sep="\n")
    every = {path.stem: path.read_bytes() for path in sorted(_FOLDER.glob("*.sse"))}
    chosen = list(_SHOWN if names is None else names)
    outcomes = {name: examine_stream(name, whole) for name, whole in every.items() if names is None or name in chosen}
    show(_COLUMNS, [_row(outcomes[name]) for name in chosen])
    wrong = [outcome for outcome in outcomes.values() if outcome.lost or not outcome.cuts_equal]
    chunks = sum(outcome.chunks for outcome in outcomes.values())
    every_one = "every one" if not wrong else f"all but {', '.join(outcome.name for outcome in wrong)}"
    print(f"{len(outcomes)} streams of {chunks} chunks (some of them above), {every_one} the same under any cuts,")
    print("and each chunk as it came after encoding again.")
    if names is None:
        try:
            print(*_beside_the_sdk(), sep="\n")
        except AbsentError as error:
            print(error)
    return int(bool(wrong))

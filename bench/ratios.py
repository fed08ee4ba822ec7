"""The comparison to quote: how many times as long as fastcompletion do the others take?

`python -m bench.ratios` has every contender do the same job in the same process, in rounds of shuffled order, and
compares within a round, so that a busy moment or a warm processor meets all of them alike. A figure is the median of
the ratios of the rounds, with the middle half of them (interquartile range) beside it. Above 1 fastcompletion is the
faster one. The time is that of the processor, since other programs may run. The garbage collector is on, as it is
everywhere, but what was there before is frozen, as servers do: otherwise most of the time of large bodies would go into
collections of the modules of all contenders together. Every answer is checked first.

Two things to know of the figures. Large bodies leave the `bytes` arrays of tokens undecoded until they are read, so
on `logprobs` the others do more. And objects are encoded as they were decoded, which is where such arrays come out as
they came in.

Streams are timed by the chunk. Their accumulation should cost the same for each chunk of a long stream as of a short
one, which the lines at the end show; who takes minutes for a long one is left out of it, and named. With log
probabilities, a long stream leaves more than fits the caches, and the garbage collector goes through it: without that a
chunk takes 3.5 us of 500, and 4.5 of 8,000 as of 32,000.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from bench import contenders, corpus, machine, stream_contenders, streams
from bench.check import check
from bench.clock import Call, calls_for, now, sample

__all__ = [
    "FLOORS",
    "STREAMS",
    "Comparison",
    "Growth",
    "Ratio",
    "compare",
    "compare_stream",
    "growths",
    "main",
    "ratio",
]

SAMPLE_NS = 5_000_000  # a sample is as many calls as fill this, so that the clock and one interrupt do not matter
MIN_ROUNDS = 40
SLOW_NS = 2_000_000_000  # a contender that is slow is sampled for so long, in as many of the rounds
MIN_SLOW_ROUNDS = 5
JOBS = ("decode", "encode")
_TABLE_BODIES = ("small", "tools", "ascii_text", "cjk_text", "logprobs", "prompt_logprobs")
_TABLE: dict[tuple[str, str], tuple[float, ...]] = {
    ("decode", "pydantic_model"): (5, 4, 1.2, 1.7, 5, 3.3),
    ("decode", "orjson_dict"): (1.6, 1.3, 1.0, 0.55, 1.7, 1.4),
    ("decode", "openai_sdk"): (70, 30, 10, 5, 7),
    ("encode", "pydantic_model"): (4, 4, 4, 8, 3.2, 4),
    ("encode", "pydantic_defaults"): (4, 4, 4, 8, 3.2, 4),
}
FLOORS: dict[tuple[str, str, str], float] = {
    (job, stem, body): floor
    for (job, stem), floors in _TABLE.items()
    for body, floor in zip(_TABLE_BODIES, floors, strict=False)
}
# What a release must reach. The SDK has no types for prompt_logprobs, hence no floor there.

# Streams: job, kind of chunk, chunks of content, delivery; and how many times as long the SDK may take at least.
STREAMS: tuple[tuple[str, str, int, str, float | None], ...] = (
    ("frame stream", "plain", 2000, "one buffer", None),
    ("frame stream", "plain", 2000, "16 kB pieces", None),
    ("frame stream", "plain", 2000, "one event a piece", None),
    ("frame stream", "plain", 2000, "1-7 byte pieces", None),
    ("decode stream", "plain", 2000, "one buffer", None),
    ("decode stream", "plain", 2000, "16 kB pieces", 60),
    ("decode stream", "plain", 2000, "one event a piece", 45),
    ("decode stream", "plain", 2000, "1-7 byte pieces", None),
    ("decode stream", "extras", 2000, "16 kB pieces", None),
    ("decode stream", "logprobs", 2000, "16 kB pieces", None),
    ("accumulate", "plain", 500, "16 kB pieces", 80),
    ("accumulate", "plain", 2000, "16 kB pieces", 80),
    ("accumulate", "plain", 8000, "16 kB pieces", 80),
    ("accumulate", "extras", 2000, "16 kB pieces", None),
    ("accumulate", "logprobs", 500, "16 kB pieces", 80),
    ("accumulate", "logprobs", 2000, "16 kB pieces", None),
    ("accumulate", "logprobs", 8000, "16 kB pieces", None),
    ("encode stream", "plain", 2000, "one event a piece", None),
    ("encode stream", "extras", 2000, "one event a piece", None),
    ("encode stream", "logprobs", 2000, "one event a piece", None),
)
FLAT = 1.25  # a chunk of the longest stream may take so many times as long as one of the shortest
_OF_SDK = {stream_contenders.SDK_LOOP, stream_contenders.SDK_STATE}


class Ratio(NamedTuple):
    """How many times as long as fastcompletion a contender takes."""

    contender: str
    microseconds: float
    median: float
    low: float  # quartiles of the rounds
    high: float
    floor: float | None

    @property
    def met(self) -> bool:
        """Is the floor reached? True where there is none."""
        return self.floor is None or self.median >= self.floor

    @property
    def verdict(self) -> str:
        """The same in words; "" where there is no floor."""
        if self.floor is None:
            return ""
        return f"floor {self.floor:g}x " + ("met" if self.met else f"missed by {1 - self.median / self.floor:.0%}")


class Comparison(NamedTuple):
    """Everyone who does a job, on one body."""

    job: str
    body: str
    size: str
    microseconds: float  # that fastcompletion takes, for a body or a chunk
    ratios: list[Ratio]  # the slowest last
    absent: list[str]
    chunks: int | None = None  # of a stream

    @property
    def unit(self) -> str:
        """What a time is for."""
        return "us" if self.chunks is None else "us a chunk"


class Growth(NamedTuple):
    """What a chunk costs fastcompletion in streams of several lengths."""

    job: str
    body: str
    microseconds: dict[int, float]  # by number of chunks, ascending

    @property
    def times(self) -> float:
        """How many times as long a chunk of the longest takes as one of the shortest."""
        first, *_, last = self.microseconds.values()
        return last / first

    @property
    def flat(self) -> bool:
        """Is the time of a chunk independent of how many come before it?"""
        return self.times <= FLAT


def ratio(contender: str, ours: list[float], theirs: list[float], floor: float | None = None) -> Ratio:
    """The ratio of two lists of samples (ns a call) that were taken in the same rounds."""
    rounds = [other / own for own, other in zip(ours, theirs, strict=True)]
    low, median, high = statistics.quantiles(rounds, n=4)
    return Ratio(contender, statistics.median(theirs) / 1000, median, low, high, floor)


def compare(job: str, name: str, rounds: int = MIN_ROUNDS, sample_ns: int = SAMPLE_NS) -> Comparison:
    """Time everyone who does ``job`` on the body ``name``."""
    body = corpus.body(name)
    calls: dict[str, Call] = {}
    names: dict[str, str] = {}
    absent: list[str] = []
    for stem in contenders.stems_for(job):
        try:
            contender = contenders.load(stem)
        except contenders.AbsentError as error:
            absent.append(str(error))
            continue
        check(contender, job, body)
        names[stem] = contender.NAME
        calls[stem] = (contender.decode, body) if job == "decode" else (contender.encode, contender.decode(body))
    samples = _interleave(calls, rounds, sample_ns)
    ours = samples.pop(contenders.OURS)
    ratios = [ratio(names[stem], ours, theirs, FLOORS.get((job, stem, name))) for stem, theirs in samples.items()]
    ratios.sort(key=lambda found: found.median)
    return Comparison(job, name, f"{len(body):,} bytes", statistics.median(ours) / 1000, ratios, absent)


def compare_stream(
    job: str, kind: str, number: int, delivery: str, floor: float | None = None, rounds: int = MIN_ROUNDS
) -> Comparison:
    """Time everyone who does ``job`` on a stream; times are for a chunk."""
    found, absent = stream_contenders.contenders_for(job)
    chunks = streams.chunks_in(number)
    calls: dict[str, Call] = {}
    for contender in found:
        if contender.fits(kind, number):
            argument = stream_contenders.check(contender, job, kind, number, delivery)
            calls[contender.name] = (contender.run, argument)
        else:
            absent.append(f"{contender.name} is left out: {job}, {kind}, {chunks:,} chunks")
    samples = _interleave(calls, rounds, SAMPLE_NS, {name: _rounds_for(call, rounds) for name, call in calls.items()})
    samples = {name: [taken / chunks for taken in times] for name, times in samples.items()}
    ours = samples.pop(stream_contenders.OURS)
    ratios: list[Ratio] = []
    for name, theirs in samples.items():
        both = min(len(ours), len(theirs))  # the rounds that both took part in are the first ones
        ratios.append(ratio(name, ours[:both], theirs[:both], floor if name in _OF_SDK else None))
    ratios.sort(key=lambda row: row.median)
    size = f"{chunks:,} chunks, {sum(map(len, streams.pieces(kind, number, delivery))):,} bytes"
    return Comparison(job, f"{kind}, {delivery}", size, statistics.median(ours) / 1000, ratios, absent, chunks)


def growths(comparisons: list[Comparison]) -> list[Growth]:
    """What a chunk costs, for every kind of stream that was measured in several lengths."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for comparison in comparisons:
        if comparison.chunks is not None:
            key = comparison.job, comparison.body
            found.setdefault(key, {})[comparison.chunks] = comparison.microseconds
    return [Growth(*key, dict(sorted(times.items()))) for key, times in found.items() if len(times) > 1]


def _rounds_for(call: Call, rounds: int) -> int:
    began = now()
    call[0](call[1])
    return max(MIN_SLOW_ROUNDS, min(rounds, int(SLOW_NS / max(now() - began, 1))))


def _interleave(
    calls: dict[str, Call], rounds: int, sample_ns: int, slow: dict[str, int] | None = None
) -> dict[str, list[float]]:
    """Samples of everyone in each round; of those who are ``slow`` only in as many, the first ones."""
    counts = {stem: calls_for(call, sample_ns) for stem, call in calls.items()}
    samples: dict[str, list[float]] = {stem: [] for stem in calls}
    order = list(calls)
    rng = random.Random(0)
    gc.collect()
    gc.freeze()
    try:
        for done in range(rounds):
            rng.shuffle(order)
            for stem in order:
                if slow is None or done < slow[stem]:
                    samples[stem].append(sample(calls[stem], counts[stem]))
    finally:
        gc.unfreeze()
    return samples


# -- the report --------------------------------------------------------------------------------------------


def _lines(found: Comparison) -> Iterator[str]:
    yield f"{found.job} {found.body}, {found.size}: fastcompletion {found.microseconds:,.2f} {found.unit}"
    for row in found.ratios:
        spread = f"({row.low:.2f} to {row.high:.2f})"
        yield f"  {row.contender:<26}{row.median:>8.2f}x  {spread:<20}{row.verdict}".rstrip()


def _growth_line(found: Growth) -> str:
    times = ", ".join(f"{taken:,.2f}" for taken in found.microseconds.values())
    numbers = ", ".join(f"{chunks:,}" for chunks in found.microseconds)
    verdict = "flat" if found.flat else f"GROWS, at most {FLAT:g}x is flat"
    return f"{found.job} {found.body}: {times} us a chunk of {numbers} chunks, {found.times:.2f}x: {verdict}"


def _as_json(found: Comparison) -> dict[str, Any]:
    return found._asdict() | {"ratios": [row._asdict() | {"verdict": row.verdict} for row in found.ratios]}


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ratios", description="How much longer do the others take?")
    parser.add_argument("--rounds", type=int, default=MIN_ROUNDS, help="of one sample each, at least (default) 40")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--only", default="", metavar="TEXT", help="such as 'decode' or 'encode small'")
    arguments = parser.parse_args(argv)
    if arguments.rounds < MIN_ROUNDS:
        parser.error(f"--rounds: fewer than {MIN_ROUNDS} prove nothing")
    return arguments


def main(argv: list[str] | None = None) -> None:
    """Measure, and print what came out."""
    arguments = _arguments(argv)
    where = machine.describe() | {"rounds": str(arguments.rounds)}
    if not arguments.json:
        print("\n".join(f"{name}: {value}" for name, value in where.items()))
    found: list[Comparison] = []

    def add(comparison: Comparison) -> None:
        found.append(comparison)
        if not arguments.json:
            print("", *_lines(comparison), sep="\n", flush=True)

    for job, name in [(job, name) for job in JOBS for name in corpus.NAMES]:
        if arguments.only in f"{job} {name}":
            add(compare(job, name, arguments.rounds, SAMPLE_NS))
    for job, kind, number, delivery, floor in STREAMS:
        if arguments.only in f"{job} {kind}, {delivery}":
            add(compare_stream(job, kind, number, delivery, floor, arguments.rounds))
    if arguments.json:
        results = [_as_json(comparison) for comparison in found]
        growing = [growth._asdict() | {"times": growth.times, "flat": growth.flat} for growth in growths(found)]
        json.dump(where | {"results": results, "growths": growing}, sys.stdout, indent=1)
        print()
        return
    absent = sorted({who for comparison in found for who in comparison.absent})
    floors = [row for comparison in found for row in comparison.ratios if row.floor is not None]
    print("", *absent, *map(_growth_line, growths(found)), sep="\n")
    print(f"{sum(row.met for row in floors)} of {len(floors)} floors met")


if __name__ == "__main__":
    main()

"""How long everyone takes for a stream: pieces to events, to chunks, to a completion; chunks to pieces."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import stream_contenders, streams
from bench.stream_contenders import StreamContender, check, contenders_for

EVERYONE = [(job, contender) for job in stream_contenders.JOBS for contender in contenders_for(job)[0]]
NUMBERS = {"accumulate": (500, 2000, 8000)}
CUT = ("frame stream", "decode stream")  # the jobs to which it matters how the bytes come
ROWS = [
    (job, contender, kind, number, delivery)
    for job, contender in EVERYONE
    for kind in streams.KINDS
    for number in NUMBERS.get(job, (2000,))
    if contender.fits(kind, number)
    for delivery in (streams.DELIVERIES if job in CUT else ["16 kB pieces"])
]


@pytest.mark.parametrize(
    ("job", "contender", "kind", "number", "delivery"), ROWS, ids=lambda value: getattr(value, "name", str(value))
)
def test_stream(
    benchmark: BenchmarkFixture, job: str, contender: StreamContender, kind: str, number: int, delivery: str
) -> None:
    argument = check(contender, job, kind, number, delivery)
    benchmark.group = f"{job}, {kind}, {streams.chunks_in(number):,} chunks, {delivery}"
    benchmark.name = contender.name
    benchmark.pedantic(contender.run, (argument,), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("job", stream_contenders.JOBS)
def test_who_is_absent(job: str) -> None:
    _, absent = contenders_for(job)
    if absent:
        pytest.skip("; ".join(absent))

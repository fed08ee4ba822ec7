"""How long everyone takes to encode each body; objects to bytes."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import contenders, corpus
from bench.check import check


@pytest.mark.parametrize("stem", contenders.stems_for("encode"))
@pytest.mark.parametrize("name", corpus.NAMES)
def test_encode(benchmark: BenchmarkFixture, name: str, stem: str) -> None:
    try:
        contender = contenders.load(stem)
    except contenders.AbsentError as error:
        pytest.skip(str(error))
    body = corpus.body(name)
    check(contender, "encode", body)
    benchmark.group = f"encode {name}, {len(body):,} bytes"
    benchmark.name = contender.NAME
    benchmark(contender.encode, contender.decode(body))

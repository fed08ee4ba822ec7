"""How long everyone takes to decode each body; bytes to objects."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import contenders, corpus
from bench.check import check


@pytest.mark.parametrize("stem", contenders.stems_for("decode"))
@pytest.mark.parametrize("name", corpus.NAMES)
def test_decode(benchmark: BenchmarkFixture, name: str, stem: str) -> None:
    try:
        contender = contenders.load(stem)
    except contenders.AbsentError as error:
        pytest.skip(str(error))
    body = corpus.body(name)
    check(contender, "decode", body)
    benchmark.group = f"decode {name}, {len(body):,} bytes"
    benchmark.name = contender.NAME
    benchmark(contender.decode, body)

"""What the library does, on bodies that servers really sent. `make demo` runs it.

Every body of `tests/vectors/responses` comes from a public bug report in which some client broke on it. Each is
decoded, encoded again and compared; beside it stands what pydantic makes of it with models of the same schema.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import fastcompletion as fc
from bench import contenders, corpus, machine, vectors
from bench.check import difference
from bench.table import Column, show
from bench.vectors import Vector

__all__ = ["Outcome", "examine", "main"]

_SAMPLES = 15
_SAMPLE_SECONDS = 0.002

_COLUMNS = (
    Column("body"),
    Column("what it shows"),
    Column("reported in", dispensable=True),
    Column("type"),
    Column("model", dispensable=True),
    Column("finish"),
    Column("tokens", right=True),
    Column("extras", right=True),
    Column("deviations", right=True),
    Column("round trip"),
    Column("us", right=True),
    Column("pydantic us", right=True),
    Column("ratio", right=True),
)


class Outcome(NamedTuple):
    """What became of one body."""

    vector: Vector
    decoded: Any  # None where it was refused
    error: fc.DecodeError | None
    problem: str | None  # why this is not as it must be
    first: float  # seconds for the first decode, in which the codec learns
    seconds: float | None  # for one like it after that
    pydantic: str  # "takes it", "alters it", "refuses it" or "absent"
    pydantic_seconds: float | None


# -- one body ----------------------------------------------------------------------------------------------


def examine(vector: Vector, sample_seconds: float = _SAMPLE_SECONDS) -> Outcome:
    """Decode a body, check what came of it, and time it."""
    codec = fc.Codec()  # a codec for each upstream, and every report is of another one
    decoded, error, problem, seconds = None, None, None, None
    started = time.perf_counter()
    try:
        decoded = codec.decode(vector.body)
    except fc.DecodeError as caught:
        error = caught
    first = time.perf_counter() - started
    if error is None:
        problem = _lost(vector.body, codec.encode(decoded)) if vector.decodes else "decoded, but must be refused"
        seconds = _time(codec.decode, vector.body, sample_seconds)
    elif vector.decodes:
        problem = f"refused: {error}"
    verdict, pydantic_seconds = _ask_pydantic(vector.body, type(decoded or fc.ChatCompletion), sample_seconds)
    return Outcome(vector, decoded, error, problem, first, seconds, verdict, pydantic_seconds)


def _lost(body: bytes, encoded: bytes) -> str | None:
    """The first difference between two JSON texts, to the last digit."""
    exact: list[Any] = [json.loads(text, parse_float=Decimal) for text in (body, encoded)]
    return difference(*exact)


def _ask_pydantic(body: bytes, root: type[Any], sample_seconds: float) -> tuple[str, float | None]:
    try:
        from bench.contenders import pydantic_model
    except ModuleNotFoundError:
        return "absent", None
    ...

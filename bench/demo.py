"""What the library does, on bodies that servers really sent. `make demo` runs it.

Every body of `tests/vectors/responses` comes from a public bug report in which some client broke on it. Each is
decoded, encoded again and compared; beside it stands what pydantic makes of it with models of the same schema.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
from decimal import Decimal
from typing import Any, NamedTuple

import fastcompletion as fc
from bench import contenders, corpus, demo_stream, machine, vectors
from bench.check import difference
from bench.clock import Call, calls_for, now, sample
from bench.table import Column, show
from bench.vectors import Vector

__all__ = ["Outcome", "examine", "main"]

SAMPLES = 15
SAMPLE_NS = 2_000_000

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

_LEGEND = """\
Bodies of public bug reports, each of which some client refused or damaged. Extras are members that the schema lacks,
kept; deviations are other breaks of the specification, learnt. Times are for one decode, round trips compare with
`json.loads` in Decimals, and pydantic has models of the same schema that keep extras too."""


class Outcome(NamedTuple):
    """What became of one body."""

    vector: Vector
    decoded: Any  # None where it was refused
    error: fc.DecodeError | None
    problem: str | None  # why this is not as it must be
    first_ns: float  # for the first decode, in which the codec learns
    ns: float | None  # for another like it
    pydantic: str  # "takes it", "alters it", "refuses it" or "absent"
    pydantic_ns: float | None


# -- one body ----------------------------------------------------------------------------------------------


def examine(vector: Vector, sample_ns: int = SAMPLE_NS) -> Outcome:
    """Decode a body, check what came of it, and time it."""
    codec = fc.Codec()  # one for each upstream: every report is of another server
    decoded, error, problem, ns = None, None, None, None
    started = now()
    try:
        decoded = codec.decode(vector.body)
    except fc.DecodeError as caught:
        error = caught
    first_ns = now() - started
    if error is None:
        problem = _lost(vector.body, codec.encode(decoded)) if vector.decodes else "decoded, but must be refused"
        ns = _time((codec.decode, vector.body), sample_ns)
    elif vector.decodes:
        problem = f"refused: {error}"
    root = fc.ChatCompletion.__name__ if decoded is None else type(decoded).__name__
    return Outcome(vector, decoded, error, problem, first_ns, ns, *_ask_pydantic(vector.body, root, sample_ns))


def _lost(body: bytes, encoded: bytes) -> str | None:
    """The first difference between two JSON texts, to the last digit."""
    return difference(json.loads(body, parse_float=Decimal), json.loads(encoded, parse_float=Decimal))


def _ask_pydantic(body: bytes, root: str, sample_ns: int) -> tuple[str, float | None]:
    try:
        decode = vars(contenders.load("pydantic_model"))["MODELS"][root].model_validate_json
    except contenders.AbsentError:
        return "absent", None
    try:
        encoded = decode(body).model_dump_json(exclude_unset=True).encode()
    except ValueError:  # its ValidationError
        return "refuses it", None
    return "alters it" if _lost(body, encoded) else "takes it", _time((decode, body), sample_ns)


def _large() -> Vector:
    return Vector("large", corpus.body("everything"), "all log probabilities", "generated, like vLLM's", decodes=True)


def _time(call: Call, sample_ns: int) -> float:
    calls = calls_for(call, sample_ns)
    return statistics.median(sample(call, calls) for _ in range(SAMPLES))


# -- the report --------------------------------------------------------------------------------------------


def _row(outcome: Outcome) -> list[str]:
    vector, decoded = outcome.vector, outcome.decoded
    if decoded is None:
        said = [type(outcome.error).__name__, *[""] * 5]
        trip = "WRONG" if outcome.problem else "refused"
    else:
        found = fc.deviations(decoded)
        extras = sum(deviation.kind == "extra" for deviation in found)
        said = [type(decoded).__name__, *_says(decoded), _number(extras), _number(len(found) - extras)]
        trip = "WRONG" if outcome.problem else "equal"
    theirs = _us(outcome.pydantic_ns) if outcome.pydantic == "takes it" else outcome.pydantic.partition(" ")[0]
    ratio = f"{outcome.pydantic_ns / outcome.ns:.1f}x" if outcome.ns and outcome.pydantic_ns else ""
    return [vector.name, vector.kind, vector.source, *said, trip, _us(outcome.ns), theirs, ratio]


def _says(decoded: Any) -> list[str]:
    """Model, finish reason, tokens."""
    if not isinstance(decoded, fc.ChatCompletion):
        return ["", "", ""]
    finish = decoded.choices[0].finish_reason if decoded.choices else ""
    total = decoded.token_counts.total
    return [decoded.model or "", finish or "", "" if total is None else f"{total:,}"]


def _number(count: int) -> str:
    return str(count) if count else ""


def _us(ns: float | None) -> str:
    return "" if ns is None else f"{ns / 1000:,.1f}"


def _summary(outcomes: list[Outcome]) -> list[str]:
    taken = [outcome for outcome in outcomes if outcome.decoded is not None]
    equal = sum(outcome.problem is None for outcome in taken)
    every = "every one" if equal == len(taken) else f"only {equal}"
    lines = [f"{len(outcomes)} bodies: {len(taken)} decode, {every} equal after encoding again, to the last digit."]
    for vector, error in [(outcome.vector, outcome.error) for outcome in outcomes]:
        if error is not None:
            name = type(error).__name__
            lines.append(f"{vector.name} is refused: {name} at {error.path}, byte {error.offset}: {error.reason}.")
    lines += _beside_pydantic(taken, [outcome for outcome in outcomes if outcome.pydantic == "alters it"])
    slowest = max(taken, key=lambda outcome: outcome.first_ns, default=None)
    if slowest is not None:
        first = f"{slowest.first_ns / 1e6:.1f} ms ({slowest.vector.name})"
        lines.append(f"The first body of a kind takes longer, up to {first}: the codec compiles a decoder for it.")
    lines += [f"WRONG: {outcome.vector.name}: {outcome.problem}" for outcome in outcomes if outcome.problem]
    return lines


def _beside_pydantic(taken: list[Outcome], altered: list[Outcome]) -> list[str]:
    times = [(outcome.ns, outcome.pydantic_ns) for outcome in taken if outcome.ns and outcome.pydantic_ns]
    if not times:
        return []
    refused = sum(outcome.pydantic == "refuses it" for outcome in taken)
    changed = f" and alters {', '.join(outcome.vector.name for outcome in altered)}" if altered else ""
    ours, theirs = (sum(column) for column in zip(*times, strict=True))
    middle = statistics.median(other / own for own, other in times)
    both = f"The {len(times)} that both take, each once: fastcompletion {_us(ours)} us, pydantic {_us(theirs)} us, "
    return [
        f"pydantic, with models of the same schema, refuses {refused} of the {len(taken)}{changed}.",
        f"{both}{theirs / ours:.1f} times as long (median of the ratios: {middle:.1f}).",
    ]


def main(found: list[Vector] | None = None, sample_ns: int = SAMPLE_NS) -> int:
    """Show what becomes of each body.

    Args:
        found: The bodies. Default: those of the vectors, and a large one; then come the streams.
        sample_ns: How long to time each.

    Returns:
        1 if any body, or stream, came through changed, was refused, or was taken where it must be refused; else 0.
    """
    chosen = [*vectors.read(), _large()] if found is None else found
    print(*machine.describe().values(), "", _LEGEND, sep="\n")
    gc.collect()
    gc.freeze()  # so that the modules loaded here do not count as garbage to look through, as in bench.ratios
    outcomes = [examine(vector, sample_ns) for vector in chosen]
    gc.unfreeze()
    show(_COLUMNS, [_row(outcome) for outcome in outcomes])
    print(*_summary(outcomes), sep="\n")
    wrong = any(outcome.problem for outcome in outcomes)
    if found is None:
        wrong |= bool(demo_stream.main())
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())

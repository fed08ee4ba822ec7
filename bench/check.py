"""Is a contender's answer right? Asked before it is timed.

The oracle is `json.loads` of the standard library, which none of the fast contenders uses. What was decoded is read
as builtins and compared; what was encoded is read with Decimals, so that a digit lost is a difference.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

from bench import schema

__all__ = ["Contender", "Keeps", "WrongAnswerError", "check", "difference"]


class Keeps(enum.Enum):
    """What of a body a contender brings through. Anything less than it claims is a wrong answer."""

    ALL = "loses nothing"
    KNOWN = "drops unknown members"
    NULLS = "writes absent members as null"


class Contender(Protocol):
    """A module of `bench.contenders`."""

    NAME: str
    KEEPS: Keeps
    JOBS: tuple[str, ...]  # of "decode" and "encode"
    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]  # of what its `decode` returns
    plain: Callable[[Any], Any]  # what its `decode` returned, as builtins, for the comparison


class WrongAnswerError(Exception):
    """A contender got it wrong, so its time means nothing."""


def check(contender: Contender, job: str, body: bytes) -> None:
    """Let the contender do its job on ``body`` once.

    Raises:
        WrongAnswerError: its answer differs from what `json.loads` reads; the text says where.
    """
    decoded = contender.decode(body)
    if job == "decode":
        found = difference(json.loads(body), contender.plain(decoded), contender.KEEPS)
    else:
        exact = json.loads(body, parse_float=Decimal)
        found = difference(exact, json.loads(contender.encode(decoded), parse_float=Decimal), contender.KEEPS)
    if found:
        raise WrongAnswerError(f"{contender.NAME}, {job}: {found}")


def difference(expected: Any, actual: Any, keeps: Keeps = Keeps.ALL, path: str = "$") -> str | None:
    """The first difference between two JSON values, in words; None if there is none beyond what ``keeps`` admits."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in expected.keys() - actual.keys():
            if keeps is not Keeps.KNOWN or name in schema.names():
                return f"{path}.{name} is missing"
        for name in actual.keys() - expected.keys():
            if keeps is not Keeps.NULLS or actual[name] is not None:
                return f"{path}.{name} was not in the body"
        pairs = [(f"{path}.{name}", expected[name], actual[name]) for name in expected.keys() & actual.keys()]
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return f"{path} has {len(actual)} elements instead of {len(expected)}"
        pairs = [(f"{path}[{index}]", *both) for index, both in enumerate(zip(expected, actual, strict=True))]
    elif expected == actual and isinstance(expected, bool) is isinstance(actual, bool):
        return None
    else:
        return f"{path} is {actual!r:.60} instead of {expected!r:.60}"
    return next((found for where, *both in pairs if (found := difference(*both, keeps, where))), None)

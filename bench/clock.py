"""How long a call takes, in time of the processor: what else the machine does meanwhile does not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

__all__ = ["Call", "calls_for", "now", "sample"]

Call = tuple[Callable[[Any], Any], Any]  # a function, and what it is called with

_FINE = time.get_clock_info("thread_time").resolution < 1e-5  # not on Windows
now = time.thread_time_ns if _FINE else time.perf_counter_ns


def sample(call: Call, calls: int) -> float:
    """Nanoseconds that one call takes, on the average of ``calls`` in a row."""
    return _total(call, calls) / calls


def calls_for(call: Call, nanoseconds: int) -> int:
    """How many calls in a row take at least ``nanoseconds``. Finding out warms everything up."""
    calls = 1
    while (taken := _total(call, calls)) < nanoseconds:
        calls = calls * 10 if taken * 10 < nanoseconds else max(calls + 1, int(calls * 1.1 * nanoseconds / taken))
    return calls


def _total(call: Call, calls: int) -> int:
    function, argument = call
    started = now()
    for _ in repeat(None, calls):
        function(argument)
    return now() - started

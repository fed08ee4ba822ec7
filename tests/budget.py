"""How many examples a property gets: as many as it says in the suite, as many as were asked for in `make fuzz`."""

from __future__ import annotations

import os

from hypothesis import settings

__all__ = ["examples"]


def examples(number: int) -> settings:
    """`settings(max_examples=number)`, which alone would overrule the profile of `make fuzz` too."""
    return settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", number)))

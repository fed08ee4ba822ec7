"""The examples in the docstrings run, and say what they print."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import TYPE_CHECKING

import pytest

import fastcompletion

if TYPE_CHECKING:
    from types import ModuleType

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(fastcompletion.__path__, "fastcompletion.")
    if not found.name.endswith("__main__")
]
# The least number of examples; modules that are not here need none.
LEAST = {"_accumulator": 10, "_codec": 10, "_errors": 6, "_extra": 3, "_schema": 30, "_sse": 8, "_stream": 14}


@pytest.mark.parametrize("module", [fastcompletion, *MODULES], ids=lambda module: module.__name__)
def test_examples(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastcompletion, "decode", fastcompletion.Codec().decode)  # as new, whatever tests ran before
    ran = doctest.testmod(module)
    assert ran.failed == 0
    assert ran.attempted >= LEAST.get(module.__name__.rpartition(".")[2], 0)


def test_modules_are_found() -> None:
    assert {f"fastcompletion.{name}" for name in LEAST} <= {module.__name__ for module in MODULES}

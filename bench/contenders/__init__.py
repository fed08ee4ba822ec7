"""Who is compared: a module each, with the names that `bench.check.Contender` lists."""

from __future__ import annotations

import importlib
from typing import cast

from bench.check import Contender

__all__ = ["OURS", "STEMS", "AbsentError", "load", "stems_for"]

OURS = "fastcompletion_full"
STEMS = (
    OURS,
    "fastcompletion_learnt",
    "msgspec_plain",
    "orjson_dict",
    "json_stdlib",
    "pydantic_model",
    "pydantic_adapter",
    "pydantic_defaults",
    "openai_sdk",
    "openai_validate",
)


class AbsentError(Exception):
    """A contender cannot take part here; the text says why."""


def load(stem: str) -> Contender:
    """The contender in the module of that name; ours with a codec that has learnt nothing yet.

    Raises:
        AbsentError: what it needs is not installed.
    """
    try:
        module = importlib.import_module(f"{__name__}.{stem}")
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library in ("", "bench", "fastcompletion"):
            raise
        raise AbsentError(f"{stem} is absent: {library} is not installed") from error
    return cast("Contender", importlib.reload(module) if stem == OURS else module)


def stems_for(job: str) -> list[str]:
    """Those who do that job, and those who are absent, so that they are reported."""
    return [stem for stem in STEMS if _does(stem, job)]


def _does(stem: str, job: str) -> bool:
    try:
        return job in load(stem).JOBS
    except AbsentError:
        return True

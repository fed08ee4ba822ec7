"""Texts of other people, made fit for a terminal."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import typer
from rich.console import Console

__all__ = ["clean", "clean_json", "console", "count", "lines_of", "warn"]


# What a terminal would obey, or would show in another order than it is (bidirectional controls: CVE-2021-42574).
_CONTROLS: Final[Mapping[int, str]] = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    for codes in (
        range(0x09),
        range(0x0A, 0x20),
        range(0x7F, 0xA0),
        (0x061C, 0x200E, 0x200F),
        range(0x2028, 0x202F),
        range(0x2066, 0x206A),
        range(0xD800, 0xE000),
    )
    for code in codes
} | {0x0A: "\\n", 0x0D: "\\r"}
_JSON_CONTROLS: Final[Mapping[int, str]] = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}


def clean(text: str) -> str:
    """A text as one line of a terminal may have it: control characters, and halves of surrogate pairs, as escapes."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROLS)


def clean_json(text: str) -> str:
    """JSON, or a stream of it, with control characters escaped, as JSON allows: they stand in strings only.

    Those below 0x20 may not stand in strings, and lay the JSON out.
    """
    return text.translate(_JSON_CONTROLS)


def lines_of(text: str) -> list[str]:
    """The lines of a text, without a last empty one."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def count(number: int, thing: str) -> str:
    """A number and a thing, in the plural where it has to be."""
    plural = thing if number == 1 else f"{thing[:-1]}ies" if thing.endswith("body") else f"{thing}s"
    return f"{number:,} {plural}"


def console(*, stderr: bool = False) -> Console:
    """A console that styles on a terminal and leaves it where NO_COLOR says so."""
    return Console(stderr=stderr, color_system=None if os.environ.get("NO_COLOR") else "auto", highlight=False)


def warn(message: str) -> None:
    """Print a line on stderr, fit for a terminal whoever wrote parts of it."""
    typer.echo(clean(message), err=True)

"""A table in the terminal: by rich where it is installed, in plain text where not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

try:
    from rich import box
    from rich.console import Console
    from rich.table import Table
except ModuleNotFoundError:
    Console = None  # type: ignore[assignment, misc]

__all__ = ["Column", "show"]

_WIDE = 170  # columns, where nobody looks at it in a terminal


class Column(NamedTuple):
    """A heading, and how what is below it stands."""

    heading: str
    right: bool = False
    dispensable: bool = False  # left out where the terminal is narrow


def show(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print the table."""
    widths = [max(map(len, cells)) for cells in zip([column.heading for column in columns], *rows, strict=True)]
    if Console is None:
        _show_plain(columns, rows, widths)
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDE)
    kept = range(len(columns))
    if sum(widths) + 2 * len(widths) > console.width:
        kept = [index for index in kept if not columns[index].dispensable]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for index in kept:
        table.add_column(columns[index].heading, justify="right" if columns[index].right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(row[index] for index in kept))
    console.print(table, markup=False, highlight=False)


def _show_plain(columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    rule = ["-" * width for width in widths]
    for row in ([column.heading for column in columns], rule, *rows):
        cells = zip(row, widths, columns, strict=True)
        print("  ".join(cell.rjust(width) if column.right else cell.ljust(width) for cell, width, column in cells).rstrip())

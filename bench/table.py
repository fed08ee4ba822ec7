"""A table in the terminal: by rich where it is installed, in plain text where not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

try:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
except ModuleNotFoundError:
    has_rich = False
else:
    has_rich = True

__all__ = ["Column", "show"]


class Column(NamedTuple):
    """A heading, and how what is below it stands."""

    heading: str
    right: bool = False
    dispensable: bool = False  # left out where the terminal is narrow


def show(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print the table."""
    widths = [max(map(len, cells)) for cells in zip([column.heading for column in columns], *rows, strict=True)]
    (_show_rich if has_rich else _show_plain)(columns, rows, widths)


def _show_rich(columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    needed = sum(widths) + 2 * len(widths)
    console = Console()
    if not console.is_terminal:
        console = Console(width=needed)
    kept = [index for index, column in enumerate(columns) if console.width >= needed or not column.dispensable]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for index in kept:
        table.add_column(columns[index].heading, justify="right" if columns[index].right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(escape(row[index]) for index in kept))
    console.print(table)


def _show_plain(columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
    rule = ["-" * width for width in widths]
    print()
    for row in ([column.heading for column in columns], rule, *rows):
        cells = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        print("  ".join(cells).rstrip())
    print()

"""The command line: `python -m fastcompletion`, or `fastcompletion` where the `cli` extra is installed."""

from fastcompletion.cli._commands import app, main

__all__ = ["app", "main"]

"""`fastcompletion` and `python -m fastcompletion`: the command line, or how to install what it needs."""

from __future__ import annotations

import sys

__all__ = ["main"]

_NEEDED = {"rich", "typer"}  # the extra `cli`


def main() -> None:
    """Run the command line; exit with 2 and say what to install where typer or rich is missing."""
    try:
        from fastcompletion import cli
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.stderr.write(
            f'The command line needs {error.name}, which is not installed: pip install "fastcompletion[cli]"\n'
        )
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()

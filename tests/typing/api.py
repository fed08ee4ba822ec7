"""What type checkers make of the public face. Never run: `make test` checks it with mypy and pyright."""

from typing_extensions import assert_type

import fastcompletion as fc

assert_type(fc.__version__, str)

"""orjson, to dicts: the fastest there is where types are not wanted."""

from __future__ import annotations

from typing import Any

import orjson

from bench.check import Keeps

NAME = "orjson (untyped)"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")

decode = orjson.loads
encode = orjson.dumps


def plain(document: Any) -> Any:
    return document

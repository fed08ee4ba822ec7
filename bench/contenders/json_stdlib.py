"""The standard library, to dicts: what code without a dependency has."""

from __future__ import annotations

import json
from typing import Any

from bench.check import Keeps

NAME = "json (untyped)"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")

decode = json.loads
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(document: Any) -> bytes:
    return _encode(document).encode()


def plain(document: Any) -> Any:
    return document

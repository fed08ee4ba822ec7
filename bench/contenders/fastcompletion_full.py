"""The library: a codec, which finds out itself what type of body it has.

`load` makes the codec anew for every body, as for anyone who has a codec for each upstream.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

import fastcompletion as fc
from bench.check import Keeps

NAME = "fastcompletion"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")

_codec = fc.Codec()
decode = _codec.decode
encode = _codec.encode


def plain(value: Any) -> Any:
    """Read member by member and not by way of `encode`, which is checked by itself."""
    if isinstance(value, Struct):
        known = [field.name for field in msgspec.structs.fields(value) if field.name == field.encode_name]
        members = {name: getattr(value, name) for name in known} | dict(value.extra)
        return {name: plain(member) for name, member in members.items() if member is not msgspec.UNSET}
    if isinstance(value, dict):
        return {str(name): plain(member) for name, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value

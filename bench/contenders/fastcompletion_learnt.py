"""The library after it has met every server of the vectors: what one codec for all upstreams costs.

This is also what the module-level `fastcompletion.decode` comes to in a process that talks to all of them.
"""

from __future__ import annotations

import fastcompletion as fc
from bench import vectors
from bench.check import Keeps
from bench.contenders.fastcompletion_full import plain

__all__ = ["JOBS", "KEEPS", "NAME", "decode", "encode", "plain"]

NAME = "fastcompletion, learnt"
KEEPS = Keeps.ALL
JOBS = ("decode", "encode")

_codec = fc.Codec()
for _vector in vectors.read():
    if _vector.decodes:
        _codec.decode(_vector.body)
decode = _codec.decode
encode = _codec.encode

"""The bodies of public bug reports that the tests have, for the demo and for a codec that has met many servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

__all__ = ["FOLDER", "Vector", "read"]

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "vectors" / "responses"


class Vector(NamedTuple):
    """One body, and what its report was about."""

    name: str
    body: bytes
    kind: str
    source: str  # owner/repo#issue
    decodes: bool  # else it must be refused


def read(folder: Path = FOLDER) -> list[Vector]:
    """Every response body in ``folder``; those of streams (`.sse`) are left out."""
    found = [_read(path) for path in sorted(folder.glob("*.expect.json")) if _body_of(path).exists()]
    if not found:
        raise FileNotFoundError(f"no response bodies in {folder}")
    return found


def _body_of(expectation: Path) -> Path:
    name = expectation.name.removesuffix(".expect.json")
    binary = expectation.with_name(f"{name}.bin")
    return binary if binary.exists() else expectation.with_name(f"{name}.json")


def _read(path: Path) -> Vector:
    expect = json.loads(path.read_text(encoding="utf-8"))
    body = _body_of(path)
    return Vector(body.stem, body.read_bytes(), expect["kind"], expect["source"], expect["decode"] == "ok")

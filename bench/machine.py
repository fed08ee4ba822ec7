"""Where a figure was measured: without this line it says nothing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import fastcompletion

__all__ = ["describe"]

_LIBRARIES = ("msgspec", "orjson", "pydantic", "openai", "httpx-sse")


def describe() -> dict[str, str]:
    """Python, the libraries, the machine."""
    libraries = [f"fastcompletion {fastcompletion.__version__}", *map(_version, _LIBRARIES)]
    system = f"{platform.system()} {platform.machine()}"
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": ", ".join(libraries),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {system}",
    }


def _version(library: str) -> str:
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"{library} absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"

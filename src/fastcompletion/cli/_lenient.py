"""Members of any kind: where a server deviates, a decoded body is not what its types say."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["get", "items_in", "members_in", "text_or_empty"]


def get(obj: Any, name: str) -> Any:
    """A member of a Struct, in its schema or beyond, or of a dict; None where it is null or absent."""
    if not isinstance(obj, msgspec.Struct):
        return members_in(obj).get(name)
    struct: Any = obj
    value = getattr(struct, name) if hasattr(struct, name) else struct.extra.get(name)
    return None if value is msgspec.UNSET else value


def items_in(value: Any) -> list[Any]:
    """The items of a list; none of anything else."""
    items: list[Any] = value if value.__class__ is list else []
    return items


def members_in(value: Any) -> dict[Any, Any]:
    """The members of a dict; none of anything else."""
    members: dict[Any, Any] = value if value.__class__ is dict else {}
    return members


def text_or_empty(value: Any) -> str:
    """A text; "" for anything else."""
    return value if isinstance(value, str) else ""

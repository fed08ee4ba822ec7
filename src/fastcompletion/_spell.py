"""Values -> JSON, where msgspec alone cannot write them.

Three things meet here: Python values that callers put into `kv_transfer_params` and the like (numpy arrays,
paths, pydantic models), members in `added_`, and strings or floats that JSON has no usual spelling for.
None of it runs for an object that came from `decode` and conforms.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct

from fastcompletion._extra import ADDED_NAME, Added, Extensible

__all__ = ["NeedsRespelling", "NeedsSplice", "encode_added", "find_unencodable", "has_nonfinite", "native", "respell"]

_MARK = f'"{ADDED_NAME}":0'.encode()


class NeedsSplice(Exception):  # noqa: N818 (a signal inside this package, never seen outside)
    """Raised out of the encoder by an object with added members."""


class NeedsRespelling(Exception):  # noqa: N818
    """Raised out of the encoder by an object that must be written inside an array."""


def native(value: Any) -> Any:
    """The encoder's hook: an equal value that msgspec can write, for one that it cannot.

    One level only, msgspec comes back for what is inside. Never changes ``value``: msgspec holds pointers
    into what it is encoding.
    """
    if isinstance(value, Added):
        raise NeedsRespelling if value.in_array else NeedsSplice
    if value is None or value is True or value is False:  # these reach the hook as names only
        return {None: "null", True: "true", False: "false"}[value]
    for plain in (str, int, float):  # subclasses: numpy.float64, numpy.str_, IntEnum-likes
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):  # pydantic
        return dump(by_alias=True)
    if callable(to_list := getattr(value, "tolist", None)) and not isinstance(value, type):  # numpy and kin
        return _array(value, to_list)
    if isinstance(value, Iterable) and not isinstance(value, type) and hasattr(value, "__len__"):  # deque, dict views
        return list(value)
    return Raw(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY))


def _array(value: Any, to_list: Callable[[], Any]) -> Any:
    """numpy arrays of numbers through orjson, 2 times as fast as through lists; layouts it refuses as lists."""
    if getattr(value, "ndim", 0):
        try:
            return Raw(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        except TypeError:  # not contiguous, big-endian, or of strings or objects
            pass
    plain = to_list()
    if type(plain) is type(value):
        raise TypeError(f"Encoding objects of type {type(value).__qualname__} is unsupported")
    return plain


def encode_added(value: Any) -> bytes:
    """Encode a value some of whose objects have added members, in one pass and one join.

    The hook writes a marker where the members belong and remembers them in order; the output is then cut at
    the markers. 1.6 us where copying the tree into Structs with fresh slots took 12.
    """
    fragments: list[bytes] = []

    def hook(item: Any) -> Any:
        if isinstance(item, Added) and not item.in_array:
            fragments.append(b",".join(_name(name) + b":" + encode_added(member) for name, member in item.members.items()))
            return 0
        return native(item)

    pieces = msgspec.json.Encoder(enc_hook=hook, decimal_format="number").encode(value).split(_MARK)
    joined = [pieces[0]]
    for fragment, piece in zip(fragments, pieces[1:], strict=True):
        joined += (fragment, piece)
    return b"".join(joined)


def _name(name: object) -> bytes:
    return json.dumps(name if isinstance(name, str) else str(name)).encode()


def respell(value: Any, *, allow_nonfinite: bool) -> Any:
    """An equal tree in which what msgspec cannot write stands as ready JSON. Nothing of ``value`` is changed.

    Lone surrogates are written as the escapes they came as; NaN and Infinity as `json.dumps` writes them,
    where that was asked for; an error body that came inside an array goes back into one.
    """
    if isinstance(value, str):
        return value if _is_utf8(value) else Raw(json.dumps(value).encode())
    if isinstance(value, float):
        return Raw(json.dumps(value).encode()) if allow_nonfinite and not math.isfinite(value) else value
    if isinstance(value, Struct):
        twin = msgspec.structs.replace(value)
        for name in value.__struct_fields__:
            setattr(twin, name, respell(getattr(value, name), allow_nonfinite=allow_nonfinite))
        if isinstance(value, Extensible) and isinstance(twin, Extensible) and value.added_ is not UNSET:
            if value.added_.in_array:
                twin.added_ = Added(twin.added_.members) if twin.added_ and twin.added_.members else UNSET
                return [twin]
        return twin
    if isinstance(value, Added):
        added = {name: respell(item, allow_nonfinite=allow_nonfinite) for name, item in value.members.items()}
        return Added(added, value.in_array)
    if isinstance(value, dict):
        spelled = {name: respell(item, allow_nonfinite=allow_nonfinite) for name, item in value.items()}
        if all(not isinstance(name, str) or _is_utf8(name) for name in spelled):
            return spelled
        return Raw(b"{" + b",".join(_name(name) + b":" + encode_added(item) for name, item in spelled.items()) + b"}")
    if isinstance(value, list | tuple):
        return [respell(item, allow_nonfinite=allow_nonfinite) for item in value]
    return value


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- naming the place of what cannot be encoded -------------------------------------------------------------


def _inside(value: Any) -> Iterable[tuple[str, Any]]:
    """The (step, value) pairs directly inside a container, as `encode` would go through them."""
    if isinstance(value, Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return [(f".{wire}", getattr(value, name)) for name, wire in names if name != "added_"] + [
            (f"[{name!r}]", item) for name, item in getattr(value, "extra", {}).items()
        ]
    if isinstance(value, Mapping):
        return [(f".{name}" if str(name).isidentifier() else f"[{name!r}]", item) for name, item in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _inside(dump(by_alias=True))
    if callable(to_list := getattr(value, "tolist", None)) and getattr(value, "ndim", 0):
        return _inside(to_list())
    if isinstance(value, Iterable) and hasattr(value, "__len__") and not isinstance(value, str | bytes | bytearray):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    return ()


def find_unencodable(value: Any, encode: Callable[[Any], bytes]) -> tuple[str, str] | None:
    """(path, reason) of the first thing inside ``value`` that ``encode`` refuses, cycles included."""
    stack: list[tuple[str, Any, tuple[int, ...]]] = [("$", value, ())]
    while stack:
        path, item, above = stack.pop()
        if id(item) in above:
            return path, "Contains itself"
        inside = list(_inside(item))
        if inside:
            stack += [(path + step, part, (*above, id(item))) for step, part in reversed(inside)]
            if isinstance(item, Mapping):
                for name in item:
                    if reason := _refusal({name: 0}, encode):
                        return path, f"{reason} as the name {name!r}"
        elif reason := _refusal(item, encode):
            return path, reason
    return None


def _refusal(value: Any, encode: Callable[[Any], bytes]) -> str | None:
    try:
        encode(value)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def has_nonfinite(value: Any) -> str | None:
    """The path, below ``value``, of the first NaN or Infinity in it; None if there is none."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return path
        elif type(item) is list and {*map(type, item)} <= {int, str, bool}:
            continue
        else:
            stack += [(path + step, part) for step, part in reversed(list(_inside(item)))]
    return None

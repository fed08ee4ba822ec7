"""Values -> JSON, where msgspec alone cannot write them, or not well.

Python values that callers put into `kv_transfer_params` and the like (numpy arrays, paths, pydantic models),
members in `added_`, long texts, and strings and floats that JSON has no usual spelling for. None of it
changes what it is given: msgspec holds pointers into what it encodes, and callers keep their objects.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, cast

import msgspec
import orjson
from msgspec import UNSET, Raw, Struct

from fastcompletion._extra import ADDED_NAME, Added, Extensible, is_array, is_object, write_extras_with

__all__ = [
    "NeedsRespelling",
    "NeedsSplice",
    "NonFiniteError",
    "encode_added",
    "find_unencodable",
    "native",
    "respell",
    "spell_long_text",
    "spell_params",
]

_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = f'"{ADDED_NAME}":0'.encode()
_LONG = 4096  # characters from which orjson's faster scan repays the copies of the Structs around a text
_DEEP = 64  # deeper than any completion: where it begins is the place to name when a value nests too deeply
_DEEPEST = 1000  # levels looked at when searching for what cannot be encoded
_SPARSE = 24  # bytes of text for each escape from which on orjson's scan is the faster one


class NeedsSplice(Exception):  # noqa: N818 (a signal inside this package, never seen outside)
    """Raised out of the encoder by an object with added members."""


class NeedsRespelling(Exception):  # noqa: N818
    """Raised out of the encoder by an object that must be written inside an array."""


class NonFiniteError(ValueError):
    """NaN or Infinity where it would silently become null."""


# -- Python values -----------------------------------------------------------------------------------------


def native(value: Any) -> Any:
    """The encoder's hook: an equal value that msgspec can write, for one that it cannot.

    One level only: msgspec comes back for what is inside.
    """
    if isinstance(value, Added):
        raise NeedsRespelling if value.in_array else NeedsSplice
    if value is None or value is True or value is False:  # these reach the hook as names only
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple):  # reaches the hook as a name only
        raise TypeError("A tuple cannot name a member")
    for plain in (str, int, float):  # subclasses, such as numpy.float64 and numpy.str_
        if isinstance(value, plain):
            return plain(value)
    if _is_mapping(value) or _is_path(value) or _is_model(value) or _is_listable(value):
        return _one_level(value)
    return Raw(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY))


def _one_level(value: Any) -> Any:
    if _is_mapping(value):
        return dict(value)
    if _is_path(value):
        return os.fspath(value)
    if _is_model(value):
        return value.model_dump(by_alias=True)
    if not hasattr(value, "tolist"):
        return list(value)
    if value.ndim:
        try:  # 2 times as fast as through a list
            return Raw(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        except TypeError:  # not contiguous, big-endian, or not of numbers
            pass
    plain = value.tolist()
    if type(plain) is type(value):  # numpy gives what it cannot turn into a Python value as it is
        if value.dtype.kind == "f":  # numpy.longdouble: the nearest double
            return float(value)
        raise TypeError(f"Encoding objects of type {type(value).__qualname__} is unsupported")
    return plain


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_path(value: Any) -> TypeGuard[os.PathLike[str]]:
    return isinstance(value, os.PathLike)


def _is_model(value: Any) -> bool:
    """Is it a pydantic model?"""
    return not isinstance(value, type) and callable(getattr(value, "model_dump", None))


def _is_listable(value: Any) -> bool:
    """Is it numpy's, or a sized collection that msgspec does not know, such as a deque?"""
    is_collection = hasattr(value, "__iter__") and hasattr(value, "__len__")
    return not isinstance(value, type) and (_is_numpy(value) or is_collection)


def _is_numpy(value: Any) -> bool:
    """Is it an array or a scalar of numpy's?"""
    return hasattr(value, "tolist") and hasattr(value, "ndim")


def spell_params(obj: Any, encode: Callable[[Any], bytes]) -> Any:
    """A copy whose transfer params are ready JSON, after a look for NaN, which msgspec would write as null.

    Raises:
        NonFiniteError: with the path.
    """
    for name in ("kv_transfer_params", "ec_transfer_params"):
        params = getattr(obj, name, None)
        if params is None or params is UNSET or isinstance(params, Raw):
            continue
        encoded = encode(params)
        if encoded.rfind(b"null") >= 0 and (where := _nonfinite(params)) is not None:
            raise NonFiniteError(f"NaN and Infinity are not JSON (at $.{name}{where})")
        obj = msgspec.structs.replace(obj, **{name: Raw(encoded)})
    return obj


def _nonfinite(value: Any) -> str | None:
    """The path below ``value`` of the first NaN or Infinity in it; None if there is none."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        path, item = stack.pop()
        if _is_numpy(item) and not item.ndim:  # a scalar that is no subclass of float, or an array of no dimensions
            item = _one_level(item)
        if isinstance(item, float):
            if not math.isfinite(item):
                return path
        elif not is_array(item) or not {*map(type, item)} <= {int, str, bool}:
            stack += [(path + step, part) for step, part in reversed(_inside(item))]
    return None


_ENCODE = msgspec.json.Encoder(enc_hook=native, decimal_format="number").encode


# -- long texts --------------------------------------------------------------------------------------------


def spell_long_text(obj: Any) -> tuple[Any, bool]:
    """A copy whose long texts are ready JSON by orjson, and whether that is worth doing again for such a body.

    orjson's scan for escapes takes 0.2 to 0.6 of the time of msgspec's where escapes are a few in a hundred
    bytes, and up to 1.2 where they are dense, as in code.
    """
    spelled: list[Any] | None = None
    worth_it = False
    try:
        choices = obj.choices
        for position, choice in enumerate(choices):
            message = getattr(choice, "message", None)
            holder = choice if message is None else message
            for name in ("text",) if message is None else ("content", "reasoning", "reasoning_content"):
                text: Any = getattr(holder, name, None)
                if text.__class__ is not str or len(text) < _LONG:
                    continue
                written = orjson.dumps(text)
                worth_it = worth_it or not text.isascii() or (len(written) - len(text)) * _SPARSE < len(text)
                twin = holder.__copy__()
                setattr(twin, name, Raw(written))
                holder = twin
            if holder is message or holder is choice:
                continue
            spelled = spelled or [*choices]
            if message is None:
                spelled[position] = holder
            else:
                spelled[position] = choice.__copy__()
                spelled[position].message = holder
    except (AttributeError, TypeError):  # not a completion, no list of choices, or a lone surrogate in the text
        return obj, False
    if spelled is None:
        return obj, False
    obj = obj.__copy__()
    obj.choices = spelled
    return obj, worth_it


# -- added members -----------------------------------------------------------------------------------------


def encode_added(value: Any) -> bytes:
    """Encode a value some of whose objects have added members.

    The hook writes a marker where the members belong and remembers them in order; the output is then cut at
    the markers. One pass and one join, whatever the depth of the objects.
    """
    fragments: list[bytes] = []

    def hook(item: Any) -> Any:
        if isinstance(item, Added) and not item.in_array:
            fragments.append(b",".join(_name(name) + b":" + _member(value) for name, value in item.members.items()))
            return 0
        return native(item)

    pieces = msgspec.json.Encoder(enc_hook=hook, decimal_format="number").encode(value).split(_MARK)
    joined = [pieces[0]]
    for fragment, piece in zip(fragments, pieces[1:], strict=True):
        joined += (fragment, piece)
    return b"".join(joined)


write_extras_with(encode_added)


def _member(value: Any) -> bytes:
    try:
        return _ENCODE(value)
    except NeedsSplice:
        return encode_added(value)


def _name(name: Any) -> bytes:
    """The name of a member as JSON: a str, or as in `prompt_logprobs` what msgspec makes a name of."""
    return _ENCODE({name: 0})[1:-3] if _is_utf8(name) else json.dumps(name).encode()


# -- strings and floats without a usual spelling ------------------------------------------------------------


def respell(value: Any, *, allow_nonfinite: bool) -> Any:
    """An equal tree in which what msgspec cannot write stands as ready JSON.

    Lone surrogates are written as the escapes they came as; NaN and Infinity as `json.dumps` writes them,
    where that was asked for; an error body that came inside an array goes back into one.
    """

    def again(item: Any) -> Any:
        return respell(item, allow_nonfinite=allow_nonfinite)

    if isinstance(value, str):
        return value if _is_utf8(value) else Raw(json.dumps(value).encode())
    if isinstance(value, float):
        return Raw(json.dumps(value).encode()) if allow_nonfinite and not math.isfinite(value) else value
    if isinstance(value, Struct):
        twin: Any = msgspec.structs.replace(value)
        for name in value.__struct_fields__:
            setattr(twin, name, again(getattr(value, name)))
        added = twin.added_ if isinstance(value, Extensible) else UNSET
        if added and added.in_array:
            twin.added_ = Added(added.members) if added.members else UNSET
            return [twin]
        return twin
    if isinstance(value, Added):
        return Added({name: again(item) for name, item in value.members.items()}, value.in_array)
    if is_object(value):
        spelled = {name: again(item) for name, item in value.items()}
        if all(_is_utf8(name) for name in spelled):
            return spelled
        return Raw(b"{" + b",".join(_name(name) + b":" + encode_added(item) for name, item in spelled.items()) + b"}")
    if is_array(value):
        return [again(item) for item in value]
    if allow_nonfinite and (opened := _opened(value)) is not value:
        return again(opened)
    return value


def _opened(value: Any) -> Any:
    """What holds other values as a dict or a list of them, one level only; other values as they are."""
    if isinstance(value, bytes | bytearray | memoryview | type) or _is_path(value):
        return cast("Any", value)
    if isinstance(value, tuple | set | frozenset):
        return [*cast("tuple[Any, ...]", value)]
    if hasattr(value, "__dataclass_fields__"):
        fields = ((one.name, getattr(value, one.name, UNSET)) for one in dataclasses.fields(value))
        return {name: item for name, item in fields if item is not UNSET}
    if _is_numpy(value) and value.ndim:  # opened only for what orjson would write as null
        return value.tolist() if value.dtype.kind == "f" and _nonfinite(value) is not None else _one_level(value)
    return _one_level(value) if _is_mapping(value) or _is_model(value) or _is_listable(value) else value


def _is_utf8(text: Any) -> bool:
    return not isinstance(text, str) or not _SURROGATE.search(text)


# -- naming the place of what cannot be encoded -------------------------------------------------------------


def find_unencodable(value: Any, encode: Callable[[Any], bytes]) -> tuple[str, str] | None:
    """(path, reason) of the first thing inside ``value`` that ``encode`` refuses, cycles included."""
    stack: list[tuple[str, Any, frozenset[int]]] = [("$", value, frozenset())]
    deep = ""
    too_deep: tuple[str, str] | None = None
    while stack:
        path, item, above = stack.pop()
        if id(item) in above:
            return path, "Contains itself"
        if len(above) == _DEEP:
            deep = path
        elif len(above) == _DEEPEST:  # every step further down takes longer than the one before
            if reason := _refusal(item, encode):
                return deep, reason
            too_deep = deep, "Nested too deeply"
            continue
        inside = _inside(item)
        if not inside and (reason := _refusal(item, encode)):
            return path, reason
        if _is_mapping(item):
            for name in item:
                if reason := _refusal({name: 0}, encode):
                    return path, f"{reason}, as the name {name!r}"
        above |= {id(item)}
        stack += [(path + step, part, above) for step, part in reversed(inside)]
    return too_deep


def _inside(value: Any) -> list[tuple[str, Any]]:
    """The (step, value) pairs directly inside a container, as `encode` goes through them."""
    if isinstance(value, Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        slots = ((wire, getattr(value, name)) for wire, name in names if name != "added_")
        own = [(f".{wire}", item) for wire, item in slots if item is not UNSET]
        added: Added | Any = getattr(value, "added_", UNSET)
        return own + (_inside(added.members) if added else [])
    fields: Any = getattr(value, "__dataclass_fields__", None)
    if fields and not isinstance(value, type):
        return [(f".{name}", getattr(value, name)) for name in fields]
    if isinstance(value, str | bytes | bytearray | memoryview) or _is_path(value):
        return []
    plain = cast("Any", value)
    if _is_model(plain):
        plain = plain.model_dump(by_alias=True)
    if _is_numpy(plain):
        plain = plain.tolist()
    if _is_mapping(plain):
        return [(f".{name}" if str(name).isidentifier() else f"[{name!r}]", item) for name, item in plain.items()]
    if isinstance(plain, tuple) or _is_listable(plain):
        return [(f"[{index}]", item) for index, item in enumerate(cast("list[Any]", plain))]
    return []


def _refusal(value: Any, encode: Callable[[Any], bytes]) -> str | None:
    try:
        encode(value)
    except (TypeError, ValueError) as error:
        return str(error)
    except RecursionError:
        return "Nested too deeply"
    return None

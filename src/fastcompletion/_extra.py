"""Members that a schema lacks, kept on the object that had them.

`Extensible` is the base of every Struct in the schema. Members it does not name live in one of two places:
in slots that a codec compiled for names it has learnt (`Raw` bytes, decoded natively in one pass), or in
`added_`, for members that a caller adds and for bodies no slots were compiled for. `Extra` is the one view
over both. Equality, copies, pickles and repr are here because they must not tell the two apart.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from decimal import Decimal, InvalidOperation
from typing import Any, ClassVar, TypeGuard

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from fastcompletion._errors import LimitError

__all__ = [
    "ADDED_NAME",
    "Added",
    "Extensible",
    "Extra",
    "exact_float",
    "exact_int",
    "is_array",
    "is_object",
    "read_raw",
    "stored",
    "write_extras_with",
]

ADDED_NAME = f"fastcompletion.added.{os.urandom(12).hex()}"
# What `added_` is called on the wire inside this process only. `_spell` finds the name in what msgspec wrote
# and puts the added members there. Random, so that no body can contain it.


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Is it what an untyped decoder makes of a JSON object?"""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Is it what an untyped decoder makes of a JSON array?"""
    return isinstance(value, list)


def exact_float(text: str) -> float | Decimal | Raw:
    """The float that ``text`` is, a Decimal where a float would lose digits, or the text beyond a float's range."""
    value = float(text)
    if len(text) <= 16 and "e" not in text and "E" not in text:  # at most 15 digits: a double has them all
        return value
    if math.isinf(value):
        return Raw(text.encode())
    try:
        exact = Decimal(text)
    except InvalidOperation:  # an exponent of over 18 digits, on zero
        return Raw(text.encode())
    if Decimal(repr(value)) == exact:
        return value
    # With exponent 0, as of 9007199254740993e0, it would be written as an integer.
    return exact if exact.as_tuple().exponent else Decimal(f"{exact}.0")


def exact_int(text: str) -> int | Raw:
    """The int that ``text`` is, or, of more digits than Python turns into an int, the text as it came."""
    try:
        return int(text)
    except ValueError:
        return Raw(text.encode())


class Added:
    """Members outside the Struct's own slots. Never changed in place: copies of a Struct may share it.

    Deliberately not a dict: msgspec must hand it to the encoder's hook instead of writing a nested object.
    """

    __slots__ = ("in_array", "members")

    def __init__(self, members: dict[str, Any], in_array: bool = False) -> None:
        self.members = members
        self.in_array = in_array  # the object was the one element of an array (Gemini's error bodies)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Added) and (self.members, self.in_array) == (other.members, other.in_array)

    __hash__ = None  # type: ignore[assignment]


class Extensible(Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A Struct that also keeps the members its schema lacks; see `Extra`."""

    __schema__: ClassVar[type[Extensible]]  # the class as written in the schema, also on compiled subclasses
    __learnt__: ClassVar[Mapping[str, str]]  # name on the wire -> slot, for members a codec has learnt

    added_: Added | UnsetType = field(default=UNSET, name=ADDED_NAME)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__schema__" not in cls.__dict__:
            cls.__schema__ = cls
            cls.__learnt__ = {}

    @property
    def extra(self) -> Extra:
        """The members of this JSON object that the schema lacks, as a mutable mapping.

        >>> import fastcompletion as fc
        >>> usage = fc.decode(b'{"prompt_tokens": 1, "total_tokens": 1, "energy_joules": 4.5}', fc.Usage)
        >>> usage.extra["energy_joules"]
        4.5
        """
        return Extra(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Extensible) or self.__schema__ is not other.__schema__:
            return NotImplemented
        for name in self.__schema__.__struct_fields__:
            if name != "added_" and getattr(self, name) != getattr(other, name):
                return False
        mine, theirs = _values(self, exact=True), _values(other, exact=True)
        return mine == theirs and _in_array(self) == _in_array(other)

    def __ne__(self, other: object) -> bool:
        # Struct has its own, which tells compiled classes apart.
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.__schema__.__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown = list(_set_fields(self).items())
        return [*shown, ("extra", extra)] if (extra := _values(self)) else shown

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled classes cannot be imported elsewhere, so pickles name the schema's class and the members.
        return _restore, (self.__schema__, _set_fields(self), stored(self), _in_array(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Extensible:
        # The same class, so that the copy encodes as fast as the original.
        twin = copy.copy(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Added):
                setattr(twin, name, Added(copy.deepcopy(value.members, memo), value.in_array))
            elif value is not UNSET and not isinstance(value, Raw):
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin


def _set_fields(owner: Extensible) -> dict[str, Any]:
    fields = ((name, getattr(owner, name)) for name in owner.__schema__.__struct_fields__ if name != "added_")
    return {name: value for name, value in fields if value is not UNSET}


def _restore(schema: type[Extensible], fields: dict[str, Any], extras: dict[str, Any], in_array: bool) -> Extensible:
    values: dict[str, Any] = dict.fromkeys(schema.__struct_fields__, UNSET) | fields
    if extras or in_array:
        values["added_"] = Added(extras, in_array)
    return schema(**values)


def _in_array(owner: Extensible) -> bool:
    return owner.added_ is not UNSET and owner.added_.in_array


def stored(owner: Extensible) -> dict[str, Any]:
    """Every extra as it is stored: `Raw` as it came, or a Python value that a caller has set."""
    found = {name: value for name, slot in owner.__learnt__.items() if (value := getattr(owner, slot)) is not UNSET}
    if owner.added_ is not UNSET:
        found.update(owner.added_.members)
    return found


def _values(owner: Extensible, *, exact: bool = False) -> dict[str, Any]:
    """Every extra as a value (exact: one that compares without losing digits); what cannot be read as its bytes."""

    def read(value: Any) -> Any:
        try:
            return read_raw(value, exact=exact)
        except LimitError:
            return bytes(value)

    return {name: read(value) for name, value in stored(owner).items()}


_PLAIN = msgspec.json.Decoder()
_EXACT = msgspec.json.Decoder(float_hook=exact_float)


def read_raw(value: Any, *, exact: bool = False) -> Any:
    """The value of a `Raw`, with floats or (exact) with Decimals where a float would lose digits; others as they are.

    Raises:
        LimitError: nested too deeply, or an integer of over 4,300 digits.
    """
    if not isinstance(value, Raw):
        return value
    try:
        return (_EXACT if exact else _PLAIN).decode(value)
    except RecursionError as error:
        raise LimitError("Nested too deeply to be read here", limit="nesting depth") from error
    except msgspec.DecodeError:
        pass
    try:  # lone surrogate escapes, numbers beyond a double, NaN: the standard library reads them
        return json.loads(bytes(value))
    except ValueError as error:
        raise LimitError("An integer has too many digits", limit="digits of an integer") from error


class Extra(MutableMapping[str, Any]):
    """The members of one JSON object that the schema lacks: a live, mutable view.

    Reading gives a fresh decoded value each time, so changing it in place changes nothing; assign it back.
    A member can be replaced, deleted or added; values may be anything `encode` takes, or ready JSON in a
    `msgspec.Raw` (written as it is, unchecked).

    Raises:
        KeyError: when reading or deleting a member that is not there.
        LimitError: when reading a value that is nested too deeply, or an integer of over 4,300 digits.
        ValueError: when setting a member that the schema has; set the attribute instead.

    >>> import fastcompletion as fc
    >>> completion = fc.decode(b'{"object": "chat.completion", "choices": [], "provider": "P", "cost": 0.10}')
    >>> dict(completion.extra)
    {'provider': 'P', 'cost': 0.1}
    >>> completion.extra.raw("cost")
    b'0.10'
    >>> completion.extra["region"] = "eu"
    >>> del completion.extra["provider"]
    >>> fc.encode(completion)
    b'{"region":"eu","object":"chat.completion","choices":[],"cost":0.10}'
    """

    __slots__ = ("_owner",)

    def __init__(self, owner: Extensible) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> Any:
        return read_raw(self._find(name))

    def raw(self, name: str) -> bytes:
        """The member's JSON as it came, or as it would be written where that was not kept.

        Not kept is it where a caller has set the member, and in the few bodies that are built in Python (see
        `Codec`), in which 1.50 is 1.5.

        Args:
            name: The member's name on the wire.

        Raises:
            KeyError: when there is no such member.

        >>> import fastcompletion as fc
        >>> fc.decode(b'{"prompt_tokens":1,"total_tokens":1,"x":1.50}', fc.Usage).extra.raw("x")
        b'1.50'
        """
        value = self._find(name)
        return bytes(value) if isinstance(value, Raw) else _write[0](value)

    def __setitem__(self, name: str, value: Any) -> None:
        owner = self._owner
        if slot := owner.__learnt__.get(name):
            setattr(owner, slot, value)
        elif name in owner.__schema__.__struct_encode_fields__:
            raise ValueError(f"`{name}` is a member of {owner.__schema__.__name__}: set the attribute instead")
        else:
            self._replace_added({**self._added(), name: value})

    def __delitem__(self, name: str) -> None:
        self._find(name)
        if name in self._added():
            self._replace_added({key: value for key, value in self._added().items() if key != name})
        else:
            setattr(self._owner, self._owner.__learnt__[name], UNSET)

    def __contains__(self, name: object) -> bool:
        return name in stored(self._owner)  # without reading the value, which may be too much for Python

    def __iter__(self) -> Iterator[str]:
        return iter(stored(self._owner))

    def __len__(self) -> int:
        return len(stored(self._owner))

    def __repr__(self) -> str:
        return f"Extra({_values(self._owner)!r})"

    def _find(self, name: str) -> Any:
        slot = self._owner.__learnt__.get(name)
        if slot and (value := getattr(self._owner, slot)) is not UNSET:
            return value
        return self._added()[name]

    def _added(self) -> dict[str, Any]:
        added = self._owner.added_
        return {} if added is UNSET else added.members

    def _replace_added(self, members: dict[str, Any]) -> None:
        in_array = _in_array(self._owner)
        self._owner.added_ = Added(members, in_array) if members or in_array else UNSET


_write: list[Callable[[Any], bytes]] = []


def write_extras_with(encode: Callable[[Any], bytes]) -> None:
    """Say how `Extra.raw` writes what a caller has set: `_spell` knows, and imports this module."""
    _write[:] = [encode]

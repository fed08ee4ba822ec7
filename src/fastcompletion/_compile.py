"""Schema and dialect -> the Structs that bodies are decoded into, made at run time.

A compiled class is a subclass of the schema's class, so `isinstance` holds, with what was learnt added:
extra members as `Raw` slots, members widened by exactly the JSON kinds that were seen. The next body of that
dialect decodes and re-encodes natively, in one pass in C.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import GenericAlias
from typing import Any, Literal, Union

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct, field

from fastcompletion._dialect import Dialect, arguments, hints, object_literal
from fastcompletion._extra import Extensible, exact_float, is_array, read_raw
from fastcompletion._schema import TokenLogprob, TopLogprob

__all__ = ["compile_decoder", "settle_with"]

_WIDER: dict[str, Any] = {
    "null": None,
    "bool": bool,
    "int": int,
    "float": Any,  # with its scalars, so that the decoder's float hook keeps every digit
    "str": str,
    "array": list[Any],
    "object": dict[str, Any],
    "absent": UnsetType,
}


def compile_decoder(
    struct: type[Extensible], dialect: Dialect, *, open_object: bool, lazy_bytes: bool, drop_unknown: bool
) -> msgspec.json.Decoder[Any]:
    """A decoder for ``struct`` as this upstream sends it.

    Args:
        struct: The schema's class.
        dialect: What the upstream was seen to do.
        open_object: Take any `object`, absent included, for servers that send no or another word. Otherwise
            it must be the literal.
        lazy_bytes: Leave the `bytes` of tokens undecoded until they are read. They are a third of the cost
            of logprobs and hardly ever read.
        drop_unknown: Skip members that are not in the schema instead of failing at them.
    """
    compiled = _Compiler(dialect, open_object, lazy_bytes, drop_unknown).derive(struct)
    return msgspec.json.Decoder(compiled, float_hook=exact_float)


class _Compiler:
    def __init__(self, dialect: Dialect, open_object: bool, lazy_bytes: bool, drop_unknown: bool) -> None:
        self.dialect = dialect
        self.open_object = open_object
        self.lazy_bytes = lazy_bytes
        self.drop_unknown = drop_unknown
        self.made: dict[type[Struct], type[Struct]] = {}

    def derive(self, struct: type[Any]) -> type[Any]:
        """The class to decode a schema class into: itself, if nothing of it or below it differs."""
        if struct not in self.made:
            self.made[struct] = self._derive(struct)
        return self.made[struct]

    def _derive(self, struct: type[Any]) -> type[Any]:
        annotations = hints(struct)
        changed: list[tuple[str, Any, Any]] = []
        lazy: list[str] = []
        for info in msgspec.structs.fields(struct):
            if info.name == "added_":
                continue
            annotation = annotations[info.name]
            wider = self._widen(struct, info.encode_name, 0, annotation)
            required = info.required and not self.dialect.has(struct, info.encode_name, "absent")
            if info.name == "object" and object_literal(struct):
                # Built by a caller, a completion has its `object` without saying so. From the wire it is
                # what was sent: the literal, or with `open_object` anything, absent included.
                wider = Any if self.open_object else annotation
                required = not self.open_object
            elif info.name == "bytes" and self.lazy_bytes and struct in (TokenLogprob, TopLogprob):
                wider = Raw | UnsetType
                lazy.append(info.name)
            elif wider is annotation and required == info.required:
                continue
            if required:
                changed.append((info.name, wider, field(name=info.encode_name)))
            else:
                changed.append((info.name, wider, field(default=UNSET, name=info.encode_name)))
        learnt = {name: f"x{number}_" for number, name in enumerate(self.dialect.extras.get(struct, ()))}
        changed += [(slot, Raw | UnsetType, field(default=UNSET, name=name)) for name, slot in learnt.items()]
        if not changed and not self.drop_unknown:
            return struct
        compiled = defstruct(
            struct.__name__,
            changed,
            bases=(struct,),
            module=struct.__module__,
            namespace={"__schema__": struct, "__learnt__": learnt, "__doc__": struct.__doc__},
            kw_only=True,
            forbid_unknown_fields=not self.drop_unknown,
            gc=False,
        )
        for name in lazy:
            setattr(compiled, name, _lazy_property(struct, name, annotations[name]))
        return compiled

    def _widen(self, owner: type[Struct], member: str, depth: int, annotation: Any) -> Any:
        """``annotation`` with what was learnt about it and below it; the same object if nothing was."""
        parts: list[Any] = []
        same = True
        for part in arguments(annotation):
            wider: Any = part
            origin = typing.get_origin(part)
            if isinstance(part, type) and origin is None and issubclass(part, Struct):
                wider = self.derive(part)
            elif origin is list:
                (element,) = typing.get_args(part)
                if (inner := self._widen(owner, member, depth + 1, element)) is not element:
                    wider = GenericAlias(list, (inner,))
            elif origin is dict:
                key, element = typing.get_args(part)
                if (inner := self._widen(owner, member, depth + 1, element)) is not element:
                    wider = GenericAlias(dict, (key, inner))
            same = same and wider is part
            parts.append(wider)
        if learnt := self.dialect.kinds.get((owner, member, depth)):
            if "str" in learnt:  # msgspec takes one kind of string in a union
                parts = [part for part in parts if typing.get_origin(part) is not Literal]
            parts += [_WIDER[kind] for kind in sorted(learnt)]
            same = False
        return annotation if same else Union[tuple(parts)]  # noqa: UP007 (as many as there are)


def _lazy_property(struct: type[Struct], name: str, annotation: Any) -> property:
    """Reads a slot that may still be `Raw`, decoding it once and keeping the value in the slot."""
    slot = struct.__dict__[name]
    decode = msgspec.json.Decoder(annotation).decode

    def get(self: Any) -> Any:
        value = slot.__get__(self)
        if type(value) is Raw:
            try:
                value = decode(value)
            except msgspec.DecodeError:  # a deviation, met late: what came, untyped
                value = read_raw(value, exact=True)
            slot.__set__(self, value)
        return value

    return property(get, slot.__set__, doc=f"`{name}`, decoded on first reading.")


# -- after decoding: extras that are views into a body -----------------------------------------------------


Settle = Callable[[Any, int], None]


def settle_with(compiled: Any) -> tuple[Settle | None, bool]:
    """A function ``(object, largest)`` for extras that are views into a body, and whether it comes to all of them.

    It raises UnicodeDecodeError where an extra is not UTF-8, and copies extras of up to ``largest`` bytes,
    since msgspec's `Raw` keeps the whole body alive. None if the class and those below it have no extras.
    Objects of the token level are left out: there are thousands, and who keeps them keeps a body's worth of
    data anyway.
    """
    plans: dict[type[Any], Settle | None] = {}

    def plan(struct: type[Any]) -> Settle | None:
        if struct not in plans:
            plans[struct] = None
            plans[struct] = make(struct)
        return plans[struct]

    def make(struct: type[Any]) -> Settle | None:
        slots = list(struct.__learnt__.values())
        below: list[tuple[str, Settle]] = []
        for info in msgspec.structs.fields(struct):
            for part in arguments(info.type):
                inner = typing.get_args(part)[0] if typing.get_origin(part) is list else part
                if not isinstance(inner, type) or not issubclass(inner, Extensible):
                    continue
                if inner.__schema__ not in _TOKEN_LEVEL and (settle_below := plan(inner)) is not None:
                    below.append((info.name, settle_below))
        if not slots and not below:
            return None

        def settle(owner: Any, largest: int) -> None:
            for slot in slots:
                value = getattr(owner, slot)
                if value is not UNSET:
                    text = str(value, "utf-8")
                    if len(text) <= largest:
                        setattr(owner, slot, value.copy())
            for name, settle_one in below:
                value = getattr(owner, name)
                for item in value if is_array(value) else (value,):
                    if isinstance(item, Extensible):
                        settle_one(item, largest)

        return settle

    settle = plan(compiled)
    return settle, not any(struct.__learnt__ for struct in _structs_in(compiled, set()) - plans.keys())


def _structs_in(annotation: Any, found: set[type[Any]]) -> set[type[Any]]:
    """Every class of the schema, or compiled from it, that a value of this annotation may hold."""
    for part in (annotation, *typing.get_args(annotation)):
        if isinstance(part, type) and issubclass(part, Extensible):
            if part not in found:
                found.add(part)
                for info in msgspec.structs.fields(part):
                    _structs_in(info.type, found)
        elif part is not annotation:
            _structs_in(part, found)
    return found


_TOKEN_LEVEL = frozenset({TokenLogprob, TopLogprob})

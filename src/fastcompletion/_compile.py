"""Schema and dialect -> the Structs that bodies are decoded into, made at run time.

A compiled class is a subclass of the schema's class, so `isinstance` holds, with what was learnt added:
extra members as `Raw` slots, members widened by exactly the JSON kinds that were seen. The next body of that
dialect decodes and re-encodes natively, in one pass in C.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from types import GenericAlias
from typing import Any, Literal, NamedTuple, Union

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct, field

from fastcompletion._dialect import Dialect, arguments, members, object_literal, once
from fastcompletion._extra import Extensible, exact_float, is_array, read_raw
from fastcompletion._root import marks_of
from fastcompletion._schema import TokenLogprob, TopLogprob

__all__ = ["Compiled", "compile_decoder"]

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


Settle = Callable[[Any, int], None]


class Compiled(NamedTuple):
    """A decoder for one class as one upstream sends it.

    Args:
        decode: Bytes -> an object of the class.
        settle: A function ``(object, largest)`` for extras that are views into a body; None if there are none.
            It raises UnicodeDecodeError where an extra is not UTF-8, and copies extras of up to ``largest``
            bytes, since msgspec's `Raw` keeps the whole body alive.
        settles_all: Whether `settle` comes to every extra. Objects of the token level are left out: there are
            thousands, and who keeps them keeps a body's worth of data anyway.
    """

    decode: Callable[[Any], Any]
    settle: Settle | None
    settles_all: bool


def compile_decoder(
    struct: type[Extensible], dialect: Dialect, *, open_object: bool, lazy_bytes: bool, drop_unknown: bool
) -> Compiled:
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
    compiler = _Compiler(dialect, open_object, lazy_bytes, drop_unknown)
    decoder = msgspec.json.Decoder(compiler.derive(struct), float_hook=exact_float)
    return Compiled(decoder.decode, *_settle_with(struct, compiler.made))


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
        changed: list[tuple[str, Any, Any]] = []
        lazy: dict[str, Any] = {}
        for name, (attribute, annotation, was_required) in members(struct).items():
            wider = self._widen(struct, name, 0, annotation)
            required = was_required and not self.dialect.has(struct, name, "absent")
            if name == "object" and object_literal(struct):
                # Built by a caller, a completion has its `object` without saying so. From the wire it is
                # what was sent: the literal, or with `open_object` anything, absent included.
                wider = Any if self.open_object else annotation
                required = not self.open_object
            elif name == "bytes" and self.lazy_bytes and struct in _TOKEN_LEVEL:
                wider = Raw | UnsetType
                lazy[attribute] = annotation
            elif wider is annotation and required == was_required:
                continue
            default = {} if required else {"default": UNSET}
            changed.append((attribute, wider, field(name=name, **default)))
        extras = [*self.dialect.extras.get(struct, ()), *(marks_of(struct) if self.drop_unknown else ())]
        learnt: dict[str, str] = {}
        for number, name in enumerate(extras):
            learnt[name] = _free_slot(struct, number)
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
        for attribute, annotation in lazy.items():
            setattr(compiled, attribute, _lazy_property(struct, attribute, annotation))
        return compiled

    def _widen(self, owner: type[Struct], member: str, depth: int, annotation: Any) -> Any:
        """``annotation`` with what was learnt about it and below it; the same object if nothing was."""
        parts: list[Any] = []
        same = True
        for part in arguments(annotation):
            wider: Any = part
            origin = typing.get_origin(part)
            if isinstance(part, type) and origin is None and issubclass(part, Extensible):
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


def _free_slot(struct: type[Struct], number: int) -> str:
    """The attribute for an extra; a caller's subclass may have a member of that name."""
    slot = f"x{number}_"
    while slot in struct.__struct_fields__:
        slot += "_"
    return slot


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


def _settle_with(struct: type[Any], compiled: dict[type[Any], type[Any]]) -> tuple[Settle | None, bool]:
    """`Compiled.settle` and `Compiled.settles_all`, from the classes that schema classes are decoded into."""
    plans: dict[type[Any], Settle | None] = {}

    def plan(struct: type[Any]) -> Settle | None:
        if struct not in plans:
            plans[struct] = None
            plans[struct] = make(struct)
        return plans[struct]

    def make(struct: type[Any]) -> Settle | None:
        slots = [*compiled[struct].__learnt__.values()]
        below = [(attribute, inside) for attribute, inner in _below(struct) if (inside := plan(inner))]
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
                if not value:
                    continue
                for item in value if is_array(value) else (value,):
                    if isinstance(item, Extensible):
                        settle_one(item, largest)

        return settle

    settle = plan(struct)
    return settle, not any(made.__learnt__ for schema, made in compiled.items() if schema not in plans)


@once
def _below(struct: type[Any]) -> list[tuple[str, type[Any]]]:
    """The (attribute, class) of the objects, and lists of objects, directly inside one of a schema class."""
    found: list[tuple[str, type[Any]]] = []
    for attribute, annotation, _ in members(struct).values():
        for part in arguments(annotation):
            inner = typing.get_args(part)[0] if typing.get_origin(part) is list else part
            if isinstance(inner, type) and issubclass(inner, Extensible) and inner not in _TOKEN_LEVEL:
                found.append((attribute, inner))
    return found


_TOKEN_LEVEL = frozenset({TokenLogprob, TopLogprob})

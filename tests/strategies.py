"""Bodies for the laws: what the schema says, and everything servers might do to it.

A body is drawn as a tree (`Object`, lists, `Text`, and the plain values of JSON) that starts as one with every member
of the schema, and is then edited: members removed, nulled, replaced by every kind of value, given twice, moved, and
unknown ones added. `render` spells it: compact, pretty, with odd white space, with escapes where none are needed.
The tree can hold what Python's own values cannot: names given twice, numbers as text, halves of surrogate pairs.
"""

from __future__ import annotations

import copy
import random
import types
import typing
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec
from hypothesis import strategies as st

import fastcompletion as fc

__all__ = [
    "KINDS",
    "NAMES",
    "REMOVED",
    "ROOTS",
    "Layout",
    "Object",
    "Text",
    "any_bodies",
    "bodies",
    "complete",
    "json_texts",
    "edited",
    "layouts",
    "members_at",
    "mutated",
    "names",
    "numbers",
    "places",
    "render",
    "spellings",
    "trees",
    "values",
]


# -- trees ---------------------------------------------------------------------------------------------------


class Object:
    """A JSON object: members in order, and a name may come twice."""

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        self.members = members

    def __repr__(self) -> str:
        return f"Object({self.members!r})"

    def __getitem__(self, name: str) -> Any:
        return dict(self.members)[name]


class Text(str):
    """A number (or whatever else) exactly as it is to be written."""

    __slots__ = ()


class Layout(NamedTuple):
    """How `render` spells a tree."""

    space: str = "compact"  # "compact", "pretty", "spaced" (as json.dumps), "odd"
    escapes: bool = False  # spell some characters of strings and names as escapes
    seed: int = 0


def render(tree: Any, layout: Layout = Layout()) -> str:  # noqa: B008 (immutable)
    """The JSON text of a tree."""
    return _Renderer(layout).value(tree, 0)


class _Renderer:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.random = random.Random(layout.seed)

    def gap(self, depth: int, where: str) -> str:
        """White space: `inside` brackets, after a `comma`, `before` or `after` a colon."""
        if self.layout.space == "compact":
            return ""
        if self.layout.space == "spaced":
            return " " if where in ("comma", "after") else ""
        if self.layout.space == "pretty":
            return {"before": "", "after": " "}.get(where, "\n" + "  " * depth)
        return self.random.choice(("", "", " ", "\t", "\n", "\r\n", "\r", "  \n\t "))

    def value(self, tree: Any, depth: int) -> str:
        if isinstance(tree, Object):
            return self.container("{", [self.member(name, item, depth) for name, item in tree.members], "}", depth)
        if isinstance(tree, list):
            return self.container("[", [self.value(item, depth + 1) for item in tree], "]", depth)
        if isinstance(tree, Text):
            return str(tree)
        if isinstance(tree, str):
            return self.string(tree)
        return (
            {True: "true", False: "false", None: "null"}[tree]
            if tree is None or tree is True or tree is False
            else (repr(tree))
        )

    def member(self, name: str, item: Any, depth: int) -> str:
        colon = f"{self.gap(depth, 'before')}:{self.gap(depth, 'after')}"
        return self.string(name) + colon + self.value(item, depth + 1)

    def container(self, start: str, parts: list[str], end: str, depth: int) -> str:
        text = start
        for number, part in enumerate(parts):
            gap = self.gap(depth + 1, "comma" if number else "inside")
            text += ("," if number else "") + gap + part
            if self.layout.space == "odd":
                text += self.gap(depth, "before")
        return text + (self.gap(depth, "inside") if parts and self.layout.space == "pretty" else "") + end

    def string(self, text: str) -> str:
        return '"' + "".join(map(self.character, text)) + '"'

    def character(self, character: str) -> str:
        code = ord(character)
        if character in '"\\' or code < 0x20 or 0xD800 <= code < 0xE000:
            short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
            if character in short and not (self.layout.escapes and self.random.random() < 0.5):
                return short[character]
            return self.escape(code)
        if not self.layout.escapes or self.random.random() < 0.6:
            return character
        return "\\/" if character == "/" else self.escape(code)

    def escape(self, code: int) -> str:
        if code >= 0x10000:
            code -= 0x10000
            return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04X}"
        return f"\\u{code:04x}"


# -- a body with everything in it ----------------------------------------------------------------------------

ROOTS: list[type[msgspec.Struct]] = [fc.ChatCompletion, fc.ChatCompletionChunk, fc.Completion, fc.ErrorResponse]


@cache
def _hints(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return typing.get_type_hints(struct)


def members_at(struct: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    """Name on the wire and annotation of each member that the schema gives a Struct."""
    return [
        (field.encode_name, _hints(struct)[field.name])
        for field in msgspec.structs.fields(struct)
        if field.name != "added_"
    ]


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation itself."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def complete(annotation: Any) -> Any:
    """A tree that conforms, with every member at every level."""
    part = alternatives(annotation)[0]
    origin, inside = typing.get_origin(part), typing.get_args(part)
    if origin is Literal:
        return inside[0]
    if origin is list:
        nullable = type(None) in alternatives(inside[0])
        return [None, complete(inside[0])] if nullable else [complete(inside[0])]
    if origin is dict:
        return Object([("15496" if inside[0] is int else "name", complete(inside[1]))])
    if isinstance(part, type) and issubclass(part, msgspec.Struct):
        return Object([(name, complete(hint)) for name, hint in members_at(part)])
    return {str: "text", int: 7, float: Text("-0.25"), bool: True, Any: "anything"}[part]


Path: typing.TypeAlias = tuple[int | str, ...]
REMOVED = object()


def places(tree: Any, path: Path = ()) -> typing.Iterator[tuple[Path, str]]:
    """The path to an object and the name of a member in it, for every member at every level."""
    if isinstance(tree, Object):
        for name, item in tree.members:
            yield path, name
            yield from places(item, (*path, name))
    elif isinstance(tree, list):
        for number, item in enumerate(tree):
            yield from places(item, (*path, number))


def edited(tree: Any, path: Path, name: str, value: Any) -> Any:
    """A copy of a tree in which the object at `path` has `value` (or nothing, with REMOVED) for `name`."""
    twin = copy.deepcopy(tree)
    chosen = twin
    for step in path:
        chosen = chosen[step]
    if name not in dict(chosen.members):
        chosen.members.append((name, None))
    changed = [(key, value if key == name else item) for key, item in chosen.members]
    chosen.members = [(key, item) for key, item in changed if item is not REMOVED]
    return twin


# -- values and names ----------------------------------------------------------------------------------------

# One of each JSON kind, for members whose kind is another.
KINDS: dict[str, Any] = {
    "null": None,
    "bool": False,
    "int": 12,
    "float": Text("1.5"),
    "str": "word",
    "array": [1, "two", None, Object([("three", [])])],
    "object": Object([("k", "v"), ("type", Object([])), ("2", Text("2.50"))]),
    "empty str": "",
    "empty array": [],
    "empty object": Object([]),
    "big int": Text("115792089237316195423570985008687907853269984665640564039457584007913129639935"),
    "long decimal": Text("0.1000000000000000055511151231257827021181583404541015625"),
    "huge": Text("1e400"),
}

# Names that a careless implementation trips over.
NAMES = [
    "", " ", "type", "object", "__class__", "__dict__", "__schema__", "__learnt__", "__struct_fields__", "__init__",
    "__eq__", "extra", "added_", "x0_", "x1_", "x2_", "_owner", "self", "cls", "None", "class", "text", "info", "raw",
    "choice", "token_counts", "reasoning_text", "Id", "ID", "CHOICES", "choices ", "chοices", "usage\n", '"', "\\",
    'a"b', "a\\b", "a\\\"b", "\n", "\t", "\x00", "\x1f", "\x7f", "/", "é", "e\u0301", "名前", "😀", "\u2028", "\ufeff",
    "\ud83d", "\ude00x", "$", "a.b", "a[0]", "[]", "0", "1", "-1", "01", "true", "null", "x" * 128, "x" * 129,
    "é" * 100,
    "error", "detail", "message", "delta", "base_resp", "code", "param", "status", "content", "logprobs", "index",
    "role", "id", "model", "created", "usage", "choices", "provider", "region",
]  # fmt: skip

names = st.sampled_from(NAMES) | st.text(max_size=6) | st.text(st.characters(), max_size=4)


@st.composite
def _decimals(draw: st.DrawFn) -> Text:
    whole = draw(st.sampled_from(["0", "-0", "1", "-7", "123456789012345678901234567890"]))
    fraction = draw(
        st.sampled_from(["", ".0", ".5", ".10", ".1000000000000000055511151231257827", ".30000000000000004"])
    )
    fraction = fraction if draw(st.booleans()) else "." + draw(st.text("0123456789", min_size=1, max_size=40))
    exponent = draw(
        st.sampled_from(["", "", "e0", "E5", "e+16", "e-7", "e308", "e-308", "e-330", "e400", "E-400", "e9999"])
    )
    text = whole + fraction + exponent
    return Text(text if fraction or exponent else whole + ".0")


numbers = (
    st.integers().map(Text)
    | st.integers(-(2**70), 2**70).map(Text)
    | st.sampled_from(["-0", str(2**63), str(2**64), str(-(2**63) - 1), "9007199254740993", "1" * 400]).map(Text)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: Text(repr(number)))
    | _decimals()
)

_strings = (
    st.text(max_size=8)
    | st.text(st.characters(), max_size=4)
    | st.sampled_from(
        ["", "chat.completion", "chat.completion.chunk", "text_completion", "error", "stop", "😀", "\ud83d"]
    )
)

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | _strings,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(names, inner), max_size=3).map(Object),
    max_leaves=6,
)

OBJECTS = [
    "chat.completion",
    "chat.completion.chunk",
    "text_completion",
    "error",
    "",
    "text.completion",
    None,
    3,
    False,
]

layouts = st.builds(
    Layout,
    st.sampled_from(["compact", "compact", "spaced", "pretty", "odd"]),
    st.booleans(),
    st.integers(0, 2**16),
)


# -- edits ---------------------------------------------------------------------------------------------------


def _objects(tree: Any) -> list[Object]:
    found: list[Object] = []
    if isinstance(tree, Object):
        found.append(tree)
    inside = [item for _, item in tree.members] if isinstance(tree, Object) else tree if isinstance(tree, list) else []
    for item in inside:
        found += _objects(item)
    return found


def _lists(tree: Any) -> list[list[Any]]:
    found: list[list[Any]] = [tree] if isinstance(tree, list) else []
    inside = [item for _, item in tree.members] if isinstance(tree, Object) else tree if isinstance(tree, list) else []
    for item in inside:
        found += _lists(item)
    return found


def _pick(draw: st.DrawFn, items: list[Any]) -> Any:
    return items[draw(st.integers(0, len(items) - 1))]


def _edit(draw: st.DrawFn, tree: Object) -> None:
    """Do one thing to a tree that a server might do."""
    edit = draw(
        st.sampled_from(["unknown", "replace", "null", "kind", "remove", "object", "twice", "shuffle", "element"])
    )
    if edit == "element":
        if lists := _lists(tree):
            chosen = _pick(draw, lists)
            chosen.insert(draw(st.integers(0, len(chosen))), draw(values))
        return
    chosen = tree if edit == "object" else _pick(draw, _objects(tree))
    members = chosen.members
    if edit == "unknown":
        members.insert(draw(st.integers(0, len(members))), (draw(names), draw(values)))
    elif edit == "object":
        members[:] = [member for member in members if member[0] != "object"]
        if draw(st.booleans()):
            members.insert(draw(st.integers(0, len(members))), ("object", draw(st.sampled_from(OBJECTS))))
    elif edit == "shuffle":
        random.Random(draw(st.integers(0, 999))).shuffle(members)
    elif members:
        position = draw(st.integers(0, len(members) - 1))
        name, value = members[position]
        if edit == "remove":
            del members[position]
        elif edit == "null":
            members[position] = (name, None)
        elif edit == "kind":
            members[position] = (name, copy.deepcopy(KINDS[draw(st.sampled_from(sorted(KINDS)))]))
        elif edit == "replace":
            members[position] = (name, draw(values))
        else:
            members.insert(draw(st.integers(0, len(members))), (name, draw(values) if draw(st.booleans()) else value))


def _thin(draw: st.DrawFn, tree: Any) -> Any:
    """A copy of a tree with about the share of optional members that servers send."""
    keep = random.Random(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.15, 0.5, 0.9, 1.0]))

    def thin(item: Any) -> Any:
        if isinstance(item, Object):
            always = {"object", "choices", "message", "delta", "text", "index", "error", "id", "created", "model"}
            return Object(
                [(name, thin(part)) for name, part in item.members if name in always or keep.random() < share]
            )
        return [thin(part) for part in item] if isinstance(item, list) else item

    return thin(tree)


@st.composite
def trees(draw: st.DrawFn, root: type[msgspec.Struct] | None = None, most_edits: int = 6) -> Object:
    """The tree of a body of a root (default: of any)."""
    chosen = root or draw(st.sampled_from(ROOTS))
    tree = _thin(draw, complete(chosen))
    if chosen is fc.ErrorResponse and draw(st.booleans()):
        tree = Object([("error", draw(st.sampled_from(["text", complete(fc.ErrorObject)])))])
    for _ in range(draw(st.integers(0, most_edits))):
        _edit(draw, tree)
    return typing.cast("Object", tree)


def spellings(tree: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Trees as JSON in UTF-8."""
    return st.builds(lambda item, layout: render(item, layout).encode(), tree, layouts)


def bodies(root: type[msgspec.Struct] | None = None, most_edits: int = 6) -> st.SearchStrategy[bytes]:
    """Valid JSON in UTF-8: bodies of a root (default: of any), edited."""
    return spellings(trees(root, most_edits))


json_texts: st.SearchStrategy[bytes] = spellings(values)


# -- bytes ---------------------------------------------------------------------------------------------------

_FRAGMENTS = [
    b"", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"NaN", b"-Infinity", b"0", b"-", b"1e999", b"\\u",
    b"\\ud83d", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\n", b" ",
    b"/* */", b"'", b'"object":"error"', b'"choices":null,', b"9" * 5000, b"[" * 3000,
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, sources: st.SearchStrategy[bytes]) -> bytes:
    """Bodies after damage: bytes inserted, removed, replaced, pieces repeated or moved."""
    body = draw(sources)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.sampled_from([0, 0, 1, 1, 2, 7, 40])))
        put = draw(st.sampled_from(_FRAGMENTS) | st.binary(max_size=4) | st.just(body[end : end + 30]))
        body = body[:start] + put + body[end:]
    return body


def any_bodies(known: list[bytes]) -> st.SearchStrategy[bytes]:
    """Any bytes: random ones, JSON of any kind, bodies, and known bodies after damage."""
    return st.binary(max_size=40) | json_texts | mutated(bodies(most_edits=2) | st.sampled_from(known))

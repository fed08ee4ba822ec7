"""`fastcompletion.vllm` against the JSON schema that Ray Serve LLM publishes for its response.

Three comparisons, each with a table of the differences we know and accept; a table fails when a difference is missing
from it, and when one of its entries no longer occurs:

* statement by statement, with the schema msgspec derives from the Structs;
* verdict by verdict, with a pydantic model built from the published schema, over documents generated from that schema
  and over broken ones;
* value by value, where both accept: what is decoded must be the same, defaults included.
"""

import copy
import json
import math
import random
import re
import time
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard

import msgspec
import pydantic
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fastcompletion import vllm

Schema: TypeAlias = dict[str, Any]

SEED: Schema = json.loads(
    Path(__file__).with_name("vectors").joinpath("seeds", "ray-serve-chat-completion.schema.json").read_bytes()
)
ROOT = "ChatCompletionResponse"

ABSENT = "(absent)"


def is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


# Statement by statement


def canonical(said: Schema) -> str:
    return json.dumps(said, sort_keys=True)


def normalise(schema: Any) -> Any:
    """Rewrite a schema so that what pydantic and msgspec merely spell differently becomes the same.

    - `title` and `description` are prose.
    - pydantic writes a literal as `const` and `type`, msgspec as an `enum` of one.
    - The alternatives of `anyOf` have no order in JSON schema.
    """
    if is_array(schema):
        return [normalise(item) for item in schema]
    if not is_object(schema):
        return schema
    if "const" in schema:
        rest = {key: value for key, value in schema.items() if key not in {"const", "type"}}
        return normalise({**rest, "enum": [schema["const"]]})
    result: Schema = {
        # Below "properties" the names are members of the document, which may well be called "title".
        key: {name: normalise(member) for name, member in value.items()} if key == "properties" else normalise(value)
        for key, value in schema.items()
        if key not in {"title", "description"}
    }
    if "anyOf" in result:
        result["anyOf"].sort(key=canonical)
    return result


def definitions(schema: Schema) -> dict[str, Schema]:
    """The normalised definition of every object, by name; the outermost one may be inline or a reference."""
    found: dict[str, Schema] = {name: normalise(body) for name, body in schema["$defs"].items()}
    if "$ref" not in schema:
        found[schema["title"]] = normalise({key: value for key, value in schema.items() if key != "$defs"})
    return found


def statements(schema: Schema) -> dict[str, Any]:
    """Everything a schema says, as (place, statement) pairs that can be compared one by one."""
    found: dict[str, Any] = {}
    for name, body in definitions(schema).items():
        found[name] = {key: value for key, value in body.items() if key not in {"properties", "required"}}
        found[f"{name}, members in order"] = list(body["properties"])
        for member, said in body["properties"].items():
            place = f"{name}.{member}"
            found[place] = {key: value for key, value in said.items() if key != "default"}
            found[f"{place}, required"] = member in body.get("required", [])
            found[f"{place}, default"] = said.get("default", ABSENT)
    return found


class SchemaDifference(NamedTuple):
    published: Any
    ours: Any
    reason: str


FACTORY = "pydantic writes no default that a factory makes; msgspec writes the empty list of default_factory=list"

SCHEMA_DIFFERENCES = {
    "ChatCompletionLogProbsContent.top_logprobs, default": SchemaDifference(ABSENT, [], FACTORY),
    "ChatMessage.tool_calls, default": SchemaDifference(ABSENT, [], FACTORY),
}


def test_every_statement_of_the_schema() -> None:
    published = statements(SEED)
    ours = statements(msgspec.json.schema(vllm.ChatCompletionResponse))
    assert len(published) > 100, "the comparison lost its subject"
    different = {
        place: (published.get(place, ABSENT), ours.get(place, ABSENT))
        for place in published | ours
        if published.get(place, ABSENT) != ours.get(place, ABSENT)
    }
    assert different == {place: (entry.published, entry.ours) for place, entry in SCHEMA_DIFFERENCES.items()}


def test_map_keys_which_no_schema_can_state() -> None:
    hints = typing.get_type_hints(vllm.ChatCompletionResponse)
    assert hints["prompt_logprobs"] == list[dict[int, vllm.Logprob] | None] | None


def test_every_definition_is_exported() -> None:
    assert sorted(vllm.__all__) == sorted(definitions(SEED))


# A pydantic model of the same schema

# What a factory makes is not in the schema. These stand for it, so that a comparison of values can tell them.
GENERATED: dict[str, Any] = {"string": "(generated)", "integer": -987654321}


def pydantic_model(schema: Schema, name: str) -> type[pydantic.BaseModel]:
    """Build the pydantic model of a published schema, in pydantic's default (lax) mode, as servers run it."""
    models: dict[str, type[pydantic.BaseModel]] = {}

    def annotation(said: Schema) -> Any:
        if "$ref" in said:
            return model(said["$ref"].rpartition("/")[2])
        if "anyOf" in said:
            union = annotation(said["anyOf"][0])
            for alternative in said["anyOf"][1:]:
                union |= annotation(alternative)
            return union
        if "const" in said:
            return Literal[said["const"]]
        if said["type"] == "array":
            return list[annotation(said["items"])]  # type: ignore[misc]
        if said["type"] == "object":
            # A schema has no word for the type of a map's keys; the page says Dict[int, Logprob] beside it.
            return dict[int, annotation(said["additionalProperties"])]  # type: ignore[misc]
        return {"string": str, "integer": int, "number": float, "null": type(None)}[said["type"]]

    def default(member: str, said: Schema, required: list[str]) -> Any:
        if member in required:
            return pydantic.Field()
        if "default" in said:
            return pydantic.Field(default=said["default"])
        if said["type"] == "array":
            return pydantic.Field(default_factory=list)
        return pydantic.Field(default_factory=lambda: GENERATED[said["type"]])

    def model(name: str) -> type[pydantic.BaseModel]:
        if name not in models:
            body = schema if name == schema["title"] else schema["$defs"][name]
            fields: dict[str, Any] = {
                member: (annotation(said), default(member, said, body.get("required", [])))
                for member, said in body["properties"].items()
            }
            models[name] = pydantic.create_model(name, **fields)
        return models[name]

    return model(name)


MODEL = pydantic_model(SEED, ROOT)


def test_the_pydantic_model_says_what_the_schema_says() -> None:
    assert statements(MODEL.model_json_schema()) == statements(SEED)


# Verdicts


class Verdict(NamedTuple):
    value: Any
    refusal: str | None


DECODER = msgspec.json.Decoder(vllm.ChatCompletionResponse)


def ours(body: bytes) -> Verdict:
    try:
        return Verdict(msgspec.to_builtins(DECODER.decode(body)), None)
    except msgspec.DecodeError as error:
        return Verdict(None, str(error))


def theirs(body: bytes) -> Verdict:
    try:
        return Verdict(MODEL.model_validate_json(body).model_dump(), None)
    except pydantic.ValidationError as error:
        return Verdict(None, str(error))


def same(mine: Any, other: Any) -> bool:
    """Whether two decoded values agree; a generated one agrees with any other of its type."""
    if is_object(mine) and is_object(other):
        return mine.keys() == other.keys() and all(same(value, other[key]) for key, value in mine.items())
    if is_array(mine) and is_array(other):
        return len(mine) == len(other) and all(map(same, mine, other))
    return type(mine) is type(other) and (mine == other or other in GENERATED.values())


# Valid documents, from the schema

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def valid(said: Schema) -> st.SearchStrategy[Any]:
    """Documents that a schema allows; more often full ones than chance would give, so that the depths are visited."""
    if "$ref" in said:
        return valid(SEED["$defs"][said["$ref"].rpartition("/")[2]])
    if "anyOf" in said:
        present = [valid(alternative) for alternative in said["anyOf"] if alternative != {"type": "null"}]
        return st.one_of([*present, *present, st.none()])
    if "const" in said:
        return st.just(said["const"])
    if said["type"] == "array":
        items = valid(said["items"])
        return st.lists(items, min_size=1, max_size=2) | st.lists(items, max_size=1)
    if "additionalProperties" in said:
        return st.dictionaries(st.integers().map(str), valid(said["additionalProperties"]), max_size=2)
    if said["type"] == "object":
        members = {member: valid(body) for member, body in said["properties"].items()}
        required = {member: strategy for member, strategy in members.items() if member in said.get("required", [])}
        optional = {member: strategy for member, strategy in members.items() if member not in required}
        return st.fixed_dictionaries(members) | st.fixed_dictionaries(required, optional=optional)
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": TEXT,
        "integer": st.integers(),
        "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        "null": st.none(),
    }
    return simple[said["type"]]


# Changed documents


@dataclass(frozen=True)
class Verbatim:
    """JSON text (or what poses as such) in place of a value."""

    text: bytes


def write(value: Any) -> bytes:
    if isinstance(value, Verbatim):
        return value.text
    if is_object(value):
        return b"{" + b",".join(write(name) + b":" + write(member) for name, member in value.items()) + b"}"
    if is_array(value):
        return b"[" + b",".join(map(write, value)) + b"]"
    return json.dumps(value).encode()


@dataclass(frozen=True)
class Site:
    """A value within a document, and what the schema says about it."""

    path: str  # as msgspec writes it in its errors
    holder: Any
    key: Any
    said: Schema

    @property
    def value(self) -> Any:
        return self.holder[self.key]

    @property
    def accepts(self) -> set[str]:
        return {said.get("type", "object") for said in self.said.get("anyOf", [self.said])}

    @property
    def branch(self) -> Schema:
        """The alternative of the schema that a list or an object at this place follows."""
        kind = "array" if is_array(self.value) else "object"
        for said in self.said.get("anyOf", [self.said]):
            target: Schema = SEED["$defs"][said["$ref"].rpartition("/")[2]] if "$ref" in said else said
            if target["type"] == kind:
                return target
        raise AssertionError(self.path)

    @property
    def is_struct(self) -> bool:
        return is_object(self.value) and "properties" in self.branch

    @property
    def is_map(self) -> bool:
        return is_object(self.value) and not self.is_struct

    def inside(self) -> Iterator["Site"]:
        yield self
        value = self.value
        if is_array(value):
            for index in range(len(value)):
                yield from Site(f"{self.path}[{index}]", value, index, self.branch["items"]).inside()
        elif is_object(value):
            for name in value:
                if self.is_map:
                    yield from Site(f"{self.path}[...]", value, name, self.branch["additionalProperties"]).inside()
                else:
                    yield from Site(f"{self.path}.{name}", value, name, self.branch["properties"][name]).inside()


def sites(document: Any) -> list[Site]:
    root = {key: value for key, value in SEED.items() if key != "$defs"}
    return list(Site("$", [document], 0, root).inside())


class Mutation(NamedTuple):
    kind: str
    path: str
    accepts: set[str]
    name: str
    text: bytes
    body: bytes


# What is done to a document. A mutation need not break it: the two must agree on what they accept, too.
#   replace    the value at the site becomes `text`
#   drop       member `name` of the object at the site is taken out
#   add        member `name`, which the schema lacks, comes into the object, with the value `text`
#   key        the map at the site gets an entry under the key `name`
#   repeat     member `name` of the object comes twice, first with the value `text`, then with its own
#   reorder    the members of the object at the site come in reverse
#   cut        the body ends early, in the middle
#   surround   `text` comes before and after the body
KINDS = ["replace", "drop", "add", "key", "repeat", "reorder", "cut", "surround"]


def mutate(document: Any, kind: str, where: int, name: str = "", text: bytes = b"") -> Mutation:
    changed = sites(copy.deepcopy(document))
    site, root = changed[where], changed[0]
    path = site.path
    if kind == "replace":
        site.holder[site.key] = Verbatim(text)
    elif kind == "drop":
        del site.value[name]
    elif kind == "add":
        site.value[name] = Verbatim(text)
    elif kind == "key":
        site.value[name] = {"logprob": -1.0}
    elif kind == "repeat":
        path = f"{path}.{name}"
        twice = b"{" + write(name) + b":" + text + b"," + write(site.value)[1:]
        site.holder[site.key] = Verbatim(twice)
    elif kind == "reorder":
        site.holder[site.key] = dict(reversed(list(site.value.items())))
    body = write(root.value)
    if kind == "cut":
        body = body[: len(body) // 2]
    elif kind == "surround":
        body = text + body + text
    return Mutation(kind, path, site.accepts, name, text, body)


DEEP = b"[" * 300 + b"]" * 300
DIGITS = b"1" * 5000
NOT_UTF8 = b'"\xff"'
NOT_JSON = [b"NaN", b"Infinity", b"-Infinity"]

SAMPLES = [
    *(b"null", b"true", b"false", b"[]", b"[null]", b"[1]", b"{}", b'{"a":1}', b'{"token":"t"}'),
    *(b"0", b"-1", b"-0", b"9223372036854775808", b"1" + b"0" * 30, b"1" + b"0" * 400),
    *(b"1.0", b"-0.0", b"1.5", b"1e2", b"1E+18", b"1e30", b"1e400", b"-1e400", b"1e-400", b"01", b"1.", b"+1"),
    *(b'""', b'"x"', b'"chat.completion"', b'"function"', b'"stop"', b'"\\u0041"', b'"\\ud800"', b'"\\ud83d\\ude00"'),
    *(b'"1"', b'"1.0"', b'"1.5"', b'" 1 "', b'"1_0"', b'"1e2"', b'"nan"', b'"inf"', b'"0x1"', b'"\xd9\xa3"', b'"true"'),
]
# Only where nobody reads them: a value that is read and wrong in this way is refused by both.
UNREAD = [DEEP, DIGITS, NOT_UTF8]
AROUND = [b" \r\n\t", b"\x00", b"\x0c", b"\xef\xbb\xbf", b"}", b"0", b","]
NAMES = ["", "x", "Model", "id ", "reasoning", "refusal", "extra_\u00e9", "\ud800"]
KEYS = ["9906", "-1", "-0", "01", "+1", " 1", "1 ", "1.0", "1_0", "1e2", "", "a", "null", "9" * 30, "\u0663"]


def any_text(chance: random.Random) -> bytes:
    size = chance.randrange(1, 80)
    numbers = [
        chance.getrandbits(size),
        -chance.getrandbits(size),
        float(chance.getrandbits(size)),
        chance.gauss(0, size),
    ]
    return write(chance.choice(numbers)) if chance.random() < 0.2 else chance.choice(SAMPLES)


def any_mutation(document: Any, chance: random.Random) -> Mutation:
    """Draw a kind of mutation, a member to apply it to, an occurrence of that member, and what to put there."""
    found = sites(document)
    eligible: dict[str, Callable[[Site], bool]] = {
        "replace": lambda site: True,
        "drop": lambda site: site.is_struct and bool(site.value),
        "add": lambda site: site.is_struct,
        "key": lambda site: site.is_map,
        "repeat": lambda site: site.is_struct and bool(site.value),
        "reorder": lambda site: site.is_struct,
        "cut": lambda site: site.path == "$",
        "surround": lambda site: site.path == "$",
    }
    # "replace" again and again: it has most to vary.
    kind = chance.choice([*KINDS, *["replace"] * 6])
    places: dict[str, list[int]] = {}
    for index, site in enumerate(found):
        if eligible[kind](site):
            places.setdefault(re.sub(r"\[\d+\]", "[]", site.path), []).append(index)
    if not places:
        return mutate(document, "none", 0)
    where = chance.choice(places[chance.choice(list(places))])
    name, text = "", any_text(chance)
    if kind in {"drop", "repeat"}:
        name = chance.choice(list(found[where].value))
    elif kind == "key":
        name = chance.choice(KEYS)
    elif kind == "surround":
        text = chance.choice(AROUND)
    elif kind == "add":
        name = chance.choice(NAMES)
        text = chance.choice([text, text, *NOT_JSON, *UNREAD])
    elif kind == "replace":
        text = chance.choice([*[text] * 20, *NOT_JSON])
    return mutate(document, kind, where, name, text)


# Where the verdicts differ


@dataclass(frozen=True)
class Difference:
    """A mutation on which the two disagree, and why that is right."""

    reason: str
    refused_by: Literal["us", "pydantic"]
    refusal: str  # a regular expression; {path} is where the mutation was
    applies: Callable[[Mutation], bool]
    example: tuple[str, str, str, bytes]  # kind, path, name and text of a mutation of EXAMPLE


def number(text: bytes) -> float | None:
    """The number a JSON text or a pydantic-lax string stands for, if it does."""
    try:
        return float(text.decode().strip('"'))
    except ValueError:
        return None


def is_integral(text: bytes) -> bool:
    value = number(text)
    return value is not None and math.isfinite(value) and value == int(value)


def is_string(text: bytes) -> bool:
    return text.startswith(b'"')


EXAMPLE: Schema = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "reasoning_content": "hm",
                "content": None,
                "tool_calls": [
                    {"id": "chatcmpl-tool-1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                ],
            },
            "logprobs": {
                "content": [
                    {
                        "token": "a",
                        "logprob": -0.5,
                        "bytes": [97],
                        "top_logprobs": [{"token": "a", "logprob": -0.5, "bytes": [97]}],
                    }
                ]
            },
            "finish_reason": "tool_calls",
            "stop_reason": 151643,
        }
    ],
    "usage": {
        "prompt_tokens": 2,
        "total_tokens": 3,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 0},
    },
    "prompt_logprobs": [None, {"9906": {"logprob": -1.25, "rank": 1, "decoded_token": "Hello"}}],
}

RANK = "$.prompt_logprobs[1][...].rank"
LOGPROB = "$.prompt_logprobs[1][...].logprob"

DIFFERENCES = {
    "numeric string": Difference(
        reason="pydantic's lax mode reads a number out of a string; msgspec coerces nothing",
        refused_by="us",
        refusal=r"^Expected `(int|float)( \| null)?`, got `str` - at `{path}`$",
        applies=lambda m: (
            m.kind == "replace"
            and is_string(m.text)
            and "string" not in m.accepts
            and (
                ("number" in m.accepts and number(m.text) is not None)
                or ("integer" in m.accepts and is_integral(m.text))
            )
        ),
        example=("replace", "$.created", "", b'"1"'),
    ),
    "boolean": Difference(
        reason="pydantic's lax mode takes true for 1 and false for 0; msgspec coerces nothing",
        refused_by="us",
        refusal=r"^Expected `(int|float|int \| str)( \| null)?`, got `bool` - at `{path}`$",
        applies=lambda m: (
            m.kind == "replace" and m.text in {b"true", b"false"} and bool(m.accepts & {"integer", "number"})
        ),
        example=("replace", RANK, "", b"true"),
    ),
    "integral float": Difference(
        reason="pydantic's lax mode takes 1.0 for 1; to msgspec a number with a fraction or an exponent is no integer",
        refused_by="us",
        refusal=r"^Expected `(int|int \| str)( \| null)?`, got `float` - at `{path}`$",
        applies=lambda m: (
            m.kind == "replace" and "integer" in m.accepts and not is_string(m.text) and is_integral(m.text)
        ),
        example=("replace", "$.choices[0].stop_reason", "", b"1.0"),
    ),
    "number beyond a float": Difference(
        reason="pydantic reads a number too large for a float as infinity; msgspec refuses it",
        refused_by="us",
        refusal=r"^Number out of range - at `{path}`$",
        applies=lambda m: m.kind == "replace" and "number" in m.accepts and math.isinf(number(m.text) or 0.0),
        example=("replace", LOGPROB, "", b"1e400"),
    ),
    "NaN and infinity": Difference(
        reason="pydantic reads NaN, Infinity and -Infinity, which are not JSON; msgspec refuses the body",
        refused_by="us",
        refusal=r"^JSON is malformed: invalid (character|number) \(byte \d+\)$",
        applies=lambda m: m.text in NOT_JSON and (m.kind == "add" or (m.kind == "replace" and "number" in m.accepts)),
        example=("replace", "$.choices[0].logprobs.content[0].logprob", "", b"NaN"),
    ),
    "odd spelling of a token id": Difference(
        reason="pydantic's lax mode reads a map key as it reads a string; msgspec takes canonical integers only,"
        " so that no two keys of a map can mean the same token",
        refused_by="us",
        refusal=r"^Expected `int`, got `str` - at `key` in `{path}`$",
        applies=lambda m: m.kind == "key" and not re.fullmatch("-?(0|[1-9][0-9]*)", m.name),
        example=("key", "$.prompt_logprobs[1]", "01", b""),
    ),
    "repeated member": Difference(
        reason="both keep the last of two members of one name, but msgspec checks the first one, too",
        refused_by="us",
        refusal=r"at `{path}(\W.*)?`$",
        applies=lambda m: m.kind == "repeat",
        example=("repeat", "$", "model", b"1"),
    ),
    "not UTF-8 where nobody reads": Difference(
        reason="msgspec does not check the encoding inside a member it skips",
        refused_by="pydantic",
        refusal=r"Invalid JSON: invalid unicode code point",
        applies=lambda m: m.kind == "add" and m.text == NOT_UTF8,
        example=("add", "$.usage", "x", NOT_UTF8),
    ),
    "deep nesting where nobody reads": Difference(
        reason="pydantic's JSON parser stops at 200 levels; msgspec skips what is far deeper",
        refused_by="pydantic",
        refusal=r"Invalid JSON: recursion limit exceeded",
        applies=lambda m: m.kind == "add" and m.text == DEEP,
        example=("add", "$.choices[0]", "x", DEEP),
    ),
    "thousands of digits where nobody reads": Difference(
        reason="pydantic refuses integers of more than 4,300 digits everywhere; msgspec does not convert what it skips",
        refused_by="pydantic",
        refusal=r"Invalid JSON: number out of range",
        applies=lambda m: m.kind == "add" and m.text == DIGITS,
        example=("add", "$", "x", DIGITS),
    ),
}


def explain(mutation: Mutation) -> str | None:
    """The name of the known difference that a mutation shows; None if the two agree, in verdict and value."""
    we, they = ours(mutation.body), theirs(mutation.body)
    if we.refusal is None and they.refusal is None:
        assert same(we.value, they.value), (we.value, they.value)
        return None
    if we.refusal is not None and they.refusal is not None:
        return None
    refused_by, refusal = ("us", we.refusal) if we.refusal is not None else ("pydantic", they.refusal)
    names = [
        name
        for name, difference in DIFFERENCES.items()
        if difference.refused_by == refused_by
        and difference.applies(mutation)
        and re.search(difference.refusal.replace("{path}", re.escape(mutation.path)), refusal or "")
    ]
    assert len(names) == 1, f"{refused_by} alone: {refusal}; known as {names}"
    return names[0]


QUICK = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],  # documents are small as they are; making one smaller takes a minute
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_both_accept_what_the_schema_allows() -> None:
    seen: Counter[str] = Counter()

    @settings(QUICK, max_examples=200)
    @given(valid(SEED))
    def check(document: Any) -> None:
        body = write(document)
        assert ours(body).refusal is None
        assert theirs(body).refusal is None
        assert explain(Mutation("none", "$", set(), "", b"", body)) is None
        seen.update(site.path.rpartition(".")[2] for site in sites(document))

    check()
    members = {member for body in definitions(SEED).values() for member in body["properties"]}
    assert members <= seen.keys(), "some members were never generated"


def test_both_give_the_same_verdict() -> None:
    kinds: Counter[str] = Counter()
    explained: Counter[str | None] = Counter()

    @settings(QUICK, max_examples=300)
    @given(valid(SEED), st.integers(0, 2**32))
    def check(document: Any, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(20):
            mutation = any_mutation(document, chance)
            kinds[mutation.kind] += 1
            explained[explain(mutation)] += 1

    check()
    assert kinds.total() >= 500
    assert set(KINDS) <= kinds.keys(), "some mutations were never tried"
    assert explained[None] > kinds.total() / 2, "the table of differences explains too much"


@pytest.mark.parametrize("name", DIFFERENCES)
def test_every_known_difference_still_occurs(name: str) -> None:
    kind, path, member, text = DIFFERENCES[name].example
    where = [site.path for site in sites(EXAMPLE)].index(path)
    assert explain(mutate(EXAMPLE, kind, where, member, text)) == name


# Decoding and building, as a user does


def test_decode_and_encode() -> None:
    body = write(EXAMPLE)
    response = msgspec.json.decode(body, type=vllm.ChatCompletionResponse)
    assert response.prompt_logprobs == [None, {9906: vllm.Logprob(logprob=-1.25, rank=1, decoded_token="Hello")}]
    assert response.choices[0].message.tool_calls[0].function.arguments == "{}"
    assert msgspec.json.encode(response) == body, "members come in the order of the document"


def test_everything_that_is_not_required_has_a_default() -> None:
    before = int(time.time())
    response = vllm.ChatCompletionResponse(
        model="m",
        choices=[
            vllm.ChatCompletionResponseChoice(
                index=0,
                message=vllm.ChatMessage(
                    role="assistant",
                    tool_calls=[vllm.ToolCall(function=vllm.FunctionCall(name="f", arguments="{}"))],
                ),
                logprobs=vllm.ChatCompletionLogProbs(content=[vllm.ChatCompletionLogProbsContent(token="a")]),
            )
        ],
        usage=vllm.UsageInfo(),
    )
    assert re.fullmatch(r"chatcmpl-[0-9a-f]{32}", response.id)
    assert before <= response.created <= time.time()
    (call,) = response.choices[0].message.tool_calls
    assert re.fullmatch(r"chatcmpl-tool-[0-9a-f]{32}", call.id)
    expected: dict[str, Any] = {
        "id": response.id,
        "object": "chat.completion",
        "created": response.created,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "reasoning_content": None,
                    "content": None,
                    "tool_calls": [
                        {"id": call.id, "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    ],
                },
                "logprobs": {"content": [{"token": "a", "logprob": -9999.0, "bytes": None, "top_logprobs": []}]},
                "finish_reason": "stop",
                "stop_reason": None,
            }
        ],
        "usage": {"prompt_tokens": 0, "total_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": None},
        "prompt_logprobs": None,
    }
    body = msgspec.json.encode(response)
    assert json.loads(body) == expected
    assert theirs(body).refusal is None


def test_what_is_generated_or_mutable_is_not_shared() -> None:
    messages = [vllm.ChatMessage(role="assistant") for _ in range(2)]
    assert messages[0].tool_calls is not messages[1].tool_calls
    tokens = [vllm.ChatCompletionLogProbsContent(token="a") for _ in range(2)]
    assert tokens[0].top_logprobs is not tokens[1].top_logprobs
    responses = [vllm.ChatCompletionResponse(model="m", choices=[], usage=vllm.UsageInfo()) for _ in range(2)]
    assert responses[0].id != responses[1].id


@pytest.mark.parametrize("name", vllm.__all__)
def test_constructors_take_keywords_only(name: str) -> None:
    with pytest.raises(TypeError, match="positional"):
        getattr(vllm, name)("x")

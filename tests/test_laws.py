"""The laws of the codec, each one generic test over all vectors and over generated bodies.

Round trip: what is encoded means what was decoded. Closed errors: any bytes give a value or a `FastCompletionError`.
Prefix: what is cut off is `TruncatedError`. Learning: the order in which a codec meets bodies changes nothing.
"""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastcompletion as fc
from tests import oracle, strategies, vectors
from tests.budget import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

BODIES = vectors.bodies()
KNOWN = list(BODIES.values())
ROOTS: list[Any] = strategies.ROOTS


def assert_round_trip(codec: Any, body: bytes, type: Any = None) -> Any:
    """The law of the round trip for one body; returns what was decoded."""
    value = codec.decode(body, type)
    root = oracle.root_of(value) if type is None else type
    encoded = codec.encode(value)
    assert oracle.meaning(encoded, root) == oracle.meaning(body, root)
    again = codec.decode(encoded, type)
    assert again == value
    assert oracle.shape(again) == oracle.shape(value)
    return value


# -- round trip ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_round_trip_of_vectors(body: bytes) -> None:
    codec = fc.Codec()
    for _ in ("as it was", "as learnt"):
        assert_round_trip(codec, body)
    assert_round_trip(fc, body)


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
@pytest.mark.parametrize("space", ["compact", "spaced", "pretty", "odd"])
def test_round_trip_of_everything_in_the_schema(root: Any, space: str) -> None:
    tree = strategies.complete(root)
    body = strategies.render(tree, strategies.Layout(space, escapes=space == "odd", seed=1)).encode()
    codec = fc.Codec()
    value = assert_round_trip(codec, body)
    assert oracle.root_of(value) is root
    assert codec.deviations == []
    assert assert_round_trip(fc.Codec(strict=True), body, root) == value


PLACES = [(root, path, name) for root in ROOTS for path, name in strategies.places(strategies.complete(root))]


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
def test_round_trip_of_each_member_absent_null_and_of_every_kind(root: Any) -> None:
    tree = strategies.complete(root)
    found = list(strategies.places(tree))
    assert len(found) > 20
    for path, name in found:
        codec = fc.Codec()
        for value in (strategies.REMOVED, *strategies.KINDS.values()):
            body = strategies.render(strategies.edited(tree, path, name, value)).encode()
            with annotated(path, name, value):
                if is_recognised(body):
                    decoded = assert_round_trip(codec, body)
                    look_at(decoded)
                    assert decoded == assert_round_trip(codec, body)


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
def test_round_trip_of_an_unknown_member_at_every_level(root: Any) -> None:
    tree = strategies.complete(root)
    paths = list(dict.fromkeys(path for path, _ in strategies.places(tree)))
    assert len(paths) > 2
    names = [name for name in strategies.NAMES if name not in {known for _, known in strategies.places(tree)}]
    assert len(names) > 50
    for number, path in enumerate(paths):
        codec = fc.Codec()
        for name in names[number % 4 :: 4]:
            value = random.Random(ascii(name)).choice(list(strategies.KINDS.values()))
            body = strategies.render(strategies.edited(tree, path, name, value)).encode()
            with annotated(path, name, value):
                assert_round_trip(codec, body)
                assert_round_trip(codec, body)


def is_recognised(body: bytes) -> bool:
    """Whether `decode` can say what a body is, whatever it holds: `choices`, or a kind of error."""
    try:
        fc.Codec().decode(body)
    except fc.SchemaError as error:
        document = json.loads(body)
        assert error.path in ("$", "$.object")
        assert "choices" not in document
        assert not document.get("error")
        return False
    return True


class annotated:  # noqa: N801
    """Says in the failure which edit it was."""

    def __init__(self, *place: Any) -> None:
        self.place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise AssertionError(f"at {self.place!r}") from error


@examples(600)
@given(strategies.bodies())
def test_round_trip_of_generated_bodies(body: bytes) -> None:
    codec = fc.Codec()
    try:
        value = assert_round_trip(codec, body)
    except fc.SchemaError as error:
        assert error.path in ("$", "$.object")
        return
    assert assert_round_trip(codec, body) == value
    assert assert_round_trip(codec, bytearray(body).decode()) == value if b"\\ud8" not in body else True


@examples(200)
@given(st.lists(strategies.bodies(most_edits=3), min_size=1, max_size=4))
def test_round_trip_through_the_shared_codec(bodies: list[bytes]) -> None:
    for body in bodies:
        try:
            assert_round_trip(fc, body)
        except fc.SchemaError as error:
            assert error.path in ("$", "$.object")


@examples(100)
@given(st.sampled_from([fc.Usage, fc.Message, fc.Choice, fc.Delta, fc.ToolCall, fc.ChoiceLogprobs]), st.data())
def test_round_trip_of_parts(part: Any, data: st.DataObject) -> None:
    body = data.draw(strategies.bodies(part))
    codec = fc.Codec()
    try:
        value = assert_round_trip(codec, body, part)
    except fc.SchemaError:
        assert not set(json.loads(body)) & {name for name, _ in strategies.members_at(part)}
        return
    assert isinstance(value, part)
    assert assert_round_trip(codec, body, part) == value


@examples(100)
@given(strategies.trees(), strategies.layouts, strategies.layouts)
def test_spelling_does_not_matter(tree: strategies.Object, one: strategies.Layout, other: strategies.Layout) -> None:
    codec = fc.Codec()
    outcomes = [outcome(codec, strategies.render(tree, layout).encode()) for layout in (one, other)]
    assert outcomes[0] == outcomes[1]


# -- closed errors -------------------------------------------------------------------------------------------


class View(msgspec.Struct):
    """What a user might read of a body."""

    model: str = ""
    usage: dict[str, Any] | None = None


TYPES: list[Any] = [None, *ROOTS, fc.Usage, fc.Choice, fc.Logprob, View, fc.vllm.ChatCompletionResponse, dict]
CODECS = [fc.Codec(), fc.Codec(strict=True), fc.Codec(unknown="drop"), fc.Codec(allow_nan=True)]


def assert_closed(codec: fc.Codec, body: bytes, type: Any) -> None:
    """Any bytes are a value or a FastCompletionError; what was accepted can be encoded."""
    try:
        value = codec.decode(body, type)
    except fc.DecodeError as error:
        assert error.path.startswith("$")
        assert error.offset is None or 0 <= error.offset <= len(body)
        assert len(error.data) <= 60
        assert isinstance(error, fc.SchemaError | fc.MalformedError | fc.TruncatedError | fc.LimitError)
        return
    except fc.UpstreamError as error:
        assert isinstance(error.error, fc.ErrorResponse)
        return
    codec.decode(codec.encode(value), type)
    look_at(value)


def look_at(value: Any) -> None:
    """Whatever is of another kind than the schema has it, the helpers of the schema say something."""
    if isinstance(value, fc.ErrorResponse):
        info = value.info
        assert isinstance(info.message, str)
        assert isinstance(info.code, int | str | None)
    elif isinstance(value, fc.ChatCompletion):
        assert all(isinstance(count, int | None) for count in value.token_counts)
        for choice in value.choices if isinstance(value.choices, list) else ():
            if isinstance(choice, fc.Choice) and isinstance(choice.message, fc.Message):
                assert isinstance(choice.message.text, str)
                assert isinstance(choice.message.reasoning_text, str)
    elif isinstance(value, fc.ChatCompletionChunk):
        for piece in value.choices if isinstance(value.choices, list) else ():
            if isinstance(piece, fc.ChunkChoice) and isinstance(piece.delta, fc.Delta):
                assert isinstance(piece.delta.text, str)
                assert isinstance(piece.delta.reasoning_text, str)


@examples(700)
@given(strategies.any_bodies(KNOWN), st.sampled_from(TYPES), st.sampled_from(CODECS))
def test_any_bytes_are_a_value_or_our_error(body: bytes, type: Any, codec: fc.Codec) -> None:
    assert_closed(codec, body, type)


@pytest.mark.parametrize("vector", vectors.responses(), ids=lambda vector: vector.name)
def test_damaged_vectors_are_values_or_our_errors(vector: vectors.Response) -> None:
    dice = random.Random(vector.name)
    codec = fc.Codec()
    for _ in range(60):
        position = dice.randrange(len(vector.body))
        put = bytes(dice.choices(b'{}[],:"\\\x00\xff\x80019eE.-+nulltruefs ', k=dice.randrange(3)))
        body = vector.body[:position] + put + vector.body[position + dice.randrange(3) :]
        assert_closed(codec, body, dice.choice(TYPES))


# -- prefix --------------------------------------------------------------------------------------------------


def assert_truncated(codec: Any, body: bytes, lengths: Iterable[int]) -> None:
    for length in lengths:
        with pytest.raises(fc.TruncatedError) as caught:
            codec.decode(body[:length])
        assert caught.value.offset == length


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_every_prefix_of_a_vector_is_truncated(body: bytes) -> None:
    body = body.rstrip()
    codec = fc.Codec()
    codec.decode(body)
    near, step = 1500, 1 if len(body) < 4000 else 97
    lengths = {*range(min(near, len(body))), *range(0, len(body), step), *range(max(0, len(body) - near), len(body))}
    assert_truncated(codec, body, sorted(lengths))


@examples(150)
@given(strategies.bodies(most_edits=3), st.data())
def test_every_prefix_of_a_generated_body_is_truncated(body: bytes, data: st.DataObject) -> None:
    body = body.rstrip()
    lengths = data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=30))
    assert_truncated(data.draw(st.sampled_from([fc.Codec(), fc.Codec(strict=True), fc])), body, lengths)


# -- the order of learning -----------------------------------------------------------------------------------


def outcome(codec: Any, body: bytes, type: Any = None) -> Any:
    """What decoding gave, in a form that compares: a value, its types and its bytes' meaning, or the error."""
    try:
        value = codec.decode(body, type)
    except fc.DecodeError as error:
        return (error.__class__, error.path)
    except fc.UpstreamError as error:
        return (error.__class__, error.reason, error.error)
    root = oracle.root_of(value)
    return (root, value, oracle.shape(value), oracle.meaning(codec.encode(value), root), fc.deviations(value))


def assert_order_does_not_matter(bodies: list[bytes], codecs: list[fc.Codec]) -> None:
    expected = [outcome(fc.Codec(), body) for body in bodies]
    for codec in codecs:
        for round_ in ("learning", "learnt"):
            for body, fresh in zip(bodies, expected, strict=True):
                assert outcome(codec, body) == fresh, (round_, body)


def test_the_order_of_vectors_does_not_matter() -> None:
    bodies = list(KNOWN)
    for seed in range(3):
        random.Random(seed).shuffle(bodies)
        assert_order_does_not_matter(bodies, [fc.Codec()])


@examples(300)
@given(st.lists(strategies.bodies(most_edits=3) | st.sampled_from(KNOWN), min_size=2, max_size=6))
def test_the_order_of_generated_bodies_does_not_matter(bodies: list[bytes]) -> None:
    assert_order_does_not_matter(bodies, [fc.Codec()])
    assert_order_does_not_matter(bodies[::-1], [fc.Codec()])


@examples(100)
@given(strategies.trees(most_edits=0), st.data())
def test_variants_of_one_body_do_not_disturb_each_other(tree: strategies.Object, data: st.DataObject) -> None:
    """The same place, of many kinds, in one codec: what is learnt from one is what another is decoded with."""
    found = list(strategies.places(tree))
    chosen = data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=2))
    bodies = []
    for _ in range(data.draw(st.integers(2, 6))):
        twin = copy.deepcopy(tree)
        for path, name in chosen:
            value = data.draw(st.sampled_from([strategies.REMOVED, *strategies.KINDS.values()]))
            try:
                twin = strategies.edited(twin, path, name, value)
            except (TypeError, KeyError, IndexError, AttributeError):  # the first edit removed the second one's place
                continue
        bodies.append(strategies.render(twin).encode())
    assert_order_does_not_matter(bodies, [fc.Codec()])

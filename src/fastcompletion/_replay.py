"""A completion -> chunks: the inverse of the accumulator, for cached answers that are to be streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastcompletion._extra import Extensible, is_array
from fastcompletion._members import Members, assemble, members_of
from fastcompletion._schema import (
    AudioDelta,
    ChatCompletion,
    ChatCompletionChunk,
    ChoiceLogprobs,
    ChunkChoice,
    CustomToolDelta,
    Delta,
    FunctionCallDelta,
    ToolCallDelta,
)

__all__ = ["chunks"]

_SIZE = 64  # characters: about what a dozen tokens are
_TEXTS = ("reasoning", "reasoning_content", "content", "refusal")  # in the order in which models write them
_ENVELOPE = ("id", "created", "model", "system_fingerprint", "service_tier")


def chunks(completion: ChatCompletion, *, size: int | None = None) -> Iterator[ChatCompletionChunk]:
    """The chunks in which a server would have streamed a completion.

    Adding them to an `Accumulator` gives the completion back, as an accumulator gives it: what a stream
    cannot say takes its usual form. Absent content, refusal, logprobs, finish_reason and usage become null; other
    nulls, empty lists of tool calls, and the position of a tool call become absent; content in parts becomes text;
    "" beside tool calls becomes null. So for what an accumulator has made, the completion is the same.

    Args:
        completion: What `decode`, or an accumulator, returned.
        size: The characters of a piece of text. Default: one token a chunk, where log probabilities tell
            the tokens; else 64 characters.

    Returns:
        Chunks, made as they are asked for: of each choice its role, its texts in pieces, its tool calls and its
        finish reason; then, without choices, the usage and what else the completion has.

    Raises:
        ValueError: ``size`` is below 1.

    >>> import fastcompletion as fc
    >>> body = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}'
    >>> [chunk.choices[0].delta.content for chunk in fc.chunks(fc.decode(body, fc.ChatCompletion), size=3)]
    [UNSET, 'Hel', 'lo', UNSET]
    """
    if size is not None and size < 1:
        raise ValueError(f"size must be at least 1, not {size}")
    return _chunks(completion, size)


def _chunks(completion: ChatCompletion, size: int | None) -> Iterator[ChatCompletionChunk]:
    own = dict(members_of(completion))
    choices = own.pop("choices", None)
    own.pop("object", None)
    envelope = {name: own.pop(name) for name in _ENVELOPE if name in own}
    own = {name: value for name, value in own.items() if value is not None}
    is_empty = True
    for position, choice in enumerate(choices if is_array(choices) else ()):
        if isinstance(choice, Extensible):
            is_empty = False
            for one in _choices(choice, position, size):
                yield assemble(ChatCompletionChunk, {**envelope, "choices": [one]})
    if own or is_empty:
        yield assemble(ChatCompletionChunk, {**envelope, "choices": [], **own})


def _choices(choice: Any, position: int, size: int | None) -> Iterator[ChunkChoice]:
    """One choice in the order of a stream."""
    own = {name: value for name, value in members_of(choice) if value is not None}
    message = own.pop("message", None)
    own.pop("delta", None)  # of Perplexity, beside the message: the chunks have deltas of their own
    index = own.pop("index", position)
    logprobs, token_ids = own.pop("logprobs", None), own.pop("token_ids", None)

    def chunk(delta: Members, **others: Any) -> ChunkChoice:
        others = {name: value for name, value in others.items() if value is not None}
        return assemble(ChunkChoice, {"index": index, "delta": assemble(Delta, delta), "finish_reason": None} | others)

    said = dict(members_of(message)) if isinstance(message, Extensible) else {}
    texts = {name: said.pop(name) for name in _TEXTS if isinstance(said.get(name), str)}
    calls: list[Any] = said.pop("tool_calls") if is_array(said.get("tool_calls")) else []
    call = said.pop("function_call") if isinstance(said.get("function_call"), Extensible) else None
    if isinstance(audio := said.get("audio"), Extensible):
        said["audio"] = assemble(AudioDelta, dict(members_of(audio)))
    yield chunk({name: value for name, value in said.items() if value is not None})

    pieces = [(name, text) for name, whole in texts.items() for text in _pieces(whole, size or _SIZE)]
    tokens = _tokens(texts, logprobs) if size is None else None
    told: list[tuple[Any, Any]]
    if tokens is None:
        told = [(logprobs, token_ids)] + [(None, None)] * len(pieces)
    else:
        before = [piece for piece in pieces if piece[0] != "content"]
        pieces = before + [("content", token.token) for token in tokens]
        told = [(None, None)] * len(before)
        told += [(ChoiceLogprobs(content=[token], refusal=logprobs.refusal), None) for token in tokens]
        told[0] = (told[0][0], token_ids)
    if not pieces and (logprobs is not None or token_ids is not None):
        yield chunk({}, logprobs=logprobs, token_ids=token_ids)
    for (name, text), (probabilities, ids) in zip(pieces, told, strict=False):
        yield chunk({name: text}, logprobs=probabilities, token_ids=ids)

    if call is not None:
        yield chunk({"function_call": assemble(FunctionCallDelta, dict(members_of(call)))})
    for number, one in enumerate(calls):
        if isinstance(one, Extensible):
            for fragment in _fragments(one, number, size or _SIZE):
                yield chunk({"tool_calls": [fragment]})
    yield chunk({}, **own)


def _tokens(texts: Members, logprobs: Any) -> list[Any] | None:
    """The tokens of the content, where log probabilities have all of them."""
    if not isinstance(logprobs, ChoiceLogprobs) or logprobs.extra or logprobs.refusal:
        return None
    tokens = logprobs.content
    if not is_array(tokens) or not tokens or not all(isinstance(token, Extensible) for token in tokens):
        return None
    try:
        return tokens if "".join(token.token for token in tokens) == texts.get("content") else None
    except TypeError:
        return None


def _fragments(call: Any, number: int, size: int) -> Iterator[ToolCallDelta]:
    """A tool call: its head, then its arguments in pieces."""
    head = {name: value for name, value in members_of(call) if value is not None} | {"index": number}
    rest: list[Members] = []
    for kind, struct, text in (("function", FunctionCallDelta, "arguments"), ("custom", CustomToolDelta, "input")):
        if isinstance(inner := head.get(kind), Extensible):
            own = dict(members_of(inner))
            if isinstance(own.get(text), str):
                rest += [{kind: assemble(struct, {text: piece})} for piece in _pieces(own[text], size)]
                own[text] = ""
            head[kind] = assemble(struct, own)
    yield assemble(ToolCallDelta, head)
    for one in rest:
        yield assemble(ToolCallDelta, {"index": number, **one})


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]

"""Which type of body is it? Decided from the body alone, never from what a codec has learnt.

`classify` is the rule, on an untyped body. A compiled decoder mostly proves the answer by itself, since
`object` must be its literal; where it does not (`needs_confirming`), `outline` gives `classify` the few
members that decide, read from the decoded body.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from fastcompletion._dialect import Dialect
from fastcompletion._extra import Extensible, is_array, is_object
from fastcompletion._schema import (
    ROOTS,
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    ChunkChoice,
    Completion,
    CompletionChoice,
    ErrorResponse,
)

__all__ = ["classify", "is_error", "needs_confirming", "outline"]

_BY_CHOICE: dict[str, type[Extensible]] = {"message": ChatCompletion, "delta": ChatCompletionChunk, "text": Completion}
_MARKS_OF_ERRORS = ("error", "detail", "message", "base_resp")


def is_error(document: Any) -> bool:
    """Is this one of the error bodies that servers send (`ErrorResponse` lists them)?"""
    if not is_object(document):
        return False
    if document.get("error") or document.get("object") == "error":
        return True
    base = document.get("base_resp")
    if is_object(base) and base.get("status_code"):  # MiniMax, with HTTP 200
        return True
    # FastAPI's {"detail": ...}, and the flat {"message": ...} of Cerebras.
    return "choices" not in document and (
        "detail" in document or (isinstance(document.get("message"), str) and _tagged(document) is None)
    )


def classify(document: dict[str, Any]) -> type[Extensible] | None:
    """The class of a body, or None if it is neither a completion nor an error."""
    choices = document.get("choices")
    first = choices[0] if is_array(choices) and choices else None
    if first is None and is_error(document):
        return ErrorResponse  # with choices it is a completion that carries an error (OpenRouter)
    shapes = [root for member, root in _BY_CHOICE.items() if is_object(first) and member in first]
    tagged = _tagged(document)
    if tagged is not None:
        # One chat member overrules an `object` that says otherwise: TGI 2.0.0 called chats text_completion,
        # mlx-lm a chunk chat.completion. With two of them (Perplexity) `object` decides.
        return shapes[0] if len(shapes) == 1 and shapes[0] is not Completion else tagged
    if shapes:
        return shapes[0]
    if choices == []:  # Azure's prompt filter chunk, usage chunks
        return ChatCompletionChunk
    return ChatCompletion if "choices" in document else None


def _tagged(document: dict[str, Any]) -> type[Extensible] | None:
    tag = document.get("object")
    return ROOTS.get(tag) if isinstance(tag, str) else None


def needs_confirming(root: type[Extensible], dialect: Dialect) -> bool:
    """Has anything been learnt that lets a compiled ``root`` take a body that `classify` calls another?"""
    if any(name in _MARKS_OF_ERRORS for name in dialect.extras.get(root, ())):
        return True
    return any(
        dialect.has(choice, member, kind)
        for choice in (Choice, ChunkChoice, CompletionChoice)
        for member in _BY_CHOICE
        for kind in ("extra", "absent")
    )


def outline(result: Any) -> dict[str, Any]:
    """What `classify` reads of a body, from the decoded body."""
    extra = result.extra
    document: dict[str, Any] = {name: extra[name] for name in _MARKS_OF_ERRORS if name in extra}
    if result.object is not UNSET:
        document["object"] = result.object
    if result.choices is not UNSET:
        document["choices"] = (
            [_outline_of_choice(choice) for choice in result.choices[:1]]
            if is_array(result.choices)
            else result.choices
        )
    return document


def _outline_of_choice(choice: Any) -> Any:
    if not isinstance(choice, Extensible):
        return choice
    extra = choice.extra
    return {member: ... for member in _BY_CHOICE if getattr(choice, member, UNSET) is not UNSET or member in extra}

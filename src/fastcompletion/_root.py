"""Which type of body is it? Decided from the body alone, never from what a codec has learnt.

`classify` is the rule, on an untyped body. A compiled decoder mostly proves the answer by itself, since
`object` must be its literal; where it does not (`needs_confirming`), `confirm` applies the rule to the
decoded body: by one look at the first choice where that settles it, on an outline of the body otherwise.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from fastcompletion._dialect import Dialect, members, once
from fastcompletion._extra import Extensible, is_array, is_object
from fastcompletion._schema import (
    ROOTS,
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    ChunkChoice,
    Completion,
    CompletionChoice,
    ErrorObject,
    ErrorResponse,
)

__all__ = ["classify", "confirm", "is_error", "marks_of", "needs_confirming"]

_BY_CHOICE: dict[str, type[Extensible]] = {"message": ChatCompletion, "delta": ChatCompletionChunk, "text": Completion}
_BY_CHOICE_CLASS: dict[type[Extensible], tuple[str, type[Extensible], tuple[str, str]]] = {
    Choice: ("message", ChatCompletion, ("delta", "text")),
    ChunkChoice: ("delta", ChatCompletionChunk, ("message", "text")),
    CompletionChoice: ("text", Completion, ("message", "delta")),
}
_MARKS_OF_ERRORS = ("error", "detail", "message", "base_resp")


@once
def marks_of(struct: type[Any]) -> tuple[str, ...]:
    """The names that the schema lacks and that `classify` reads: kept also where other unknown members are dropped."""
    names: tuple[str, ...] = ()
    if issubclass(struct, (ChatCompletion, ChatCompletionChunk, Completion)):
        names = (*_MARKS_OF_ERRORS, "x_groq")
    elif issubclass(struct, (Choice, ChunkChoice, CompletionChoice)):
        names = tuple(_BY_CHOICE)
    elif issubclass(struct, ErrorResponse):
        names = ("choices",)
    return tuple(name for name in names if name not in members(struct))


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
    if issubclass(root, ErrorResponse) or any(name in _MARKS_OF_ERRORS for name in dialect.extras.get(root, ())):
        return True
    return any(
        dialect.has(choice, member, kind)
        for choice in (Choice, ChunkChoice, CompletionChoice)
        for member in _BY_CHOICE
        for kind in ("extra", "absent")
    )


def confirm(result: Any) -> type[Extensible] | None:
    """What `classify` says of the body that was decoded to ``result``."""
    if isinstance(result, ErrorResponse):
        # The cases that can be told without the choices; what is left takes the hard way.
        error = result.error
        told = error.message or error.code if isinstance(error, ErrorObject) else error or result.object == "error"
        return ErrorResponse if told and "choices" not in result.extra else None
    choices = result.choices
    first = choices[0] if is_array(choices) and choices else None
    if isinstance(first, Extensible) and (known := _BY_CHOICE_CLASS.get(first.__schema__)):
        own, root, others = known
        learnt = first.__learnt__
        contradicted = any(name in learnt and getattr(first, learnt[name]) is not UNSET for name in others)
        tag = result.object
        if (
            getattr(first, own) is not UNSET
            and not contradicted
            and (not isinstance(tag, str) or ROOTS.get(tag, root) is root)
        ):
            return root  # it has choices, so that no mark of an error counts
    return classify(_outline(result))


def _outline(result: Any) -> dict[str, Any]:
    """The members that `classify` reads, from the decoded body."""
    extra = result.extra
    document: dict[str, Any] = {name: extra[name] for name in _MARKS_OF_ERRORS if name in extra}
    if result.object is not UNSET:
        document["object"] = result.object
    choices = result.choices
    if is_array(choices):
        document["choices"] = [_outline_of_choice(choice) for choice in choices[:1]]
    elif choices is not UNSET:
        document["choices"] = choices
    return document


def _outline_of_choice(choice: Any) -> Any:
    if not isinstance(choice, Extensible):
        return choice
    extra = choice.extra
    return {member: ... for member in _BY_CHOICE if getattr(choice, member, UNSET) is not UNSET or member in extra}

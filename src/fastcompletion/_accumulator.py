"""Chunks -> the completion that a call without streaming would have given.

The rules (what is joined, what replaces, what is dropped) are those that hold over the streams of some thirty
servers; each rule that is not obvious names who needs it.
"""

from __future__ import annotations

import binascii
import copy
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from msgspec import UNSET, Raw, Struct

from fastcompletion._codec import Codec
from fastcompletion._errors import LimitError, TruncatedError, UpstreamError
from fastcompletion._extra import Extensible, is_array, is_object
from fastcompletion._members import (
    Members,
    assemble,
    changes,
    elements,
    fit,
    joined,
    members_in,
    members_of,
    merge,
    none_if_null,
    plain,
)
from fastcompletion._schema import (
    Audio,
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    ChoiceLogprobs,
    Completion,
    CompletionChoice,
    CompletionLogprobs,
    CustomTool,
    FunctionCall,
    FunctionCallDelta,
    Message,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from fastcompletion._sse import ServerSentEvent
from fastcompletion._stream import StreamError, StreamItem

__all__ = ["Accumulator", "Anomaly"]

S = TypeVar("S", bound=Struct)
encode = Codec(allow_nan=True).encode  # of what came so

_MAX_ANOMALIES = 100
_MAX_ERRORS = 1000
_TEXTS = ("content", "refusal", "reasoning", "reasoning_content")
_QUIET = frozenset({"role", "content", "reasoning", "reasoning_content", "tool_calls"})  # that `add_text` can add
_LISTS = frozenset({"annotations", "images", "executed_tools"})  # whose fragments follow one another


class Anomaly(Struct, frozen=True):
    """Something that a well-behaved server does not do, and what the accumulator made of it.

    Args:
        kind: ``id_changed``, ``role_changed``, ``finish_reason_changed``, ``content_after_finish``,
            ``tool_index_reused`` (two calls under one index, told apart by id and name), ``tool_call_repeated``
            (one id under several indexes, kept as several calls), ``tool_name_after_arguments`` (ignored) or
            ``choice_index_missing`` (its position was taken).
        path: Where in the completion, as ``$.choices[0].message``.
        detail: What came.

    >>> import fastcompletion as fc
    >>> fc.Anomaly("id_changed", "$.id", "b after a").kind
    'id_changed'
    """

    kind: str
    path: str
    detail: str


class Accumulator:
    """Adds up the chunks of one streamed response.

    What a stream does not say is not made up: a finish reason that did not come is None. As in any chat completion
    there is a usage, a choice has finish_reason and logprobs, and a message role, content and refusal: null where
    nothing came. All else is there if it came.

    Args:
        max_choices: How many choices a response may have. Default 128, as in the OpenAI reference.
        max_tool_calls: How many tool calls a choice may have. Default 128.

    >>> import fastcompletion as fc
    >>> total = fc.Accumulator()
    >>> for text in ("Hel", "lo"):
    ...     delta = fc.Delta(content=text)
    ...     choices = [fc.ChunkChoice(index=0, delta=delta)]
    ...     total.add(fc.ChatCompletionChunk(id="x", created=1, model="m", choices=choices))
    >>> total.completion().choices[0].message.content, total.complete
    ('Hello', False)
    """

    def __init__(self, *, max_choices: int = 128, max_tool_calls: int = 128) -> None:
        self._max_choices = max_choices
        self._max_tool_calls = max_tool_calls
        self._choices: dict[int, _ChoiceSoFar] = {}
        self._members: Members = {}  # of the top level: what is not joined
        self._usage: Any = None
        self._is_text: bool | None = None
        self._errors: list[StreamError] = []
        self._anomalies: list[Anomaly] = []
        # Not a bound method: the choices keep it, and a cycle would hold all that came until the collector runs.
        self._note = partial(_note, self._anomalies)
        # The hot path: a chunk is mostly the one before with another text. A copy of that one is given the new
        # one's text, and the two are compared in C. Adding the same members again would change nothing: 0.8 us a
        # chunk instead of 8.
        self._twin: Any = None
        # What was seen to change from chunk to chunk, as (attribute, name): looked at first, which halves the cost
        # where each chunk has a usage (vLLM) or another extra.
        self._varying: tuple[tuple[str, str], ...] = ()

    # -- what came -------------------------------------------------------------------------------------------

    def add(self, item: StreamItem) -> None:
        """Add an item of `StreamDecoder`: a chunk, a completion, or an error, which is remembered.

        A chunk that is refused has changed nothing.

        Raises:
            LimitError: the chunk has more choices, or tool calls, than the limits allow.

        >>> import fastcompletion as fc
        >>> total = fc.Accumulator(max_choices=1)
        >>> choices = [fc.ChunkChoice(index=index, delta=fc.Delta()) for index in (0, 1)]
        >>> try:
        ...     total.add(fc.ChatCompletionChunk(id="x", created=1, model="m", choices=choices))
        ... except fc.LimitError as error:
        ...     print(error.limit)
        max_choices
        """
        chunk: Any = item
        twin: Any = self._twin
        if chunk.__class__ is twin.__class__:
            choices = chunk.choices
            if choices.__class__ is list and len(choices) == 1:
                (choice,) = choices
                index: Any = getattr(choice, "index", None)
                state = self._choices.get(index) if index.__class__ is int else None
                if state is not None and state.add_text(choice):
                    twin.choices = choices
                    twin.obfuscation = chunk.obfuscation
                    if not _same(twin, chunk):
                        self._change(chunk)
                    return
        if isinstance(item, StreamError):
            if len(self._errors) < _MAX_ERRORS:
                self._errors.append(item)
        elif not isinstance(item, ServerSentEvent):
            self._add(item)

    def _change(self, chunk: Any) -> None:
        """Add what a chunk has beside its choices, and the last one had not."""
        twin = self._twin
        for attribute, name in self._varying:
            value = getattr(chunk, attribute)
            setattr(twin, attribute, value)
            if value is not UNSET:
                self._add_member(name, none_if_null(value))
        if _same(twin, chunk):
            return
        found = [*changes(twin, chunk)]
        for _, name, value in found:
            self._add_member(name, value)
        if chunk.added_ is UNSET:
            self._varying += tuple((attribute, name) for attribute, name, _ in found)
        self._twin = copy.copy(chunk)

    def _add(self, chunk: Any) -> None:
        choices = [
            (self._index_of(choice, position), choice)
            for position, choice in enumerate(chunk.choices if is_array(chunk.choices) else ())
            if isinstance(choice, Extensible)
        ]
        self._check(choices)
        if self._is_text is None:
            self._is_text = isinstance(chunk, Completion)
        for name, value in members_of(chunk):
            self._add_member(name, value)
        self._twin = copy.copy(chunk) if isinstance(chunk, ChatCompletionChunk) else None
        self._varying = ()
        for index, choice in choices:
            if (sent := getattr(choice, "index", None)) is not index:
                self._note("choice_index_missing", f"$.choices[{index}]", f"{sent!r}, taken for {index}")
            if index not in self._choices:
                self._choices[index] = _ChoiceSoFar(index, self._max_tool_calls, self._note)
            self._choices[index].add(choice)

    def _index_of(self, choice: Any, position: int) -> int:
        index = getattr(choice, "index", None)
        return index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else position

    def _check(self, choices: list[tuple[int, Any]]) -> None:
        """Refuse a chunk before anything of it is added."""
        if len({*self._choices, *(index for index, _ in choices)}) > self._max_choices:
            raise LimitError("Too many choices", limit="max_choices", path="$.choices")
        fragments: dict[int, list[Any]] = {}
        for index, choice in choices:
            fragments.setdefault(index, []).extend(_fragments_of(_holder_of(choice)))
        for index, new in fragments.items():
            calls = self._choices[index].calls if index in self._choices else _ToolCalls()
            if calls.number_with(new, self._max_tool_calls) > self._max_tool_calls:
                path = f"$.choices[{index}].message.tool_calls"
                raise LimitError("Too many tool calls", limit="max_tool_calls", path=path)

    def _add_member(self, name: str, value: Any) -> None:
        if name in ("choices", "object", "obfuscation", "error") or value is None:
            return
        if name == "usage":
            if not (self._usage and _is_zero(value)):  # Ollama repeats zeros on every chunk
                self._usage = value
        elif name in ("id", "created"):
            if not self._members.get(name):
                self._members[name] = value
            elif name == "id" and value and value != self._members[name]:
                self._note("id_changed", "$.id", f"{value!r} after {self._members[name]!r}")
        elif value or name not in ("model", "system_fingerprint", "service_tier"):  # "" means: not given
            merge(self._members, name, value)

    # -- what it comes to ------------------------------------------------------------------------------------

    @property
    def usage(self) -> Usage | None:
        """The usage that came last, or None: `usage` of a chunk, else of a choice (Moonshot), else `x_groq.usage`.

        It is never a sum: servers that send it on every chunk send totals.

        >>> import fastcompletion as fc
        >>> fc.Accumulator().usage
        """
        found: Usage | None = self._usage
        if found is None:
            found = next((choice.usage for choice in self._choices.values() if choice.usage is not None), None)
        if found is None and (groq := members_in(self._members.get("x_groq"))) and members_in(groq.get("usage")):
            found = fit(ChatCompletion, "usage", groq["usage"])
        return copy.deepcopy(found)

    @property
    def complete(self) -> bool:
        """Whether there is a choice, and every choice has its finish reason.

        >>> import fastcompletion as fc
        >>> fc.Accumulator().complete
        False
        """
        return bool(self._choices) and all(choice.finish_reason for choice in self._choices.values())

    @property
    def errors(self) -> list[StreamError]:
        """The errors among the items, in order, at most 1,000.

        >>> import fastcompletion as fc
        >>> fc.Accumulator().errors
        []
        """
        return [*self._errors]

    @property
    def anomalies(self) -> list[Anomaly]:
        """What the server did that a well-behaved one does not, in order; each once, at most 100.

        >>> import fastcompletion as fc
        >>> fc.Accumulator().anomalies
        []
        """
        return [*self._anomalies]

    @property
    def is_text(self) -> bool:
        """Whether the chunks are those of a legacy text completion: then `text_completion` has the result.

        >>> import fastcompletion as fc
        >>> fc.Accumulator().is_text
        False
        """
        return self._is_text is True

    def completion(self) -> ChatCompletion:
        """The chat completion as far as it has come; may be called at any time, again and again.

        Raises:
            UpstreamError: nothing but an error of the server has come.
            TruncatedError: nothing has come.
            TypeError: the stream is that of a text completion (see `text_completion`).

        >>> import fastcompletion as fc
        >>> total = fc.Accumulator()
        >>> total.add(fc.decode(b'{"choices": [{"index": 0, "delta": {"content": "Hi"}}]}'))
        >>> fc.encode(total.completion().choices[0].message)
        b'{"role":"assistant","content":"Hi","refusal":null}'
        """
        self._check_come()
        if self._is_text:
            raise TypeError("This is a stream of a text completion: text_completion() has the result")
        choices = [choice.chat() for _, choice in sorted(self._choices.items())]
        return self._built(ChatCompletion, choices)

    def text_completion(self) -> Completion:
        """The text completion as far as it has come, of a stream of the legacy endpoint.

        Raises:
            UpstreamError, TruncatedError: as `completion`.
            TypeError: the stream is that of a chat completion.

        >>> import fastcompletion as fc
        >>> total = fc.Accumulator()
        >>> total.add(fc.decode(b'{"object": "text_completion", "choices": [{"index": 0, "text": "Hi"}]}'))
        >>> total.text_completion().choices[0].text
        'Hi'
        """
        self._check_come()
        if not self._is_text:
            raise TypeError("This is a stream of a chat completion: completion() has the result")
        return self._built(Completion, [choice.text() for _, choice in sorted(self._choices.items())])

    def _check_come(self) -> None:
        if self._is_text is None:
            for error in self._errors:
                if error.response is not None:
                    raise UpstreamError(error.info.message, error.response, error.raw)
            raise TruncatedError("No chunk has come")

    def _built(self, struct: type[S], choices: list[Any]) -> S:
        own = {"id": "", "created": 0, "model": ""} | self._members
        return assemble(struct, {**own, "choices": choices, "usage": self.usage})


class _ChoiceSoFar:
    """One choice: its texts as lists of fragments, its tool calls, and the members that replace one another."""

    def __init__(self, index: int, max_calls: int, note: Callable[[str, str, str], None]) -> None:
        self.index = index
        self.max_calls = max_calls
        self.note = note
        self.finish_reason: Any = None
        self.usage: Any = None
        self.role = ""
        self.texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self.fragments: list[str] = []  # of a text completion
        self.calls = _ToolCalls()
        self.call: _Function | None = None  # the legacy function_call
        self.audio: Members = {}
        self.audio_data: list[str] = []
        self.audio_text: list[str] = []
        self.lists: dict[str, list[Any]] = {}
        self.details: list[Any] = []  # of reasoning_details
        self.details_by_key: dict[str, _Detail] = {}
        self.token_ids: list[Any] | None = None
        self.logprobs: Members | None = None
        self.odd_logprobs: Any = None
        # The class and the refusal (null or absent) of log probabilities whose content alone needs a look: that
        # halves the cost of a chunk.
        self.plain_logprobs: type[Any] | None = None
        self.plain_refusal: Any = None
        self.members: Members = {}
        self.message: Members = {}
        # For the hot path: copies of the last choice and delta that `add_text` may compare others with.
        self.twin: Any = None
        self.twin_delta: Any = None
        self.add_content = self.texts["content"].append

    def add_text(self, choice: Any) -> bool:
        """Add a choice whose delta has nothing but texts and calls of its own; False: nothing was added."""
        twin = self.twin
        if choice.__class__ is not twin.__class__:
            return False
        delta, twin_delta = choice.delta, self.twin_delta
        if delta.__class__ is not twin_delta.__class__:
            return False
        content, reasoning, reasoning_content = delta.content, delta.reasoning, delta.reasoning_content
        twin_delta.content = content
        if reasoning or reasoning_content:
            twin_delta.reasoning, twin_delta.reasoning_content = reasoning, reasoning_content
        if calls := delta.tool_calls:
            if calls.__class__ is not list or len(self.calls.all) + len(calls) > self.max_calls:
                return False
            twin_delta.tool_calls = calls
        if not _same(twin_delta, delta):
            return False
        if content.__class__ is not str and content is not None and content is not UNSET:
            return False  # a list of parts (Mistral)
        if self.finish_reason and (content or calls):
            self.note_content()
        twin.delta, twin.logprobs, twin.token_ids = delta, choice.logprobs, choice.token_ids
        if not _same(twin, choice):
            self.change(choice)
        if content or (content is not None and content is not UNSET and not self.texts["content"]):
            self.add_content(content)
        if reasoning or reasoning_content:
            self.add_delta_texts({"reasoning": reasoning, "reasoning_content": reasoning_content})
        if (logprobs := choice.logprobs) is not None and logprobs is not UNSET:
            self.add_logprobs(logprobs)
        if (token_ids := choice.token_ids) is not None and token_ids is not UNSET:
            self.add_token_ids(token_ids)
        if calls:
            for call in _fragments_of(delta):
                self.calls.add(call, self.note_call)
        return True

    def change(self, choice: Any) -> None:
        """Add what a choice has beside its delta, its log probabilities and its token ids, and the last one had not."""
        for _, name, value in changes(self.twin, choice):
            self.add_member(name, value)
        self.twin = copy.copy(choice)

    def add(self, choice: Any) -> None:
        holder = _holder_of(choice)
        if self.finish_reason and any(getattr(holder, name, None) for name in ("content", "tool_calls")):
            self.note_content()
        for name, value in members_of(choice):
            if name == "logprobs" and value is not None:
                self.add_logprobs(value)
            elif name == "token_ids" and value is not None:
                self.add_token_ids(value)
            else:
                self.add_member(name, value)
        if isinstance(holder, Extensible):
            self.add_delta(holder)
        self.prepare(choice)

    def note_content(self) -> None:
        self.note("content_after_finish", self.path, f"after {self.finish_reason!r}")

    def add_member(self, name: str, value: Any) -> None:
        if value is None or name in ("index", "delta", "message", "logprobs", "token_ids"):
            return
        if name == "finish_reason":
            if value and self.finish_reason and value != self.finish_reason:
                self.note("finish_reason_changed", self.path, f"{value!r} after {self.finish_reason!r}")
            self.finish_reason = value or self.finish_reason  # "": not yet (Ollama, SGLang 0.4, TGI)
        elif name == "usage":
            self.usage = value
        elif name == "text":
            if isinstance(value, str):  # and not an extra: Together repeats the delta's content there
                self.fragments.append(value)
        else:
            merge(self.members, name, value)

    @property
    def path(self) -> str:
        return f"$.choices[{self.index}]"

    def prepare(self, choice: Any) -> None:
        """Say which next choice `add_text` may take: whose delta differs from this one's in texts and calls alone."""
        self.twin = self.twin_delta = None
        delta = getattr(choice, "delta", None)
        if not isinstance(delta, Extensible) or delta.added_ is not UNSET or choice.added_ is not UNSET:
            return
        if any(value is not None for name, value in members_of(delta) if name not in _QUIET):
            return  # what is joined to what came before, such as annotations
        self.twin, self.twin_delta = copy.copy(choice), copy.copy(delta)

    def add_delta_texts(self, texts: Members) -> None:
        for name, text in texts.items():
            if isinstance(text, str):
                if text or not self.texts[name]:
                    self.texts[name].append(text)
            elif text is not None and text is not UNSET:
                merge(self.message, name, text)

    def add_delta(self, delta: Any) -> None:
        for name, value in members_of(delta):
            if value is None:
                continue
            if name == "role":
                if value and self.role and value != self.role:
                    self.note("role_changed", f"{self.path}.message.role", f"{value!r} after {self.role!r}")
                self.role = self.role or value
            elif name in self.texts and isinstance(value, str):
                self.add_delta_texts({name: value})
            elif name == "content" and is_array(value):
                for text_name, text in _texts_of_parts(value):
                    self.texts[text_name].append(text)
            elif name == "tool_calls" and is_array(value):
                for call in _fragments_of(delta):
                    self.calls.add(call, self.note_call)
            elif name == "function_call" and isinstance(value, Extensible):
                self.call = self.call or _Function()
                self.call.add(value, _ignore)
            elif name == "audio" and isinstance(value, Extensible):
                self.add_audio(value)
            elif name == "reasoning_details" and (details := elements(value)) is not None:
                for detail in details:
                    self.add_detail(detail)
            elif name in _LISTS and (items := elements(value)) is not None:
                self.lists.setdefault(name, []).extend(items)
            else:
                merge(self.message, name, value)

    def add_detail(self, new: Any) -> None:
        """OpenRouter: fragments of one detail share index and type; the signature comes late."""
        parts = members_in(new)
        if parts is None:
            self.details.append(new)
            return
        index = plain(parts.get("index"))
        key = repr((index, plain(parts.get("type"))))
        detail = None if index is None else self.details_by_key.get(key)
        if detail is None:
            detail = self.details_by_key[key] = _Detail()
            self.details.append(detail)
        detail.add(parts)

    def note_call(self, kind: str, detail: str) -> None:
        self.note(kind, f"{self.path}.message.tool_calls", detail)

    def add_logprobs(self, logprobs: Any) -> None:
        if not isinstance(logprobs, Extensible):
            self.odd_logprobs = logprobs  # of a kind that cannot be joined: the last one
            return
        fragment: Any = logprobs
        if self.logprobs is None:
            self.logprobs = {}
        content = getattr(fragment, "content", None)
        is_plain = fragment.__class__ is self.plain_logprobs and fragment.refusal is self.plain_refusal
        if is_plain and content.__class__ is list and fragment.added_ is UNSET:
            self.logprobs["content"] += content
            return
        for name, value in members_of(fragment):
            if not is_array(value):
                if value is not None or name not in self.logprobs:
                    merge(self.logprobs, name, value)
            elif is_array(known := self.logprobs.get(name)):
                known += value
            else:
                self.logprobs[name] = [*value]
        self.plain_refusal = getattr(fragment, "refusal", UNSET)
        quiet = self.plain_refusal is None or self.plain_refusal is UNSET
        is_plain = quiet and not fragment.__learnt__ and is_array(self.logprobs.get("content"))
        self.plain_logprobs = fragment.__class__ if is_plain else None

    def add_token_ids(self, ids: Any) -> None:
        if is_array(ids):
            if self.token_ids is None:
                self.token_ids = []
            self.token_ids += ids
        else:
            merge(self.members, "token_ids", ids)

    def add_audio(self, audio: Any) -> None:
        for name, value in members_of(audio):
            if name == "data" and isinstance(value, str):
                self.audio_data.append(value)
            elif name == "transcript" and isinstance(value, str):
                self.audio_text.append(value)
            elif name == "id":
                self.audio[name] = self.audio.get(name) or value
            elif value is not None:
                merge(self.audio, name, value)
        self.audio.setdefault("id", "")

    # -- the result ------------------------------------------------------------------------------------------

    def chat(self) -> Choice:
        message = {"role": self.role or "assistant", "content": None, "refusal": None, **self.message}
        for name, fragments in self.texts.items():
            if fragments:
                message[name] = _join(fragments)
        if self.calls.all:
            message["tool_calls"] = self.calls.built()
        if self.call:
            message["function_call"] = self.call.built(FunctionCall)
        if self.audio:
            audio: Members = {"expires_at": 0} | self.audio
            audio |= {"data": _join_base64(self.audio_data), "transcript": _join(self.audio_text)}
            message["audio"] = assemble(Audio, audio)
        message |= {name: joined(items) for name, items in self.lists.items()}
        if self.details:
            details = [detail.built() if isinstance(detail, _Detail) else detail for detail in self.details]
            message["reasoning_details"] = Raw(encode(details))
        if not message["content"] and (self.calls.all or self.call or message["refusal"]):
            message["content"] = None  # "" beside a call or a refusal is the first chunk's, and says nothing
        own = {"finish_reason": self.finish_reason, "logprobs": self.joined_logprobs(Choice)} | self.members
        return self.built(Choice, own | {"message": assemble(Message, message)})

    def text(self) -> CompletionChoice:
        own = {"finish_reason": self.finish_reason, "logprobs": self.joined_logprobs(CompletionChoice)} | self.members
        return self.built(CompletionChoice, own | {"text": _join(self.fragments)})

    def built(self, struct: type[S], own: Members) -> S:
        if self.token_ids is not None:
            own["token_ids"] = [*self.token_ids]
        return assemble(struct, {"index": self.index} | own)

    def joined_logprobs(self, struct: type[Any]) -> Any:
        if self.logprobs is None:
            return self.odd_logprobs
        own = {name: [*value] if is_array(value) else value for name, value in self.logprobs.items()}
        return assemble(ChoiceLogprobs if struct is Choice else CompletionLogprobs, own)


class _Detail:
    """One of the reasoning_details, in fragments."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.members: Members = {}

    def add(self, parts: Members) -> None:
        for name, value in parts.items():
            text = plain(value) if name in ("text", "summary", "data") else None
            if isinstance(text, str):
                self.texts.setdefault(name, []).append(text)
            elif none_if_null(self.members.get(name)) is None or (name == "signature" and none_if_null(value)):
                self.members[name] = value

    def built(self) -> Members:
        return self.members | {name: _join(fragments) for name, fragments in self.texts.items()}


class _ToolCalls:
    """The calls of one choice, and which fragment belongs to which."""

    def __init__(self) -> None:
        self.all: list[_Call] = []
        self.by_index: dict[int, _Call] = {}

    def add(self, fragment: Any, note: Callable[[str, str], None]) -> None:
        self.find(fragment, note).add(fragment, note)

    def number_with(self, fragments: list[Any], limit: int) -> int:
        """How many calls there would be with these fragments; no more than ``limit`` if surely no more."""
        if len(self.all) + len(fragments) <= limit:
            return limit
        outlines = {id(call): call.outline() for call in self.all}
        trial = _ToolCalls()
        trial.all = [*outlines.values()]
        trial.by_index = {index: outlines[id(call)] for index, call in self.by_index.items()}
        for fragment in fragments:
            trial.add(fragment, _ignore)
        return len(trial.all)

    def find(self, fragment: Any, note: Callable[[str, str], None]) -> _Call:
        index = _tool_index(getattr(fragment, "index", None))
        call_id = _str(getattr(fragment, "id", None))
        known = None if index is None else self.by_index.get(index)
        if known is not None and not call_id:  # mostly
            return known
        name = _name_of(fragment)
        if index is None:  # Gemini, old Ollama; -1 (Bedrock proxies)
            known = next((call for call in self.all if call_id and call.id == call_id), None)
            if known:
                return known
            return self.new(None) if name or not self.all else self.all[-1]
        if known is None:
            if call_id and any(call.id == call_id for call in self.all):  # LocalAI
                note("tool_call_repeated", f"{call_id!r} under index {index} too")
            return self.new(index)
        # vLLM and Ollama gave every call index 0. But LM Studio gives every fragment of one call a new id.
        if call_id and call_id != known.id and name and (name != known.name or known.is_whole()):
            note("tool_index_reused", f"{call_id!r} after {known.id!r} under index {index}")
            return self.new(index)
        return known

    def new(self, index: int | None) -> _Call:
        call = _Call(index)
        self.all.append(call)
        if index is not None:
            self.by_index[index] = call
        return call

    def built(self) -> list[ToolCall]:
        order = sorted(enumerate(self.all), key=lambda one: (one[1].index is None, one[1].index or 0, one[0]))
        return [call.built() for _, call in order]


class _Call:
    """One tool call, in fragments."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.type = ""
        self.functions: dict[str, _Function] = {}  # by "function" and "custom": mostly one of them
        self.members: Members = {}
        # As in `Accumulator`: copies of the last fragment and its function, to which the next are compared.
        self.twin: Any = None
        self.twin_function: Any = None

    @property
    def name(self) -> str:
        return next((function.name for function in self.functions.values() if function.name), "")

    def is_whole(self) -> bool:
        return any(function.is_whole() for function in self.functions.values())

    def outline(self) -> _Call:
        """A copy to try fragments on."""
        twin = copy.copy(self)
        twin.functions = {name: function.outline() for name, function in self.functions.items()}
        twin.members = {}
        return twin

    def add(self, fragment: Any, note: Callable[[str, str], None]) -> None:
        if not self.add_arguments(fragment):
            self.add_members(fragment, note)

    def add_arguments(self, fragment: Any) -> bool:
        """Add a fragment that has nothing but arguments of its own; False: nothing was added."""
        twin, twin_function = self.twin, self.twin_function
        if fragment.__class__ is not twin.__class__:
            return False
        function = fragment.function
        if function.__class__ is not twin_function.__class__:
            return False
        arguments = function.arguments
        twin.function, twin_function.arguments = function, arguments
        if arguments.__class__ is not str or not _same(twin_function, function) or not _same(twin, fragment):
            return False
        self.functions["function"].add_arguments(arguments)
        return True

    def add_members(self, fragment: Any, note: Callable[[str, str], None]) -> None:
        self.twin = self.twin_function = None
        function = getattr(fragment, "function", None)
        if isinstance(fragment, ToolCallDelta) and isinstance(function, FunctionCallDelta):
            # A piece of a name is joined each time.
            whole = not function.name or (
                "function" in self.functions and self.functions["function"].name == function.name
            )
            if whole and function.added_ is UNSET and fragment.added_ is UNSET and not fragment.custom:
                self.twin, self.twin_function = copy.copy(fragment), copy.copy(function)
        for name, value in members_of(fragment):
            if value is None or name == "index":
                continue
            if name == "id":
                self.id = self.id or _str(value)
            elif name == "type":
                self.type = self.type or _str(value)
            elif name in _FUNCTIONS and isinstance(value, Extensible):
                self.functions.setdefault(name, _Function()).add(value, note)
            else:
                merge(self.members, name, value)

    def built(self) -> ToolCall:
        kind = "custom" if "custom" in self.functions and "function" not in self.functions else "function"
        functions = {name: one.built(_FUNCTIONS[name]) for name, one in self.functions.items()}
        if not functions and not self.members.keys() & _FUNCTIONS.keys():
            functions = {kind: _Function().built(_FUNCTIONS[kind])}
        return assemble(ToolCall, {"id": self.id, "type": self.type or kind, **functions, **self.members})


_FUNCTIONS: dict[str, type[FunctionCall | CustomTool]] = {"function": FunctionCall, "custom": CustomTool}


class _Function:
    """The name and the arguments of a call, in fragments."""

    def __init__(self) -> None:
        self.name = ""
        self.arguments: list[str] = []
        self.members: Members = {}
        self.begun = False  # have any arguments come?
        self.end = _ObjectEnd()
        self.unread = 0  # the first of the arguments that `end` has not seen

    def add(self, function: Any, note: Callable[[str, str], None]) -> None:
        for name, value in members_of(function):
            if value is None:
                continue
            if name == "name":
                self.add_name(_str(value), note)
            elif name in ("arguments", "input"):
                # MiniMax: an object
                self.add_arguments(value if isinstance(value, str) else encode(value).decode())
            else:
                merge(self.members, name, value)

    def add_name(self, name: str, note: Callable[[str, str], None]) -> None:
        if not name or name == self.name:
            return
        if name.startswith(self.name):
            self.name = name
        elif not self.begun:
            self.name += name
        else:
            note("tool_name_after_arguments", repr(name))

    def add_arguments(self, text: str) -> None:
        self.arguments.append(text)
        self.begun = self.begun or text != ""

    def is_whole(self) -> bool:
        """Have the arguments come to their end? Asked for odd fragments only, so that others are not looked at."""
        for text in self.arguments[self.unread :]:
            self.end.add(text)
        self.unread = len(self.arguments)
        return self.end.is_reached

    def outline(self) -> _Function:
        """A copy without the texts, of which there may be many."""
        self.is_whole()
        twin = copy.copy(self)
        twin.end, twin.unread, twin.arguments, twin.members = copy.copy(self.end), 0, [], {}
        return twin

    def built(self, struct: type[S]) -> S:
        text = "input" if struct is CustomTool else "arguments"
        return assemble(struct, {"name": self.name, **self.members, text: _join(self.arguments)})


class _ObjectEnd:
    """Where JSON text in fragments closes the object or array that it begins with. Each fragment is read once."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = False
        self.is_escaped = False
        self.is_reached = False

    def add(self, text: str) -> None:
        for character in text:
            if self.is_escaped:
                self.is_escaped = False
            elif self.in_string:
                self.is_escaped = character == "\\"
                self.in_string = character != '"'
            elif character == '"':
                self.in_string = True
            elif character in "{[":
                self.depth += 1
            elif character in "}]":
                self.depth -= 1
                self.is_reached = self.is_reached or self.depth == 0


# -- parts of chunks -----------------------------------------------------------------------------------------


_same = Struct.__eq__  # member by member in C; the classes are the same


def _holder_of(choice: Any) -> Any:
    """What has the content: the delta, or the message of a choice that has no delta (a whole completion)."""
    delta = getattr(choice, "delta", None)
    if isinstance(delta, Extensible):
        return delta
    message = getattr(choice, "message", None)
    if message is None and "message" in choice.extra:
        message = fit(Choice, "message", Raw(choice.extra.raw("message")))
    return message


def _fragments_of(holder: Any) -> list[Any]:
    calls = getattr(holder, "tool_calls", None)
    return [call for call in calls if isinstance(call, Extensible)] if is_array(calls) else []


def _note(anomalies: list[Anomaly], kind: str, path: str, detail: str) -> None:
    anomaly = Anomaly(kind, path, detail[:200])
    if len(anomalies) < _MAX_ANOMALIES and anomaly not in anomalies:
        anomalies.append(anomaly)


def _ignore(kind: str, detail: str) -> None:
    """An anomaly of what is only tried, or has none."""


def _is_zero(usage: Any) -> bool:
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    return not any(count for count in counts if count is not UNSET)


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name_of(fragment: Any) -> str:
    for kind in ("function", "custom"):
        if name := _str(getattr(getattr(fragment, kind, None), "name", None)):
            return name
    return ""


def _tool_index(index: Any) -> int | None:
    if isinstance(index, str) and index.isascii() and index.isdigit() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else None


# -- joining ---------------------------------------------------------------------------------------------------


def _join(fragments: Iterable[str]) -> str:
    text = "".join(fragments)
    try:
        text.encode()
    except UnicodeEncodeError:  # the halves of a surrogate pair, in two fragments
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _join_base64(pieces: list[str]) -> str:
    """One base64 text; pieces that were encoded one by one have padding, which may stand at the end only."""
    if not any("=" in piece for piece in pieces[:-1]):
        return "".join(pieces)
    try:
        data = b"".join(binascii.a2b_base64(piece) for piece in pieces)
    except ValueError:
        return "".join(pieces)
    return binascii.b2a_base64(data, newline=False).decode()


def _texts_of_parts(parts: list[Any]) -> Iterator[tuple[str, str]]:
    """Mistral: content as a list of parts, of which those of thinking hold parts again."""
    for part in parts:
        if not is_object(part):
            continue
        if isinstance(text := part.get("text"), str):
            yield "content", text
        thinking = part.get("thinking")
        for inner in thinking if is_array(thinking) else [{"text": thinking}]:
            if is_object(inner) and isinstance(text := inner.get("text"), str):
                yield "reasoning_content", text

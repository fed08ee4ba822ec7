"""Strict Structs of the chat completion that vLLM and Ray Serve LLM answer with.

The document is the JSON schema that Ray publishes for
``ray.serve.llm.openai_api_models.ChatCompletionResponse``: the same class names,
members, order, defaults and required members. Two uses:

* strict decoding: ``msgspec.json.decode(body, type=vllm.ChatCompletionResponse)`` refuses a
  body that the document refuses, and says where;
* building responses in a server: every constructor takes keywords only, and every member that
  the document does not require may be left out.

Members that the document does not list are accepted and dropped, as the pydantic model does.
Nothing is coerced: ``"1"``, ``1.0`` and ``true`` are not integers here, though pydantic takes
them for one.

Encoding writes every member, the null ones included, in the order of the document. A NaN or
infinite ``logprob`` is encoded as null, which the document refuses: clamp it to `-9999.0` first,
as vLLM does.

>>> import msgspec
>>> from fastcompletion import vllm
>>> message = vllm.ChatMessage(role="assistant", content="Hello")
>>> response = vllm.ChatCompletionResponse(
...     id="chatcmpl-1",
...     created=1700000000,
...     model="m",
...     choices=[vllm.ChatCompletionResponseChoice(index=0, message=message)],
...     usage=vllm.UsageInfo(prompt_tokens=9, completion_tokens=1, total_tokens=10),
... )
>>> body = msgspec.json.encode(response)
>>> msgspec.json.decode(body, type=vllm.ChatCompletionResponse) == response
True
"""

# Sources: the JSON schema and the `field` lines of the Ray Serve LLM API reference, page
# "ray.serve.llm.openai_api_models.ChatCompletionResponse" (the schema is kept beside the tests);
# for the defaults that a schema cannot state (`id`, `created`, the tool call's `id`),
# vLLM 0.8.5, vllm/entrypoints/openai/protocol.py.
#
# gc=False: such a Struct holds only strings, numbers and containers of Structs like it, so no
# reference cycle can pass through it. The three that servers subclass to add members of their own
# (ChatMessage, ChatCompletionResponseChoice, ChatCompletionResponse) stay visible to the collector,
# because a subclass inherits the setting.
#
# default_factory=list: msgspec knows the bare `list` and makes the empty list in C. `list[ToolCall]`, which
# would tell pyright the type, makes each default four times as slow; hence the two ignores.

import time
import uuid
from typing import Literal

import msgspec

__all__ = [
    "ChatCompletionLogProb",
    "ChatCompletionLogProbs",
    "ChatCompletionLogProbsContent",
    "ChatCompletionResponse",
    "ChatCompletionResponseChoice",
    "ChatMessage",
    "FunctionCall",
    "Logprob",
    "PromptTokenUsageInfo",
    "ToolCall",
    "UsageInfo",
]


def _completion_id() -> str:
    return f"chatcmpl-{uuid.uuid4().hex}"


def _tool_call_id() -> str:
    return f"chatcmpl-tool-{uuid.uuid4().hex}"


def _unix_seconds() -> int:
    return int(time.time())


class FunctionCall(msgspec.Struct, kw_only=True, gc=False):
    """The function a model wants called: its name, and its arguments as JSON text.

    ``arguments`` is what the model wrote. It may be invalid JSON, or cut off when the choice
    ended with ``finish_reason="length"``; parse it with that in mind.

    Source: Ray Serve LLM, definition ``FunctionCall``.
    """

    name: str
    arguments: str


class ToolCall(msgspec.Struct, kw_only=True, gc=False):
    """One tool call of an assistant message; the only kind is a function.

    Without an ``id``, one is generated, as vLLM does: ``chatcmpl-tool-`` and 32 hexadecimal
    digits. Decoding a body that lacks it therefore gives a new one each time.

    Source: Ray Serve LLM, definition ``ToolCall``.
    """

    id: str = msgspec.field(default_factory=_tool_call_id)
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatMessage(msgspec.Struct, kw_only=True):
    """The message a choice carries.

    ``content`` is null when the model only called tools. ``tool_calls`` is a list, never null,
    and an empty one is written as ``[]``. ``reasoning_content`` is what a reasoning parser
    separated from the content.

    Source: Ray Serve LLM, definition ``ChatMessage``.
    """

    role: str
    # The name up to vLLM 0.12; vLLM 0.11.2 and later send `reasoning` (a member this document
    # does not have).
    reasoning_content: str | None = None
    content: str | None = None
    tool_calls: list[ToolCall] = msgspec.field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]


class ChatCompletionLogProb(msgspec.Struct, kw_only=True, gc=False):
    """One alternative for a token, with its natural-log probability.

    ``bytes`` are the UTF-8 bytes of the token, each 0 to 255, or null; a character may be
    spread over several tokens, so a token's text alone can hold U+FFFD.

    Source: Ray Serve LLM, definition ``ChatCompletionLogProb``.
    """

    token: str
    # -9999.0 is OpenAI's sentinel for "very unlikely"; vLLM clamps lower values to it and
    # leaves it in place when the engine has no value.
    logprob: float = -9999.0
    bytes: list[int] | None = None


class ChatCompletionLogProbsContent(msgspec.Struct, kw_only=True, gc=False):
    """One generated token with its log probability and its alternatives.

    The members of `ChatCompletionLogProb`, and ``top_logprobs``: the alternatives in the
    engine's order, the sampled token first; ``[]`` when none were asked for.

    Source: Ray Serve LLM, definition ``ChatCompletionLogProbsContent``.
    """

    token: str
    logprob: float = -9999.0
    bytes: list[int] | None = None
    top_logprobs: list[ChatCompletionLogProb] = msgspec.field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]


class ChatCompletionLogProbs(msgspec.Struct, kw_only=True, gc=False):
    """The log probabilities of a choice, one entry per generated token.

    Source: Ray Serve LLM, definition ``ChatCompletionLogProbs``.
    """

    content: list[ChatCompletionLogProbsContent] | None = None


class ChatCompletionResponseChoice(msgspec.Struct, kw_only=True):
    """One of the answers that were asked for with ``n``.

    ``finish_reason`` is any string or null: the document does not close the list.
    ``stop_reason`` is what stopped the generation: a stop string, the id of a stop token (0 is
    a valid id), or null when it was the end-of-sequence token or none of these.

    Source: Ray Serve LLM, definition ``ChatCompletionResponseChoice``.
    """

    index: int
    message: ChatMessage
    logprobs: ChatCompletionLogProbs | None = None
    finish_reason: str | None = "stop"
    stop_reason: int | str | None = None


class PromptTokenUsageInfo(msgspec.Struct, kw_only=True, gc=False):
    """What the prompt's tokens were: how many of them came from the prefix cache.

    Source: Ray Serve LLM, definition ``PromptTokenUsageInfo``.
    """

    cached_tokens: int | None = None


class UsageInfo(msgspec.Struct, kw_only=True, gc=False):
    """The tokens of a request and its answer; every count defaults to 0.

    ``prompt_tokens_details`` is null unless the server runs with
    ``--enable-prompt-tokens-details``.

    Source: Ray Serve LLM, definition ``UsageInfo``.
    """

    prompt_tokens: int = 0
    total_tokens: int = 0
    # Nullable because vLLM uses the same type for embeddings, which generate nothing.
    completion_tokens: int | None = 0
    prompt_tokens_details: PromptTokenUsageInfo | None = None


class Logprob(msgspec.Struct, kw_only=True, gc=False):
    """A candidate for one position of the prompt, as vLLM's engine reports it.

    ``logprob`` is a natural logarithm, ``rank`` counts from 1 over the whole vocabulary, and
    ``decoded_token`` is the text of the token.

    Source: Ray Serve LLM, definition ``Logprob``.
    """

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


class ChatCompletionResponse(msgspec.Struct, kw_only=True):
    """The body of a chat completion that was not streamed.

    Required are ``model``, ``choices`` and ``usage``. Without an ``id`` or ``created``, they are
    generated, as vLLM does: ``chatcmpl-`` and 32 hexadecimal digits, and the present time in
    Unix seconds. Decoding a body that lacks them therefore makes them up; they differ each time.

    ``prompt_logprobs`` has one entry per token of the prompt: null for the first, else the
    candidates by token id. JSON writes the ids as strings; only the canonical decimal form
    (``"9906"``, not ``"09906"``) is accepted.

    Source: Ray Serve LLM, ``ray.serve.llm.openai_api_models.ChatCompletionResponse``.
    """

    id: str = msgspec.field(default_factory=_completion_id)
    object: Literal["chat.completion"] = "chat.completion"
    created: int = msgspec.field(default_factory=_unix_seconds)
    model: str
    choices: list[ChatCompletionResponseChoice]
    usage: UsageInfo
    prompt_logprobs: list[dict[int, Logprob] | None] | None = None

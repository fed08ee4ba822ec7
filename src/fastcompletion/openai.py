"""Strict Structs of the chat completion that the OpenAI API answers with.

The document is the reference of ``ChatCompletion``, ``Choice`` and ``ChoiceLogprobs`` in the
OpenAI Python library: their members, and no others (it is an early one: no ``service_tier``, no
``refusal`` log probabilities). What it refers to (message, tool calls, usage, token log
probabilities) is as the current OpenAI reference has it. Two uses:

* strict decoding: ``msgspec.json.decode(body, type=openai.ChatCompletion)`` refuses a body
  without a required member, or with a finish reason outside the five, and says where;
* building responses that OpenAI's clients accept; constructors take keywords only.

Members that are not listed here are accepted and dropped; nothing is coerced. Most servers that
call themselves compatible break these rules somewhere: decode those with `fastcompletion.decode`,
which keeps everything.

Encoding writes optional members that are None as null. The OpenAI reference asks for that where
a key is required and nullable (``message.content``, ``message.refusal``, ``choice.logprobs``,
``logprobs.content``, a token's ``bytes``), and its clients take null and absent for the same
elsewhere.

>>> import msgspec
>>> from fastcompletion import openai
>>> completion = openai.ChatCompletion(
...     id="chatcmpl-1",
...     object="chat.completion",
...     created=1700000000,
...     model="gpt-4o-mini",
...     choices=[
...         openai.Choice(
...             index=0,
...             message=openai.ChatCompletionMessage(role="assistant", content="Hello"),
...             finish_reason="stop",
...         )
...     ],
... )
>>> body = msgspec.json.encode(completion)
>>> msgspec.json.decode(body, type=openai.ChatCompletion) == completion
True
"""

# Sources: the reference page `chat_completion` of the OpenAI Python library for the three types
# named above; for the others OpenAI's reference as openai-python 3.57.0 types it
# (openai/types/chat/*.py, openai/types/completion_usage.py), and OpenAI's openapi.yaml for which
# keys must be present.
#
# Members stand in the order OpenAI writes them on the wire (the documents sort them by name):
# msgspec decodes members that come in the declared order faster, and encodes them in it.
#
# gc=False: such a Struct holds only strings, numbers and containers of Structs like it, so no
# reference cycle can pass through it. Message, choice and completion, which people subclass to add
# members of their own, stay visible to the collector, because a subclass inherits the setting.

from typing import ClassVar, Literal, TypeAlias

import msgspec

__all__ = [
    "Annotation",
    "AnnotationURLCitation",
    "ChatCompletion",
    "ChatCompletionAudio",
    "ChatCompletionMessage",
    "ChatCompletionMessageCustomToolCall",
    "ChatCompletionMessageFunctionToolCall",
    "ChatCompletionMessageToolCall",
    "ChatCompletionTokenLogprob",
    "Choice",
    "ChoiceLogprobs",
    "CompletionTokensDetails",
    "CompletionUsage",
    "Custom",
    "FinishReason",
    "FunctionCall",
    "PromptTokensDetails",
    "TopLogprob",
]

# Closed in the document. "function_call" belongs to the deprecated `functions` parameter.
FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "function_call"]


class TopLogprob(msgspec.Struct, kw_only=True, gc=False):
    """One of the most likely tokens at a position, with its natural-log probability.

    ``bytes`` are the UTF-8 bytes of the token, each 0 to 255, or None.

    Source: OpenAI reference, ``TopLogprob``.
    """

    token: str
    # -9999.0 stands for "very unlikely": outside the 20 most likely tokens.
    logprob: float
    bytes: list[int] | None = None


class ChatCompletionTokenLogprob(msgspec.Struct, kw_only=True, gc=False):
    """One generated token with its log probability and the most likely alternatives.

    ``top_logprobs`` may have fewer entries than were asked for, or none.

    Source: OpenAI reference, ``ChatCompletionTokenLogprob``.
    """

    token: str
    # -9999.0 as in TopLogprob.
    logprob: float
    bytes: list[int] | None = None
    top_logprobs: list[TopLogprob]


class ChoiceLogprobs(msgspec.Struct, kw_only=True, gc=False):
    """The log probabilities of a choice, one entry per token of its content.

    Source: OpenAI Python library, ``ChoiceLogprobs`` (the early form, without ``refusal``).
    """

    content: list[ChatCompletionTokenLogprob] | None = None


class FunctionCall(msgspec.Struct, kw_only=True, gc=False):
    """The function a model wants called: its name, and its arguments as JSON text.

    ``arguments`` is what the model wrote: it may be invalid JSON, or cut off when the choice
    finished with "length". Used by function tool calls and by the deprecated
    ``message.function_call``.

    Source: OpenAI reference, ``Function`` of a tool call and ``FunctionCall`` of a message, which
    have the same members.
    """

    name: str
    arguments: str


class Custom(msgspec.Struct, kw_only=True, gc=False):
    """The custom tool a model wants called, with its input as free text.

    Source: OpenAI reference, ``Custom``.
    """

    name: str
    input: str


# `type` is the tag of the union of tool calls: msgspec picks the Struct by it, wherever it stands
# in the object, and writes it first. A tag is no attribute of an instance; the class variable
# makes it one, so that `call.type == "custom"` works and narrows the type.


class ChatCompletionMessageFunctionToolCall(msgspec.Struct, kw_only=True, gc=False, tag_field="type", tag="function"):
    """A call of a function; ``type`` is always "function".

    Source: OpenAI reference, ``ChatCompletionMessageFunctionToolCall``.
    """

    type: ClassVar[Literal["function"]] = "function"
    id: str
    function: FunctionCall


class ChatCompletionMessageCustomToolCall(msgspec.Struct, kw_only=True, gc=False, tag_field="type", tag="custom"):
    """A call of a custom tool; ``type`` is always "custom".

    Source: OpenAI reference, ``ChatCompletionMessageCustomToolCall``.
    """

    type: ClassVar[Literal["custom"]] = "custom"
    id: str
    custom: Custom


# Either kind of tool call, told apart by `type`.
ChatCompletionMessageToolCall: TypeAlias = ChatCompletionMessageFunctionToolCall | ChatCompletionMessageCustomToolCall


class AnnotationURLCitation(msgspec.Struct, kw_only=True, gc=False):
    """A web page that part of the message cites.

    ``start_index`` and ``end_index`` are the first and the last character of the citation in the
    message's content.

    Source: OpenAI reference, ``AnnotationURLCitation``.
    """

    end_index: int
    start_index: int
    title: str
    url: str


class Annotation(msgspec.Struct, kw_only=True, gc=False):
    """A remark on part of the message; the only kind is a URL citation of a web search.

    Source: OpenAI reference, ``Annotation``.
    """

    type: Literal["url_citation"]
    url_citation: AnnotationURLCitation


class ChatCompletionAudio(msgspec.Struct, kw_only=True, gc=False):
    """The spoken form of the message, when audio output was asked for.

    ``data`` is base64 in the audio format of the request; ``expires_at`` is in Unix seconds:
    until then a later request may refer to this audio by its ``id``.

    Source: OpenAI reference, ``ChatCompletionAudio``.
    """

    id: str
    data: str
    expires_at: int
    transcript: str


class ChatCompletionMessage(msgspec.Struct, kw_only=True):
    """The message of a choice.

    ``content`` is None when the model called tools or refused; ``refusal`` says why it refused.

    Source: OpenAI reference, ``ChatCompletionMessage``.
    """

    role: Literal["assistant"]
    content: str | None = None
    refusal: str | None = None
    annotations: list[Annotation] | None = None
    audio: ChatCompletionAudio | None = None
    # Deprecated by OpenAI in favour of tool_calls.
    function_call: FunctionCall | None = None
    tool_calls: list[ChatCompletionMessageToolCall] | None = None


class Choice(msgspec.Struct, kw_only=True):
    """One of the answers that were asked for with ``n``.

    ``logprobs`` is None unless the request asked for them.

    Source: OpenAI Python library, ``Choice``.
    """

    index: int
    message: ChatCompletionMessage
    logprobs: ChoiceLogprobs | None = None
    finish_reason: FinishReason


class PromptTokensDetails(msgspec.Struct, kw_only=True, gc=False):
    """What the tokens of the prompt were, in tokens; None where the server does not say.

    Source: OpenAI reference, ``PromptTokensDetails``.
    """

    cached_tokens: int | None = None
    audio_tokens: int | None = None
    cache_write_tokens: int | None = None
    image_tokens: int | None = None
    text_tokens: int | None = None


class CompletionTokensDetails(msgspec.Struct, kw_only=True, gc=False):
    """What the tokens of the answer were, in tokens; None where the server does not say.

    Rejected prediction tokens count as completion tokens although they are not in the answer.

    Source: OpenAI reference, ``CompletionTokensDetails``.
    """

    reasoning_tokens: int | None = None
    audio_tokens: int | None = None
    accepted_prediction_tokens: int | None = None
    rejected_prediction_tokens: int | None = None
    text_tokens: int | None = None


class CompletionUsage(msgspec.Struct, kw_only=True, gc=False):
    """The tokens of a request and its answer.

    ``total_tokens`` is meant to be the sum of the other two; it is not checked.

    Source: OpenAI reference, ``CompletionUsage``.
    """

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None


class ChatCompletion(msgspec.Struct, kw_only=True):
    """The body of a chat completion that was not streamed.

    ``created`` is in Unix seconds. ``object`` has no default, as in the document: it is required
    on the wire and in the constructor. ``system_fingerprint`` names the backend configuration
    that answered; ``usage`` may be absent.

    Source: OpenAI Python library, ``ChatCompletion``.
    """

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage | None = None
    system_fingerprint: str | None = None

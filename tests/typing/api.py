"""What type checkers make of the public face. Never run: checked with mypy and pyright, strict.

tests/test_typing.py compares what each ``reveal_type`` reveals with the comment behind it.
"""

import msgspec
from typing_extensions import assert_type, reveal_type

import fastcompletion as fc
from fastcompletion import openai, vllm


class Envelope(msgspec.Struct):
    """A view: a smaller Struct of a caller's own."""

    id: str
    model: str


class Ours(fc.ChatCompletion, kw_only=True):
    """A caller's subclass, with a member of a gateway's own."""

    gateway_ms: int | msgspec.UnsetType = msgspec.UNSET


def decoding(body: bytes, buffer: bytearray, view: memoryview, text: str) -> None:
    assert_type(fc.decode(body), fc.ChatCompletion | fc.ChatCompletionChunk | fc.Completion | fc.ErrorResponse)
    reveal_type(fc.decode(body, fc.ChatCompletion))  # ChatCompletion
    reveal_type(fc.decode(buffer, type=fc.ErrorResponse))  # ErrorResponse
    reveal_type(fc.decode(view, Envelope))  # Envelope
    reveal_type(fc.decode(text, Ours))  # Ours
    reveal_type(fc.decode(body, vllm.ChatCompletionResponse))  # ChatCompletionResponse
    reveal_type(fc.decode(body, openai.ChatCompletion).choices[0].finish_reason == "stop")  # bool
    upstream = fc.Codec(strict=False, unknown="keep", allow_nan=False)
    assert_type(upstream.decode(body), fc.AnyCompletion)
    reveal_type(upstream.decode(body, fc.Completion))  # Completion
    reveal_type(upstream.deviations)  # list[Deviation]


def reading(completion: fc.ChatCompletion) -> None:
    message = completion.choices[0].message
    reveal_type(message.content or "")  # str
    reveal_type(message.text)  # str
    reveal_type(message.reasoning_text)  # str
    reveal_type(completion.extra)  # Extra
    reveal_type(completion.choice().index)  # int
    reveal_type(completion.token_counts.total)  # int | None
    if completion.usage:
        reveal_type(completion.usage)  # Usage
        reveal_type(completion.usage.extra.raw("cost"))  # bytes
    if completion.prompt_logprobs and completion.prompt_logprobs[1]:
        reveal_type(completion.prompt_logprobs[1][9906])  # Logprob
    for call in message.tool_calls or []:
        if call.function:
            reveal_type(call.function.arguments)  # str
    if completion.kv_transfer_params is not None and completion.kv_transfer_params is not msgspec.UNSET:
        reveal_type(completion.kv_transfer_params)  # dict[str, Any]


def encoding(completion: fc.ChatCompletion, buffer: bytearray) -> None:
    reveal_type(fc.encode(completion))  # bytes
    assert_type(fc.encode_into(completion, buffer, 0), None)
    reveal_type(fc.deviations(completion))  # list[Deviation]
    reveal_type(fc.deviations(completion.choices[0].message, against=vllm.ChatMessage)[0].path)  # str


def failing(error: fc.DecodeError, upstream: fc.UpstreamError) -> None:
    reveal_type(error.path)  # str
    reveal_type(error.offset)  # int | None
    reveal_type(error.data)  # bytes
    reveal_type(upstream.error)  # ErrorResponse
    reveal_type(upstream.error.info.code)  # int | str | None


def streaming(stream: fc.StreamDecoder, total: fc.Accumulator, piece: bytes, template: fc.ChunkTemplate) -> None:
    for item in stream.feed(piece):
        total.add(item)
        if isinstance(item, fc.StreamError):
            reveal_type(item.info.message)  # str
            reveal_type(item.response)  # ErrorResponse | None
        elif isinstance(item, fc.ChatCompletionChunk):
            reveal_type(item.choices[0].delta.content or "")  # str
    reveal_type(stream.complete)  # bool
    reveal_type(stream.feed_events(piece)[0].raw)  # bytes
    reveal_type(total.completion())  # ChatCompletion
    reveal_type(total.text_completion())  # Completion
    reveal_type(total.usage)  # Usage | None
    reveal_type(total.anomalies[0].kind)  # str
    reveal_type(template.encode("Hi"))  # bytes
    reveal_type(next(fc.chunks(total.completion())))  # ChatCompletionChunk
    reveal_type(fc.SSEDecoder().feed(piece)[0].text)  # str
    assert_type(stream.close(), list[fc.StreamItem])

"""Pieces from the network <-> chunks: server-sent events that carry chat completion JSON.

`StreamDecoder` is `SSEDecoder` (framing), `Codec` (JSON) and the rules by which servers really end, fail and
pad their streams. `StreamEncoder` is the way back.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from fastcompletion._schema import ChatCompletion, ChatCompletionChunk, Completion, ErrorInfo, ErrorResponse

__all__ = ["StreamError", "StreamItem"]


class StreamError(Struct, frozen=True):
    """Something in a stream that is not a chunk; a value, since what came before and after it counts.

    Args:
        kind: ``server``: the server reports an error; ``invalid_json``: an event that is not JSON, or not a
            chunk; ``not_sse``: a body that is no event stream; ``incomplete``: the stream ended, and no error
            and not every choice's finish reason had come.
        info: Message, type, code and parameter, as far as there are any.
        raw: The bytes that it is about, as sent; b"" for ``incomplete``.
        response: The server's error body, typed; None for the other kinds.

    >>> import fastcompletion as fc
    >>> fc.StreamError("incomplete", fc.ErrorInfo("The stream ended early", None, None, None)).kind
    'incomplete'
    """

    kind: Literal["server", "invalid_json", "not_sse", "incomplete"]
    info: ErrorInfo
    raw: bytes = b""
    response: ErrorResponse | None = None


StreamItem: TypeAlias = ChatCompletionChunk | Completion | ChatCompletion | StreamError

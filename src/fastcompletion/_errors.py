"""Everything a caller can catch.

Classes are cut by what the caller does next, not by what went wrong inside: a malformed body means a
broken peer, a schema error means a dialect a strict codec refuses, a truncated body may be retried, a
limit is a refusal. Their fields are the contract; the text is for people and may change.

Any bytes given to `decode` either return a value or raise a `FastCompletionError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastcompletion._schema import ErrorResponse

__all__ = [
    "DecodeError",
    "FastCompletionError",
    "LimitError",
    "MalformedError",
    "SchemaError",
    "TruncatedError",
    "UpstreamError",
]

_SHOWN_BYTES = 60  # enough to recognise the place, short enough for one log line
_SHOWN_PATH = 120  # characters


class FastCompletionError(Exception):
    """Base of every error this library raises for what a peer sent.

    >>> import fastcompletion as fc
    >>> try:
    ...     fc.decode(b"<html>502 Bad Gateway</html>")
    ... except fc.FastCompletionError as error:
    ...     print(type(error).__name__)
    MalformedError
    """


class DecodeError(FastCompletionError, ValueError):
    """Bytes that could not be accepted. Never raised itself; catch it to catch its four leaves.

    Args:
        reason: What is wrong, for people.
        path: Where, as ``$.choices[0].message.content``; ``$`` is the whole body.
        offset: Where, in bytes from 0 of the body as given; None where it cannot be known.
        data: The offending bytes, shortened.

    >>> import fastcompletion as fc
    >>> try:
    ...     fc.decode(b'{"object": "chat.completion", "id": }')
    ... except fc.DecodeError as error:
    ...     print(error.path, error.offset)
    $.id 36
    """

    def __init__(self, reason: str, *, path: str = "$", offset: int | None = None, data: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.offset = offset
        self.data = data[:_SHOWN_BYTES]

    def __str__(self) -> str:
        path = self.path if len(self.path) <= _SHOWN_PATH else f"{self.path[:_SHOWN_PATH]}..."
        place = f"at {path}" if self.offset is None else f"at {path}, byte {self.offset}"
        return f"{self.reason} ({place})"


class MalformedError(DecodeError):
    """Not JSON or not UTF-8: the peer (or something between) is broken.

    >>> import fastcompletion as fc
    >>> issubclass(fc.MalformedError, fc.DecodeError)
    True
    """


class SchemaError(DecodeError):
    """JSON, but not what was asked for; ``path`` says where.

    Raised by a strict codec for every deviation, and by a lenient one only for JSON that is neither a
    completion nor an error.

    >>> import fastcompletion as fc
    >>> try:
    ...     fc.decode(b'{"object": "list", "data": []}')
    ... except fc.SchemaError as error:
    ...     print(error.path)
    $.object
    """


class TruncatedError(DecodeError):
    """The body ended early; more bytes might have been valid.

    >>> import fastcompletion as fc
    >>> try:
    ...     fc.decode(b'{"id": "chatcmpl-1", "obj')
    ... except fc.TruncatedError as error:
    ...     print(error.offset)
    25
    """


class LimitError(DecodeError):
    """Over a stated limit: ``limit`` names it.

    >>> import fastcompletion as fc
    >>> try:
    ...     fc.decode(b'{"object": "chat.completion", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")
    ... except fc.LimitError as error:
    ...     print(error.limit)
    nesting depth
    """

    def __init__(
        self, reason: str, *, limit: str = "", path: str = "$", offset: int | None = None, data: bytes = b""
    ) -> None:
        super().__init__(reason, path=path, offset=offset, data=data)
        self.limit = limit


class UpstreamError(FastCompletionError):
    """The server answered with an error body where a completion was asked for.

    Args:
        reason: The server's own message.
        error: The body, typed.
        raw: The body, as sent.

    >>> import fastcompletion as fc
    >>> try:
    ...     fc.decode(b'{"error": {"message": "overloaded", "code": 503}}', fc.ChatCompletion)
    ... except fc.UpstreamError as error:
    ...     print(error, error.error.info.code)
    overloaded 503
    """

    def __init__(self, reason: str, error: ErrorResponse, raw: bytes = b"") -> None:
        super().__init__(reason, error, raw)
        self.reason = reason
        self.error = error
        self.raw = raw

    def __str__(self) -> str:
        return self.reason

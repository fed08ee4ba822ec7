"""Bytes <-> Structs, and the one place where msgspec's errors are translated.

`Codec.decode` is one call of a decoder compiled for what this upstream sends (`_compile`). When that refuses
a body, the hard way finds out why, once: not JSON (`_scan` names the place), another type of body (`_root`),
or a deviation, which is learnt and compiled in. What cannot be compiled is built in Python (`_build`).
"""

from __future__ import annotations

import builtins
import codecs
import json
import threading
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Literal, TypeAlias, TypeGuard, TypeVar, overload

import msgspec
from msgspec import Struct

from fastcompletion._build import build
from fastcompletion._compile import Compiled, compile_decoder
from fastcompletion._dialect import Deviation, Dialect, Finding, find, members, object_literal
from fastcompletion._errors import DecodeError, LimitError, MalformedError, SchemaError, TruncatedError, UpstreamError
from fastcompletion._extra import Extensible, exact_float, exact_int, is_array, is_object
from fastcompletion._root import classify, confirm, is_error, needs_confirming
from fastcompletion._scan import deeper_than, find_fault, offset_of, path_at
from fastcompletion._schema import ROOTS, ChatCompletion, ChatCompletionChunk, Completion, ErrorResponse
from fastcompletion._spell import (
    NeedsRespelling,
    NeedsSplice,
    NonFiniteError,
    encode_added,
    find_unencodable,
    native,
    respell,
    spell_long_text,
    spell_params,
)

__all__ = ["AnyCompletion", "Body", "Codec", "decode", "deviations", "encode", "encode_into"]

Body: TypeAlias = bytes | bytearray | memoryview | str
AnyCompletion: TypeAlias = ChatCompletion | ChatCompletionChunk | Completion | ErrorResponse
T = TypeVar("T")

_LARGE = 4096  # bytes from which tokens' `bytes` stay undecoded, and extras are copied out of the body
_KEPT_FRACTION = 8  # an extra larger than 1/8 of its body may keep the body alive instead of being copied
_LONG = 4096  # bytes from which the last body encoded makes it likely that the next has long text
_LONG_PAUSE = 16  # such bodies without a look, after one that had no text worth it
_DEEP = 64  # deeper than any completion: where it begins is the place to name when a body nests too deeply
_BOM = b"\xef\xbb\xbf"

_ROOTS = frozenset({*ROOTS.values(), ErrorResponse})
_UNTYPED = msgspec.json.Decoder(float_hook=exact_float)


class _NoPlan(Exception):  # noqa: N818 (a signal inside this module)
    """No decoder is known to be right for this body: it takes the hard way."""


class _Plan:
    """A compiled way to decode one type of body of one size class."""

    __slots__ = ("confirm", "decode", "root", "settle", "unchecked")

    def __init__(self, root: type[Any], compiled: Compiled, *, confirm: bool, skips: bool, large: bool) -> None:
        self.root = root
        self.confirm = confirm  # the compiled types alone do not prove which root the body is
        self.settle = compiled.settle
        # What is skipped, or kept as a view into the body, msgspec does not check for UTF-8. `settle` does, in
        # large bodies, for the views that it comes to.
        checked = skips or not compiled.settles_all or (compiled.settle is not None and not large)
        self.decode = _checked(compiled.decode) if checked else compiled.decode


def _checked(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decode_checked(body: Any) -> Any:
        if body.__class__ is not bytes:
            body = _to_bytes(body)  # a view into a caller's bytearray would change with it
        result = decode(body)
        if not body.isascii():
            _check_utf8(body)
        return result

    return decode_checked


def _check_utf8(body: bytes) -> None:
    """Raise UnicodeDecodeError if a body is not UTF-8, without holding a str of all of it.

    8 kB at a time: 60 us for a body of 240 kB with one emoji in it, where a str of it took 390.
    """
    view = memoryview(body)
    position = 0
    while position < len(view):
        end = position + 8192
        _, used = codecs.utf_8_decode(view[position:end], "strict", end >= len(view))
        position += used


class Codec:
    """Decodes and encodes for one upstream, and learns what that upstream does against the specification.

    Lenient by default: no body is refused for its dialect, and nothing of it is lost. The first body with a
    new deviation takes about a millisecond, in which decoders are compiled for it; then bodies like it decode
    at full speed. What is learnt is bounded (64 extra names an object, 512 deviations a codec); bodies beyond
    the bounds are built in Python, at 10 to 100 times the cost, and lose nothing either. Learning never
    changes what another body decodes to. Safe to share between threads.

    Args:
        strict: Raise `SchemaError` at the first deviation from the schema instead of learning it. Default False.
        unknown: "keep" members that the schema lacks in `extra` (default), or "drop" them, but for those by
            which a body is told from an error (`error` beside choices, and the like).
        allow_nan: Take NaN, Infinity and -Infinity, which are not JSON, as `json.dumps` of Python servers
            writes them, and write them again. Bodies with them decode slowly, and all encoding does.
            Default False: they are an error.

    >>> import fastcompletion as fc
    >>> upstream = fc.Codec()
    >>> body = b'{"object":"chat.completion","id":"x","created":1,"model":"m","choices":null,"region":"eu"}'
    >>> completion = upstream.decode(body, fc.ChatCompletion)
    >>> completion.model = "alias"
    >>> upstream.encode(completion)
    b'{"id":"x","object":"chat.completion","created":1,"model":"alias","choices":null,"region":"eu"}'
    >>> [(deviation.path, deviation.kind) for deviation in upstream.deviations]
    [('$.choices', 'null'), ('$.region', 'extra')]
    """

    def __init__(
        self, *, strict: bool = False, unknown: Literal["keep", "drop"] = "keep", allow_nan: bool = False
    ) -> None:
        if unknown not in {"keep", "drop"}:
            raise ValueError(f"unknown must be 'keep' or 'drop', not {unknown!r}")
        self._strict = strict
        self._keep_unknown = unknown == "keep"
        self._allow_nan = allow_nan
        self._dialect = Dialect()
        self._lock = threading.Lock()
        self._compiled: dict[tuple[type[Any], bool, bool], _Plan] = {}  # by root, open `object`, large
        # The plans that decoded the last body, by the `type` argument; one table for each size class.
        self._small: dict[type[Any] | None, _Plan] = {}
        self._large: dict[type[Any] | None, _Plan] = {}
        self._decode_small: Callable[[Any], Any] = self._decode_planned  # of small bodies, where no `type` is given
        encoder = msgspec.json.Encoder(enc_hook=native, decimal_format="number")
        self._native = encoder.encode
        self._native_into = encoder.encode_into
        self._without_params: set[type[Any]] = set()  # classes that have no transfer params to look at
        # Above 0: look for long texts before encoding. Bodies of one upstream are alike, so the last ones tell.
        self._long_hint = 1 if allow_nan else 0

    @property
    def deviations(self) -> list[Deviation]:
        """What this upstream was seen to do against the schema, in the order in which it was met.

        >>> import fastcompletion as fc
        >>> fc.Codec().deviations
        []
        """
        return list(self._dialect.deviations.values())

    # -- decode -------------------------------------------------------------------------------------------

    @overload
    def decode(self, body: Body, type: None = None) -> AnyCompletion: ...
    @overload
    def decode(self, body: Body, type: builtins.type[T]) -> T: ...
    def decode(self, body: Body, type: builtins.type[Any] | None = None) -> Any:
        """Decode the body of a response.

        Args:
            body: JSON in UTF-8: the bytes as they came, or a str. A byte order mark and white space around
                it are skipped.
            type: What to decode into. Default: what the body is, by its `object`, or by its shape where a
                server sends no or another `object`: `ChatCompletion`, `ChatCompletionChunk`, `Completion`
                or `ErrorResponse`. With one of these four, or your own subclass of one, the body is taken
                for that. Any other type msgspec knows (a smaller Struct with the members you read,
                `vllm.ChatCompletionResponse`) is decoded strictly, without learning.

        Returns:
            The typed body. Members are values, None (null) or UNSET (absent); what the schema lacks is in
            `extra`.

        Raises:
            UpstreamError: the body is a server's error and ``type`` asks for something else.
            TruncatedError: the body ended early.
            MalformedError: not JSON, or not UTF-8.
            SchemaError: neither a completion nor an error, or (strict) a deviation from the schema.
            LimitError: nested too deeply for the interpreter's stack.

        >>> import fastcompletion as fc
        >>> body = b'{"object": "chat.completion", "choices": [{"message": {"content": "Hi"}}]}'
        >>> fc.decode(body, fc.ChatCompletion).choices[0].message.content
        'Hi'
        """
        # The common case costs one Python call more than msgspec's own: no table, no second look.
        try:
            if type is None and len(body) < _LARGE:
                return self._decode_small(body)
            return self._decode_planned(body, type)
        except (msgspec.DecodeError, _NoPlan, RecursionError, UnicodeError, BufferError) as error:
            cause = error
        try:
            return self._decode_hard(_to_bytes(body), type, cause)
        finally:
            del cause  # its traceback leads here: a cycle, which would hold the body and the callers' variables

    def _decode_planned(self, body: Any, type: builtins.type[Any] | None = None) -> Any:
        """Decode as the last body of this type and size class; then look at what the decoder cannot see."""
        if body.__class__ is not bytes:
            body = _to_bytes(body)
        large = len(body) >= _LARGE
        plan = (self._large if large else self._small).get(type)
        if plan is None:
            raise _NoPlan
        result = plan.decode(body)
        if large:
            if _has_logprobs(result) and not body.isascii():
                _check_utf8(body)  # tokens' `bytes` are views too
            if plan.settle is not None:
                plan.settle(result, len(body) // _KEPT_FRACTION)
        if plan.confirm:
            root = confirm(result)
            if root is not plan.root and (type is None or root is ErrorResponse or root is None):
                raise _NoPlan
        return result

    def _decode_hard(self, body: bytes, type: builtins.type[Any] | None, cause: Exception) -> Any:
        """Decode what the last plan does not: find out why, learn, or raise the error that says why."""
        if body.startswith(_BOM):
            if body.startswith(_BOM, len(_BOM)):
                raise MalformedError("More than one byte order mark", offset=len(_BOM), data=body[len(_BOM) :])
            try:
                return self.decode(body[len(_BOM) :], type)
            except DecodeError as error:
                if error.offset is not None:
                    error.offset += len(_BOM)
                raise
        if type is not None and not _is_ours(type):
            return self._decode_view(body, type)
        if type is None and (result := self._decode_proving(body)) is not None:
            return result
        document, in_msgspec = self._read(body, cause)
        in_array = _is_error_in_array(document)
        document = document[0] if in_array else document
        root = _root_of(document, type, body)
        if type is not None and root is ErrorResponse and not issubclass(type, ErrorResponse):
            upstream = self._decode_as(ErrorResponse, None, body, document, in_msgspec and not in_array, in_array)
            raise UpstreamError(upstream.info.message or "The server answered with an error", upstream, body)
        return self._decode_as(root, type, body, document, in_msgspec and not in_array, in_array)

    def _decode_proving(self, body: bytes) -> Any:
        """Decode with the plan for another `object` literal: that it takes the body proves what the body is."""
        large = len(body) >= _LARGE
        last = (self._large if large else self._small).get(None)
        for (_, open_object, for_large), plan in list(self._compiled.items()):
            if plan is not last and for_large == large and not open_object and plan.root in _ROOTS:
                self._use(plan, None, large)
                try:
                    return self._decode_planned(body)
                except (msgspec.DecodeError, _NoPlan, RecursionError, UnicodeDecodeError):
                    continue
        return None

    def _decode_as(
        self,
        root: builtins.type[Any],
        type: builtins.type[Any] | None,
        body: bytes,
        document: dict[str, Any],
        compilable: bool,
        in_array: bool,
    ) -> Any:
        """Decode a body of known type: as learnt so far, else learning from it, else in Python."""
        if self._strict and (finding := next(self._findings(root, document), None)):
            raise _refusal(finding, body)
        refusal: msgspec.ValidationError | None = None
        if compilable:
            large = len(body) >= _LARGE
            literal = object_literal(root)
            open_object = literal is not None and document.get("object") != literal
            with self._lock:
                if open_object:  # compiled for without learning it, but a deviation to be listed
                    self._dialect.learn(finding for finding in find(root, document) if finding.steps == ("object",))
                for learn in (False, True):
                    if learn and (self._dialect.full or not self._learn(root, document)):
                        break
                    plan = self._plan_for(root, open_object, large)
                    try:
                        result = plan.decode(body)
                    except (msgspec.DecodeError, RecursionError) as error:
                        refusal = error.with_traceback(None) if isinstance(error, msgspec.ValidationError) else None
                        continue
                    if large and plan.settle is not None:
                        plan.settle(result, len(body) // _KEPT_FRACTION)
                    self._use(plan, type, large)
                    return result
        if self._strict and refusal is not None:  # of a type that only msgspec knows, in a caller's subclass
            raise _schema_error(refusal, body)
        return build(
            root, document, keep_unknown=self._keep_unknown, allow_nonfinite=self._allow_nan, in_array=in_array
        )

    def _findings(self, root: builtins.type[Struct], document: dict[str, Any]) -> Any:
        return (finding for finding in find(root, document) if self._keep_unknown or finding.kind != "extra")

    def _learn(self, root: builtins.type[Struct], document: dict[str, Any]) -> bool:
        """Learn from a body; say whether there was anything to learn."""
        if not self._dialect.learn(self._findings(root, document)):
            return False
        self._compiled.clear()
        self._small.clear()
        self._large.clear()
        self._decode_small = self._decode_planned
        return True

    def _use(self, plan: _Plan, type: builtins.type[Any] | None, large: bool) -> None:
        """Try this plan first for the next body of this type and size class."""
        (self._large if large else self._small)[type] = plan
        if type is None and not large:
            self._decode_small = self._decode_planned if plan.confirm else plan.decode

    def _plan_for(self, root: builtins.type[Extensible], open_object: bool, large: bool) -> _Plan:
        key = (root, open_object, large)
        if key not in self._compiled:
            compiled = compile_decoder(
                root,
                self._dialect,
                open_object=open_object,
                lazy_bytes=large and not self._strict,
                drop_unknown=not self._keep_unknown,
            )
            self._compiled[key] = _Plan(
                root,
                compiled,
                confirm=_is_root(root)
                and (open_object or not self._keep_unknown or needs_confirming(root, self._dialect)),
                skips=not self._keep_unknown,
                large=large,
            )
        return self._compiled[key]

    def _decode_view(self, body: bytes, type: builtins.type[Any]) -> Any:
        """Decode into a type that is not ours, as it says."""
        compiled = Compiled(msgspec.json.Decoder(type).decode, None, settles_all=True)
        plan = _Plan(type, compiled, confirm=False, skips=True, large=False)
        try:
            result = plan.decode(body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            document, in_msgspec = self._read(body, error)  # is it JSON at all?
            if not in_msgspec:
                return _convert(document, type)
            raise _schema_error(error, body) from error
        self._small[type] = self._large[type] = plan
        return result

    def _read(self, body: bytes, cause: Exception) -> tuple[Any, bool]:
        """The body untyped, and whether msgspec can read it; raises the error that says why nothing can."""
        try:
            return _UNTYPED.decode(body), True
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            # Its traceback leads here: kept, the two would hold the body until the garbage collector runs.
            cause = cause if isinstance(cause, msgspec.DecodeError) else error.with_traceback(None)
        if fault := find_fault(body, allow_nonfinite=self._allow_nan):
            kind = TruncatedError if fault.kind == "truncated" else MalformedError
            data = _bytes_at(body, fault.offset)
            raise kind(fault.reason, path=fault.path, offset=fault.offset, data=data) from cause
        try:  # JSON, but not to msgspec: lone surrogate escapes, integers of over 4,300 digits, NaN by opt-in
            return json.loads(body, parse_float=exact_float, parse_int=exact_int), False
        except RecursionError as error:
            offset = deeper_than(body, _DEEP)
            path = "$" if offset is None else path_at(body, offset)
            data = _bytes_at(body, offset)
            raise LimitError("Nested too deeply", limit="nesting depth", path=path, offset=offset, data=data) from error

    # -- encode -------------------------------------------------------------------------------------------

    def encode(self, obj: Any) -> bytes:
        """Encode a body: compact JSON in UTF-8, which means what was decoded, changed where you changed it.

        Args:
            obj: What `decode` returned or you built: any Struct of this library, or anything msgspec
                encodes. `kv_transfer_params` and `ec_transfer_params` (and values in `extra`) may hold what
                Python code has at hand: numpy scalars and arrays, dataclasses, pydantic models, paths,
                sets, deques, enums, datetimes, UUIDs, bytes (as base64), Decimals (as numbers), integer and
                None names.

        Returns:
            The JSON. Members at `UNSET` are left out. Extras keep the white space that they came with.

        Raises:
            TypeError: a value that neither msgspec nor orjson can encode, or that contains itself; the
                text names the path.
            ValueError: NaN or Infinity in the transfer params; the text names the path. (In other float
                members msgspec writes them as null.)

        >>> import fastcompletion as fc
        >>> fc.encode(fc.Usage(prompt_tokens=1, completion_tokens=None, total_tokens=1))
        b'{"prompt_tokens":1,"completion_tokens":null,"total_tokens":1}'
        """
        try:
            if self._long_hint > 0 or (
                obj.__class__ not in self._without_params and (obj.kv_transfer_params or obj.ec_transfer_params)
            ):
                encoded = self._native(self._prepare(obj))
            else:
                encoded = self._native(obj)
        except _HARD_TO_ENCODE as error:
            return self._encode_hard(obj, error)
        if len(encoded) >= _LONG and self._long_hint < 1:
            self._long_hint += 1
        return encoded

    def encode_into(self, obj: Any, buffer: bytearray, offset: int = 0) -> None:
        """Encode a body into a buffer that you keep, which ends after the body.

        Args:
            obj: As for `encode`.
            buffer: Where to write; it grows as needed. Not to be shared between threads.
            offset: Where to start, in bytes; -1 appends. Default 0. What stood after it is gone.

        Raises:
            TypeError, ValueError: as `encode`; the buffer's contents are then undefined.

        >>> import fastcompletion as fc
        >>> buffer = bytearray(64)
        >>> fc.encode_into(fc.FunctionCallDelta(arguments="{"), buffer)
        >>> buffer
        bytearray(b'{"arguments":"{"}')
        """
        start = len(buffer) if offset == -1 else offset
        try:
            if self._long_hint > 0 or (
                obj.__class__ not in self._without_params and (obj.kv_transfer_params or obj.ec_transfer_params)
            ):
                self._native_into(self._prepare(obj), buffer, start)
            else:
                self._native_into(obj, buffer, start)
        except _HARD_TO_ENCODE as error:
            buffer[start:] = self._encode_hard(obj, error)

    def _prepare(self, obj: Any) -> Any:
        """A copy in which what msgspec would write slowly, or wrongly, is ready JSON."""
        if self._allow_nan:
            return respell(obj, allow_nonfinite=True)
        if self._long_hint > 0:
            obj, worth_it = spell_long_text(obj)
            if not worth_it:
                self._long_hint = -_LONG_PAUSE
        return spell_params(obj, self._native)

    def _encode_hard(self, obj: Any, cause: Exception) -> bytes:
        """Encode what msgspec alone does not, or raise the error that says where it cannot be."""
        if isinstance(cause, AttributeError) and not hasattr(obj, "kv_transfer_params"):
            self._without_params.add(obj.__class__)
            return self.encode(obj)
        try:
            try:
                return encode_added(
                    respell(obj, allow_nonfinite=True) if self._allow_nan else spell_params(obj, encode_added)
                )
            except (NeedsRespelling, UnicodeEncodeError):
                return encode_added(respell(obj, allow_nonfinite=self._allow_nan))
        except NonFiniteError as error:
            raise ValueError(str(error)) from None
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            path, reason = find_unencodable(obj, encode_added) or ("$", str(error))
            raise TypeError(f"{reason} (at {path})") from error


_HARD_TO_ENCODE = (
    NeedsSplice,
    NeedsRespelling,
    AttributeError,  # a class without transfer params
    TypeError,
    ValueError,  # UnicodeEncodeError among them
    RecursionError,
    OverflowError,
)


# -- finding out what a body is -----------------------------------------------------------------------------


def _is_ours(type: Any) -> TypeGuard[type[Extensible]]:
    return isinstance(type, builtins.type) and issubclass(type, Extensible)


def _is_root(type: type[Extensible]) -> bool:
    """Is it the class of a body, not of a part of one?"""
    return object_literal(type) is not None or issubclass(type, ErrorResponse)


def _is_error_in_array(document: Any) -> bool:  # Gemini
    return is_array(document) and len(document) == 1 and is_error(document[0])


def _has_logprobs(result: Any) -> bool:
    try:
        for choice in result.choices:
            if choice.logprobs:
                return True
    except (AttributeError, TypeError):  # not a chat, or no list
        return False
    return False


def _root_of(document: Any, type: type[Any] | None, body: bytes) -> type[Extensible]:
    """What to decode a body into."""
    if not is_object(document):
        kinds = {list: "array", str: "string", bool: "boolean", builtins.type(None): "null"}
        raise SchemaError(f"Expected a JSON object, got {kinds.get(document.__class__, 'number')}", offset=0, data=body)
    if type is not None and not _is_root(type):
        return type  # a part of a body
    root = classify(document)
    if type is None:
        if root is not None:
            return root
        path = "$.object" if "object" in document else "$"
        raise SchemaError(
            "Neither a completion nor an error: there is no `choices` and no `error`",
            path=path,
            offset=offset_of(body, path),
            data=_bytes_at(body, offset_of(body, path)),
        )
    if root is ErrorResponse:
        return type if issubclass(type, ErrorResponse) else ErrorResponse
    if issubclass(type, ErrorResponse):
        raise SchemaError("Not an error body", offset=0, data=body)
    if not any(name in document for name in members(type)):
        raise SchemaError(f"Not a {type.__name__}: none of its members is there", offset=0, data=body)
    return type


def _convert(document: Any, type: type[Any]) -> Any:
    """A view of a body that msgspec cannot read, such as one with a lone surrogate."""
    try:
        return msgspec.convert(document, type, str_keys=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        reason, _, path = str(error).partition(" - at `")
        raise SchemaError(reason, path=path.removesuffix("`") or "$") from error


def _schema_error(error: Exception, body: bytes) -> SchemaError:
    """What msgspec says against the types of a body that is JSON."""
    reason, _, path = str(error).partition(" - at `")
    path = path.removesuffix("`") or "$"
    offset = offset_of(body, path)
    return SchemaError(reason, path=path, offset=offset, data=_bytes_at(body, offset))


def _refusal(finding: Finding, body: bytes) -> SchemaError:
    deviation = finding.describe()
    if deviation.kind == "extra":
        reason = "Not a member of the schema"
    elif deviation.kind == "absent":
        reason = f"Expected `{deviation.expected}`, but it is absent"
    else:
        reason = f"Expected `{deviation.expected}`, got {deviation.kind}"
    offset = offset_of(body, deviation.path)
    return SchemaError(reason, path=deviation.path, offset=offset, data=_bytes_at(body, offset))


def _to_bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    if not isinstance(body, str):
        return memoryview(body).tobytes()
    try:
        return body.encode()
    except UnicodeEncodeError as error:
        offset = len(body[: error.start].encode())
        raise MalformedError("A str with a lone surrogate is not UTF-8", offset=offset) from error


def _bytes_at(body: bytes, offset: int | None) -> bytes:
    return b"" if offset is None else body[offset : offset + 100]


# -- without a codec of one's own ---------------------------------------------------------------------------


def deviations(obj: Extensible, against: type[Struct] | None = None) -> list[Deviation]:
    """What one decoded body has against the schema, each at its place.

    Args:
        obj: What `decode` returned, or any part of it.
        against: The Struct to hold it against, such as `vllm.ChatCompletionResponse`. Default: the schema's
            own class.

    Raises:
        TypeError: ``obj`` is not a Struct of this library.

    >>> import fastcompletion as fc
    >>> fc.deviations(fc.decode(b'{"prompt_tokens": 3, "total_tokens": null}', fc.Usage))
    [Deviation(path='$.total_tokens', kind='null', expected='int', example='null')]
    """
    if not isinstance(obj, Extensible):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"deviations() takes what decode() returned, not {type(obj).__name__}")
    document = json.loads(
        _TOLERANT.encode(obj),
        parse_float=exact_float,
        parse_int=exact_int,
        object_pairs_hook=lambda pairs: dict(sorted(pairs, key=itemgetter(0))),  # not in the order of learning
    )
    if is_array(document):
        (document,) = document
    return [finding.describe() for finding in find(against or obj.__schema__, document)]


_TOLERANT = Codec(allow_nan=True)
_SHARED = Codec()

decode = _SHARED.decode
encode = _SHARED.encode
encode_into = _SHARED.encode_into

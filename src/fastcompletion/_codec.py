"""Bytes <-> Structs, and the one place where msgspec's errors are translated.

`Codec.decode` is one call of a decoder compiled for what this upstream sends (`_compile`). When that refuses
a body, the hard way finds out why, once: not JSON (`_scan` names the place), an error body, another type of
body, or a deviation, which is learnt and compiled in. What cannot be compiled is built in Python (`_build`).
"""

from __future__ import annotations

import builtins
import json
import threading
from decimal import InvalidOperation
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, overload

import msgspec
from msgspec import UNSET, Raw, Struct

from fastcompletion._build import build
from fastcompletion._compile import compile_decoder, settle_with
from fastcompletion._dialect import Deviation, Dialect, find, members, object_literal
from fastcompletion._errors import DecodeError, LimitError, MalformedError, SchemaError, TruncatedError, UpstreamError
from fastcompletion._extra import Extensible, exact_float
from fastcompletion._scan import Fault, find_fault, offset_of
from fastcompletion._schema import ROOTS, ChatCompletion, ChatCompletionChunk, Completion, ErrorResponse
from fastcompletion._spell import NeedsRespelling, NeedsSplice, encode_added, find_unencodable, has_nonfinite, native, respell

__all__ = ["AnyCompletion", "Body", "Codec", "decode", "deviations", "encode", "encode_into"]

Body: TypeAlias = bytes | bytearray | memoryview | str
AnyCompletion: TypeAlias = ChatCompletion | ChatCompletionChunk | Completion | ErrorResponse
T = TypeVar("T")

_LARGE = 4096  # bytes from which the `bytes` of tokens stay undecoded, and extras are copied out of the body
_LONG_TEXT = 4096  # characters from which orjson, with its SIMD scan, repays the copy of three Structs
_KEPT_FRACTION = 8  # an extra larger than 1/8 of its body may keep the body alive instead of being copied
_BOM = b"\xef\xbb\xbf"

_UNTYPED = msgspec.json.Decoder(float_hook=exact_float)


class _Plan:
    """A compiled way to decode one type of body of one size class."""

    __slots__ = ("confirm", "decode", "large", "looks_again", "root", "settle")

    def __init__(self, root: type[Any], decoder: msgspec.json.Decoder[Any], large: bool) -> None:
        self.root = root
        self.decode = decoder.decode
        self.large = large
        self.confirm = False  # the compiled types alone do not prove which root the body is
        self.settle = settle_with(decoder.type) if issubclass(root, Extensible) else None
        self.looks_again = large


class Codec:
    """Decodes and encodes for one upstream, and learns what that upstream does against the specification.

    Lenient by default: no body is refused for its dialect, and nothing of it is lost. The first body with a
    new deviation takes some milliseconds, in which decoders are compiled for it; then bodies like it decode
    at full speed. What is learnt is bounded (64 extra names an object, 512 deviations a codec); bodies beyond
    the bounds decode in Python, 10 to 100 times slower, and lose nothing either. Learning never changes what
    another body decodes to. Safe to share between threads.

    Args:
        strict: Raise `SchemaError` at the first deviation from the schema instead of learning it. Default False.
        unknown: "keep" members that the schema lacks in `extra` (default), or "drop" them, which is as fast.
        allow_nan: Take NaN, Infinity and -Infinity, which are not JSON, as `json.dumps` of Python servers
            writes them, and write them again. Bodies with them decode slowly, and all encoding does.
            Default False: they are an error on both sides.

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
        if unknown not in ("keep", "drop"):
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
        encoder = msgspec.json.Encoder(enc_hook=native, decimal_format="number")
        self._native = encoder.encode
        self._native_into = encoder.encode_into
        self._without_params: set[type[Any]] = set()  # classes that have no transfer params to check
        self._expect_long = False  # did the last body encoded have long text?

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
            LimitError: nested too deeply for the interpreter's stack, or an integer of over 4,300 digits.

        >>> import fastcompletion as fc
        >>> body = b'{"object": "chat.completion", "choices": [{"message": {"content": "Hi"}}]}'
        >>> fc.decode(body, fc.ChatCompletion).choices[0].message.content
        'Hi'
        """
        if body.__class__ is not bytes:
            body = _to_bytes(body)
        plans = self._small if len(body) < _LARGE else self._large
        try:
            plan = plans[type]
            result = plan.decode(body)
            if plan.looks_again and not self._look_again(plan, result, body, type):
                return self._decode_hard(body, type, None)
        except (msgspec.DecodeError, KeyError, RecursionError, UnicodeDecodeError, InvalidOperation) as error:
            cause = error
        else:
            return result
        return self._decode_hard(body, type, cause)

    def _look_again(self, plan: _Plan, result: Any, body: Any, type: builtins.type[Any] | None) -> bool:
        """What the decoder cannot see: UTF-8 in parts it skipped, views into the body, which root it is."""
        str(body, "utf-8")  # the parts that msgspec skips or keeps as Raw it does not check
        if plan.large and plan.settle is not None:
            plan.settle(result, len(body) // _KEPT_FRACTION)
        if not plan.confirm:
            return True
        root = _classify(_outline(result))
        return root is plan.root if type is None else root is not ErrorResponse

    def _decode_hard(self, body: Any, type: builtins.type[Any] | None, cause: Exception | None) -> Any:
        """Decode what the current plans do not: find out why, learn, or raise the error that says why."""
        if body.startswith(_BOM):
            try:
                return self.decode(body[len(_BOM) :], type)
            except DecodeError as error:
                if error.offset is not None:
                    error.offset += len(_BOM)
                raise
        if type is not None and not _is_ours(type):
            return self._decode_view(body, type)
        document, is_plain = self._read(body, cause)
        in_array = isinstance(document, list) and len(document) == 1 and _is_error(document[0])
        if in_array:
            (document,) = document
        root = _root_of(document, type, body)
        if root is ErrorResponse and type is not None and not issubclass(type, ErrorResponse):
            error = self._decode_as(ErrorResponse, None, body, document, is_plain, in_array)
            raise UpstreamError(error.info.message or "The server answered with an error", error, bytes(body))
        return self._decode_as(root, type, body, document, is_plain, in_array)

    def _decode_as(
        self,
        root: builtins.type[Any],
        type: builtins.type[Any] | None,
        body: bytes,
        document: dict[str, Any],
        is_plain: bool,
        in_array: bool,
    ) -> Any:
        if self._strict:
            self._refuse_deviations(root, document, body)
        if is_plain and not in_array:
            large = len(body) >= _LARGE
            literal = object_literal(root)
            open_object = literal is not None and document.get("object") != literal
            with self._lock:
                plan = self._plan_for(root, open_object, large)
                for attempt in ("as learnt", "learning"):
                    if attempt == "learning":
                        if self._strict or self._dialect.full or not self._learn(root, document):
                            break
                        plan = self._plan_for(root, open_object, large)
                    try:
                        result = plan.decode(body)
                    except (msgspec.DecodeError, RecursionError, InvalidOperation):
                        continue
                    if large and plan.settle is not None:
                        plan.settle(result, len(body) // _KEPT_FRACTION)
                    if not issubclass(root, ErrorResponse):  # always by shape: it would take any object
                        (self._large if large else self._small)[type] = plan
                    return result
        return build(root, document, keep_unknown=self._keep_unknown, in_array=in_array)

    def _learn(self, root: builtins.type[Any], document: dict[str, Any]) -> bool:
        findings = find(root, document)
        if not self._keep_unknown:
            findings = (finding for finding in findings if finding.kind != "extra")
        if not self._dialect.learn(findings):
            return False
        self._compiled.clear()
        self._small.clear()
        self._large.clear()
        return True

    def _plan_for(self, root: builtins.type[Any], open_object: bool, large: bool) -> _Plan:
        key = (root, open_object, large)
        if key not in self._compiled:
            decoder = compile_decoder(
                root, self._dialect, open_object=open_object, lazy_bytes=large, drop_unknown=not self._keep_unknown
            )
            plan = _Plan(root, decoder, large)
            plan.confirm = open_object or _needs_confirming(root, self._dialect)
            plan.looks_again = (
                large or plan.confirm or not self._keep_unknown or any(self._dialect.extras.values())
            )
            self._compiled[key] = plan
        return self._compiled[key]

    def _refuse_deviations(self, root: builtins.type[Any], document: dict[str, Any], body: bytes) -> None:
        for finding in find(root, document):
            if finding.kind == "extra" and not self._keep_unknown:
                continue
            deviation = finding.describe()
            reason = {
                "extra": "Not a member of the schema",
                "absent": f"Expected `{deviation.expected}`, but it is absent",
            }.get(deviation.kind, f"Expected `{deviation.expected}`, got {deviation.kind}")
            offset = offset_of(body, deviation.path)
            raise SchemaError(reason, path=deviation.path, offset=offset, data=_bytes_at(body, offset))

    def _decode_view(self, body: bytes, type: builtins.type[Any]) -> Any:
        """Decode into a type that is not ours, as it says."""
        try:
            plan = self._small[type] = self._large[type] = _Plan(type, msgspec.json.Decoder(type), large=False)
            plan.looks_again = True
            result = plan.decode(body)
            str(body, "utf-8")
        except msgspec.ValidationError as error:
            self._read(body, error)  # is it JSON at all?
            reason, _, path = str(error).partition(" - at `")
            path = path.removesuffix("`") or "$"
            offset = offset_of(body, path)
            raise SchemaError(reason, path=path, offset=offset, data=_bytes_at(body, offset)) from error
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            self._read(body, error)
            raise SchemaError(str(error)) from error
        return result

    def _read(self, body: bytes, cause: Exception | None) -> tuple[Any, bool]:
        """The body untyped, and whether msgspec can read it; raises the error that says why nothing can."""
        try:
            return _UNTYPED.decode(body), True
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, InvalidOperation) as error:
            cause = cause if isinstance(cause, msgspec.DecodeError) else error
        if fault := find_fault(body, allow_nonfinite=self._allow_nan):
            _raise_fault(fault, body, cause)
        try:  # JSON, but not to msgspec: lone surrogate escapes, NaN by opt-in
            return json.loads(body, parse_float=exact_float), False
        except RecursionError as error:
            raise LimitError("Nested too deeply", limit="nesting depth") from error
        except (ValueError, InvalidOperation) as error:
            raise LimitError("A number has too many digits", limit="digits of a number") from error

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
            The JSON. Members at `UNSET` are left out.

        Raises:
            TypeError: a value that neither msgspec nor orjson can encode, or that contains itself; the
                text names the path.
            ValueError: NaN or Infinity in the transfer params. (In other float members msgspec writes
                them as null.)

        >>> import fastcompletion as fc
        >>> fc.encode(fc.Usage(prompt_tokens=1, completion_tokens=None, total_tokens=1))
        b'{"prompt_tokens":1,"completion_tokens":null,"total_tokens":1}'
        """
        try:
            if self._expect_long:
                obj = self._spell_long_text(obj)
            if obj.__class__ not in self._without_params and (obj.kv_transfer_params or obj.ec_transfer_params):
                obj = self._spell_params(obj)
            encoded = self._native(obj)
        except (NeedsSplice, NeedsRespelling, AttributeError, TypeError, ValueError, RecursionError) as error:
            return self._encode_hard(obj, error)
        if len(encoded) >= _LONG_TEXT:
            self._expect_long = True
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
        try:
            if obj.__class__ not in self._without_params and (obj.kv_transfer_params or obj.ec_transfer_params):
                obj = self._spell_params(obj)
            self._native_into(obj, buffer, offset)
        except (NeedsSplice, NeedsRespelling, AttributeError, TypeError, ValueError, RecursionError) as error:
            encoded = self._encode_hard(obj, error)
            buffer[len(buffer) if offset == -1 else offset :] = encoded

    def _encode_hard(self, obj: Any, cause: Exception) -> bytes:
        """Encode what msgspec alone does not, or raise the error that says where it cannot be."""
        if isinstance(cause, AttributeError) and not hasattr(obj, "kv_transfer_params"):
            self._without_params.add(obj.__class__)
        try:
            try:
                return encode_added(respell(obj, allow_nonfinite=True) if self._allow_nan else self._spell_params(obj))
            except (NeedsRespelling, UnicodeEncodeError):
                return encode_added(respell(obj, allow_nonfinite=self._allow_nan))
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            if isinstance(error, _NonFinite):
                raise ValueError(str(error)) from None
            path, reason = find_unencodable(obj, encode_added) or ("$", str(error))
            raise TypeError(f"{reason} (at {path})") from error

    def _spell_params(self, obj: Any) -> Any:
        """A copy whose transfer params are ready JSON, after a look for NaN, which msgspec writes as null."""
        for name in ("kv_transfer_params", "ec_transfer_params"):
            params = getattr(obj, name, None)
            if params is None or params is UNSET or isinstance(params, Raw):
                continue
            try:
                encoded = self._native(params)
            except NeedsSplice:
                continue
            if b"null" in encoded and (where := has_nonfinite(params)) is not None:
                raise _NonFinite(f"NaN and Infinity are not JSON (at $.{name}{where})")
            if isinstance(obj, Struct):
                obj = msgspec.structs.replace(obj, **{name: Raw(encoded)})
        return obj

    def _spell_long_text(self, obj: Any) -> Any:
        """A copy whose long texts are ready JSON by orjson: 1.5 to 4 times faster than all through msgspec."""
        return obj


class _NonFinite(ValueError):
    pass


# -- which type of body is it ------------------------------------------------------------------------------


def _is_ours(type: type[Any]) -> bool:
    return isinstance(type, builtins.type) and issubclass(type, Extensible)


def _is_error(document: Any) -> bool:
    """Is this object one of the error bodies that servers send (ErrorResponse lists them)?"""
    if not isinstance(document, dict):
        return False
    if document.get("error") or document.get("object") == "error":
        return True
    base = document.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):  # MiniMax
        return True
    # FastAPI's {"detail": ...}, and the flat {"message": ...} of Cerebras.
    return "choices" not in document and (
        "detail" in document or (isinstance(document.get("message"), str) and document.get("object") not in ROOTS)
    )


def _classify(document: dict[str, Any]) -> type[Extensible] | None:
    """The root of a body, from the body alone: never from what a codec has learnt."""
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if first is None and _is_error(document):
        return ErrorResponse
    members_of_first = first if isinstance(first, dict) else {}
    has_message, has_delta = "message" in members_of_first, "delta" in members_of_first
    tag = document.get("object")
    tagged = ROOTS.get(tag) if isinstance(tag, str) else None
    if tagged is not None:
        # The first choice overrules an `object` that it contradicts: TGI 2.0.0 called chats text_completion,
        # mlx-lm and others call a chunk chat.completion.
        if has_message and not has_delta and tagged is not ChatCompletion and "text" not in members_of_first:
            return ChatCompletion
        if has_delta and not has_message and tagged is not ChatCompletionChunk and "text" not in members_of_first:
            return ChatCompletionChunk
        return tagged
    if has_message:
        return ChatCompletion
    if has_delta:
        return ChatCompletionChunk
    if "text" in members_of_first:
        return Completion
    if choices == []:  # Azure's prompt filter chunk, usage chunks
        return ChatCompletionChunk
    return ChatCompletion if "choices" in document else None


_DECIDING = ("error", "detail", "message", "base_resp")


def _needs_confirming(root: type[Any], dialect: Dialect) -> bool:
    """Has anything been learnt that lets the compiled types take a body that is another root?"""
    choice = {ChatCompletion: "Choice", ChatCompletionChunk: "ChunkChoice", Completion: "CompletionChoice"}
    for owner, names in dialect.extras.items():
        if owner is root and any(name in _DECIDING for name in names):
            return True
        if owner.__name__ in choice.values() and any(name in ("message", "delta", "text") for name in names):
            return True
    return any(
        kind == "absent" and member in ("message", "delta", "text") for _, member, _, kind in dialect.deviations
    )


def _outline(result: Any) -> dict[str, Any]:
    """What `_classify` reads of a body, from the decoded body."""
    extra = result.extra
    document: dict[str, Any] = {name: extra[name] for name in _DECIDING if name in extra}
    if result.object is not UNSET:
        document["object"] = result.object
    choices: Any = result.choices
    if isinstance(choices, list):
        document["choices"] = [_names_of(choice) for choice in choices[:1]]
    elif choices is not UNSET:
        document["choices"] = choices
    return document


def _names_of(choice: Any) -> Any:
    if not isinstance(choice, Extensible):
        return choice
    extra = choice.extra
    return {
        name: True
        for name in ("message", "delta", "text")
        if getattr(choice, name, UNSET) is not UNSET or name in extra
    }


def _root_of(document: Any, type: type[Any] | None, body: bytes) -> type[Any]:
    if not isinstance(document, dict):
        kind = {list: "array", str: "string", int: "number", float: "number", bool: "boolean"}
        raise SchemaError(f"Expected a JSON object, got {kind.get(document.__class__, 'null')}", offset=0, data=body)
    if type is not None and object_literal(type) is None and not issubclass(type, ErrorResponse):
        return type  # a part of a body
    root = _classify(document)
    if type is None:
        if root is None:
            tag = document.get("object", UNSET)
            path = "$" if tag is UNSET else "$.object"
            raise SchemaError(
                "Neither a completion nor an error: no `choices`, no `error`"
                + ("" if tag is UNSET else f", and `object` is {json.dumps(tag, default=str)[:60]}"),
                path=path,
                offset=offset_of(body, path),
                data=body,
            )
        return root
    if root is ErrorResponse:
        return type if issubclass(type, ErrorResponse) else ErrorResponse
    if issubclass(type, ErrorResponse):
        raise SchemaError("Not an error body", offset=0, data=body)
    if not any(name in document for name in members(type)):
        raise SchemaError(f"Not a {type.__name__}: none of its members is there", offset=0, data=body)
    return type


# -- errors ------------------------------------------------------------------------------------------------


def _to_bytes(body: Any) -> bytes:
    if not isinstance(body, str):
        return bytes(body)
    try:
        return body.encode()
    except UnicodeEncodeError as error:
        offset = len(body[: error.start].encode())
        raise MalformedError("A str with a lone surrogate cannot be UTF-8", offset=offset) from error


def _raise_fault(fault: Fault, body: bytes, cause: Exception | None) -> NoReturn:
    error = TruncatedError if fault.kind == "truncated" else MalformedError
    data = _bytes_at(body, fault.offset)
    raise error(fault.reason, path=fault.path, offset=fault.offset, data=data) from cause


def _bytes_at(body: bytes, offset: int | None) -> bytes:
    return b"" if offset is None else body[offset : offset + 100]


# -- the shared codec --------------------------------------------------------------------------------------


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
    if not isinstance(obj, Extensible):
        raise TypeError(f"deviations() takes what decode() returned, not {type(obj).__name__}")
    document, _ = _TOLERANT._read(Codec(allow_nan=True).encode(obj), None)
    if isinstance(document, list):
        (document,) = document
    return [finding.describe() for finding in find(against or obj.__schema__, document)]


_TOLERANT = Codec(allow_nan=True)
_SHARED = Codec()

decode = _SHARED.decode
encode = _SHARED.encode
encode_into = _SHARED.encode_into

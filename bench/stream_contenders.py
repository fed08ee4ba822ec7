"""Who is compared on streams, and what each does; all of it in one file, since each is a few lines.

A job is a function of what `prepare` makes of the pieces. Its answer is checked before it is timed: framing, by the
payload of every event; decoding and accumulating, by text, number of chunks, finish reason, usage and number of log
probabilities; encoding, by every chunk, read again with `json.loads`.
"""

from __future__ import annotations

import codecs
import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import orjson

import fastcompletion as fc
from bench import streams
from bench.check import WrongAnswerError, difference
from bench.contenders import AbsentError

__all__ = ["JOBS", "OURS", "SDK_LOOP", "SDK_STATE", "Result", "StreamContender", "check", "contenders_for"]

OURS = "fastcompletion"
SDK_LOOP = "openai SDK client loop"
SDK_STATE = "openai SDK stream state"
JOBS = ("frame stream", "decode stream", "accumulate", "encode stream")
Pieces = list[bytes]


class Result(NamedTuple):
    """What a stream said."""

    text: str
    chunks: int
    finish_reason: str | None
    total_tokens: int | None
    logprobs: int  # entries of `top_logprobs`


class StreamContender(NamedTuple):
    """One way to do a job.

    Args:
        name: Who does it.
        prepare: From pieces to what `run` is called with; not timed.
        run: The job.
        read: From what `run` returned to what is compared: payloads, a `Result`, or chunks as builtins.
        fits: Can it do its job for this kind of chunks and this many of them, in a time that anyone waits for?
    """

    name: str
    prepare: Callable[[Pieces], Any]
    run: Callable[[Any], Any]
    read: Callable[[Any], Any]
    fits: Callable[[str, int], bool] = lambda _kind, _number: True


def check(contender: StreamContender, job: str, kind: str, number: int, delivery: str) -> Any:
    """Let the contender do its job once; returns what it is to be called with.

    Raises:
        WrongAnswerError: its answer is not what was streamed.
    """
    argument = contender.prepare(streams.pieces(kind, number, delivery))
    found = contender.read(contender.run(argument))
    wrong = difference(_plain(_expected(job, kind, number)), _plain(found))
    if wrong:
        raise WrongAnswerError(f"{contender.name}, {job}: {wrong}")
    return argument


def _plain(answer: Any) -> Any:
    return answer._asdict() if isinstance(answer, Result) else answer


def _expected(job: str, kind: str, number: int) -> Any:
    payloads = streams.payloads(kind, number)
    if job == "frame stream":
        return payloads
    chunks = [json.loads(data) for data in payloads[:-1]]
    if job == "encode stream":
        return chunks
    usage = streams.usage_of(number)
    logprobs = 5 * number if kind == "logprobs" else 0
    counted = 0 if job == "accumulate" else streams.chunks_in(number)
    return Result(streams.text_of(kind, number), counted, "stop", usage["total_tokens"], logprobs)


def contenders_for(job: str) -> tuple[list[StreamContender], list[str]]:
    """Those who do a job, ours first, and why others are absent."""
    found: list[StreamContender] = []
    absent: list[str] = []
    for make in _MAKERS[job]:
        try:
            found.append(make())
        except AbsentError as error:  # noqa: PERF203
            absent.append(str(error))
    return found, absent


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise AbsentError(f"{name} is absent: it is not installed") from error


def _same(value: Any) -> Any:
    return value


# -- pieces -> payloads of events --------------------------------------------------------------------------------


def _frame(pieces: Pieces) -> list[bytes]:
    events = fc.SSEDecoder()
    payloads: list[bytes] = []
    for piece in pieces:
        payloads += events.feed_data(piece)
    events.close()
    return payloads


def _frame_events(pieces: Pieces) -> list[Any]:
    decoder = fc.SSEDecoder()
    events: list[Any] = []
    for piece in pieces:
        events += decoder.feed(piece)
    decoder.close()
    return events


def _texts(payloads: Iterable[bytes]) -> list[str]:
    return [data.decode() for data in payloads]


def _texts_of(events: Iterable[Any]) -> list[str]:
    return [event.data if isinstance(event.data, str) else event.data.decode() for event in events]


def _make_framing() -> StreamContender:
    return StreamContender(OURS, _same, _frame, _texts)


def _make_framing_events() -> StreamContender:
    return StreamContender("fastcompletion, as events", _same, _frame_events, _texts_of)


def _make_sdk_framing() -> StreamContender:
    streaming = _module("openai._streaming")
    return StreamContender(
        "openai SDK events", _same, lambda pieces: list(streaming.SSEDecoder().iter_bytes(iter(pieces))), _texts_of
    )


def _httpx_sse_events(pieces: Pieces) -> Iterator[Any]:
    """What its `EventSource.iter_sse` does with a response: `iter_text` of httpx, then its lines and its events."""
    decoding = _module("httpx_sse._decoders")
    text_of = codecs.getincrementaldecoder("utf-8")().decode
    lines, decoder = decoding.SSELineDecoder(), decoding.SSEDecoder()
    for piece in pieces:
        for line in lines.decode(text_of(piece)):
            event = decoder.decode(line)
            if event is not None:
                yield event


def _make_httpx_sse_framing() -> StreamContender:
    _module("httpx_sse")
    return StreamContender("httpx-sse", _same, lambda pieces: list(_httpx_sse_events(pieces)), _texts_of)


def _blocks(pieces: Pieces) -> Iterator[bytes]:
    """As it is written by hand, right for LF and one `data: ` line: the buffer is searched again for each piece."""
    buffer = b""
    for piece in pieces:
        buffer += piece
        *blocks, buffer = buffer.split(b"\n\n")
        for block in blocks:
            yield block[6:]


def _make_split_framing() -> StreamContender:
    return StreamContender("split", _same, lambda pieces: list(_blocks(pieces)), _texts)


# -- pieces -> chunks ----------------------------------------------------------------------------------------


def _of_objects(chunks: Iterable[Any]) -> Result:
    """What chunks said that have attributes."""
    texts: list[str] = []
    reason, total, count, logprobs = None, None, 0, 0
    for count, chunk in enumerate(chunks, 1):  # noqa: B007
        for choice in chunk.choices:
            texts.append(choice.delta.content or "")
            reason = choice.finish_reason or reason
            logprobs += _logprobs_of(choice)
        if chunk.usage:
            total = chunk.usage.total_tokens
    return Result("".join(texts), count, reason, total, logprobs)


def _logprobs_of(choice: Any) -> int:
    return sum(len(entry.top_logprobs) for entry in choice.logprobs.content) if choice.logprobs else 0


def _of_dicts(chunks: Iterable[Any]) -> Result:
    texts: list[str] = []
    reason, total, count, logprobs = None, None, 0, 0
    for count, chunk in enumerate(chunks, 1):  # noqa: B007
        for choice in chunk["choices"]:
            texts.append(choice["delta"].get("content") or "")
            reason = choice["finish_reason"] or reason
            logprobs += sum(len(entry["top_logprobs"]) for entry in (choice["logprobs"] or {}).get("content", ()))
        total = (chunk.get("usage") or {}).get("total_tokens", total)
    return Result("".join(texts), count, reason, total, logprobs)


# Ours get a codec with each `_make`, so that no row pays for what the codec has learnt from the streams of another.


def _chunks(pieces: Pieces, codec: fc.Codec) -> list[Any]:
    stream = fc.StreamDecoder(codec)
    items: list[Any] = []
    for piece in pieces:
        items += stream.feed(piece)
    return items + stream.close()


def _make_ours() -> StreamContender:
    codec = fc.Codec()
    return StreamContender(OURS, _same, lambda pieces: _chunks(pieces, codec), _of_objects)


class _Loop:
    """The loop of the OpenAI SDK's own client, over a transport that answers with the pieces.

    All is as in use but the network: `client.chat.completions.create(stream=True)` sends a request through httpx, whose
    transport answers with an iterator of bytes, and returns its `Stream`, which goes through `Response.iter_bytes`, its
    own `SSEDecoder`, `json.loads` and `construct` to `ChatCompletionChunk`. The request is a hundredth of the time.
    """

    def __init__(self, pieces: Pieces) -> None:
        openai = _module("openai")
        http = _module("httpx2" if hasattr(openai._streaming, "httpx2") else "httpx")

        def answer(_: Any) -> Any:
            headers = {"content-type": "text/event-stream"}
            return http.Response(200, headers=headers, content=iter(pieces))

        client = http.Client(transport=http.MockTransport(answer))
        self.client = openai.OpenAI(api_key="none", base_url="http://localhost/v1", http_client=client)

    def __iter__(self) -> Iterator[Any]:
        messages = [{"role": "user", "content": "Hi"}]
        return iter(self.client.chat.completions.create(model="m", messages=messages, stream=True))


def _make_sdk() -> StreamContender:
    _module("openai")
    return StreamContender(SDK_LOOP, _Loop, list, _of_objects)


def _make_sdk_events() -> StreamContender:
    streaming = _module("openai._streaming")

    def run(pieces: Pieces) -> list[Any]:
        events = streaming.SSEDecoder().iter_bytes(iter(pieces))
        return [json.loads(event.data) for event in events if event.data != "[DONE]"]

    return StreamContender("openai SDK events + json", _same, run, _of_dicts)


def _make_httpx_sse(name: str, decode: Callable[[str], Any]) -> StreamContender:
    _module("httpx_sse")

    def run(pieces: Pieces) -> list[Any]:
        return [decode(event.data) for event in _httpx_sse_events(pieces) if event.data != "[DONE]"]

    return StreamContender(f"httpx-sse + {name}", _same, run, _of_dicts)


def _make_httpx_sse_json() -> StreamContender:
    return _make_httpx_sse("json", json.loads)


def _make_httpx_sse_orjson() -> StreamContender:
    return _make_httpx_sse("orjson", orjson.loads)


def _make_split(name: str, decode: Callable[[bytes], Any], read: Callable[[Any], Result]) -> StreamContender:
    def run(pieces: Pieces) -> list[Any]:
        return [decode(data) for data in _blocks(pieces) if data != b"[DONE]"]

    return StreamContender(name, _same, run, read)


class _Delta(msgspec.Struct):
    content: str | None = None


class _TopLogprob(msgspec.Struct):
    token: str
    logprob: float


class _TokenLogprob(msgspec.Struct):
    token: str
    logprob: float
    top_logprobs: list[_TopLogprob]


class _Logprobs(msgspec.Struct):
    content: list[_TokenLogprob]


class _Choice(msgspec.Struct):
    index: int
    delta: _Delta
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    total_tokens: int


class _Chunk(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


def _make_msgspec() -> StreamContender:
    return _make_split("split + msgspec (lossy)", msgspec.json.Decoder(_Chunk).decode, _of_objects)


def _make_orjson() -> StreamContender:
    return _make_split("split + orjson (untyped)", orjson.loads, _of_dicts)


# -- pieces -> a completion ----------------------------------------------------------------------------------


def _of_completion(completion: Any) -> Result:
    (choice,) = completion.choices
    total = completion.usage.total_tokens
    return Result(choice.message.content, 0, choice.finish_reason, total, _logprobs_of(choice))


def _make_ours_accumulating() -> StreamContender:
    codec = fc.Codec()

    def run(pieces: Pieces) -> Any:
        stream, total = fc.StreamDecoder(codec), fc.Accumulator()
        for piece in pieces:
            for item in stream.feed(piece):
                total.add(item)
        for item in stream.close():
            total.add(item)
        return total.completion()

    return StreamContender(OURS, _same, run, _of_completion)


def _make_sdk_accumulating() -> StreamContender:
    state = _module("openai.lib.streaming.chat").ChatCompletionStreamState

    def run(loop: _Loop) -> Any:
        total = state()
        for chunk in loop:
            total.handle_chunk(chunk)
        return total.get_final_completion()

    def fits(kind: str, number: int) -> bool:
        return kind != "logprobs" or number <= 500  # it copies all log probabilities so far, for each chunk

    return StreamContender(SDK_STATE, _Loop, run, _of_completion, fits)


# -- chunks -> pieces ----------------------------------------------------------------------------------------


def _read_back(sent: list[bytes]) -> list[Any]:
    return [json.loads(data) for data in _blocks(sent)]


def _documents(pieces: Pieces) -> list[Any]:
    return [json.loads(data) for data in _blocks(pieces) if data != b"[DONE]"]


def _make_ours_encoding() -> StreamContender:
    codec = fc.Codec()

    def run(chunks: list[Any]) -> list[bytes]:
        encoder, sent = fc.StreamEncoder(codec), []
        for chunk in chunks:
            encoder.add(chunk)
            sent.append(encoder.take())
        return sent

    return StreamContender(OURS, lambda pieces: _chunks(pieces, codec), run, _read_back)


def _make_template() -> StreamContender:
    codec = fc.Codec()

    def prepare(pieces: Pieces) -> tuple[Any, list[str], list[Any]]:
        first, *chunks, last, usage = _chunks(pieces, codec)
        return chunks[0], [chunk.choices[0].delta.content for chunk in chunks], [first, last, usage]

    def run(argument: tuple[Any, list[str], list[Any]]) -> list[bytes]:
        chunk, texts, (first, last, usage) = argument
        encoder, encode = fc.StreamEncoder(codec), fc.ChunkTemplate(chunk, codec).encode
        encoder.add(first)
        sent = [encoder.take(), *[encode(text) for text in texts]]
        encoder.add(last)
        encoder.add(usage)
        return [*sent, encoder.take()]

    def fits(kind: str, _number: int) -> bool:
        return kind == "plain"  # where all but the delta is the same in every chunk

    return StreamContender("fastcompletion, template", prepare, run, _read_back, fits)


def _make_sdk_encoding() -> StreamContender:
    _module("openai")

    def run(chunks: list[Any]) -> list[bytes]:
        return [f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n".encode() for chunk in chunks]

    return StreamContender("openai SDK model_dump_json", lambda pieces: list(_Loop(pieces)), run, _read_back)


def _make_json_encoding() -> StreamContender:
    def run(chunks: list[Any]) -> list[bytes]:
        return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]

    return StreamContender("json.dumps", _documents, run, _read_back)


def _make_orjson_encoding() -> StreamContender:
    def run(chunks: list[Any]) -> list[bytes]:
        return [b"data: %b\n\n" % orjson.dumps(chunk) for chunk in chunks]

    return StreamContender("orjson.dumps", _documents, run, _read_back)


_MAKERS: dict[str, list[Callable[[], StreamContender]]] = {
    "frame stream": [
        _make_framing,
        _make_framing_events,
        _make_sdk_framing,
        _make_httpx_sse_framing,
        _make_split_framing,
    ],
    "decode stream": [
        _make_ours,
        _make_sdk,
        _make_sdk_events,
        _make_httpx_sse_json,
        _make_httpx_sse_orjson,
        _make_orjson,
        _make_msgspec,
    ],
    "accumulate": [_make_ours_accumulating, _make_sdk_accumulating],
    "encode stream": [
        _make_ours_encoding,
        _make_template,
        _make_sdk_encoding,
        _make_json_encoding,
        _make_orjson_encoding,
    ],
}

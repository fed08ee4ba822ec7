"""Who is compared on streams, and what each does; all of it in one file, since each is a few lines.

A job is a function of pieces. Its answer is checked before it is timed: the text, the number of chunks, the finish
reason and the usage.
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
from bench.check import WrongAnswerError
from bench.contenders import AbsentError

__all__ = ["JOBS", "OURS", "Result", "StreamContender", "check", "contenders_for"]

OURS = "fastcompletion"
JOBS = ("decode stream", "accumulate", "encode stream")
Pieces = list[bytes]


class Result(NamedTuple):
    """What a stream said."""

    text: str
    chunks: int
    finish_reason: str | None
    total_tokens: int | None


class StreamContender(NamedTuple):
    """One way to do a job.

    Args:
        name: Who does it.
        prepare: From pieces to what `run` is called with; not timed.
        run: The job.
        read: From what `run` returned to what the stream said.
    """

    name: str
    prepare: Callable[[Pieces], Any]
    run: Callable[[Any], Any]
    read: Callable[[Any], Result]


def check(contender: StreamContender, job: str, kind: str, number: int, delivery: str) -> Any:
    """Let the contender do its job once; returns what it is to be called with.

    Raises:
        WrongAnswerError: its answer is not what was streamed.
    """
    argument = contender.prepare(streams.pieces(kind, number, delivery))
    found = contender.read(contender.run(argument))
    chunks = streams.chunks_in(number)
    expected = Result(streams.text_of(kind, number), chunks, "stop", streams.usage_of(number)["total_tokens"])
    if job == "accumulate":
        expected = expected._replace(chunks=0)
    if found != expected:
        raise WrongAnswerError(f"{contender.name}, {job}: {found!r:.200} instead of {expected!r:.200}")
    return argument


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


# -- pieces -> chunks ----------------------------------------------------------------------------------------


def _of_objects(chunks: Iterable[Any]) -> Result:
    """What chunks said that have attributes."""
    texts: list[str] = []
    reason, total, count = None, None, 0
    for count, chunk in enumerate(chunks, 1):  # noqa: B007
        for choice in chunk.choices:
            texts.append(choice.delta.content or "")
            reason = choice.finish_reason or reason
        if chunk.usage:
            total = chunk.usage.total_tokens
    return Result("".join(texts), count, reason, total)


def _of_dicts(chunks: Iterable[Any]) -> Result:
    texts: list[str] = []
    reason, total, count = None, None, 0
    for count, chunk in enumerate(chunks, 1):  # noqa: B007
        for choice in chunk["choices"]:
            texts.append(choice["delta"].get("content") or "")
            reason = choice["finish_reason"] or reason
        total = (chunk.get("usage") or {}).get("total_tokens", total)
    return Result("".join(texts), count, reason, total)


_codec = fc.Codec()


def _ours(pieces: Pieces) -> list[Any]:
    stream = fc.StreamDecoder(_codec)
    items: list[Any] = []
    for piece in pieces:
        items += stream.feed(piece)
    return items + stream.close()


def _make_ours() -> StreamContender:
    return StreamContender(OURS, _same, _ours, _of_objects)


class _Loop:
    """The loop of the OpenAI SDK's own client, over a transport that answers with the pieces."""

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
    return StreamContender("openai SDK client loop", _Loop, list, _of_objects)


def _make_sdk_events() -> StreamContender:
    _module("openai")

    def run(pieces: Pieces) -> list[Any]:
        decoder = importlib.import_module("openai._streaming").SSEDecoder()
        return [json.loads(event.data) for event in decoder.iter_bytes(iter(pieces)) if event.data != "[DONE]"]

    return StreamContender("openai SDK events + json", _same, run, _of_dicts)


def _make_httpx_sse() -> StreamContender:
    decoding = _module("httpx_sse._decoders")

    def run(pieces: Pieces) -> list[Any]:
        text_of = codecs.getincrementaldecoder("utf-8")().decode  # as httpx's iter_text does
        lines, decoder, found = decoding.SSELineDecoder(), decoding.SSEDecoder(), []
        for piece in pieces:
            for line in lines.decode(text_of(piece)):
                event = decoder.decode(line)
                if event is not None and event.data != "[DONE]":
                    found.append(orjson.loads(event.data))
        return found

    return StreamContender("httpx-sse + orjson", _same, run, _of_dicts)


def _blocks(pieces: Pieces) -> Iterator[bytes]:
    """As it is written by hand, right for LF and one `data: ` line: the buffer is searched again for each piece."""
    buffer = b""
    for piece in pieces:
        buffer += piece
        *blocks, buffer = buffer.split(b"\n\n")
        for block in blocks:
            if block != b"data: [DONE]":
                yield block[6:]


def _make_split(name: str, decode: Callable[[bytes], Any], read: Callable[[Any], Result]) -> StreamContender:
    return StreamContender(name, _same, lambda pieces: [decode(data) for data in _blocks(pieces)], read)


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    index: int
    delta: _Delta
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
    return Result(choice.message.content, 0, choice.finish_reason, completion.usage.total_tokens)


def _accumulate_ours(pieces: Pieces) -> Any:
    stream, total = fc.StreamDecoder(_codec), fc.Accumulator()
    for piece in pieces:
        for item in stream.feed(piece):
            total.add(item)
    for item in stream.close():
        total.add(item)
    return total.completion()


def _make_ours_accumulating() -> StreamContender:
    return StreamContender(OURS, _same, _accumulate_ours, _of_completion)


def _make_sdk_accumulating() -> StreamContender:
    state = _module("openai.lib.streaming.chat").ChatCompletionStreamState

    def run(loop: _Loop) -> Any:
        total = state()
        for chunk in loop:
            total.handle_chunk(chunk)
        return total.get_final_completion()

    return StreamContender("openai SDK stream state", _Loop, run, _of_completion)


# -- chunks -> pieces ----------------------------------------------------------------------------------------


def _read_back(sent: list[bytes]) -> Result:
    return _of_objects(_ours(sent))


def _make_ours_encoding() -> StreamContender:
    def run(chunks: list[Any]) -> list[bytes]:
        encoder, sent = fc.StreamEncoder(_codec), []
        for chunk in chunks:
            encoder.add(chunk)
            sent.append(encoder.take())
        return sent

    return StreamContender(OURS, _ours, run, _read_back)


def _make_template() -> StreamContender:
    def prepare(pieces: Pieces) -> tuple[Any, list[str], list[Any]]:
        first, *chunks, last, usage = _ours(pieces)
        return chunks[0], [chunk.choices[0].delta.content for chunk in chunks], [first, last, usage]

    def run(argument: tuple[Any, list[str], list[Any]]) -> list[bytes]:
        chunk, texts, (first, last, usage) = argument
        encoder, encode = fc.StreamEncoder(_codec), fc.ChunkTemplate(chunk, _codec).encode
        encoder.add(first)
        sent = [encoder.take(), *[encode(text) for text in texts]]
        encoder.add(last)
        encoder.add(usage)
        return [*sent, encoder.take()]

    return StreamContender("fastcompletion, template", prepare, run, _read_back)


def _make_sdk_encoding() -> StreamContender:
    _module("openai")

    def run(chunks: list[Any]) -> list[bytes]:
        return [f"data: {chunk.model_dump_json(exclude_unset=True)}\n\n".encode() for chunk in chunks]

    return StreamContender("openai SDK model_dump_json", lambda pieces: list(_Loop(pieces)), run, _read_back)


def _make_json_encoding() -> StreamContender:
    def prepare(pieces: Pieces) -> list[Any]:
        return [json.loads(data) for data in _blocks(pieces)]

    def run(chunks: list[Any]) -> list[bytes]:
        return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]

    return StreamContender("json.dumps", prepare, run, _read_back)


_MAKERS: dict[str, list[Callable[[], StreamContender]]] = {
    "decode stream": [_make_ours, _make_sdk, _make_sdk_events, _make_httpx_sse, _make_orjson, _make_msgspec],
    "accumulate": [_make_ours_accumulating, _make_sdk_accumulating],
    "encode stream": [_make_ours_encoding, _make_template, _make_sdk_encoding, _make_json_encoding],
}

"""Every Python block of README.md runs, in order, in one namespace; what its comments promise is checked."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastcompletion as fc
from tests import vectors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"#\s+([\[('\"b\-\d].*|\w+\(.*)$")  # "# 'Hello!'", "# -0.25: why", "# TokenCounts(...), why"


def promised(line: str) -> Any:
    """The repr that the comment of a line begins with, or None."""
    found = PROMISE.search(line)
    if not found:
        return None
    text = found[1]
    for end in range(len(text), 0, -1):
        try:
            ast.parse(text[:end], mode="eval")
        except SyntaxError:
            continue
        if end == len(text) or text[end] in ":,":
            return text[:end]
    return None


def run_blocks() -> tuple[dict[str, Any], int]:
    """The names that the blocks define, and how many promises they kept."""
    namespace: dict[str, Any] = {}
    checked = 0
    for block in BLOCKS:
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
            if isinstance(statement, ast.Expr) and (promise := promised(lines[statement.end_lineno - 1])):
                value = eval(compile(ast.Expression(statement.value), "README.md", "eval"), namespace)
                assert repr(value) == promise, source
                checked += 1
            else:
                exec(compile(source, "README.md", "exec"), namespace)
    return namespace, checked


def test_blocks_run_and_keep_their_promises() -> None:
    assert len(BLOCKS) >= 8
    _, checked = run_blocks()
    assert checked >= 6


class Response:
    """As much of a response of httpx, or of aiohttp, as the README uses."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.content = self

    def iter_raw(self) -> Iterator[bytes]:
        yield from self.pieces

    async def aiter_raw(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece

    iter_any = aiter_raw


class Client:
    """A client of httpx, sync and async, or a session of aiohttp, that answers with one stream."""

    def __init__(self, stream: bytes) -> None:
        self.pieces = [stream[start : start + 50] for start in range(0, len(stream), 50)]

    def stream(self, method: str, url: str, *, json: dict[str, Any]) -> Any:
        assert (method, url, json["stream"]) == ("POST", "/v1/chat/completions", True)
        return self

    def post(self, url: str, *, json: dict[str, Any]) -> Any:
        return self.stream("POST", url, json=json)

    def __enter__(self) -> Response:
        return Response(self.pieces)

    def __exit__(self, *reason: object) -> None:
        pass

    async def __aenter__(self) -> Response:
        return Response(self.pieces)

    async def __aexit__(self, *reason: object) -> None:
        pass


def test_loops_over_streams() -> None:
    namespace, _ = run_blocks()
    client = Client(vectors.streams()["openai-basic"])
    completion = namespace["ask"](client, {"model": "m"})
    assert completion.choices[0].message.content
    for name in ("ask_async", "ask_aiohttp"):
        items = asyncio.run(collect(namespace[name](client, {"model": "m"})))
        total = fc.Accumulator()
        for item in items:
            total.add(item)
        assert total.completion() == completion


async def collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def test_the_two_commands_are_there() -> None:
    text = README.read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text

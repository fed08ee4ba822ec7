"""The streams that are measured: chunks as vLLM and OpenAI send them, cut as networks cut them."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

__all__ = ["DELIVERIES", "KINDS", "chunks_in", "events", "payloads", "pieces", "text_of", "usage_of"]

KINDS = ("plain", "extras", "logprobs")
DELIVERIES = ("one buffer", "one event a piece", "16 kB pieces", "1-7 byte pieces")
_WORDS = (
    "The",
    "of",
    "and",
    "a",
    "cache",
    "holds",
    "tokens,",
    "so",
    "need",
    "not",
    "computed",
    "again.\n\n-",
    "`m`:",
    "€",
)
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_USAGE = {"prompt_tokens": 31, "total_tokens": 0, "completion_tokens": 0}


def _token(rng: random.Random) -> str:
    return f" {rng.choice(_WORDS)}"


def _chunk(rng: random.Random, kind: str, **choice: Any) -> dict[str, Any]:
    chunk: dict[str, Any] = {
        "id": "chatcmpl-8f3a2b1c9d7e4f60a5b8c2d1e0f93847",
        "object": "chat.completion.chunk",
        "created": 1750000000,
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "choices": [{"index": 0, "logprobs": None, "finish_reason": None, "token_ids": None} | choice],
        "system_fingerprint": "fp_8f3a2b1c9d",
    }
    if kind == "extras":
        # OpenAI's padding, which the schema knows; OpenRouter's member and Together's, which it does not.
        chunk |= {"obfuscation": "".join(rng.choices(_PADDING, k=rng.randrange(4, 16))), "provider": "Together"}
        chunk["choices"][0]["seed"] = 10141578862
    return chunk


@cache
def events(kind: str, number: int) -> list[bytes]:
    """The events of a stream with ``number`` chunks of content, between a first and a last one, then the usage."""
    rng = random.Random(f"{kind} {number}")
    chunks = [_chunk(rng, kind, delta={"role": "assistant", "content": ""})]
    for _ in range(number):
        token = _token(rng)
        choice: dict[str, Any] = {"delta": {"content": token}}
        if kind == "logprobs":
            tops = [token, *(_token(rng) for _ in range(4))]
            entries = [
                {"token": top, "logprob": round(-0.3 - place, 6), "bytes": [*top.encode()]}
                for place, top in enumerate(tops)
            ]
            choice["logprobs"] = {"content": [entries[0] | {"top_logprobs": entries}]}
        chunks.append(_chunk(rng, kind, **choice))
    chunks.append(_chunk(rng, kind, delta={}, finish_reason="stop"))
    chunks.append(_chunk(rng, kind, delta={}) | {"choices": [], "usage": usage_of(number)})
    texts = [json.dumps(chunk, ensure_ascii=False, separators=(",", ":")).encode() for chunk in chunks]
    return [b"data: " + text + b"\n\n" for text in [*texts, b"[DONE]"]]


def payloads(kind: str, number: int) -> list[str]:
    """What the events hold, the last one ``[DONE]``."""
    return [event[len(b"data: ") : -2].decode() for event in events(kind, number)]


def chunks_in(number: int) -> int:
    """How many chunks a stream with ``number`` chunks of content has in all."""
    return number + 3


@cache
def text_of(kind: str, number: int) -> str:
    """The text that the stream carries."""
    chunks = [json.loads(event[6:]) for event in events(kind, number)[:-1]]
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks if chunk["choices"])


def usage_of(number: int) -> dict[str, int]:
    """The usage that stands at its end."""
    return _USAGE | {"completion_tokens": number, "total_tokens": number + 31}


@cache
def pieces(kind: str, number: int, delivery: str) -> list[bytes]:
    """The stream as it comes from the network."""
    whole = b"".join(events(kind, number))
    if delivery == "one buffer":
        return [whole]
    if delivery == "one event a piece":
        return events(kind, number)
    if delivery == "16 kB pieces":
        return [whole[start : start + 16384] for start in range(0, len(whole), 16384)]
    rng = random.Random(0)
    found, start = [], 0
    while start < len(whole):
        size = rng.randint(1, 7)
        found.append(whole[start : start + size])
        start += size
    return found

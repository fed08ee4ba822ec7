"""The bodies that are timed: made from a seed, so that every run and every machine has the same ones.

`body("small")` is compact JSON in UTF-8, as servers send it. What is in them follows two servers: OpenAI (usage
details, no nulls to speak of) and vLLM (every member, most of them null).
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["NAMES", "body"]

Document = dict[str, Any]

_VOCABULARY = """
a an and any are as at be been but by can cannot cache call case change client code could data decode default
do each engine every example field first for from function get given has have if in into is it its large last
less like list long makes may means member memory model more most need never next no not number object of on
one only or order other over part per point prompt read request response return same schema second see server
set should simple since small so some stream such than that the their them then there these they this time to
token type under until usage use used user value very want was what when where which while who will with
without work would write you your
"""
_WORDS = _VOCABULARY.split()
_MULTIBYTE = ("é", " naïve", "日本", "语", " für", "😀", " café", "→", "ña", "中")
_CJK_CLAUSES = (
    "模型在每一步只预测下一个词元",
    "缓存命中时不必重新计算提示词",
    "服务器按到达的先后处理请求",
    "客户端应当检查返回的每个字段",
    "未知的成员也要原样保留",
    "数字的精度不能在转换中丢失",
    "解码器先读取字节再建立对象",
    "大多数回答都很短",
    "代理只需要改写模型的名称",
    "日志里常常保存着完整的响应",
    "流式传输时每个分片都很小",
    "错误的正文也有许多种形状",
)


def _dump(document: Document) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


# -- what the bodies say -----------------------------------------------------------------------------------


def _sentence(rng: random.Random) -> str:
    words = [rng.choice(_WORDS) for _ in range(rng.randrange(6, 18))]
    if rng.random() < 0.15:
        quoted = rng.randrange(len(words))
        words[quoted] = f'"{words[quoted]}"'
    if rng.random() < 0.3:
        words[rng.randrange(len(words) - 1)] += ","
    text = " ".join(words) + "."
    return text[0].upper() + text[1:]


def _english(rng: random.Random, length: int) -> str:
    """Prose as models write it: paragraphs, headings, lists and code, in markdown and in ASCII."""
    parts: list[str] = []
    size = 0
    while size < length:
        kind = rng.randrange(8)
        if kind == 0:
            part = f"## {_sentence(rng)[:-1]}"
        elif kind == 1:
            part = "\n".join(f"{number}. **{rng.choice(_WORDS)}**: {_sentence(rng)}" for number in range(1, 5))
        elif kind == 2:
            name = rng.choice(_WORDS)
            part = f'```python\ndef {name}_all(items):\n    return [item["{name}"] for item in items]\n```'
        else:
            part = " ".join(_sentence(rng) for _ in range(rng.randrange(2, 7)))
        parts.append(part)
        size += len(part) + 2
    return "\n\n".join(parts)[:length].rstrip()


def _chinese(rng: random.Random, length: int) -> str:
    """The same in Chinese; ``length`` is in bytes of UTF-8."""
    lines: list[str] = []
    size = 0
    while size < length:
        line = "\N{FULLWIDTH COMMA}".join(rng.choice(_CJK_CLAUSES) for _ in range(rng.randrange(2, 6))) + "。"
        lines.append(line)
        size += len(line.encode()) + 2
    return "\n\n".join(lines)


def _token(rng: random.Random) -> str:
    if rng.random() < 0.05:
        return rng.choice(_MULTIBYTE)
    word = rng.choice(_WORDS)
    return word if rng.random() < 0.2 else " " + word


def _logprob(rng: random.Random) -> float:
    """A float32 written as a float64, as torch and json write it: `-0.10000000149011612`."""
    value: float = struct.unpack("f", struct.pack("f", -rng.expovariate(0.5)))[0]
    return value


# -- what servers put around it ----------------------------------------------------------------------------


def _openai(content: str) -> Document:
    """An answer of OpenAI's own."""
    return {
        "id": "chatcmpl-BxR7mQ2vT9kLpW4nZ8sYcJ3dHf6aE",
        "object": "chat.completion",
        "created": 1751234567,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": None, "annotations": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 19,
            "completion_tokens": 26,
            "total_tokens": 45,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 0,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        "service_tier": "default",
        "system_fingerprint": "fp_4c81d20e7a",
    }


def _vllm(content: str | None, *, calls: list[Document] | None = None) -> Document:
    """An answer of vLLM: every member is there, null where it was not asked for."""
    message: Document = {
        "role": "assistant",
        "content": content,
        "refusal": None,
        "annotations": None,
        "audio": None,
        "function_call": None,
    }
    if calls:
        message["tool_calls"] = calls
    message["reasoning"] = None
    return {
        "id": "chatcmpl-7d0f3f5e9a6b4c1d8e2f0a1b2c3d4e5f",
        "object": "chat.completion",
        "created": 1751234567,
        "model": "Qwen/Qwen3-32B",
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": "tool_calls" if calls else "stop",
                "stop_reason": None,
                "token_ids": None,
                "routed_experts": None,
                "weight_versions": None,
            }
        ],
        "service_tier": None,
        "system_fingerprint": "vllm-0.33.0-tp1-3f9c",
        "usage": {
            "prompt_tokens": 412,
            "total_tokens": 912,
            "completion_tokens": 500,
            "prompt_tokens_details": None,
            "completion_tokens_details": None,
        },
        "prompt_logprobs": None,
        "prompt_token_ids": None,
        "prompt_text": None,
        "kv_transfer_params": None,
        "ec_transfer_params": None,
        "metrics": None,
    }


def _with_logprobs(document: Document, rng: random.Random, tokens: int, top: int) -> Document:
    def entry() -> Document:
        token = _token(rng)
        return {"token": token, "logprob": _logprob(rng), "bytes": list(token.encode())}

    content = [entry() | {"top_logprobs": [entry() for _ in range(top)]} for _ in range(tokens)]
    document["choices"][0]["logprobs"] = {"content": content}
    document["choices"][0]["message"]["content"] = "".join(item["token"] for item in content)
    return document


def _with_prompt_logprobs(document: Document, rng: random.Random, tokens: int, top: int) -> Document:
    def entry(rank: int) -> Document:
        return {"logprob": _logprob(rng), "rank": rank, "decoded_token": _token(rng)}

    document["prompt_logprobs"] = [None] + [
        {str(rng.randrange(1000, 151_000)): entry(rank) for rank in range(1, top + 1)} for _ in range(tokens - 1)
    ]
    document["usage"] |= {"prompt_tokens": tokens, "total_tokens": tokens + document["usage"]["completion_tokens"]}
    return document


# -- the bodies --------------------------------------------------------------------------------------------

_ANSWER = "Rayleigh scattering: air scatters short (blue) wavelengths more than long (red) ones."


def _small() -> Document:
    return _openai(_ANSWER)


def _tools() -> Document:
    calls = [
        (
            "search_documents",
            {
                "query": "quarterly revenue by region, with the change against the year before",
                "filters": {"year": 2025, "kind": ["report", "slides"], "language": "en"},
                "limit": 20,
            },
        ),
        ("get_weather", {"city": "Zürich", "unit": "celsius", "days": 3}),
        (
            "run_sql",
            {
                "statement": 'SELECT "region", SUM(total) FROM orders\nWHERE year = 2025\nGROUP BY 1 ORDER BY 2 DESC',
                "limit": 50,
            },
        ),
        (
            "send_message",
            {
                "to": ["team@example.org", "board@example.org"],
                "subject": "Quarterly report",
                "text": 'The report is ready.\nSee the second page ("Regions") before the meeting at 10:30.',
            },
        ),
    ]
    return _vllm(
        None,
        calls=[
            {
                "id": f"chatcmpl-tool-{number:02d}c1f8a54e9b4d7e8a6d2b3c4e5f6a7b",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for number, (name, arguments) in enumerate(calls)
        ],
    )


def _ascii_text() -> Document:
    return _vllm(_english(random.Random(1), 15_400))


def _cjk_text() -> Document:
    return _vllm(_chinese(random.Random(2), 15_400))


def _logprobs() -> Document:
    return _with_logprobs(_vllm(None), random.Random(3), tokens=500, top=5)


def _prompt_logprobs() -> Document:
    return _with_prompt_logprobs(_vllm(_ANSWER), random.Random(4), tokens=2000, top=2)


def _extras_top() -> Document:
    return _small() | {"timings": {"prompt_ms": 21.5, "predicted_ms": 301.25}, "region": "eu-north"}


def _extras_usage() -> Document:
    document = _small()
    document["usage"] |= {"queue_time": 0.0213, "energy_joules": 4.5}
    return document


def _extras_message() -> Document:
    document = _small()
    document["choices"][0]["message"] |= {"citations": ["https://example.org/a", "https://example.org/b"], "phase": 1}
    return document


def _kv() -> Document:
    rng = random.Random(5)
    return _vllm(_ANSWER) | {
        "kv_transfer_params": {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [[rng.randrange(60_000) for _ in range(400)]],
            "remote_engine_id": "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed",
            "remote_host": "192.0.2.17",
            "remote_port": 5600,
            "tp_size": 2,
        }
    }


def _everything() -> Document:
    """What vLLM answers when it is asked for both kinds of log probabilities."""
    document = _with_logprobs(_vllm(None), random.Random(6), tokens=500, top=5)
    return _with_prompt_logprobs(document, random.Random(7), tokens=2000, top=2)


_MAKERS: dict[str, Callable[[], Document]] = {
    "small": _small,
    "tools": _tools,
    "ascii_text": _ascii_text,
    "cjk_text": _cjk_text,
    "logprobs": _logprobs,
    "prompt_logprobs": _prompt_logprobs,
    "extras_top": _extras_top,
    "extras_usage": _extras_usage,
    "extras_message": _extras_message,
    "kv": _kv,
    "everything": _everything,
}

NAMES = tuple(name for name in _MAKERS if name != "everything")  # that one is for the demo


@cache
def body(name: str) -> bytes:
    """The body of that name: one of `NAMES`, or ``"everything"``, half a megabyte of vLLM."""
    return _dump(_MAKERS[name]())

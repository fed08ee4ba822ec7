"""A response as a page for a person."""

from __future__ import annotations

import heapq
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Final, NamedTuple

import msgspec
from rich.syntax import Syntax
from rich.text import Text

import fastcompletion as fc
from fastcompletion.cli._findings import deviations_of, who, words_for
from fastcompletion.cli._inputs import TOLERANT, Batch
from fastcompletion.cli._lenient import get, items_in, members_in, text_or_empty
from fastcompletion.cli._senders import senders_of
from fastcompletion.cli._text import clean, clean_json, console, count, lines_of

__all__ = [
    "POSITION",
    "Page",
    "indented",
    "show_batch",
    "show_body",
    "show_stream",
]

_LEAST_LIKELY = 5  # tokens that `show` lists from log probabilities
_SENTINEL = -9999.0  # "very unlikely", of OpenAI and vLLM: not a log probability (llama.cpp's lies even lower)
_LIST_SHOWN = 8  # names of members that are listed before the rest is counted


class Page:
    """What `show` prints, line by line: styled and wrapped on a terminal, plain and unwrapped elsewhere."""

    def __init__(self) -> None:
        self._console = console()
        self.is_styled = self._console.is_terminal
        self._is_empty = True

    def line(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """Print parts, each a text or (text, style)."""
        self._is_empty = False
        cleaned = [(clean(part), "") if isinstance(part, str) else (clean(part[0]), part[1]) for part in parts]
        if self.is_styled:
            wrapped = Text.assemble(*cleaned).wrap(self._console, max(self._console.width - indent, 20))
            for line in wrapped or [Text()]:
                self._console.print(Text(" " * indent) + line, soft_wrap=True)
        else:
            sys.stdout.write(" " * indent + "".join(text for text, _ in cleaned).rstrip() + "\n")

    def section(self, title: str, *rest: str | tuple[str, str]) -> None:
        """Begin a section, after an empty line."""
        if not self._is_empty:
            sys.stdout.flush()
            self.line("")
        self.line((title, "bold"), *rest)

    def field(self, name: str, value: object, *rest: str | tuple[str, str], indent: int = 2) -> None:
        """Print a name and a value, unless there is none."""
        if value is not None and value is not msgspec.UNSET and value != "":
            self.line((f"{name:<14}", "cyan"), value if isinstance(value, str) else _json(value), *rest, indent=indent)

    def block(self, name: str, text: str, style: str = "", indent: int = 2) -> None:
        """Print a name, and a text of many lines below it, unless there is none."""
        if text:
            self.line((name, "cyan"), indent=indent)
            for line in lines_of(text):
                self.line((line, style), indent=indent + 2)

    def json(self, text: str) -> None:
        """Print JSON that is laid out already."""
        if self.is_styled:
            shown = Syntax(clean_json(text), "json", theme="ansi_dark", background_color="default", word_wrap=True)
            self._console.print(shown)
        else:
            sys.stdout.write(text + "\n")


def _json(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    try:
        return TOLERANT.encode(value).decode()
    except TypeError:  # it came from JSON, so that only depth can be in the way
        return "(nested too deeply to be shown)"


def indented(text: bytes) -> str:
    """JSON laid out for people, its numbers and strings untouched."""
    try:
        return msgspec.json.format(text, indent=2).decode()
    except (msgspec.DecodeError, RecursionError):  # NaN, or nested without end
        return text.decode()


def _names(members: Mapping[str, Any]) -> str:
    names = list(members)
    more = f", and {len(names) - _LIST_SHOWN} more" if len(names) > _LIST_SHOWN else ""
    return ", ".join(names[:_LIST_SHOWN]) + more if names else "empty"


def _time(created: Any) -> str | None:
    if isinstance(created, bool) or not isinstance(created, int | float):
        return None if created is None else _json(created)
    try:
        moment = datetime.fromtimestamp(created, tz=timezone.utc)
    except (OverflowError, ValueError, OSError):
        return str(created)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC ({created})"


def show_body(page: Page, obj: fc.AnyCompletion, batch: Batch | None) -> None:
    """Show a whole body, and the batch record around it."""
    if batch:
        show_batch(page, batch)
    if isinstance(obj, fc.ErrorResponse):
        _show_error(page, obj)
    else:
        _show_head(page, obj)
        for position, choice in enumerate(items_in(obj.choices)):
            _show_choice(page, choice, position)
        _show_usage(page, obj.usage)
        _show_rest(page, obj)
    _show_deviations(page, obj)


def show_batch(page: Page, batch: Batch) -> None:
    """Show a batch record without its body."""
    page.section("batch record", f" {batch.custom_id}")
    page.field("HTTP status", batch.status)
    page.field("request id", batch.request_id)
    if batch.body is None:
        page.field("error", batch.error)


def _show_error(page: Page, obj: fc.ErrorResponse) -> None:
    info = obj.info
    page.section("error", ": ", (info.message or "no message", "red"))
    page.field("type", info.type)
    page.field("code", info.code)
    page.field("param", info.param)
    for name in ("metadata", "innererror"):
        page.field(name, get(obj.error, name))
    if not isinstance(obj.detail, str):
        page.field("detail", obj.detail)
    page.field("user id", obj.user_id)


def _show_head(page: Page, obj: fc.ChatCompletion | fc.ChatCompletionChunk | fc.Completion) -> None:
    kind = "text completion"
    if not isinstance(obj, fc.Completion):
        kind = "chat completion" if isinstance(obj, fc.ChatCompletion) else "chat completion chunk"
    page.section(kind, " by ", (text_or_empty(get(obj, "model")) or "unnamed model", "bold green"))
    page.field("id", get(obj, "id"))
    page.field("created", _time(get(obj, "created")))
    page.field("provider", get(obj, "provider"))
    page.field("fingerprint", get(obj, "system_fingerprint"))
    page.field("service tier", get(obj, "service_tier"))
    page.field("request id", get(obj, "request_id"))
    page.field("metadata", get(obj, "metadata") or None)
    if not items_in(obj.choices):
        page.field("choices", "none")


def _show_choice(page: Page, choice: Any, position: int) -> None:
    if not isinstance(choice, fc.Choice | fc.ChunkChoice | fc.CompletionChoice):
        page.section(f"choice {position}", f": {_json(choice)}")
        return
    index = get(choice, "index")
    page.section(f"choice {position if index is None else index}")
    page.field("finish reason", get(choice, "finish_reason"))
    page.field("natively", get(choice, "native_finish_reason"))
    page.field("stop reason", get(choice, "stop_reason"))
    page.field("matched stop", get(choice, "matched_stop"))
    message = get(choice, "delta" if isinstance(choice, fc.ChunkChoice) else "message")
    if isinstance(message, fc.Message | fc.Delta):
        _show_message(page, message)
    elif message is not None:
        page.field("message", message)
    page.block("text", text_or_empty(get(choice, "text")))
    _show_logprobs(page, get(choice, "logprobs"))
    _show_prompt_logprobs(page, choice, indent=2)
    for name in ("token_ids", "prompt_token_ids"):
        if (ids := get(choice, name)) is not None:
            page.field(name.replace("_", " "), f"{len(items_in(ids)):,}")
    if isinstance(experts := get(choice, "routed_experts"), str):
        page.field("routed experts", f"{len(experts):,} characters of base64")
    for version in items_in(get(choice, "weight_versions")):
        page.field(
            "weights", f"version {get(version, 'version')}, tokens {get(version, 'start')} to {get(version, 'end')}"
        )
    _show_filter(page, get(choice, "content_filter_results"))
    _show_usage(page, get(choice, "usage"), title=f"usage of choice {position if index is None else index}")


def _show_message(page: Page, message: fc.Message | fc.Delta) -> None:
    role = get(message, "role")
    if role != "assistant":
        page.field("role", role)
    page.block("reasoning", message.reasoning_text, "dim")
    page.block("text", message.text)
    if parts := items_in(get(message, "content")):
        kinds = Counter(str(get(part, "type")) for part in parts)
        page.field("content parts", ", ".join(f"{number} {kind}" for kind, number in kinds.items()))
    page.block("refusal", text_or_empty(get(message, "refusal")), "yellow")
    for position, call in enumerate(items_in(get(message, "tool_calls"))):
        _show_call(page, call, position)
    if (function := get(message, "function_call")) is not None:
        page.field("function call", get(function, "name") or "unnamed")
        _show_arguments(page, get(function, "arguments"))
    for annotation in items_in(get(message, "annotations")):
        _show_annotation(page, annotation)
    if (audio := get(message, "audio")) is not None:
        data = get(audio, "data")
        size = f"{len(data):,} characters of base64" if isinstance(data, str) else "no data"
        page.field("audio", f"{get(audio, 'id') or 'no id'}, {size}")
        page.block("transcript", text_or_empty(get(audio, "transcript")), indent=4)


def _show_call(page: Page, call: Any, position: int) -> None:
    index = get(call, "index")
    function = get(call, "function")
    custom = get(call, "custom")
    called = function if function is not None else custom
    name = get(called, "name") or ("unnamed" if not isinstance(called, str) else called)
    call_id = get(call, "id")
    page.field(
        f"tool call {position if index is None else index}",
        str(name),
        (f" ({call_id})" if call_id not in (None, "") else "", "dim"),
        (f" {get(call, 'type')}" if get(call, "type") not in (None, "function") else "", "dim"),
    )
    _show_arguments(page, get(function, "arguments"))
    if text := text_or_empty(get(custom, "input")):
        for line in lines_of(text):
            page.line(line, indent=4)


def _show_arguments(page: Page, arguments: Any) -> None:
    """Arguments laid out where they are JSON, as they are where not: cut off, or a fragment."""
    if arguments is None or arguments == "":
        return
    if not isinstance(arguments, str):
        text = indented(_json(arguments).encode())
    else:
        try:
            text = msgspec.json.format(arguments, indent=2)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            text = arguments
    for line in lines_of(text):
        page.line(line, indent=4)


def _show_annotation(page: Page, annotation: Any) -> None:
    citation = get(annotation, "url_citation")
    if citation is None:
        page.field("annotation", get(annotation, "type"))
        return
    title, start, end = (get(citation, name) for name in ("title", "start_index", "end_index"))
    where = "" if start is None or end is None else f" (characters {start} to {end})"
    page.field("cites", f"{title}: {get(citation, 'url')}{where}" if title else f"{get(citation, 'url')}{where}")


class _Token(NamedTuple):
    logprob: float
    text: str
    rank: int | None = None


def _show_logprobs(page: Page, logprobs: Any) -> None:
    if logprobs is None:
        return
    if not isinstance(logprobs, fc.ChoiceLogprobs | fc.CompletionLogprobs):
        page.field("logprobs", f"{_json(logprobs):.60}")
        return
    if isinstance(logprobs, fc.CompletionLogprobs):
        texts, numbers = items_in(get(logprobs, "tokens")), items_in(get(logprobs, "token_logprobs"))
        pairs = [(texts[at] if at < len(texts) else "?", number) for at, number in enumerate(numbers)]
        _summarise(
            page, "logprobs", [_Token(number, str(text)) for text, number in pairs if _is_number(number)], len(pairs)
        )
        return
    for name, title in (("content", "logprobs"), ("refusal", "of refusal")):
        items = items_in(get(logprobs, name))
        tokens = [
            _Token(number, str(get(item, "token"))) for item in items if _is_number(number := get(item, "logprob"))
        ]
        _summarise(page, title, tokens, len(items))


def _show_prompt_logprobs(page: Page, obj: Any, indent: int = 0) -> None:
    """The prompt's log probabilities: at each position vLLM has the actual token first, then the likeliest others."""
    positions = items_in(get(obj, "prompt_logprobs"))
    ids = items_in(get(obj, "prompt_token_ids"))
    tokens: list[_Token] = []
    for position, candidates in enumerate(positions):
        if not (by_id := members_in(candidates)):
            continue
        token_id = ids[position] if position < len(ids) else None
        actual = by_id.get(token_id) if isinstance(token_id, int) else None
        if actual is None:
            actual = next(iter(by_id.values()))
        if _is_number(number := get(actual, "logprob")):
            tokens.append(_Token(number, str(get(actual, "decoded_token")), get(actual, "rank")))
    if positions:
        if not indent:
            page.section("prompt")
        _summarise(page, "prompt logprobs" if indent else "logprobs", tokens, len(positions))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _summarise(page: Page, title: str, tokens: list[_Token], number: int) -> None:
    """Number, mean and perplexity of some tokens, and the least likely of them."""
    if not number:
        return
    likely = [token.logprob for token in tokens if token.logprob > _SENTINEL]
    parts = [count(number, "token")]
    if likely:
        mean = math.fsum(likely) / len(likely)
        parts += [f"mean {mean:.4g}", f"perplexity {math.exp(min(-mean, 700)):.4g}"]
    if hopeless := len(tokens) - len(likely):
        parts.append(f"{hopeless:,} very unlikely")
    if missing := number - len(tokens):
        parts.append(f"{missing:,} without a value")
    page.field(title, ", ".join(parts))
    for token in heapq.nsmallest(_LEAST_LIKELY, tokens):
        rank = "" if token.rank is None else f"  rank {token.rank}"
        page.line(f"{token.logprob:>10.4g}  {_json(token.text)}{rank}", indent=4)


_COUNTS: Final = (
    ("prompt", "prompt_tokens", "prompt_tokens_details"),
    ("completion", "completion_tokens", "completion_tokens_details"),
    ("total", "total_tokens", ""),
)
_OTHER_COUNTS: Final = (
    ("cached", "cached_tokens"),
    ("cache hits", "prompt_cache_hit_tokens"),
    ("cache misses", "prompt_cache_miss_tokens"),
    ("reasoning", "reasoning_tokens"),
    ("cost", "cost"),
    ("cost details", "cost_details"),
    ("own key", "is_byok"),
)


def _show_usage(page: Page, usage: Any, title: str = "usage") -> None:
    if usage is None or usage is msgspec.UNSET:
        return
    page.section(title)
    for name, member, details in _COUNTS:
        value = get(usage, member)
        page.field(name, value, (_spell_details(get(usage, details) if details else None), "dim"))
    for name, member in _OTHER_COUNTS:
        page.field(name, get(usage, member))


def _fields_of(struct: type[msgspec.Struct]) -> list[str]:
    """The members of a class of the schema, in its order."""
    return [name for name in struct.__struct_fields__ if name.isidentifier() and not name.endswith("_")]


def _spell_details(details: Any) -> str:
    if not isinstance(details, fc.PromptTokensDetails | fc.CompletionTokensDetails):
        return ""
    values = {name: get(details, name) for name in _fields_of(details.__schema__)}
    spelled = ", ".join(
        f"{_json(value)} {name.removesuffix('_tokens').replace('_', ' ')}"
        for name, value in values.items()
        if value is not None
    )
    return f"  ({spelled})" if spelled else ""


def _show_filter(page: Page, results: Any) -> None:
    if not (verdicts := members_in(results)):
        return
    filtered = [name for name, verdict in verdicts.items() if get(verdict, "filtered") or get(verdict, "detected")]
    page.field("content filter", ", ".join(filtered) if filtered else f"nothing in {_names(verdicts)}")


def _show_rest(page: Page, obj: fc.ChatCompletion | fc.ChatCompletionChunk | fc.Completion) -> None:
    """What only some servers send, beside the choices."""
    _show_prompt_logprobs(page, obj)
    for name in ("kv_transfer_params", "ec_transfer_params", "sglext"):
        if (params := get(obj, name)) is not None:
            page.section(name, f": {_names(members_in(params))}")
    if metrics := get(obj, "metrics"):
        page.section("metrics")
        for name in _fields_of(fc.RequestMetrics):
            page.field(name.replace("_", " "), get(metrics, name))
    if (ids := get(obj, "prompt_token_ids")) is not None:
        page.section("prompt token ids", f": {len(items_in(ids)):,}")
    if isinstance(prompt := get(obj, "prompt_text"), str):
        page.section("prompt text")
        page.block("as rendered", prompt, "dim")
    searched = get(obj, "web_search")
    results: list[Any] = [searched] if isinstance(searched, dict) else items_in(searched)
    if results:
        page.section("web search")
    for position, result in enumerate(results, 1):
        date = get(result, "publish_date")
        page.line(f"{position}. {get(result, 'title') or 'untitled'}", (f"  {date}" if date else "", "dim"), indent=2)
        if link := get(result, "link"):
            page.line((str(link), "underline"), indent=5)
    for result in items_in(get(obj, "prompt_filter_results")):
        page.section("prompt filter")
        _show_filter(page, get(result, "content_filter_results"))
    if moderation := get(obj, "moderation"):
        page.section("moderation")
        for side in ("input", "output"):
            verdict = get(moderation, side)
            results = items_in(get(verdict, "results"))
            flagged = any(get(result, "flagged") for result in results)
            page.field(side, get(verdict, "message") or ("flagged" if flagged else "not flagged"))


def show_stream(page: Page, stream: fc.StreamDecoder, total: fc.Accumulator, chunks: int) -> None:
    """How a stream went."""
    page.section("stream", f": {count(chunks, 'chunk')}")
    page.field("ended", "as it should" if stream.complete else "without a finish reason")
    page.field("[DONE]", "yes" if stream.done else "no")
    if stream.ignored:
        page.field("ignored", count(stream.ignored, "event"), (" (pings, empty ones, or after [DONE])", "dim"))
    for error in total.errors:
        code = "" if error.info.code is None else f" ({error.info.code})"
        page.field("error", f"{error.kind}: {error.info.message}{code}")
    for anomaly in total.anomalies:
        page.field("unusual", f"{anomaly.path}: {anomaly.kind.replace('_', ' ')}: {anomaly.detail}")


POSITION = re.compile(r"\[[0-9]+\]")


def _show_deviations(page: Page, obj: fc.AnyCompletion) -> None:
    """Extras and deviations, alike ones (in other choices, or tokens) in one line."""
    groups: dict[tuple[str, str], list[fc.Deviation]] = {}
    try:
        deviations = deviations_of(obj)
    except fc.LimitError as error:
        page.section("unusual", f": {error.reason}")
        return
    for deviation in deviations:
        groups.setdefault((POSITION.sub("[]", deviation.path), deviation.kind), []).append(deviation)
    for title, are_extras in (("extras", True), ("unusual", False)):
        chosen = {key: group for key, group in groups.items() if (key[1] == "extra") == are_extras}
        if chosen:
            rest = ": not in the schema, and kept" if are_extras else ": not as the schema has it, and kept"
            page.section(title, (rest, "dim"))
        for (path, kind), group in chosen.items():
            senders = senders_of(path, kind, group[0].example)
            times = f", {len(group):,} times" if len(group) > 1 else ""
            place = group[0].path if len(group) == 1 else path
            what = group[0].example if are_extras else words_for(group[0])
            page.line(
                (place, "cyan"),
                f": {what}",
                times,
                (f" ({who(kind, senders)})" if senders else "", "dim"),
                indent=2,
            )

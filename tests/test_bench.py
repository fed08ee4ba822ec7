"""The benchmarks: every contender is right about every body, and one that is not does not get timed."""

from __future__ import annotations

import json
import sys
import types
from typing import Any

import pytest

from bench import (
    check,
    contenders,
    corpus,
    demo,
    demo_stream,
    ratios,
    schema,
    stream_contenders,
    streams,
    table,
    vectors,
)
from bench.check import Keeps, WrongAnswerError, difference

KILOBYTES = {
    "small": 0.7,
    "tools": 2,
    "ascii_text": 16,
    "cjk_text": 16,
    "logprobs": 230,
    "prompt_logprobs": 300,
    "extras_top": 0.7,
    "extras_usage": 0.7,
    "extras_message": 0.7,
    "kv": 3.3,
    "everything": 530,
}
EVERYONE = [(stem, job) for job in ratios.JOBS for stem in contenders.stems_for(job)]

# The bodies


@pytest.mark.parametrize("name", [*corpus.NAMES, "everything"])
def test_bodies_are_of_the_stated_size_and_compact(name: str) -> None:
    body = corpus.body(name)
    assert len(body) / 1000 == pytest.approx(KILOBYTES[name], rel=0.1)
    assert body == json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode()


def test_bodies_are_the_same_every_time() -> None:
    first = corpus.body("logprobs")
    corpus.body.cache_clear()
    assert corpus.body("logprobs") == first


def test_bodies_hold_what_they_are_named_after() -> None:
    def document(name: str) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(corpus.body(name))
        return loaded

    content = document("logprobs")["choices"][0]["logprobs"]["content"]
    assert len(content) == 500
    assert {len(entry["top_logprobs"]) for entry in content} == {5}
    assert all(bytes(entry["bytes"]).decode() == entry["token"] for entry in content)
    first, *others = document("prompt_logprobs")["prompt_logprobs"]
    assert first is None
    assert [len(entry) for entry in others] == [2] * 1999
    assert corpus.body("ascii_text").isascii()
    assert len(document("cjk_text")["choices"][0]["message"]["content"].encode()) > 15_000
    assert len(document("tools")["choices"][0]["message"]["tool_calls"]) == 4
    assert [len(blocks) for blocks in document("kv")["kv_transfer_params"]["remote_block_ids"]] == [400]
    for name in corpus.NAMES:
        unknown = "extras" in name
        assert (schema_lacks(document(name)) > 0) is unknown


def schema_lacks(value: Any) -> int:
    """How many names of members, outside the transfer params and the token ids, the schema has nowhere."""
    if isinstance(value, list):
        return sum(map(schema_lacks, value))
    if not isinstance(value, dict):
        return 0
    inside = sum(schema_lacks(item) for name, item in value.items() if name != "kv_transfer_params")
    return inside + sum(name not in schema.names() and not name.isdigit() for name in value)


# The contenders


@pytest.mark.parametrize("name", corpus.NAMES)
@pytest.mark.parametrize(("stem", "job"), EVERYONE)
def test_everyone_is_right(stem: str, job: str, name: str) -> None:
    check.check(contenders.load(stem), job, corpus.body(name))


def test_only_those_who_say_so_lose_anything() -> None:
    keeps = {stem: contenders.load(stem).KEEPS for stem in contenders.STEMS}
    lossy = {stem for stem, kept in keeps.items() if kept is not Keeps.ALL}
    assert lossy == {"msgspec_plain", "pydantic_defaults"}


def test_the_models_have_the_whole_schema() -> None:
    from bench.contenders import msgspec_plain, pydantic_model

    for root in schema.ROOTS:
        names = [member.name for member in schema.members(root)]
        assert list(pydantic_model.MODELS[root.__name__].model_fields) == names
    completion = msgspec_plain.decode(corpus.body("small"))
    assert list(completion.__struct_fields__) == [member.name for member in schema.members(schema.ROOTS[0])]


def impostor(**changes: Any) -> Any:
    honest = {"NAME": "impostor", "KEEPS": Keeps.ALL, "JOBS": ratios.JOBS, "plain": lambda document: document}
    return types.SimpleNamespace(**{**honest, "decode": json.loads, "encode": json.dumps, **changes})


@pytest.mark.parametrize(
    ("job", "change"),
    [
        ("decode", {"decode": lambda body: json.loads(body) | {"created": 0}}),
        ("decode", {"decode": lambda body: json.loads(body.replace(b"null", b"false"))}),
        ("decode", {"decode": lambda body: {**json.loads(body), "choices": []}}),
        ("encode", {"encode": lambda document: json.dumps({**document, "usage": None})}),
        ("encode", {"encode": lambda document: json.dumps({**document, "extra": 1})}),
        ("encode", {"encode": lambda document: json.dumps(document).replace('"logprobs": null, ', "")}),
        ("encode", {"encode": lambda document: json.dumps({**document, "usage": None}), "KEEPS": Keeps.KNOWN}),
        ("encode", {"encode": lambda document: json.dumps({**document, "extra": 1}), "KEEPS": Keeps.NULLS}),
    ],
)
def test_a_wrong_answer_is_caught(job: str, change: dict[str, Any]) -> None:
    check.check(impostor(), job, corpus.body("small"))
    with pytest.raises(WrongAnswerError, match="impostor"):
        check.check(impostor(**change), job, corpus.body("small"))


def test_a_lost_digit_is_caught() -> None:
    body = b'{"logprob":-0.1000000000000000055511151231257827}'
    check.check(impostor(encode=lambda document: body), "encode", body)
    with pytest.raises(WrongAnswerError, match=r"\$\.logprob"):
        check.check(impostor(), "encode", body)


def test_what_a_contender_may_lose() -> None:
    assert difference({"model": "m", "odd": 1}, {"model": "m"}, Keeps.KNOWN) is None
    assert difference({"model": "m", "odd": 1}, {"model": "m"}) == "$.odd is missing"
    assert difference({"model": "m"}, {}, Keeps.KNOWN) == "$.model is missing"
    assert difference([{}], [{"model": None}], Keeps.NULLS) is None
    assert difference([{}], [{"model": None}]) == "$[0].model was not in the body"
    assert difference([1, 2], [1]) == "$ has 1 elements instead of 2"
    assert difference({"n": 1}, {"n": True}) == "$.n is True instead of 1"


def test_an_absent_contender_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "orjson", None)
    monkeypatch.delitem(sys.modules, "bench.contenders.orjson_dict", raising=False)
    with pytest.raises(contenders.AbsentError, match="orjson_dict is absent: orjson is not installed"):
        contenders.load("orjson_dict")
    assert "orjson_dict" in contenders.stems_for("decode")
    found = ratios.compare("decode", "small", rounds=2, sample_ns=1)
    assert found.absent == ["orjson_dict is absent: orjson is not installed"]


def test_our_codec_is_new_for_every_body() -> None:
    first = contenders.load(contenders.OURS).decode
    assert contenders.load(contenders.OURS).decode is not first


# The report


@pytest.mark.parametrize(
    ("theirs", "floor", "verdict"),
    [(500.0, 5.0, "floor 5x met"), (400.0, 5.0, "floor 5x missed by 20%"), (50.0, None, "")],
)
def test_ratios_are_compared_with_the_floor(theirs: float, floor: float | None, verdict: str) -> None:
    found = ratios.ratio("other", [100.0] * 40, [theirs] * 40, floor)
    assert found.median == found.low == found.high == theirs / 100
    assert found.verdict == verdict
    assert found.met is ("missed" not in verdict)


def test_a_ratio_is_taken_within_a_round() -> None:
    busy = [100.0, 900.0, 100.0, 900.0]
    found = ratios.ratio("other", busy, [2 * ns for ns in busy])
    assert (found.low, found.median, found.high) == (2, 2, 2)


def test_floors_are_of_contenders_and_bodies_that_exist() -> None:
    for job, stem, body in ratios.FLOORS:
        assert stem in contenders.stems_for(job)
        assert body in corpus.NAMES


def test_a_comparison_has_everyone() -> None:
    found = ratios.compare("encode", "small", rounds=2, sample_ns=1)
    assert len(found.ratios) + len(found.absent) + 1 == len(contenders.stems_for("encode"))


def test_the_ratios_in_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ratios, "SAMPLE_NS", 1)
    ratios.main(["--json", "--only", "decode small"])
    report = json.loads(capsys.readouterr().out)
    assert report["python"].endswith(".".join(map(str, sys.version_info[:3])))
    (result,) = report["results"]
    assert (result["job"], result["body"]) == ("decode", "small")
    assert {"pydantic", "orjson (untyped)"} <= {row["contender"] for row in result["ratios"]}


# The demo


def test_the_demo_agrees_with_every_vector(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(sample_ns=1) == 0
    out = capsys.readouterr().out
    assert {line.split()[0] for line in out.splitlines() if line.strip()} >= {vector.name for vector in vectors.read()}
    assert "every one equal" in out
    assert "c34 is refused: MalformedError at $.choices[0].logprobs" in out
    assert "c61 is refused: MalformedError at $.choices[0].message.content, byte 151" in out


@pytest.mark.parametrize(("body", "decodes"), [("small", False), ("", True)])
def test_the_demo_fails_where_a_verdict_is_wrong(body: str, decodes: bool, capsys: pytest.CaptureFixture[str]) -> None:
    text = corpus.body(body) if body else b"{"
    assert demo.main([vectors.Vector("v", text, "kind", "o/r#1", decodes)], sample_ns=1) == 1
    assert "WRONG: v: " in capsys.readouterr().out


def test_the_demo_fails_where_a_body_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo.fc.Codec, "encode", lambda self, obj: b"{}")
    vector = vectors.Vector("v", corpus.body("small"), "kind", "o/r#1", decodes=True)
    assert demo.main([vector], sample_ns=1) == 1
    assert "is missing" in capsys.readouterr().out


@pytest.mark.parametrize("rich", [True, False])
def test_the_table_is_readable_with_and_without_rich(
    rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table, "has_rich", rich and table.has_rich)
    table.show([table.Column("name"), table.Column("us", right=True)], [["a", "1.5"], ["[b]", "10.0"]])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["name", "us"] in lines
    assert ["[b]", "10.0"] in lines


def test_no_vectors_is_an_error(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match="no response bodies"):
        vectors.read(tmp_path)


# The streams


STREAM_JOBS = [
    (job, contender, kind)
    for job in stream_contenders.JOBS
    for contender in stream_contenders.contenders_for(job)[0]
    for kind in streams.KINDS
    if contender.fits(kind, 20)
]


@pytest.mark.parametrize(
    ("job", "contender", "kind"), STREAM_JOBS, ids=lambda value: getattr(value, "name", str(value))
)
def test_everyone_is_right_about_every_stream(job: str, contender: Any, kind: str) -> None:
    for delivery in streams.DELIVERIES if job != "accumulate" else streams.DELIVERIES[:1]:
        stream_contenders.check(contender, job, kind, 20, delivery)


@pytest.mark.parametrize(
    ("job", "wrong"),
    [
        ("frame stream", lambda payloads: payloads[:-1]),
        ("frame stream", lambda payloads: [payloads[0] + " ", *payloads[1:]]),
        *(
            (job, lambda result, change=change: result._replace(**change))
            for job in ("decode stream", "accumulate")
            for change in (
                {"text": "else"},
                {"finish_reason": None},
                {"total_tokens": 0},
                {"chunks": 1},
                {"logprobs": 1},
            )
        ),
        ("encode stream", lambda chunks: chunks[:-1]),
        ("encode stream", lambda chunks: [chunks[0] | {"created": 0}, *chunks[1:]]),
        ("encode stream", lambda chunks: [*chunks, {}]),
    ],
)
def test_a_wrong_contender_for_streams_is_caught(job: str, wrong: Any) -> None:
    contender = stream_contenders.contenders_for(job)[0][0]
    cheat = contender._replace(read=lambda answer: wrong(contender.read(answer)))
    with pytest.raises(WrongAnswerError, match=job):
        stream_contenders.check(cheat, job, "plain", 20, "one buffer")


def test_a_template_is_wrong_about_chunks_that_differ_in_more_than_the_delta() -> None:
    (template,) = (one for one in stream_contenders.contenders_for("encode stream")[0] if not one.fits("logprobs", 20))
    with pytest.raises(WrongAnswerError, match=r"logprobs"):
        stream_contenders.check(template, "encode stream", "logprobs", 20, "one buffer")


@pytest.mark.parametrize(("module", "named"), [("openai", "openai"), ("httpx_sse", "httpx_sse")])
def test_absent_contenders_for_streams_are_named(module: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    for job in ("frame stream", "decode stream"):
        found, absent = stream_contenders.contenders_for(job)
        assert any(named in line and "not installed" in line for line in absent)
        assert found[0].name == stream_contenders.OURS
        assert all(named not in one.name.replace("-", "_") for one in found)


def test_streams_are_what_they_say() -> None:
    for kind in streams.KINDS:
        whole = b"".join(streams.events(kind, 20))
        for delivery in streams.DELIVERIES:
            assert b"".join(streams.pieces(kind, 20, delivery)) == whole
        assert len(streams.events(kind, 20)) == streams.chunks_in(20) + 1
    assert 200 < len(b"".join(streams.events("plain", 2000))) / 2003 < 350
    assert max(map(len, streams.pieces("plain", 20, "1-7 byte pieces"))) == 7


def test_compare_stream() -> None:
    found = ratios.compare_stream("decode stream", "plain", 20, "16 kB pieces", 1, rounds=3)
    assert {row.contender for row in found.ratios} >= {"openai SDK client loop", "split + orjson (untyped)"}
    assert all(row.median > 0 for row in found.ratios)
    (row,) = (row for row in found.ratios if row.floor is not None)
    assert row.met
    assert (found.chunks, found.unit) == (23, "us a chunk")


def test_who_takes_too_long_is_left_out_and_named() -> None:
    found = ratios.compare_stream("accumulate", "logprobs", 501, "one buffer", 80, rounds=3)
    assert not found.ratios
    assert found.absent == [f"{stream_contenders.SDK_STATE} is left out: accumulate, logprobs, 504 chunks"]


@pytest.mark.parametrize(("last", "flat"), [(1.2, True), (1.3, False)])
def test_growth_is_seen(last: float, flat: bool) -> None:
    def of(chunks: int | None, microseconds: float, body: str = "logprobs") -> ratios.Comparison:
        return ratios.Comparison("accumulate", body, "", microseconds, [], [], chunks)

    comparisons = [of(8003, last), of(503, 1.0), of(2003, 1.1), of(2003, 9.0, "extras"), of(None, 5.0)]
    (growth,) = ratios.growths(comparisons)
    assert (growth.body, growth.microseconds) == ("logprobs", {503: 1.0, 2003: 1.1, 8003: last})
    assert growth.times == last
    assert growth.flat is flat


def test_the_demo_shows_streams(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["openai-tools-parallel", "groq-event-error"]
    assert demo_stream.main(names) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows if row and row[0] in names] == names
    (error,) = (row for row in rows if row and row[0] == "groq-event-error")
    assert {"1", "server", "raises"} <= {*error}


def test_the_demo_times_a_long_stream_beside_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(demo_stream._LONG, "long", ("plain", 20))
    found = demo_stream.examine_stream("long", b"".join(streams.events("plain", 20)))
    assert (found.chunks, found.sdk, found.done, found.complete) == (23, "23", True, True)
    assert found.ns is not None
    assert found.sdk_ns is not None
    assert found.sdk_ns > found.ns > 0


def test_the_demo_fails_where_a_chunk_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_stream.fc, "encode", lambda obj: b"{}")
    assert demo_stream.main(["openai-tools-parallel"]) == 1
    assert "WRONG" in capsys.readouterr().out

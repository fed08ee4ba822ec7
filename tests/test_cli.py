"""The command line: what it prints, where, and how it ends.

Most tests call its `main` with streams of their own. Those about processes (pipes, terminals, exit codes that the
interpreter has a say in) run it as a program.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fastcompletion as fc
from fastcompletion.__main__ import main
from tests import oracle, vectors

VECTORS = vectors.ROOT
CHAT = (
    b'{"object":"chat.completion","id":"chatcmpl-1","created":1750000000,"model":"glm-5","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"Hello!","reasoning_content":"Hm.","tool_calls":[{"id":"c","type":"function",'
    b'"function":{"name":"look","arguments":"{\\"q\\": 1}"}}]},"finish_reason":"tool_calls"}],'
    b'"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}'
)
ODD = CHAT.replace(b'"usage"', b'"timings":{"prompt_n":5},"usage"')


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    # PYTHONUNBUFFERED hides what a closed pipe does to a buffer; the others say what a terminal is like.
    for name in ("PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def run(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fastcompletion", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8", write_through=True))
        with pytest.raises(SystemExit) as exit:
            main()
        sys.stdout.flush()
        printed, said = out.getvalue(), err.getvalue()
    assert b"Traceback" not in said
    return subprocess.CompletedProcess(arguments, exit.value.code or 0, printed, said)


def program(*arguments: str | Path, shell: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run it in a process of its own, with the redirections that a shell is told."""
    command = [sys.executable, "-m", "fastcompletion", *map(str, arguments)]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment})


def printed(*arguments: str | Path, stdin: bytes = b"", code: int = 0) -> str:
    done = run(*arguments, stdin=stdin)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(content: bytes, name: str = "body.json") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


# -- help ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], *([name, "--help"] for name in ("show", "check", "collect", "replay"))]
)
def test_help(arguments: list[str]) -> None:
    text = printed(*arguments)
    assert "Usage:" in text
    for name in ("show", "check", "collect", "replay") if len(arguments) == 1 else (arguments[0],):
        assert name in text


def test_version_and_nothing() -> None:
    assert printed("--version").split() == ["fastcompletion", fc.__version__]
    assert run().returncode == 2
    assert run("unheard-of").returncode == 2
    assert run("show", "--unheard-of").returncode == 2


def test_without_typer(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('No module named typer', name='typer')")
    done = program("show", PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"The command line needs typer")
    assert b'pip install "fastcompletion[cli]"' in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_as_a_program(file: Any) -> None:
    done = program("check", file(ODD))
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (1, 1, b"")


# -- show ----------------------------------------------------------------------------------------------------


def test_show_a_chat_completion(file: Any) -> None:
    for text in (printed("show", file(ODD)), printed("show", "-", stdin=ODD), printed("show", stdin=ODD)):
        assert "chat completion by glm-5" in text
        assert "2025-06-15" in text
        for word in ("Hello!", "Hm.", "look", '"q": 1', "tool_calls", "$.timings", "llama.cpp"):
            assert word in text
        assert ["prompt", "5"] in [line.split() for line in text.splitlines()]
        assert "\x1b" not in text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            b'{"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"Hi"}}]}',
            ["chunk", "Hi"],
        ),
        (b'{"object":"text_completion","model":"m","choices":[{"index":0,"text":"Hi"}]}', ["text completion", "Hi"]),
        (b'{"error":{"message":"overloaded","code":503}}', ["error", "overloaded", "503"]),
        (b'[{"error":{"message":"quota","code":429}}]', ["error", "quota", "429"]),
        (b'{"choices":null}', ["unnamed model", "absent"]),
        (b'{"model":"a\\u001b[31mb","choices":[]}', ["a\\x1b[31mb"]),
        (b'{"model":"m","choices":[],"x":NaN}', ["NaN"]),
    ],
)
def test_show_each_kind(file: Any, body: bytes, words: list[str]) -> None:
    text = printed("show", file(body))
    for word in words:
        assert word in text
    assert "\x1b" not in text


@pytest.mark.parametrize("vector", vectors.responses(), ids=lambda vector: vector.name)
def test_show_every_vector(file: Any, vector: vectors.Response) -> None:
    done = run("show", file(vector.body))
    assert done.returncode == (0 if vector.decode == "ok" or b"NaN" in vector.body else 1)
    assert (done.stdout if done.returncode == 0 else done.stderr).strip()


def test_show_as_json(file: Any) -> None:
    assert oracle.meaning(printed("show", "--json", file(ODD)).encode()) == oracle.meaning(ODD)


def test_show_a_line(file: Any) -> None:
    path = file(ODD + b"\n\n" + CHAT.replace(b"Hello!", b"Second") + b"\n", "log.jsonl")
    done = run("show", path)
    assert b"Hello!" in done.stdout
    assert b"first of 2 responses" in done.stderr
    assert "Second" in printed("show", path, "--line", "3")
    assert b"no response begins on line 2; the next one is on line 3" in run("show", path, "-n", "2").stderr
    assert run("show", path, "-n", "9").returncode == 2


def test_show_a_stream() -> None:
    text = printed("show", VECTORS / "streams/openai-tools-parallel.sse")
    for words in ("chat completion by m-1", "add (call_a)", "stream: 8 chunks", "as it should"):
        assert words in text
    text = printed("show", VECTORS / "streams/groq-event-error.sse")
    assert "server: Failed to call a function. (tool_use_failed)" in text
    assert "without a finish reason" in text


# -- check ---------------------------------------------------------------------------------------------------


def test_check_a_clean_file(file: Any) -> None:
    done = run("check", file(CHAT.replace(b',"reasoning_content":"Hm."', b"")))
    assert (done.returncode, done.stdout) == (0, b"")


def test_check_findings(file: Any) -> None:
    path = file(ODD)
    text = printed("check", path, code=1)
    assert text.splitlines() == [
        f'{path}:1: $.timings: not in the schema: {{"prompt_n": 5}} (also sent by llama.cpp)',
    ]


def test_check_lines(file: Any) -> None:
    odd = b'{"object":"chat.completion","id":"x","created":1,"model":"m\xe2\x80\xa8","choices":[],"odd":1}'
    content = b"\xef\xbb\xbf" + CHAT + b"\r\n\r\n" + odd + b"\n" + b'{"broken": \n' + odd.replace(b"odd", b"odder")
    text = printed("check", file(content, "log.jsonl"), code=1)
    places = [line.split(": ")[:2] for line in text.splitlines()]
    assert [(place.rpartition(":")[2], path) for place, path in places] == [
        ("3", "$.odd"),
        ("4", "$.broken"),
        ("5", "$.odder"),
    ]


def test_check_a_pretty_body_names_the_line(file: Any) -> None:
    text = printed("check", file(json.dumps(json.loads(ODD), indent=1).encode()), code=1)
    line = json.dumps(json.loads(ODD), indent=1).splitlines().index(' "timings": {') + 1
    assert f":{line}: $.timings" in text


def test_check_batch_records(file: Any) -> None:
    record = b'{"id":"b","custom_id":"r-1","response":{"status_code":200,"request_id":"q","body":%s},"error":null}\n'
    failed = b'{"id":"c","custom_id":"r-2","response":null,"error":{"message":"expired"}}\n'
    done = run("check", file(record % ODD + failed, "batch.jsonl"), "--summary")
    assert done.returncode == 1
    assert b":1: $.timings: not in the schema" in done.stdout
    assert b"expired" in done.stderr
    assert "batch record" in printed("show", file(record % ODD, "one.jsonl"))


def test_check_as_json(file: Any) -> None:
    (line,) = printed("check", "--format", "json", file(ODD), code=1).splitlines()
    finding = json.loads(line)
    assert (finding["line"], finding["path"], finding["kind"]) == (1, "$.timings", "extra")
    assert finding["senders"] == "llama.cpp"


@pytest.mark.parametrize(("dialect", "words"), [("openai", "OpenAI document"), ("vllm", "vLLM document")])
def test_check_against_a_document(file: Any, dialect: str, words: str) -> None:
    text = printed("check", "--dialect", dialect, file(ODD), code=1)
    assert "$.timings" in text
    assert words in text
    chunk = b'{"object":"chat.completion.chunk","choices":[]}'
    assert "whole chat completions" in printed("check", "--dialect", dialect, file(chunk), code=1)


def test_check_a_stream() -> None:
    path = VECTORS / "streams/bad-json-chunk.sse"
    assert printed("check", path, code=1).splitlines() == [
        f"{path}:3: $.choices[0].delta.content: Unexpected end of the body at byte 65",
    ]
    assert printed("check", VECTORS / "streams/openai-basic.sse") == ""


def test_check_several_files(file: Any, tmp_path: Path) -> None:
    done = run("check", file(ODD, "a.json"), tmp_path / "missing.json", file(ODD, "b.json"))
    assert done.returncode == 2
    assert b"a.json:1" in done.stdout
    assert b"b.json:1" in done.stdout
    assert b"missing.json: No such file" in done.stderr


def test_summary(file: Any) -> None:
    done = run("check", "--summary", file(ODD + b"\n" + ODD, "log.jsonl"))
    assert done.stderr.decode().split("\n")[0].split()[:3] == ["2", "$.timings", "extra"]
    assert "2 findings in 2 of 2 bodies" in done.stderr.decode()


def test_check_every_vector(file: Any) -> None:
    found = 0
    for vector in vectors.responses():
        done = run("check", "--format", "json", file(vector.body))
        findings = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == bool(findings), vector.name
        if vector.decode == "error":
            assert findings
            assert {finding["kind"] for finding in findings} <= {"malformed", "truncated", "schema", "limit"}
            continue
        body = fc.decode(vector.body)
        expected = [] if isinstance(body, fc.ErrorResponse) else fc.deviations(body)
        assert sorted((finding["path"], finding["kind"]) for finding in findings) == sorted(
            (deviation.path, deviation.kind) for deviation in expected
        )
        found += len(findings)
    assert found > 20


def test_check_does_not_depend_on_the_lines_before(file: Any) -> None:
    bodies = [body for body in vectors.events().values() if b'"choices"' in body or b'"error"' in body]
    found: dict[int, list[tuple[str, str]]] = {number: [] for number in range(1, len(bodies) + 1)}
    for line in run("check", "--format", "json", file(b"\n".join(bodies), "log.jsonl")).stdout.splitlines():
        finding = json.loads(line)
        found[finding["line"]].append((finding["path"], finding["kind"]))
    decoded = [fc.decode(body) for body in bodies]
    expected = [[] if isinstance(body, fc.ErrorResponse) else fc.deviations(body) for body in decoded]
    assert list(found.values()) == [[(one.path, one.kind) for one in deviations] for deviations in expected]
    assert [] in found.values()
    assert any(found.values())


@pytest.mark.parametrize("command", ["show", "check", "collect"])
def test_every_stream(command: str, file: Any) -> None:
    for name, stream in vectors.streams().items():
        done = run(command, file(stream, "stream.sse"))
        assert done.returncode in (0, 1), (name, done.stderr)
        assert done.stdout or done.stderr or command == "check"


# -- collect and replay --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai-basic", "openai-n2-interleaved-logprobs", "tgi-no-space-role-everywhere"])
def test_collect(name: str) -> None:
    expected = json.loads((VECTORS / f"streams/{name}.expect.json").read_bytes())["completion"]
    path = VECTORS / f"streams/{name}.sse"
    assert json.loads(printed("collect", path)) == expected
    assert json.loads(printed("collect", stdin=path.read_bytes())) == expected
    assert json.loads(printed("show", "--json", path)) == expected


def test_collect_what_is_wrong() -> None:
    done = run("collect", VECTORS / "streams/groq-event-error.sse")
    assert done.returncode == 1
    assert json.loads(done.stdout)["model"] == "llama-3.3"
    assert b"server: Failed to call a function." in done.stderr
    done = run("collect", VECTORS / "streams/json-error-body-not-sse.sse")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"not_sse: Rate limit reached" in done.stderr


def test_replay(file: Any) -> None:
    stream = printed("replay", file(CHAT), "--size", "2")
    assert stream.startswith('data: {"id":"chatcmpl-1","object":"chat.completion.chunk"')
    assert stream.endswith("data: [DONE]\n\n")
    assert stream.count('"content":') >= 3
    back = json.loads(printed("collect", stdin=stream.encode()))
    expected = json.loads(CHAT)
    expected["choices"][0]["message"] |= {"refusal": None, "content": "Hello!"}
    expected["choices"][0]["logprobs"] = None
    assert back == expected


def test_replay_a_message_with_a_delta_beside_it(file: Any) -> None:
    both = CHAT.replace(b'"finish_reason"', b'"delta":{"content":"Hello!"},"finish_reason"')
    assert printed("replay", file(both)) == printed("replay", file(CHAT))


@pytest.mark.parametrize("body", [b"{", b'{"error":"x"}', b"", b"[]"])
def test_replay_what_is_no_completion(file: Any, body: bytes) -> None:
    done = run("replay", file(body))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"Error: ")


# -- files that cannot be read -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "check", "collect", "replay"])
def test_files_that_cannot_be_read(command: str, tmp_path: Path, file: Any) -> None:
    for path, words in (
        (tmp_path / "missing", b"No such file"),
        (tmp_path / ("long" * 1000), b"File name too long"),
        (tmp_path, b"is a directory"),
        (file(b"\x1f\x8b\x08", "a.gz"), b"gzip"),
        (file(b"\xff\xfe{\x00", "utf16"), b"UTF-16"),
    ):
        done = run(command, path)
        assert done.returncode == 2, done
        assert words in done.stderr


@pytest.mark.parametrize("content", [b"", b"\r\n \t\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n\n"])
def test_empty_files(content: bytes, file: Any) -> None:
    path = file(content)
    done = run("show", path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is empty" in done.stderr
    assert printed("check", path, code=1) == f"{path}:1: $: empty: no body in it\n"


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x00\x01\x02", b"<html>", b"null", b"{}", b"data: \xff\n\n", b"[" * 9999]
)
@pytest.mark.parametrize("command", ["show", "check", "collect"])
def test_odd_files(command: str, content: bytes, file: Any) -> None:
    done = run(command, file(content))
    assert done.returncode in (0, 1, 2)
    assert done.stderr or done.stdout


# -- processes and terminals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "content", "code"),  # all print more than any pipe holds
    [
        ("check", (ODD + b"\n") * 4_000, 1),
        ("show", ODD.replace(b"Hello!", b"Hello! " * 200_000), 0),
        ("replay", ODD.replace(b"Hello!", b"Hello! " * 200_000), 0),
    ],
    ids=["check", "show", "replay"],
)
def test_the_reader_may_leave(file: Any, command: str, content: bytes, code: int) -> None:
    program = [sys.executable, "-m", "fastcompletion", command, str(file(content))]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == code


@pytest.mark.parametrize(("command", "code"), [("check", 1), ("show", 0), ("replay", 0), ("collect", 0)])
def test_the_reader_may_have_left(file: Any, command: str, code: int) -> None:
    path = VECTORS / "streams/openai-basic.sse" if command == "collect" else file(ODD)
    ours, theirs = os.pipe()
    os.close(ours)
    program = [sys.executable, "-m", "fastcompletion", command, str(path)]
    done = subprocess.run(program, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (code, b"")


posix = pytest.mark.skipif(os.name != "posix", reason="needs a shell and pseudo-terminals")


@posix
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["show"], ["check"], ["--help"]])
def test_a_full_disk(file: Any, arguments: list[str]) -> None:
    done = program(*arguments, *([file(ODD)] if arguments[0] != "--help" else []), shell=">/dev/full")
    assert (done.returncode, done.stderr) == (2, b"Error: stdout: No space left on device\n")


@posix
def test_closed_streams(file: Any) -> None:
    done = program("show", shell="<&-")
    assert (done.returncode, done.stderr) == (2, b"Error: -: is empty; there is no response to show\n")
    assert program("check", file(ODD), shell=">&-").returncode == 1
    assert program("check", file(ODD), "missing", shell="2>&-").returncode == 2


def on_a_terminal(*arguments: str | Path, **environment: str) -> bytes:
    """What a terminal gets, of stdout and of stderr."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "fastcompletion", *map(str, arguments)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **environment}):
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # how Linux says that nobody has the other side open
            pass
    os.close(ours)
    return written


@posix
@pytest.mark.parametrize("command", ["show", "check"])
def test_colours_on_a_terminal(file: Any, command: str) -> None:
    path = file(ODD)
    assert b"\x1b[36m$.timings\x1b[0m" in on_a_terminal(command, path)
    assert b"\x1b" not in on_a_terminal(command, path, NO_COLOR="1")
    assert b"$.timings" in on_a_terminal(command, path, NO_COLOR="1")
    assert b"\x1b" not in program(command, path).stdout


@posix
def test_the_summary_is_for_terminals(file: Any) -> None:
    path = file(ODD)
    assert b"in 1 of 1 body" in on_a_terminal("check", path)
    assert b"in 1 of 1 body" not in on_a_terminal("check", "--no-summary", path)
    assert run("check", path).stderr == b""


HOSTILE = "a\x1b[31m\x7f\x9b\u202e\u2028b"


@posix
def test_no_control_character_reaches_a_terminal(file: Any) -> None:
    body = json.loads(ODD) | {HOSTILE: HOSTILE, "model": HOSTILE, "id": HOSTILE}
    body["choices"][0]["message"]["content"] = HOSTILE
    record = {"custom_id": HOSTILE, "response": None, "error": {"message": HOSTILE}}
    error = {"error": {"message": HOSTILE, "code": HOSTILE}}
    for number, value in enumerate((body, record, error, {"object": HOSTILE})):
        path = file(json.dumps(value).encode(), f"{number}.json")
        for arguments in (["show"], ["show", "--json"], ["check"], ["collect"], ["replay"]):
            written = on_a_terminal(*arguments, path, NO_COLOR="1").decode()
            assert written
            for character in "\x1b\x7f\x9b\u202e\u2028":
                assert character not in written, (arguments, value, written)


PEAK = """
import resource, sys
sys.argv = ["fastcompletion", "check", "--no-summary", sys.argv[1]]
from fastcompletion.__main__ import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak of memory in kB, as Linux gives it")
def test_long_logs_take_no_memory(file: Any) -> None:
    def peak(lines: int) -> int:
        path = file((CHAT + b"\n") * lines, "log.jsonl")
        done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, check=True)
        return int(done.stderr)

    assert peak(40_000) < peak(10) + 8_000  # 20 MB more

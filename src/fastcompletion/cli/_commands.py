"""The command line: `show` prints a response for a person, `check` lists what responses do against a schema.

Files go in: one body, or JSONL with a body or a batch record on each line. What was asked for goes to stdout, all else
(errors, notes, the summary, the progress bar) to stderr. The exit code is 0 for clean, 1 for findings, and 2 where the
command could not do its work. Bodies are other people's data: nothing they hold reaches a terminal as a control
character, and no body, however broken, ends in a traceback.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

import fastcompletion as fc
from fastcompletion.cli._findings import Checked, Checker, Dialect, Finding, OutputFormat, finding_of
from fastcompletion.cli._inputs import TOLERANT, CannotRunError, Entry, InputFile, unwrap
from fastcompletion.cli._page import Page, indented, show_batch, show_body, show_stream
from fastcompletion.cli._report import Report
from fastcompletion.cli._text import clean, clean_json, warn

__all__ = ["app", "main"]

CLEAN, FINDINGS, COULD_NOT_RUN = 0, 1, 2  # exit codes
_CHECKING = fc.Codec()


def _examples(*lines: str) -> str:
    return "\b\n" + "\n".join(lines)  # \b: keep the lines as they are


app = typer.Typer(
    name="fastcompletion",
    help="Read the JSON that OpenAI-compatible servers answer with.",
    epilog=_examples(
        "fastcompletion show response.json",
        "fastcompletion check --dialect openai logs/*.jsonl",
        "curl -s $URL/v1/chat/completions -d @request.json | fastcompletion show",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def _running(unread: int = CLEAN) -> Generator[None, None, None]:
    """Run a command: say what keeps it from its work; exit with ``unread`` where the reader of stdout has left."""
    try:
        yield
        sys.stdout.flush()
    except CannotRunError as error:
        warn(f"Error: {error}")
        raise typer.Exit(COULD_NOT_RUN) from error
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EINVAL):  # EINVAL: a closed pipe on Windows
            raise
        _give_up_stdout()
        raise typer.Exit(unread) from None


def _give_up_stdout() -> None:
    """Write no more: what is in its buffer would fail again when the interpreter flushes it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fastcompletion {fc.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(
    help=(
        "Print a response for a person: who answered, what, how sure, at what cost, and what is unusual about it.\n\n"
        "Takes a chat completion, one of its chunks, a text completion or an error body, from any server; alone, on the"
        " lines of JSONL, in the records of a batch's output file, or as a captured stream of events."
    ),
    epilog=_examples(
        "fastcompletion show response.json",
        "fastcompletion show log.jsonl --line 120",
        "curl -sN $URL/v1/chat/completions -d @request.json | fastcompletion show",
        "fastcompletion show --json response.json | jq .usage",
    ),
)
def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE|-]",
            help="One body, JSONL, or a stream of events. - or nothing: stdin.",
            show_default=False,
            allow_dash=True,
        ),
    ] = Path("-"),
    line: Annotated[
        int | None,
        typer.Option(
            "--line",
            "-n",
            min=1,
            metavar="N",
            help="The line of JSONL, or of an event, to show. Default: the first response, or all of a stream.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the body as JSON instead, indented.")] = False,
) -> None:
    """Print one response for a person."""
    with _running(), closing(InputFile(file, "show")) as opened:
        if opened.is_terminal:
            warn("Reading a response from the terminal; end it with Ctrl-D.")
        if line is None and opened.is_stream:
            code = _show_stream(opened, as_json=as_json)
        else:
            code = _show_entry_of(opened, line, as_json=as_json)
    raise typer.Exit(code)


def _show_entry_of(file: InputFile, wanted: int | None, *, as_json: bool) -> int:
    """Show the first response of a file, or the one on the line that is wanted."""
    entries = file.entries()
    entry = next(entries, None)
    if entry is None:
        raise CannotRunError(f"{file.name}: is empty; there is no response to show")
    if wanted is not None:
        entry = _entry_on(wanted, entry, entries, file.name)
    code = _show_entry(entry, file.name, as_json=as_json)
    sys.stdout.flush()
    if wanted is None and entry.is_line and (others := sum(1 for _ in entries)):
        warn(
            f"This is the first of {others + 1:,} responses in {file.name}, on line {entry.line}; "
            "choose another with --line N"
        )
    return code


def _entry_on(wanted: int, first: Entry, others: Iterator[Entry], name: str) -> Entry:
    entry = first
    while entry.line < wanted and entry.is_line:
        following = next(others, None)
        if following is None:
            raise CannotRunError(f"{name}: has no line {wanted}; the last response is on line {entry.line}")
        entry = following
    if entry.line == wanted:
        return entry
    if not entry.is_line:
        raise CannotRunError(f"{name}: is one body, not JSONL; leave --line out")
    raise CannotRunError(f"{name}: no response begins on line {wanted}; the next one is on line {entry.line}")


def _show_stream(file: InputFile, *, as_json: bool) -> int:
    """Show what a stream comes to."""
    if as_json:
        return _collect(file)
    stream, total, chunks = _accumulate(file)
    page = Page()
    if (completion := _completion_of(total)) is not None:
        show_body(page, completion, None)
    show_stream(page, stream, total, chunks)
    return CLEAN if chunks or total.errors else FINDINGS


def _accumulate(file: InputFile) -> tuple[fc.StreamDecoder, fc.Accumulator, int]:
    """Read a stream: its decoder, what it adds up to, and the number of its chunks."""
    stream, total = fc.StreamDecoder(TOLERANT), fc.Accumulator()
    chunks = 0

    def add(items: list[fc.StreamItem]) -> int:
        for item in items:
            total.add(item)
        return sum(not isinstance(item, fc.StreamError | fc.ServerSentEvent) for item in items)

    try:
        for _, line in file.lines():
            chunks += add(stream.feed(line))
        chunks += add(stream.close())
    except fc.LimitError as error:
        raise CannotRunError(f"{file.name}: {error}") from error
    return stream, total, chunks


def _completion_of(total: fc.Accumulator) -> fc.ChatCompletion | fc.Completion | None:
    try:
        return total.text_completion() if total.is_text else total.completion()
    except fc.FastCompletionError:  # nothing but errors, or nothing
        return None


def _collect(file: InputFile) -> int:
    """Print the completion that a stream comes to; say what is wrong with the stream."""
    _, total, _ = _accumulate(file)
    for error in total.errors:
        warn(f"{file.name}: {error.kind}: {clean(error.info.message) or 'no message'}")
    for anomaly in total.anomalies:
        warn(f"{file.name}: {anomaly.path}: {anomaly.kind.replace('_', ' ')}: {clean(anomaly.detail)}")
    completion = _completion_of(total)
    if completion is None:
        return FINDINGS
    encoded = TOLERANT.encode(completion)
    page = Page()
    page.json(indented(encoded) if page.is_styled else encoded.decode())
    return FINDINGS if total.errors else CLEAN


def _show_entry(entry: Entry, name: str, *, as_json: bool) -> int:
    batch = unwrap(entry.text)
    if batch and batch.body is None:
        if as_json:
            raise CannotRunError(f"{name}: the batch record {batch.custom_id} has no body: {batch.error}")
        show_batch(Page(), batch)
        return CLEAN
    text, skipped = (batch.body, batch.offset) if batch and batch.body is not None else (entry.text, 0)
    codec = _CHECKING
    try:
        try:
            obj = codec.decode(text)
        except fc.MalformedError:
            codec = TOLERANT
            obj = codec.decode(text)
            warn("Note: NaN or Infinity in it, which is not JSON; other readers will refuse it.")
    except fc.DecodeError as error:
        finding = finding_of(error, entry, skipped)
        warn(f"{name}:{finding.line}: {finding.path}: {finding.reason}")
        return FINDINGS
    page = Page()
    if not as_json:
        show_body(page, obj, batch)
    else:
        if batch:
            warn(f"Note: the body of the batch record {clean(batch.custom_id)}.")
        page.json(indented(codec.encode(obj)))
    return CLEAN


@app.command(
    help=(
        "List what responses do against a schema, a line for each: FILE:LINE: PATH: WHAT (WHO ELSE SENDS THIS).\n\n"
        "Exits with 0 when there is nothing to list, with 1 when there is, and with 2 when a file cannot be read."
        " Broken bodies are listed with what is wrong and the byte, counted from 0 at the start of the body or line."
        " Of a batch's output file, the bodies are checked. Error bodies are not checked, but counted in the summary."
    ),
    epilog=_examples(
        "fastcompletion check response.json",
        "fastcompletion check --dialect openai --summary logs/*.jsonl",
        "zstd -dc log.jsonl.zst | fastcompletion check --format json - | jq -r .path | sort | uniq -c",
    ),
)
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Bodies, JSONL, or streams of events. -: stdin.",
            allow_dash=True,
            show_default=False,
        ),
    ],
    dialect: Annotated[
        Dialect,
        typer.Option(
            help=(
                "What to hold the bodies against. any: all that this library knows of any server;"
                " openai, vllm: the documents of OpenAI's and of vLLM's chat completion."
            ),
        ),
    ] = Dialect.any,
    format: Annotated[
        OutputFormat, typer.Option(help="text, or json: an object a line, with its parts.")
    ] = OutputFormat.text,
    summary: Annotated[
        bool | None,
        typer.Option(
            "--summary/--no-summary",
            help="Count the findings by path and kind at the end, on stderr. Default: on a terminal.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List what responses do against a schema."""
    checker, report = Checker(dialect), Report(format, files)
    could_run = True
    with _running(unread=FINDINGS):  # only findings are written
        try:
            for path in files:
                could_run &= _check_file(path, checker, report)
        finally:
            report.close()
    if summary or (summary is None and sys.stderr.isatty()):
        report.summary()
    raise typer.Exit(COULD_NOT_RUN if not could_run else FINDINGS if report.findings else CLEAN)


@app.command(
    help=(
        "Add up a captured stream to the completion that a call without streaming would have given, as JSON.\n\n"
        "Exits with 1 where the stream has an error or is incomplete: what came is printed nevertheless."
    ),
    epilog=_examples(
        "fastcompletion collect stream.sse | jq .usage",
        "curl -sN $URL/v1/chat/completions -d @request.json | fastcompletion collect",
    ),
)
def collect(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE|-]", help="A stream of events. - or nothing: stdin.", show_default=False, allow_dash=True
        ),
    ] = Path("-"),
) -> None:
    """Print the completion that a stream comes to."""
    with _running(), closing(InputFile(file, "collect")) as opened:
        code = _collect(opened)
    raise typer.Exit(code)


@app.command(
    help="Turn a completion into the stream of events in which a server would have sent it.",
    epilog=_examples(
        "fastcompletion replay response.json --size 20", "fastcompletion replay a.json | fastcompletion collect"
    ),
)
def replay(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE|-]", help="A chat completion. - or nothing: stdin.", show_default=False, allow_dash=True
        ),
    ] = Path("-"),
    size: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Characters of a piece of text. Default: a token where they are told, else 64."
        ),
    ] = None,
) -> None:
    """Print a completion as a stream."""
    with _running(), closing(InputFile(file, "replay")) as opened:
        _replay(opened, size)


def _replay(file: InputFile, size: int | None) -> None:
    text = b"".join(line for _, line in file.lines())
    try:
        completion = TOLERANT.decode(text, fc.ChatCompletion)
    except (fc.DecodeError, fc.UpstreamError) as error:
        raise CannotRunError(f"{file.name}: {clean(str(error))}") from error
    encoder = fc.StreamEncoder(TOLERANT)
    for chunk in fc.chunks(completion, size=size):
        encoder.add(chunk)
        _write_events(encoder.take())
    encoder.add_done()
    _write_events(encoder.take())
    sys.stdout.buffer.flush()


def _write_events(events: bytes) -> None:
    sys.stdout.buffer.write(clean_json(events.decode()).encode() if sys.stdout.isatty() else events)


def _check_file(path: Path, checker: Checker, report: Report) -> bool:
    """Check one file; say whether it could be read."""
    is_empty = True
    try:
        with closing(InputFile(path, "check")) as file:
            for entry in file.entries():
                is_empty = False
                report.add(file.name, checker.check(entry), len(entry.text))
            if is_empty:
                report.add(file.name, Checked([Finding(1, "$", "truncated", "empty: no body in it", offset=0)]))
    except CannotRunError as error:
        report.say(f"Error: {error}")
        return False
    return True


def main() -> None:
    """Run the command line, and exit."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by the caller, as with `<&-`
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (as long as the process)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # rather than fail where it cannot say "é"
    try:
        app(prog_name="fastcompletion")
    except OSError as error:  # of stdout, such as a full disk: those of files are CannotRunErrors
        _give_up_stdout()
        warn(f"Error: stdout: {error.strerror}")
        sys.exit(COULD_NOT_RUN)
    except Exception:  # noqa: BLE001 (a code of its own: 1 is for findings)
        traceback.print_exc()
        sys.stderr.write("This is a bug in fastcompletion, not in your file; please report it with the lines above.\n")
        sys.exit(COULD_NOT_RUN)

"""What `check` prints: findings, a progress bar, a summary."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from fastcompletion.cli._findings import Checked, Finding, OutputFormat, who
from fastcompletion.cli._page import POSITION
from fastcompletion.cli._senders import senders_of
from fastcompletion.cli._text import clean, console, count

__all__ = ["Report"]

_KINDS_COUNTED = 1_000  # rows of the summary; a hostile log could have a new one on every line
_SHOWN_ERRORS = 3  # messages of error bodies that the summary quotes
_BAR_AFTER = 0.5  # seconds of work before there is a progress bar
_BAR_EVERY = 0.1  # seconds between two looks of it


def _size_of(path: Path) -> int:
    """Bytes of a regular file; of anything else 0, and whoever opens it says what is wrong with it."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # such as a name that is too long
        return 0


class Report:
    """Where findings go, what is counted, and the progress bar, which must not get in their way."""

    def __init__(self, format: OutputFormat, paths: list[Path]) -> None:
        self._format = format
        self._stdout = console()
        self._stderr = console(stderr=True)
        self._total = sum(map(_size_of, paths))
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._done = 0  # bytes
        self._looked = time.monotonic()
        self._patience = _BAR_AFTER
        self._counts: Counter[tuple[str, str]] = Counter()
        self._senders: dict[tuple[str, str], str] = {}
        self._uncounted = 0
        self._errors: Counter[str] = Counter()
        self.bodies = self.findings = self.bodies_with_findings = self.error_bodies = 0

    def add(self, name: str, checked: Checked, size: int = 0) -> None:
        """Print and count what one body has."""
        self.bodies += 1
        self._done += size
        self.bodies_with_findings += bool(checked.findings)
        if checked.error is not None:
            self.error_bodies += 1
            if checked.error in self._errors or len(self._errors) < _KINDS_COUNTED:
                self._errors[checked.error] += 1
        for finding in checked.findings:
            self.findings += 1
            self._print(name, finding)
            key = (POSITION.sub("[]", finding.path), finding.kind)
            if key in self._counts or len(self._counts) < _KINDS_COUNTED:
                self._counts[key] += 1
                if finding.senders:
                    self._senders.setdefault(key, senders_of(key[0], key[1]) or finding.senders)
            else:
                self._uncounted += 1
        self._progress()

    def say(self, message: str) -> None:
        """Print a message on stderr, above the bar."""
        (self._bar.console if self._bar else self._stderr).print(clean(message), soft_wrap=True, markup=False)

    def _print(self, name: str, finding: Finding) -> None:
        if self._format is OutputFormat.json:
            members = {
                "file": name,
                "line": finding.line,
                "path": finding.path,
                "kind": finding.kind,
                "message": finding.reason,
                "expected": finding.expected,
                "example": finding.example,
                "senders": finding.senders,
                "offset": finding.offset,
            }
            self._write(json.dumps(members))  # in ASCII, so that no encoding of stdout can break it
        elif self._stdout.is_terminal:
            senders = f" ({who(finding.kind, finding.senders)})" if finding.senders else ""
            place = Text.assemble((name, "bold"), f":{finding.line}: ", (finding.path, "cyan"), ": ")
            self._write(place + Text.assemble(finding.reason, (senders, "dim")))
        else:
            self._write(f"{name}:{finding.line}: {finding.path}: {finding.text()}")

    def _write(self, line: str | Text) -> None:
        if not self._stdout.is_terminal:
            sys.stdout.write(f"{line}\n")
        elif self._bar:  # both on one terminal: above the bar
            self._bar.console.print(line, soft_wrap=True, markup=False)
        else:
            self._stdout.print(line, soft_wrap=True, markup=False)

    def _progress(self) -> None:
        """Draw the bar where it is time for it."""
        now = time.monotonic()
        if now - self._looked < self._patience or not self._stderr.is_terminal:
            return
        self._looked, self._patience = now, _BAR_EVERY
        if self._bar is None:
            columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=self._stderr, transient=True, auto_refresh=False)
            self._task = self._bar.add_task("", total=self._total or None)
            self._bar.start()
        words = f"{count(self.bodies, 'body')}, {count(self.findings, 'finding')}"
        self._bar.update(self._task, completed=self._done, description=words, refresh=True)

    def close(self) -> None:
        """Take the progress bar away."""
        if self._bar:
            self._bar.stop()
            self._bar = None

    def summary(self) -> None:
        """Counts for each path and kind, and in all; on stderr."""
        width = max((len(path) for path, _ in self._counts), default=0)
        for (path, kind), number in self._counts.most_common():
            senders = self._senders.get((path, kind), "")
            row = Text.assemble(f"{number:>9,}  ", (f"{path:<{width}}", "cyan"), f"  {kind:<9}  ", (senders, "dim"))
            row.rstrip()
            self._stderr.print(row, soft_wrap=True)
        if self._uncounted:
            self._stderr.print(f"{self._uncounted:>9,}  others", soft_wrap=True)
        found = "No findings" if not self.findings else count(self.findings, "finding")
        place = f"in {count(self.bodies, 'body')}"
        if self.findings:
            place = f"in {self.bodies_with_findings:,} of {count(self.bodies, 'body')}"
        style = "bold red" if self.findings else "bold green"
        self._stderr.print(Text.assemble((found, style), f" {place}."), soft_wrap=True)
        if self.error_bodies:
            quoted = [
                f"{clean(message):.60}" + (f" ({number:,})" if number > 1 else "")
                for message, number in self._errors.most_common(_SHOWN_ERRORS)
            ]
            more = ["..."] if len(self._errors) > _SHOWN_ERRORS else []
            note = f"Not checked: {count(self.error_bodies, 'error body')}: {'; '.join(quoted + more)}"
            self._stderr.print(Text(note), soft_wrap=True)

"""Every Python block of README.md runs, in order, in one namespace; what its comments promise is checked."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

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


def test_blocks_run_and_keep_their_promises() -> None:
    assert len(BLOCKS) >= 8
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
    assert checked >= 6


def test_the_two_commands_are_there() -> None:
    text = README.read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text

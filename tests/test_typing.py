"""The types that callers see: what mypy and pyright reveal in tests/typing/api.py is what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
API = ROOT / "tests" / "typing" / "api.py"
EXPECTED = {
    number: found[1]
    for number, line in enumerate(API.read_text(encoding="utf-8").splitlines(), 1)
    if (found := re.search(r"reveal_type\(.*\)  # (.+)$", line))
}
MYPY = re.compile(r'api\.py:(\d+): note: Revealed type is "(.*)"')
PYRIGHT = re.compile(r'api\.py:(\d+):\d+ - information: Type of ".*" is "(.*)"')


@pytest.mark.parametrize(("checker", "pattern"), [("mypy", MYPY), ("pyright", PYRIGHT)])
def test_revealed_types(checker: str, pattern: re.Pattern[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(checker)
    monkeypatch.setenv("PYRIGHT_PYTHON_IGNORE_WARNINGS", "1")
    command = [sys.executable, "-m", checker, str(API)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    revealed = {int(number): simplify(text) for number, text in pattern.findall(done.stdout)}
    assert len(EXPECTED) >= 25
    assert revealed == EXPECTED


def simplify(text: str) -> str:
    """Names without their modules, and without mypy's marks."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).rstrip("?")

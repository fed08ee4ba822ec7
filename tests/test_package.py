"""The package as a whole: what is in the wheel, what importing it loads, who imports whom, what is public."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import types
import venv
import zipfile
from email.parser import HeaderParser
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fastcompletion as fc

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "fastcompletion"
MODULES = sorted(PACKAGE.rglob("*.py"))
assert MODULES, f"no modules in {PACKAGE}"


def name_of(path: Path) -> str:
    """The name of a module below the package, such as `_codec`, `__init__`, `cli` or `cli._page`."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


# The sibling modules that each module may import: arrows point down only. A module that is not here fails the test.
ALLOWED: dict[str, set[str]] = {
    "_errors": set(),
    "_scan": {"_errors"},
    "_extra": {"_errors"},
    "_schema": {"_extra"},
    "_dialect": {"_schema", "_extra", "_errors"},
    "_compile": {"_dialect", "_root", "_schema", "_extra", "_errors"},
    "_build": {"_dialect", "_extra", "_root", "_spell"},
    "_root": {"_dialect", "_extra", "_schema"},
    "_spell": {"_extra", "_errors"},
    "_sse": {"_errors"},
    "_codec": {"_compile", "_dialect", "_schema", "_extra", "_build", "_root", "_spell", "_scan", "_errors"},
    "openai": set(),
    "vllm": set(),
    "_stream": {"_codec", "_sse", "_schema", "_extra", "_errors"},
    "_members": {"_dialect", "_extra", "_errors"},
    "_accumulator": {"_stream", "_codec", "_sse", "_members", "_schema", "_extra", "_errors"},
    "_replay": {"_members", "_schema", "_extra"},
    "__init__": {
        "_accumulator",
        "_replay",
        "_stream",
        "_sse",
        "_codec",
        "_schema",
        "_extra",
        "_dialect",
        "_errors",
        "openai",
        "vllm",
    },
    "cli._text": set(),
    "cli._lenient": set(),
    "cli._senders": set(),
    "cli._inputs": {"__init__", "cli._lenient", "cli._text"},
    "cli._findings": {"__init__", "cli._inputs", "cli._senders", "cli._text"},
    "cli._page": {"__init__", "cli._findings", "cli._inputs", "cli._lenient", "cli._senders", "cli._text"},
    "cli._report": {"__init__", "cli._findings", "cli._page", "cli._senders", "cli._text"},
    "cli._commands": {"__init__", "cli._findings", "cli._inputs", "cli._page", "cli._report", "cli._text"},
    "cli": {"cli._commands"},
    "__main__": {"__init__", "cli"},
}

# The other libraries that a module may import beside the standard library; elsewhere, the runtime dependencies.
DEPENDENCIES = {"msgspec", "orjson"}
LIBRARIES: dict[str, set[str]] = {
    "openai": {"msgspec"},
    "vllm": {"msgspec"},
    **{name: DEPENDENCIES | {"typer", "rich"} for name in ALLOWED if name.startswith("cli")},
}

# Installed beside the library often enough, and never to be loaded by it unasked.
NEVER_LOADED = {"typer", "rich", "numpy", "pydantic", "openai"}

BODY = (
    b'{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,'
    b'"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}'
)

# Run in another interpreter: decode argv[1], say what was read, by which file, and what is loaded now.
PROGRAM = """
import sys
import fastcompletion as fc
content = fc.decode(sys.argv[1].encode()).choices[0].message.content
loaded = sorted({name.partition(".")[0] for name in sys.modules})
import json
print(json.dumps({"content": content, "file": fc.__file__, "loaded": loaded}))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return what a command prints; fail with all its output if it fails."""
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        name = Path(command[0]).name
        pytest.fail(f"{name} exited with {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, with the build backend that the test group installs."""
    directory = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*command, "--wheel-dir", directory, ROOT, cwd=directory)
    (path,) = directory.glob("*.whl")
    return path


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    sources = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert "fastcompletion/py.typed" in names
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)

    headers = HeaderParser().parsestr(metadata)
    required = [line for line in headers.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {re.split(r"[^\w.-]", line)[0] for line in required} == DEPENDENCIES
    assert headers["Version"] == fc.__version__


def test_the_wheel_works_alone(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=os.name != "nt", with_pip=False)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel, cwd=tmp_path)

    seen = json.loads(run(python, "-I", "-c", PROGRAM, BODY.decode(), cwd=tmp_path))
    assert seen["content"] == "Hello!"
    assert Path(seen["file"]).is_relative_to(environment)


def test_importing_loads_no_optional_library(tmp_path: Path) -> None:
    # In this environment, where all of them are installed: in that of the wheel they could not be loaded anyway.
    seen = json.loads(run(sys.executable, "-I", "-c", PROGRAM, BODY.decode(), cwd=tmp_path))
    assert seen["content"] == "Hello!"
    assert NEVER_LOADED.isdisjoint(seen["loaded"]), NEVER_LOADED.intersection(seen["loaded"])


# The direction of imports


def imports(source: str, siblings: set[str]) -> Iterator[str]:
    """Yield all that a module of the package imports, anywhere in it: `.name` is a sibling, `name` another library.

    What is imported for type checkers alone is not: no arrow of the running program.
    """
    tree = ast.parse(source)
    unseen = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in unseen:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                top, _, below = alias.name.partition(".")
                if top != "fastcompletion":
                    yield top
                    continue
                if not below or not alias.asname:  # binds the package itself, and with it the public face
                    yield ".__init__"
                if below:
                    yield "." + below
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level > 1:
                yield "." * node.level + module  # nothing is above the package
            elif node.level == 1 or module.partition(".")[0] == "fastcompletion":
                below = module if node.level == 1 else module.partition(".")[2]
                if below:
                    yield "." + below
                else:
                    yield from ("." + (alias.name if alias.name in siblings else "__init__") for alias in node.names)
            else:
                yield module.partition(".")[0]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import msgspec.json, os.path", {"msgspec", "os"}),
        ("from msgspec.json import decode", {"msgspec"}),
        ("from ._errors import DecodeError", {"._errors"}),
        ("from fastcompletion._errors import DecodeError", {"._errors"}),
        ("from . import _errors, decode", {"._errors", ".__init__"}),
        ("from fastcompletion import *", {".__init__"}),
        ("from fastcompletion import _errors, decode as d", {"._errors", ".__init__"}),
        ("import fastcompletion as fc", {".__init__"}),
        ("import fastcompletion._errors", {".__init__", "._errors"}),
        ("import fastcompletion._errors as errors", {"._errors"}),
        ("from ..other import name", {"..other"}),
        ("if TYPE_CHECKING:\n    from . import _errors\nelse:\n    import os", {"os"}),
        ("def f():\n    if f:\n        from . import _errors", {"._errors"}),
    ],
)
def test_imports_are_found(source: str, expected: set[str]) -> None:
    assert set(imports(source, set(ALLOWED))) == expected


def test_the_allowed_imports_have_no_circle() -> None:
    assert set(TopologicalSorter(ALLOWED).static_order()) == set(ALLOWED)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path) -> None:
    name = name_of(path)
    assert name in ALLOWED, f"say in ALLOWED what {name} may import"
    found = set(imports(path.read_text(encoding="utf-8"), {name_of(module) for module in MODULES} | set(ALLOWED)))
    siblings = {name[1:] for name in found if name.startswith(".")}
    libraries = {name for name in found if not name.startswith(".")} - sys.stdlib_module_names
    assert siblings <= ALLOWED[name]
    assert libraries <= LIBRARIES.get(name, DEPENDENCIES)


# The public face


def test_all_is_sorted() -> None:
    assert list(fc.__all__) == sorted(set(fc.__all__))


def test_all_is_complete() -> None:
    """`__all__` names what `__init__` holds, and that includes every public class of the schema and every error."""
    public = {
        name
        for name, value in vars(fc).items()
        if not name.startswith("_")
        and (not isinstance(value, types.ModuleType) or name in {"openai", "vllm"})
        and value is not annotations  # of __future__
    }
    assert set(fc.__all__) == public | {"__version__"}

    for module in ("_schema", "_errors"):
        tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
        assert classes
        assert classes <= public


def undocumented(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Yield the public classes, functions and methods that have no docstring."""
    for node in body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("_"):
            continue
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        if decorators & {"overload", "typing.overload", f"{node.name}.setter", f"{node.name}.deleter"}:
            continue  # the implementation or the getter has it
        if not ast.get_docstring(node):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from undocumented(node.body, f"{prefix}{node.name}.")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{path.name} does not say what it is"
    assert list(undocumented(tree.body)) == []


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert headings
    for heading in headings:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\S*\] - (Unreleased|\d{4}-\d\d-\d\d)", heading)
    assert headings[0].startswith(f"[{fc.__version__}]")
    assert not any("Unreleased" in heading for heading in headings[1:])

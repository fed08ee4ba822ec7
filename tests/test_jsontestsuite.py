"""JSONTestSuite (https://github.com/nst/JSONTestSuite, MIT licence), where it is at hand; no part of this project.

Each of its texts as the value of an unknown member, inside transfer params and as the whole body: what is JSON is a
value (or, as a whole body, no completion), what is not is an error of ours.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import fastcompletion as fc
from tests import oracle

ROOT = Path(
    os.environ.get("FASTCOMPLETION_JSONTESTSUITE") or Path(__file__).parents[2] / "shared/vectors/jsontestsuite"
)
CASES = sorted(ROOT.rglob("*.json"))
PLACES = {
    "member": b'{"object":"chat.completion","id":"x","created":1,"model":"m","choices":[],"unheard":%s}',
    "params": b'{"object":"chat.completion","id":"x","model":"m","choices":[],"kv_transfer_params":{"a":%s}}',
    "whole": b"%s",
}

pytestmark = pytest.mark.skipif(not CASES, reason="FASTCOMPLETION_JSONTESTSUITE does not name a copy of JSONTestSuite")


def refuse(constant: str) -> Any:
    raise ValueError(constant)


def is_json(text: bytes, name: str) -> bool:
    """As the standard library has it, but strictly."""
    try:
        json.loads(text.decode().removeprefix("\ufeff"), parse_constant=refuse)
    except RecursionError:  # deeper than it can read
        return not name.startswith("n_")
    except ValueError:
        return False
    return True


def same_meaning(one: bytes, other: bytes) -> bool:
    try:
        return bool(oracle.meaning(one) == oracle.meaning(other))
    except RecursionError:  # too deep for the oracle: the same but for the order of members and white space
        return sorted(one.replace(b" ", b"")) == sorted(other.replace(b" ", b""))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_verdict(path: Path, place: str) -> None:
    body = PLACES[place].replace(b"%s", path.read_bytes())
    codec = fc.Codec()
    codec.decode(PLACES["member"] % b"1")  # a place that is known
    for decoder in (fc.Codec(), codec):
        try:
            value: Any = decoder.decode(body)
        except fc.FastCompletionError as error:
            refused: fc.FastCompletionError | None = error
        else:
            refused = None
            assert same_meaning(decoder.encode(value), body.removeprefix(b"\xef\xbb\xbf"))
        if not path.name.startswith("i_"):
            expected = is_json(body, path.name)
            assert expected or not path.name.startswith("y_")
            assert not expected or place != "whole" or not path.name.startswith("n_")
            if place == "whole" and expected:
                assert refused is None or isinstance(refused, fc.SchemaError | fc.LimitError)
            else:
                assert (refused is None) == expected
        if refused is not None and not isinstance(refused, fc.SchemaError | fc.UpstreamError):
            assert isinstance(refused, fc.MalformedError | fc.TruncatedError | fc.LimitError)

"""The stream vectors through the OpenAI SDK's decoder and accumulator: where it differs is listed, and nothing else.

`against_sdk_streams.json` has the lists. An entry that is out of date fails, as does a difference without an entry;
write the file anew with ``FASTCOMPLETION_UPDATE=1``, and read what changed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openai._models import construct_type
from openai._streaming import SSEDecoder
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from tests import vectors
from tests.test_accumulator import accumulate, document

if TYPE_CHECKING:
    from collections.abc import Callable

LISTED = Path(__file__).with_suffix("").with_name("against_sdk_streams.json")
STREAMS = vectors.streams()


def framing() -> dict[str, str]:
    """How the SDK's decoder differs on each case of framing, by its id."""
    found = {}
    for case in vectors.jsonl("framing.jsonl"):
        expected = [(event["event"], event["data"]) for event in case["events"]]
        try:
            events = [
                (event.event or "message", event.data) for event in SSEDecoder().iter_bytes(iter([case["bytes"]]))
            ]
        except Exception as error:  # noqa: BLE001 (whichever it is)
            found[case["id"]] = f"raises {type(error).__name__}"
            continue
        if events != expected:
            found[case["id"]] = f"{len(events)} events instead of {len(expected)}"
            if len(events) == len(expected):
                found[case["id"]] = "other events"
    return found


def as_the_sdk_has_it(value: Any) -> Any:
    """Without nulls, which its models do not tell from absent members, and without what it leaves of the chunks."""
    if isinstance(value, dict):
        left = {"parsed", "index"} if value.keys() & {"function", "custom"} else {"parsed"}
        return {name: as_the_sdk_has_it(item) for name, item in value.items() if item is not None and name not in left}
    return [as_the_sdk_has_it(item) for item in value] if isinstance(value, list) else value


def accumulating() -> dict[str, str]:
    """How what the SDK accumulates differs, by the name of the stream."""
    found = {}
    for name, stream in STREAMS.items():
        ours = document(accumulate([stream]))
        state = ChatCompletionStreamState()
        try:
            for event in SSEDecoder().iter_bytes(iter([stream])):
                if event.data.startswith("[DONE]"):
                    break
                data = json.loads(event.data)
                if isinstance(data, dict) and data.get("error"):
                    raise RuntimeError("error in the stream")  # its client raises APIError
                state.handle_chunk(construct_type(value=data, type_=ChatCompletionChunk))
            theirs = state.get_final_completion().to_dict(mode="json")
        except Exception as error:  # noqa: BLE001
            found[name] = f"raises {type(error).__name__}"
            continue
        expected = as_the_sdk_has_it(ours)
        actual = as_the_sdk_has_it(theirs)
        if actual != expected:
            found[name] = "differs in " + ", ".join(sorted(differences(actual, expected)))
    return found


def differences(one: Any, other: Any, path: str = "$") -> set[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        names = one.keys() | other.keys()
        return {where for name in names for where in differences(one.get(name), other.get(name), f"{path}.{name}")}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return {where for pair in zip(one, other, strict=True) for where in differences(*pair, f"{path}[]")}
    return set() if one == other else {path}


@pytest.mark.parametrize("compare", [framing, accumulating])
def test_differences_are_those_that_are_listed(compare: Callable[[], dict[str, str]]) -> None:
    listed = json.loads(LISTED.read_text(encoding="utf-8")) if LISTED.exists() else {}
    found = compare()
    if os.environ.get("FASTCOMPLETION_UPDATE"):
        listed[compare.__name__] = found
        LISTED.write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == listed[compare.__name__]


def test_most_agree() -> None:
    """Else the comparison would prove nothing."""
    listed = json.loads(LISTED.read_text(encoding="utf-8"))
    assert len(listed["framing"]) < 30
    assert len(listed["accumulating"]) < len(STREAMS) * 2 / 3

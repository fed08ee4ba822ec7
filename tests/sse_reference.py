"""Server-sent events as the WHATWG HTML standard words them (9.2.5 and 9.2.6), step by step.

What `fastcompletion._sse` is compared with: it shares nothing with it, takes a whole stream, works on characters, and
is slow.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Event", "Parsed", "parse"]


class Event(NamedTuple):
    event: str
    data: str
    id: str
    retry: int | None  # of the event's own block; the standard only has the one of the stream


class Parsed(NamedTuple):
    events: list[Event]
    last_event_id: str
    retry: int | None
    comments: list[str]


def parse(stream: bytes) -> Parsed:
    """Interpret a whole stream."""
    # "UTF-8 decode": the algorithm that strips one byte order mark and replaces what is not UTF-8.
    text = stream.decode("utf-8", errors="replace")
    if text[:1] == "\N{BYTE ORDER MARK}":
        text = text[1:]

    events: list[Event] = []
    comments: list[str] = []
    data_buffer = ""
    event_type_buffer = ""
    last_event_id_buffer = ""
    last_event_id = ""
    reconnection_time: int | None = None
    block_retry: int | None = None

    for line in _lines(text):
        if line == "":
            last_event_id = last_event_id_buffer
            if data_buffer != "":
                if data_buffer[-1] == "\n":
                    data_buffer = data_buffer[:-1]
                type_ = event_type_buffer if event_type_buffer != "" else "message"
                events.append(Event(type_, data_buffer, last_event_id, block_retry))
            data_buffer = ""
            event_type_buffer = ""
            block_retry = None
            continue
        if line[0] == ":":
            comments.append(line[1:])
            continue
        if ":" in line:
            colon = line.index(":")
            field, value = line[:colon], line[colon + 1 :]
            if value[:1] == " ":
                value = value[1:]
        else:
            field, value = line, ""
        if field == "event":
            event_type_buffer = value
        elif field == "data":
            data_buffer = data_buffer + value + "\n"
        elif field == "id":
            if "\0" not in value:
                last_event_id_buffer = value
        elif field == "retry" and value != "" and all(character in "0123456789" for character in value):
            reconnection_time = block_retry = int(value)

    # "Once the end of the file is reached, any pending data must be discarded."
    return Parsed(events, last_event_id, reconnection_time, comments)


def _lines(text: str) -> list[str]:
    """The lines that have ended: at CR LF, at LF that is not after a CR, at CR that is not before an LF."""
    lines: list[str] = []
    line = ""
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character not in "\r\n":
            line += character
            continue
        if character == "\r" and text[position : position + 1] == "\n":
            position += 1
        lines.append(line)
        line = ""
    return lines

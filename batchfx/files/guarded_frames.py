"""What a reader in a process of its own and its parent say to each other.

A message is a kind (one byte), the length of a JSON text, the length of what follows
it, and both: ``R`` a request, ``L`` a layout, ``B`` a block (its frame in Arrow's IPC
stream format), ``E`` an error, ``Z`` the end.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping
from dataclasses import asdict
from typing import IO, Any, NamedTuple

import polars as pl

from batchfx.errors import SourceError, UsageError
from batchfx.model.blocks import Block, block_schema
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

HEAD = struct.Struct(">cIQ")
TEXT_LIMIT = 256 * 1024**2  # bytes of a message's JSON
BYTES_LIMIT = 1024**3  # bytes of a block

REQUEST, LAYOUT, BLOCK, ERROR, END = b"R", b"L", b"B", b"E", b"Z"


class Message(NamedTuple):
    """One message; *content* is its JSON."""

    kind: bytes
    content: Mapping[str, Any]
    data: bytes = b""


class BrokenMessageError(Exception):
    """The other side ended in the middle of a message, or wrote none."""


def send(stream: IO[bytes], message: Message) -> None:
    """Write a message."""
    text = json.dumps(message.content).encode()
    stream.write(HEAD.pack(message.kind, len(text), len(message.data)) + text)
    stream.write(message.data)
    stream.flush()


def receive(stream: IO[bytes]) -> Message:
    """Read a message.

    Raises:
        BrokenMessageError: There is none, or not all of it.

    """
    kind, text, data = HEAD.unpack(_exactly(stream, HEAD.size))
    if text > TEXT_LIMIT or data > BYTES_LIMIT:
        raise BrokenMessageError
    return Message(kind, json.loads(_exactly(stream, text)), _exactly(stream, data))


def layout_message(layout: Layout) -> Message:
    """Return the message that *layout* is sent as."""
    return Message(LAYOUT, asdict(layout))


def layout_of(content: Mapping[str, Any]) -> Layout:
    """Return the layout of which *content* was sent."""
    warnings = [
        Issue(
            **{**each, "phase": Phase(each["phase"]), "level": Level(each["level"])},
        )
        for each in content["warnings"]
    ]
    header = tuple(content["header"])
    return Layout(**{**content, "header": header, "warnings": tuple(warnings)})


def block_message(block: Block) -> Message:
    """Return the message that *block* is sent as."""
    data = io.BytesIO()
    block.frame.write_ipc_stream(data)
    content = {"blank": block.blank, "position": dict(block.position)}
    return Message(BLOCK, content, data.getvalue())


def block_of(message: Message, width: int) -> Block:
    """Return the block that was sent, which has *width* columns.

    Raises:
        BrokenMessageError: It is no such block.

    """
    frame = pl.read_ipc_stream(io.BytesIO(message.data))
    if frame.schema != block_schema(width):
        raise BrokenMessageError
    return Block(frame, message.content["blank"], message.content["position"])


def error_message(error: SourceError | UsageError) -> Message:
    """Return the message that an error of ours is sent as."""
    if isinstance(error, SourceError):
        content = {"code": error.code, "parameters": error.parameters}
        return Message(ERROR, {"message": str(error), **content})
    return Message(ERROR, {"message": str(error)})


def error_of(content: Mapping[str, Any]) -> SourceError | UsageError:
    """Return the error that was sent."""
    if "code" not in content:
        return UsageError(content["message"])
    return SourceError(content["code"], content["message"], **content["parameters"])


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise BrokenMessageError
    return data

"""Files made to do harm, and a process of its own in which each is read.

The process may take so much memory beside what it has when it starts, and so much
time of the processor; whoever takes more is ended, and the test fails.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 600 << 20  # bytes beside the interpreter and its libraries
SECONDS = 30  # of the processor
PATIENCE = 600  # seconds, on a machine that has other things to do

READ = """
import io, json, re, resource, sys
from pathlib import Path

from batchfx.errors import SourceError
from batchfx.files import open as files


def taken(name):
    status = Path("/proc/self/status").read_text()
    return int(re.search(name + r":\\s+(\\d+)", status)[1]) << 10


class Endless(io.RawIOBase):
    # The same bytes again and again, up to a size, without a disk to hold them.
    def __init__(self, unit, size):
        self.unit, self.size, self.at = unit * (1 + (1 << 20) // len(unit)), size, 0

    def readable(self): return True
    def seekable(self): return True
    def tell(self): return self.at

    def seek(self, offset, whence=0):
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def readinto(self, buffer):
        count = max(min(len(buffer), self.size - self.at, 1 << 19), 0)
        buffer[:count] = self.unit[:count]
        self.at += count
        return count


def count(source, overrides):
    layout = files.inspect(source, **overrides)
    told = {"format": layout.format, "width": len(layout.header),
            "warnings": [warning.code for warning in layout.warnings],
            "rows": 0, "faulty": 0, "blank": 0, "widest": 0}
    for block in files.read(source, layout, 1000):
        frame = block.frame
        told["rows"] += frame.height
        told["faulty"] += frame.height - frame["faults"].null_count()
        told["blank"] += block.blank
        for name in frame.columns[1:-2]:
            told["widest"] = max(told["widest"], frame[name].str.len_chars().max() or 0)
    return told


warm = io.BytesIO(b"a,b\\n1,2\\n")
count(warm, {})
size, before = taken("VmSize"), taken("VmHWM")
memory, seconds, where, overrides = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_AS, (size + int(memory),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (int(seconds),) * 2)
overrides = json.loads(overrides)
if where == "endless":
    raw = Endless(overrides.pop("unit").encode(), overrides.pop("size"))
    source = io.BufferedReader(raw, 1 << 20)
else:
    source = open(where, "rb")
try:
    told = count(source, overrides)
except SourceError as error:
    told = {"code": error.code, "message": str(error)}
print(json.dumps(told | {"peak": taken("VmHWM") - before}))
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of reading a file: the refusal's code, or what was read.

    *peak* is the memory that was taken, in bytes beside the start.
    """

    peak: int
    code: str | None = None
    message: str = ""
    format: str = ""
    width: int = 0
    warnings: tuple[str, ...] = ()
    rows: int = 0
    faulty: int = 0
    blank: int = 0
    widest: int = 0


def outcome(path: Path | str, **overrides: Any) -> Outcome:
    """Read the file at *path* in a process of its own; it must come to a good end."""
    command = [sys.executable, "-c", READ, str(MEMORY), str(SECONDS), str(path)]
    done = subprocess.run(
        [*command, json.dumps(overrides)],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    return Outcome(**told | {"warnings": tuple(told.get("warnings", ()))})


def repeated_deflate(start: bytes, unit: bytes, count: int, end: bytes) -> bytes:
    """Return a raw deflate stream of *start*, *count* times *unit*, and *end*.

    *unit* is compressed once, and so the stream is made at once, however long.
    """

    def block(content: bytes, mode: int) -> bytes:
        stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        return stream.compress(content) + stream.flush(mode)

    middle = block(unit, zlib.Z_FULL_FLUSH) * count
    return block(start, zlib.Z_FULL_FLUSH) + middle + block(end, zlib.Z_FINISH)


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of an archive as it stands in it, true or not."""

    packed: bytes
    size: int = 3 << 30
    checksum: int = 0
    flags: int = 0
    at: int | None = None  # where the list says it is


def archive(entries: Mapping[str, Entry | bytes | str]) -> bytes:
    """Return a ZIP archive; what isn't an `Entry` is made an honest one."""
    file, listing = io.BytesIO(), b""
    for name, given in entries.items():
        entry = given if isinstance(given, Entry) else honest(given)
        numbers = (20, entry.flags, 8, 0, 0, entry.checksum, len(entry.packed))
        common = struct.pack("<HHHHHLLLHH", *numbers, entry.size, len(name), 0)
        at = file.tell() if entry.at is None else entry.at
        file.write(b"PK\x03\x04" + common + name.encode() + entry.packed)
        listing += (
            b"PK\x01\x02\x14\x00" + common + struct.pack("<HHHLL", 0, 0, 0, 0, at)
        )
        listing += name.encode()
    count, at = len(entries), file.tell()
    end = struct.pack(
        "<4sHHHHLLH", b"PK\x05\x06", 0, 0, count, count, len(listing), at, 0
    )
    return file.getvalue() + listing + end


def honest(content: bytes | str) -> Entry:
    """Return an entry that is what it says."""
    raw = content.encode() if isinstance(content, str) else content
    packed = repeated_deflate(raw, b"", 0, b"")
    return Entry(packed, len(raw), zlib.crc32(raw))

"""Compressed files, and archives of one file: unpacked before they are read.

The content goes into a temporary file that has no name and ends with its use. What it
really expands to is counted while it is written: the sizes that an archive states are
not trusted, and the names in it are shown to people but never used as paths.
"""

from __future__ import annotations

import bz2
import lzma
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, NoReturn, Protocol

from batchfx.errors import SourceError
from batchfx.files.packed_zip import is_zip, open_member, shown
from batchfx.files.text import read_up_to
from batchfx.model.issues import Issue, Level, Phase

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SIZE_LIMIT = 4 * 1024**3  # bytes that a file may expand to
FREE_SIZE = 64 * 1024**2  # bytes up to which any ratio will do
RATIO_LIMIT = 250  # to what was read of it, beyond that; tables seldom reach 50
CHUNK = 256 * 1024
MAGIC_LENGTH = 10
MEMORY_LIMIT = 128 * 1024**2  # bytes that xz may ask for; zstd stops there by itself


class _Decompressor(Protocol):
    """What the standard library's decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipDecompressor:
    """Zlib's decompressor of a gzip member, in the shape of the others."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        """True after the member's end."""
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the member's end."""
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return *max_length* bytes of content, or fewer when *data* has no more."""
        found = self._stream.decompress(
            self._stream.unconsumed_tail + data, max_length=max_length
        )
        self.needs_input = len(found) < max_length
        return found


class _Kind(NamedTuple):
    """A compressed format: how its streams begin and who unpacks them."""

    title: str
    magic: re.Pattern[bytes]
    decompressor: Callable[[], _Decompressor]


KINDS = {
    "gzip": _Kind("gzip", re.compile(rb"\x1f\x8b\x08"), _GzipDecompressor),
    "bzip2": _Kind(
        "bzip2", re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor
    ),
    "xz": _Kind(
        "xz",
        re.compile(rb"\xfd7zXZ\x00"),
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY_LIMIT),
    ),
    "zstd": _Kind(  # the second is a frame to be skipped: RFC 8878, 3.1.2
        "zstd",
        re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
        zstd.ZstdDecompressor,
    ),
}
ZIP = "zip"
FAULTS = (zlib.error, lzma.LZMAError, zstd.ZstdError, OSError, EOFError, ValueError)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The content of a packed source, as a file; *member* is its name in an archive."""

    file: BinaryIO
    kind: str
    member: str | None
    warnings: tuple[Issue, ...]

    @property
    def reason(self) -> str:
        """In words, how the source is packed."""
        if self.member is not None:
            return f"a ZIP archive with {shown(self.member)} in it"
        return f"compressed with {KINDS[self.kind].title}, by its first bytes"


def find_packing(source: BinaryIO) -> str | None:
    """Return how *source* is packed ("gzip", "zip" …), or None if it isn't.

    A workbook is an archive too, but isn't packed: its parts belong together.
    """
    source.seek(0)
    head = read_up_to(source, MAGIC_LENGTH)
    for name, kind in KINDS.items():
        if kind.magic.match(head):
            return name
    return ZIP if is_zip(source) else None


@contextmanager
def unpacked(
    source: BinaryIO, kind: str, member: str | None = None
) -> Iterator[Unpacked]:
    """Unpack *source*, which is packed as *kind*, for as long as the context lasts.

    Args:
        source: The packed file.
        kind: What `find_packing` said.
        member: Which file of a ZIP archive, where there are several.

    Raises:
        SourceError: ``corrupt`` (``reason`` is "truncated" when the end is missing),
            ``encrypted``, ``unsafe_file`` (it expands to too much), ``choose_member``,
            ``no_such_member``, ``empty_file`` or ``no_space``.

    """
    source.seek(0)
    with tempfile.TemporaryFile() as file:
        if kind == ZIP:
            with open_member(source, member) as opened:
                _write(opened.chunks(), file, source)
                yield Unpacked(file, kind, opened.name, ())
        else:
            streams = _Streams(source, KINDS[kind])
            _write(streams, file, source)
            yield Unpacked(file, kind, None, tuple(_warnings(streams)))


class _Streams:
    """The content of a file of one or more compressed streams, in chunks.

    Attributes:
        foreign: Where something else follows the streams, if it does.

    """

    def __init__(self, source: BinaryIO, kind: _Kind) -> None:
        self.title = kind.title
        self.foreign: int | None = None
        self._kind = kind
        self._source = source
        self._read = 0
        self._expanded = 0

    def __iter__(self) -> Iterator[bytes]:
        data = self._next()
        while data:
            if not self._kind.magic.match(data):
                self.foreign = self._read - len(data)
                return
            stream = self._kind.decompressor()
            for chunk in self._stream(stream, data):
                self._expanded += len(chunk)
                yield chunk
            data = self._after(stream.unused_data)

    def _stream(self, stream: _Decompressor, data: bytes) -> Iterator[bytes]:
        while not stream.eof:
            if stream.needs_input and not data:
                data = self._next()
                if not data:
                    self._refuse("it ends in the middle", "truncated")
            try:
                chunk = stream.decompress(data, CHUNK)
            except FAULTS as error:
                self._refuse(f"it can't be unpacked ({error})", "damaged", error)
            data = b""
            yield chunk

    def _after(self, rest: bytes) -> bytes:
        """Return what follows a stream and the zeros that may fill a block up."""
        while not rest.lstrip(b"\0"):
            rest = self._next()
            if not rest:
                return b""
        rest = rest.lstrip(b"\0")
        return rest if len(rest) >= MAGIC_LENGTH else rest + self._next()

    def _next(self) -> bytes:
        data = read_up_to(self._source, CHUNK)
        self._read += len(data)
        return data

    def _refuse(
        self, problem: str, reason: str, cause: BaseException | None = None
    ) -> NoReturn:
        message = (
            f"The compressed file ({self.title}) is damaged: {problem}, near its byte "
            f"{self._read:,}, after {self._expanded:,} bytes of content. Get it again."
        )
        raise SourceError(
            "corrupt",
            message,
            reason=reason,
            offset=self._read,
            expanded=self._expanded,
        ) from cause


def _write(chunks: Iterable[bytes], file: BinaryIO, source: BinaryIO) -> None:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        packed = source.tell()  # as far as it was read
        if total > SIZE_LIMIT or (total > FREE_SIZE and total > packed * RATIO_LIMIT):
            _refuse_size(total, packed)
        try:
            file.write(chunk)
        except OSError as error:
            _refuse_space(error)
    try:
        file.seek(0)
    except OSError as error:
        _refuse_space(error)


def _refuse_size(total: int, packed: int) -> NoReturn:
    limit = f"{SIZE_LIMIT // 1024**3} GiB"
    if total <= SIZE_LIMIT:
        limit = f"{RATIO_LIMIT} times what is packed"
    message = (
        f"The compressed file expands to more than {limit}, as files do that were made "
        "to do harm. Unpack it yourself, if it is a real one."
    )
    raise SourceError("unsafe_file", message, packed=packed, expanded=total)


def _refuse_space(error: OSError) -> NoReturn:
    message = (
        f"The compressed file can't be unpacked here: {error.strerror}. "
        "Make room in the folder for temporary files."
    )
    raise SourceError("no_space", message) from error


def _warnings(streams: _Streams) -> Iterator[Issue]:
    if streams.foreign is not None:
        message = (
            f"Something else follows the compressed content ({streams.title}), from "
            f"byte {streams.foreign:,} on. It is left out."
        )
        yield Issue(
            "trailing_garbage",
            message,
            Phase.FILE,
            parameters={"offset": streams.foreign},
            level=Level.WARNING,
        )

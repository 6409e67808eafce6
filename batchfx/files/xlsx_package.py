"""The ZIP archive that a workbook is: its parts, how they name each other, its limits.

Part names are compared without regard to case, as Excel does (ECMA-376 part 2, 9.1.1).
What a part really expands to is counted while it is read; what the archive says about
its size isn't trusted.
"""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, NoReturn, Self
from urllib.parse import unquote

from batchfx.errors import SourceError
from batchfx.files.xlsx_xml import tags

PART_LIMIT = 2 * 1024**3  # bytes that a sheet or the shared strings may expand to
SMALL_PART_LIMIT = 64 * 1024**2  # the same for every other part
DIRECTORY_LIMIT = 4 * 1024**2  # bytes of the archive's list of parts
CHUNK = 128 * 1024

OLE_MAGIC = bytes.fromhex("D0CF11E0A1B11AE1")
CONTAINER_HEADER = 512
SECTOR_SHIFT, DIRECTORY = 30, 48  # in an OLE file's header, [MS-CFB] 2.2
ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")  # MS-OFFCRYPTO 2.3.4.4
ENCRYPTED_FLAG = 0x1
RELATIONSHIP = frozenset({"Relationship"})

# What zipfile and zlib raise for bytes that are no sound archive.
ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Relationship(NamedTuple):
    """A reference from one part to another; *kind* is the last word of its type."""

    id: str
    kind: str
    part: str


class Package:
    """An open workbook file; *source* stays the caller's to close.

    Raises:
        SourceError: ``empty_file``, ``encrypted``, ``unsupported_format`` (an older
            Excel file), ``corrupt`` or ``unsafe_file``.

    """

    def __init__(self, source: BinaryIO) -> None:
        _check_start(source)
        try:
            self._archive = zipfile.ZipFile(BoundedReads(source))
        except ZIP_FAULTS as error:
            _refuse("the list of its parts at the end of the file", error)
        files = [each for each in self._archive.infolist() if not each.is_dir()]
        self._parts = {part_key(entry.filename): entry for entry in files}
        if len(self._parts) < len(files):
            _refuse_repeated([part_key(entry.filename) for entry in files])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def find(self, name: str) -> str | None:
        """Return the key of the part called *name*, or None when there is none."""
        key = part_key(name)
        return key if key in self._parts else None

    def chunks(self, part: str, limit: int = SMALL_PART_LIMIT) -> Iterator[bytes]:
        """Yield the expanded bytes of *part*, a key that `find` gave.

        Raises:
            SourceError: ``corrupt``, ``encrypted``, or ``unsafe_file`` when there are
                more than *limit* bytes.

        """
        with self._open(part) as stream:
            total = 0
            while chunk := _read(stream, part):
                total += len(chunk)
                if total > limit:
                    message = (
                        f"Part '{part}' of the workbook expands to more than "
                        f"{limit // 1024**2} MiB. Split the file, if it is a real one."
                    )
                    raise SourceError("unsafe_file", message, part=part)
                yield chunk

    def relationships(self, part: str) -> list[Relationship]:
        """Return what *part* refers to inside the workbook ("" is the package)."""
        folder, name = posixpath.split(part)
        listing = self.find(posixpath.join(folder, "_rels", f"{name}.rels"))
        if listing is None:
            return []
        found = []
        for tag in tags(self.chunks(listing), listing, RELATIONSHIP):
            target = tag.attributes.get("Target", "")
            if tag.attributes.get("TargetMode") != "External" and target:
                kind = tag.attributes.get("Type", "").rpartition("/")[2]
                path = self._resolve(folder, target)
                found.append(Relationship(tag.attributes.get("Id", ""), kind, path))
        return found

    def _resolve(self, folder: str, target: str) -> str:
        plain = target.replace("\\", "/")
        path = posixpath.normpath(posixpath.join("/", folder, plain))
        return self.find(path) or part_key(unquote(path))

    def _open(self, part: str) -> zipfile.ZipExtFile:
        entry = self._parts.get(part)
        if entry is None:
            message = f"Part '{part}' of the workbook is missing. Save the file again."
            raise SourceError("corrupt", message, part=part)
        if entry.flag_bits & ENCRYPTED_FLAG:
            message = f"Part '{part}' of the workbook is encrypted."
            raise SourceError("encrypted", message, part=part)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            message = (
                f"Part '{part}' of the workbook is packed in a way Excel can't read."
            )
            raise SourceError("corrupt", message, part=part)
        try:
            return self._archive.open(entry)  # type: ignore[return-value]
        except ZIP_FAULTS as error:
            _refuse(f"part '{part}'", error)


class BoundedReads:
    """A file for `zipfile`, which would read a list of parts of any size at once.

    Raises:
        SourceError: ``unsafe_file``, from `read`.

    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.seek = source.seek
        self.tell = source.tell

    def read(self, size: int = -1) -> bytes:
        """Read as a file does, but no more than `DIRECTORY_LIMIT` bytes."""
        if size > DIRECTORY_LIMIT:
            message = "The archive claims to have more parts than any real one."
            raise SourceError("unsafe_file", message)
        return self._source.read(size if size >= 0 else DIRECTORY_LIMIT)

    def seekable(self) -> bool:
        """Return True: `seek` works."""
        return True


def part_key(name: str) -> str:
    """Return what the names of the same part have in common."""
    return name.replace("\\", "/").lstrip("/").casefold()


def _read(stream: zipfile.ZipExtFile, part: str) -> bytes:
    try:
        return stream.read(CHUNK)
    except ZIP_FAULTS as error:
        _refuse(f"part '{part}'", error)


def _refuse(place: str, error: BaseException) -> NoReturn:
    message = (
        f"The workbook is damaged in {place}: {str(error) or type(error).__name__}. "
        "Get the file again, or open it in Excel and save it."
    )
    raise SourceError("corrupt", message) from error


def _refuse_repeated(parts: list[str]) -> NoReturn:
    part = Counter(parts).most_common(1)[0][0]
    message = (
        f"The workbook has two parts called '{part}', and programs differ in which of "
        "them they show. Open the file in Excel and save it."
    )
    raise SourceError("corrupt", message, part=part)


def _check_start(source: BinaryIO) -> None:
    source.seek(0)
    start = source.read(len(OLE_MAGIC))
    if not start:
        message = "The file is empty."
        raise SourceError("empty_file", message)
    if start == OLE_MAGIC:
        _refuse_container(source)
    if not start.startswith(b"PK"):
        message = "The file is no workbook: it doesn't begin as a ZIP archive does."
        raise SourceError("corrupt", message)


def _refuse_container(source: BinaryIO) -> NoReturn:
    """Tell an encrypted workbook from an old one, or a rest of one; all are OLE."""
    source.seek(0)
    head, size = source.read(CONTAINER_HEADER), source.seek(0, 2)
    if _is_cut(head, size):
        message = (
            f"The file is an older Office document or a workbook with a password, and "
            f"is cut off: there are only {size} bytes of it. Get the file again."
        )
        raise SourceError("corrupt", message)
    source.seek(0)
    tail = b""
    while chunk := source.read(CHUNK):
        if ENCRYPTED_STREAM in tail + chunk:
            message = "The workbook has a password. Save it without one and try again."
            raise SourceError("encrypted", message)
        tail = chunk[-len(ENCRYPTED_STREAM) :]
    message = (
        "The file is a document of an older Office program (.doc, .ppt, .xls). "
        "Save or export the table as .xlsx or .csv."
    )
    raise SourceError("unsupported_format", message, found="xls")


def _is_cut(head: bytes, size: int) -> bool:
    """Tell whether an OLE file ends before the directory of its streams."""
    if len(head) < CONTAINER_HEADER:
        return True
    (shift,) = struct.unpack_from("<H", head, SECTOR_SHIFT)
    (sector,) = struct.unpack_from("<I", head, DIRECTORY)
    return size < (int(sector) + 2) << min(int(shift), 16)

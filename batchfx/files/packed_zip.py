"""ZIP archives that hold one file; those that are a workbook are read elsewhere."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, NoReturn

from batchfx.errors import SourceError
from batchfx.files.xlsx_package import (
    CHUNK,
    ENCRYPTED_FLAG,
    ZIP_FAULTS,
    BoundedReads,
    part_key,
)

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
LOCAL_HEADER = 30  # bytes before the first member's name
NAMED_MEMBERS = 20  # in a message
NAME_LENGTH = 80

# Any of these makes an archive a document of an office program.
DOCUMENT_PARTS = frozenset(
    {
        "[content_types].xml",
        "_rels/.rels",
        "content.xml",
        "meta-inf/manifest.xml",
        "mimetype",
        "xl/workbook.xml",
    }
)

# What file managers put into archives of their own accord.
STRAY_FOLDER = "__macosx/"
STRAY_NAMES = frozenset({".ds_store", "desktop.ini", "thumbs.db"})


class Member(NamedTuple):
    """A file in an open archive."""

    name: str
    stream: zipfile.ZipExtFile

    def chunks(self) -> Iterator[bytes]:
        """Yield the content.

        Raises:
            SourceError: ``corrupt``.

        """
        while chunk := self._read():
            yield chunk

    def _read(self) -> bytes:
        try:
            return self.stream.read(CHUNK)
        except ZIP_FAULTS as error:
            _refuse_damage(f"member {shown(self.name)}", error)


def is_zip(source: BinaryIO) -> bool:
    """Tell whether *source* is a ZIP archive, but no document of an office program.

    Of one that can't be read the first member's name tells.
    """
    source.seek(0)
    head = source.read(LOCAL_HEADER + NAME_LENGTH)
    if not head.startswith(SIGNATURES):
        return False
    try:
        with zipfile.ZipFile(BoundedReads(source)) as archive:
            names = [part_key(name) for name in archive.namelist()]
    except ZIP_FAULTS:
        first = head[LOCAL_HEADER:].decode("latin-1").casefold()
        return not first.startswith((*DOCUMENT_PARTS, "xl/", "docprops/"))
    return DOCUMENT_PARTS.isdisjoint(names)


@contextmanager
def open_member(source: BinaryIO, wanted: str | None) -> Iterator[Member]:
    """Open the one file in a ZIP archive, or the one called *wanted*.

    Folders, and what file managers add to archives, don't count.

    Raises:
        SourceError: ``corrupt``, ``encrypted``, ``unsupported_format``,
            ``empty_file``, ``choose_member`` or ``no_such_member``.

    """
    try:
        archive = zipfile.ZipFile(BoundedReads(source))
    except ZIP_FAULTS as error:
        _refuse_damage("the list of its members at the end of the file", error)
    with archive:
        entries = archive.infolist()
        entry = _choose({each.filename: each for each in entries}, wanted)
        if [each.filename for each in entries].count(entry.filename) > 1:
            message = (
                f"The ZIP archive has two files called {shown(entry.filename)}, and "
                "programs differ in which of them they unpack. Pack it anew."
            )
            raise SourceError("corrupt", message)
        if entry.flag_bits & ENCRYPTED_FLAG:
            message = "The ZIP archive has a password. Unpack it and try again."
            raise SourceError("encrypted", message)
        try:
            stream = archive.open(entry)
        except NotImplementedError as error:
            message = (
                f"The ZIP archive is packed in a way that isn't supported ({error}). "
                "Unpack it and try again."
            )
            raise SourceError("unsupported_format", message) from error
        except ZIP_FAULTS as error:
            _refuse_damage(f"member {shown(entry.filename)}", error)
        with stream:
            yield Member(entry.filename, stream)  # type: ignore[arg-type] # read mode


def shown(name: str) -> str:
    """Return a member's name as it can be shown whatever it holds."""
    plain = "".join(each if each.isprintable() else "\ufffd" for each in name)
    return f"'{plain[:NAME_LENGTH]}'" + "…" * (len(plain) > NAME_LENGTH)


def _choose(entries: dict[str, zipfile.ZipInfo], wanted: str | None) -> zipfile.ZipInfo:
    names = [name for name in entries if _counts(name)]
    if wanted is not None and wanted in entries:
        return entries[wanted]
    if not names:
        message = "The ZIP archive has no file in it."
        raise SourceError("empty_file", message)
    if wanted is not None:
        message = f"The ZIP archive has no member '{wanted}', but {_listed(names)}."
        raise SourceError("no_such_member", message, members=names[:NAMED_MEMBERS])
    if len(names) > 1:
        message = (
            f"The ZIP archive has several files in it: {_listed(names)}. "
            "Unpack it, or say which one to read: --set member=NAME"
        )
        raise SourceError("choose_member", message, members=names[:NAMED_MEMBERS])
    return entries[names[0]]


def _counts(name: str) -> bool:
    key = part_key(name)
    last = key.rpartition("/")[2]
    stray = key.startswith(STRAY_FOLDER) or last in STRAY_NAMES
    return bool(last) and not stray


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(map(shown, names[:NAMED_MEMBERS]))
    more = len(names) - NAMED_MEMBERS
    return f"{listed} and {more} more" if more > 0 else listed


def _refuse_damage(place: str, error: BaseException) -> NoReturn:
    message = (
        f"The ZIP archive is damaged in {place}: {str(error) or type(error).__name__}. "
        "Get it again."
    )
    raise SourceError("corrupt", message) from error

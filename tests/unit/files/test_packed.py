"""Compressed files, and archives of one file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from batchfx.errors import SourceError, UsageError
from batchfx.files import open as files
from batchfx.files import packed as packed_files
from batchfx.model.blocks import Block
from tests.unit.files.workbooks import row, sheet, workbook

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"sku,name\nA-1,Cup\nA-2,Jug\n"
ROWS = [(2, "A-1", "Cup"), (3, "A-2", "Jug")]
PACK: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}


def zipped(members: Mapping[str, bytes], **options: Any) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def rows_of(blocks: Iterator[Block]) -> list[tuple[Any, ...]]:
    return [each[:3] for block in blocks for each in block.frame.rows()]


def read(content: bytes, **overrides: Any) -> list[tuple[Any, ...]]:
    source = io.BytesIO(content)
    return rows_of(files.read(source, files.inspect(source, **overrides), 1))


def unpacked(content: bytes, kind: str) -> bytes:
    with packed_files.unpacked(io.BytesIO(content), kind) as found:
        return found.file.read()


def refusal(content: bytes, **overrides: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        read(content, **overrides)
    return caught.value


def noise(size: int) -> bytes:
    """Return bytes that can't be compressed, the same ones each time."""
    return random.Random(size).randbytes(size)  # noqa: S311 - no secret


def big_text(rows: int) -> bytes:
    """Return a table that doesn't fit into one chunk, packed or not."""
    lines = (f"{number},{noise(number % 90 + 9).hex()}" for number in range(rows))
    return "\n".join(("id,code", *lines)).encode()


@pytest.mark.parametrize("kind", PACK)
def test_a_compressed_file_is_what_it_has_in_it(kind: str) -> None:
    source = io.BytesIO(PACK[kind](TEXT))

    layout = files.inspect(source)
    first, second = files.read(source, layout, 1)
    (again,) = files.read(source, layout, 1, first.position)

    assert (layout.format, layout.header, layout.header_row) == (
        ("csv", ("sku", "name"), 1)
    )
    assert layout.settings["packing"] == kind
    assert layout.reasons["packing"] == f"compressed with {kind}, by its first bytes"
    assert layout.warnings == ()
    assert [first.frame.row(0)[:3], second.frame.row(0)[:3]] == ROWS
    assert second.frame.equals(again.frame)


@pytest.mark.parametrize("kind", PACK)
def test_a_workbook_may_be_compressed(kind: str) -> None:
    book = workbook(sheet(row(1, "sku", "name"), row(2, "A-1", "Cup"))).getvalue()

    assert read(PACK[kind](book)) == [(2, "A-1", "Cup")]
    assert read(zipped({"book.xlsx": book})) == [(2, "A-1", "Cup")]


@pytest.mark.parametrize("kind", PACK)
def test_several_streams_and_filling_zeros_are_one_content(kind: str) -> None:
    half = TEXT.index(b"\nA-2") + 1
    streams = (PACK[kind](TEXT[:half]), PACK[kind](b""), PACK[kind](TEXT[half:]))

    assert read(b"".join(streams)) == ROWS
    assert (
        read((bytes(4) if kind != "zstd" else b"").join(streams) + bytes(512)) == ROWS
    )


@pytest.mark.parametrize("kind", PACK)
def test_a_stream_may_begin_anywhere(kind: str) -> None:
    content = big_text(6_000)  # more than a chunk when packed
    cut = len(content) // 2
    for shift in (-3, 0, 1):
        first = PACK[kind](content[: cut + shift])
        filling = -len(first) % packed_files.CHUNK + shift
        streams = first + bytes(filling) + PACK[kind](content[cut + shift :])

        assert unpacked(streams, kind) == content


def test_a_frame_that_zstd_skips_is_skipped() -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"

    assert read(skipped + zstd.compress(TEXT) + skipped) == ROWS


@pytest.mark.parametrize("kind", PACK)
def test_what_follows_the_content_is_told(kind: str) -> None:
    content = PACK[kind](TEXT)
    source = io.BytesIO(content + b"virus")

    (warning,) = files.inspect(source).warnings

    assert (warning.code, warning.parameters) == (
        ("trailing_garbage", {"offset": len(content)})
    )
    assert warning.message == (
        f"Something else follows the compressed content ({kind}), from byte "
        f"{len(content)} on. It is left out."
    )
    assert read(content + b"virus") == ROWS


@pytest.mark.parametrize("kind", PACK)
def test_a_compressed_file_that_is_cut_off_says_where(kind: str) -> None:
    content = PACK[kind](big_text(4_000))
    for size in (12, len(content) // 2, len(content) - 1):
        error = refusal(content[:size])

        assert error.code == "corrupt"
        assert error.parameters["reason"] == "truncated"
        assert error.parameters["offset"] == size
        assert f"it ends in the middle, near its byte {size:,}" in str(error)


@pytest.mark.parametrize("kind", PACK)
def test_a_compressed_file_that_is_damaged_is_refused(kind: str) -> None:
    content = bytearray(PACK[kind](big_text(4_000)))
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)

    error = refusal(bytes(content))

    assert (error.code, error.parameters["reason"]) == ("corrupt", "damaged")


@pytest.mark.parametrize("outer", [*PACK, "zip"])
@pytest.mark.parametrize("inner", [*PACK, "zip"])
def test_an_archive_in_an_archive_is_refused(outer: str, inner: str) -> None:
    content = PACK[inner](TEXT) if inner in PACK else zipped({"a.csv": TEXT})
    nested = PACK[outer](content) if outer in PACK else zipped({"b": content})

    error = refusal(nested)

    assert (error.code, error.parameters) == ("nested_archive", {"found": inner})


def test_an_archive_of_files_in_a_compressed_file_is_refused_by_name() -> None:
    tar = bytes(257) + b"ustar\x0000" + bytes(247)

    assert str(refusal(gzip.compress(b"a" + tar[1:]))) == (
        "The file is an archive (tar); save or export the table as .xlsx or .csv."
    )


def test_a_file_in_an_archive_may_be_called_anything() -> None:
    for name in ("../../etc/passwd", "/etc/passwd", "C:\\a", "a\nb", "x" * 60_000):
        source = io.BytesIO(zipped({name: TEXT}))
        layout = files.inspect(source)

        assert rows_of(files.read(source, layout, 9)) == ROWS
        assert layout.reasons["packing"].isprintable()
        assert len(layout.reasons["packing"]) < 130


def test_folders_and_what_file_managers_add_do_not_count() -> None:
    content = zipped(
        {
            "export/": b"",
            "export/table.csv": TEXT,
            "__MACOSX/export/._table.csv": b"\x00\x05\x16\x07",
            "export/.DS_Store": b"\x00",
            "Thumbs.db": b"\x00",
        }
    )

    assert read(content) == ROWS
    assert read(content, member="export/table.csv") == ROWS


def test_several_files_in_an_archive_are_a_choice() -> None:
    content = zipped({"a.csv": TEXT, "b\x07.csv": b"x,y\n1,2\n"})

    error = refusal(content)

    assert error.code == "choose_member"
    assert error.parameters == {"members": ["a.csv", "b\x07.csv"]}
    assert str(error) == (
        "The ZIP archive has several files in it: 'a.csv', 'b\ufffd.csv'. "
        "Unpack it, or say which one to read: --set member=NAME"
    )
    assert read(content, member="b\x07.csv") == [(2, "1", "2")]


def test_no_more_than_some_members_are_named() -> None:
    error = refusal(zipped({f"{number}.csv": TEXT for number in range(23)}))

    assert "'19.csv' and 3 more. Unpack it" in str(error)
    assert len(error.parameters["members"]) == 20


def test_a_member_that_is_not_there_is_missed() -> None:
    error = refusal(zipped({"a.csv": TEXT}), member="c.csv")

    assert error.code == "no_such_member"
    assert str(error) == "The ZIP archive has no member 'c.csv', but 'a.csv'."


@pytest.mark.parametrize(
    "content", [zipped({}), zipped({"a/": b"", "Thumbs.db": b"x"})]
)
def test_an_archive_without_a_file_is_empty(content: bytes) -> None:
    assert refusal(content).code == "empty_file"


def test_two_members_with_one_name_are_refused_as_damage() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("a.csv", b"x,y\n1,2\n")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.csv", TEXT)

    error = refusal(target.getvalue())
    assert error.code == "corrupt"
    assert str(error).startswith("The ZIP archive has two files called 'a.csv'")


def test_a_member_can_be_said_for_an_archive_only() -> None:
    for content in (TEXT, gzip.compress(TEXT)):
        with pytest.raises(UsageError, match="member can't be set for a text file"):
            read(content, member="a.csv")


def test_overrides_reach_the_reader_of_the_content() -> None:
    source = io.BytesIO(gzip.compress(b"x\na;b,c\n"))

    layout = files.inspect(source, delimiter=",", header_row=2)

    assert layout.header == ("a;b", "c")


def test_a_password_is_told() -> None:
    content = bytearray(zipped({"a.csv": TEXT}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1

    assert refusal(bytes(content)).code == "encrypted"


def test_an_unknown_method_is_told() -> None:
    content = bytearray(zipped({"a.csv": TEXT}))
    content[8] = 97
    content[content.index(b"PK\x01\x02") + 10] = 97

    assert refusal(bytes(content)).code == "unsupported_format"


def test_a_damaged_archive_says_where() -> None:
    content = zipped({"a.csv": TEXT})
    cut, wrong = content[:-30], bytearray(content)
    wrong[40] ^= 0xFF

    assert str(refusal(cut)).startswith(
        "The ZIP archive is damaged in the list of its members at the end of the file: "
    )
    assert str(refusal(bytes(wrong))).startswith(
        "The ZIP archive is damaged in member 'a.csv': "
    )
    assert {refusal(cut).code, refusal(bytes(wrong)).code} == {"corrupt"}


def test_a_damaged_workbook_is_not_taken_for_an_archive() -> None:
    book = workbook(sheet(row(1, "sku", "name"), row(2, "A-1", "Cup"))).getvalue()

    error = refusal(book[:-30])

    assert (error.code, "The workbook is damaged" in str(error)) == ("corrupt", True)


def test_an_archive_of_too_many_members_is_unsafe() -> None:
    content = zipped({f"{number:080}": b"" for number in range(40_000)})

    assert refusal(content).code == "unsafe_file"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def is_open(folder: Path) -> bool:
    """Tell whether this process has a file open in *folder*, deleted or not."""
    descriptors = Path("/proc/self/fd")
    targets = []
    for each in descriptors.iterdir():
        try:
            targets.append(str(each.readlink()))
        except FileNotFoundError:
            continue
    return any(target.startswith(str(folder)) for target in targets)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux's /proc")
def test_the_temporary_file_ends_with_its_use(temporary: Path) -> None:
    source = io.BytesIO(gzip.compress(TEXT))
    layout = files.inspect(source)
    assert not is_open(temporary)

    blocks = files.read(source, layout, 1)
    next(blocks)
    assert (is_open(temporary), list(temporary.iterdir())) == (True, [])
    blocks.close()  # type: ignore[attr-defined] # it is a generator
    assert not is_open(temporary)

    refusal(gzip.compress(TEXT)[:-3])
    refusal(gzip.compress(gzip.compress(TEXT)))
    assert not is_open(temporary)


class Full(io.BytesIO):
    """A file on a disk that is full."""

    def write(self, _: Any) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> BinaryIO:
        return Full()

    monkeypatch.setattr(tempfile, "TemporaryFile", full)

    error = refusal(gzip.compress(TEXT))

    assert error.code == "no_space"
    assert "No space left on device" in str(error)


@pytest.mark.parametrize("kind", [*PACK, "zip"])
def test_what_expands_to_too_much_is_unsafe(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = TEXT + b"A-3,Mug\n" * 130_000
    packed = PACK[kind](content) if kind in PACK else zipped({"a": content})

    monkeypatch.setattr(packed_files, "SIZE_LIMIT", 1_000_000)
    by_size = refusal(packed)
    monkeypatch.setattr(packed_files, "SIZE_LIMIT", 1 << 40)
    monkeypatch.setattr(packed_files, "FREE_SIZE", 1_000_000)
    by_ratio = refusal(packed)

    assert (by_size.code, by_ratio.code) == ("unsafe_file", "unsafe_file")
    assert "expands to more than 250 times what is packed" in str(by_ratio)

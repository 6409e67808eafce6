"""Readers met with anything: they read it or refuse it, and what they say adds up."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError, UsageError
from batchfx.files import open as files
from batchfx.model.blocks import Block, block_schema, load_faults
from batchfx.model.sources import Layout

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CASES = Path(__file__).parents[1] / "cases" / "files"
LARGE = 60_000  # bytes of a case that would take all the time
ROWS = 7

# Formats whose rows are numbered as a sheet or a list is, without a gap but blank ones.
COUNTED = frozenset({"ods", "xls", "xlsb", "xlsx"})

PACKS: Sequence[Callable[[bytes], bytes]] = (
    gzip.compress,
    bz2.compress,
    lzma.compress,
    zstd.compress,
    lambda content: zipped({"a": content}),
)

# What stands where structure is, so that a mutation may make other structure of it.
FRAGMENTS = st.sampled_from(
    [
        *(
            b'"',
            b"'",
            b",",
            b";",
            b"\t",
            b"\n",
            b"\r",
            b"\\",
            b"\x00",
            b"\xff",
            b"\xfe",
        ),
        *(b"\xef\xbb\xbf", b"\x1a", b"{", b"}", b"[", b"]", b":", b"null", b"1e999"),
        *(
            b"NaN",
            b"-",
            b"\\ud800",
            b"\\u0000",
            b'{"a":1}',
            b"\xed\xa0\x80",
            b"sep=;\n",
        ),
        *(b"<", b">", b"/>", b"&amp;", b"&#0;", b"&x;", b"<!--", b"]]>", b"<table>"),
        *(b"</table>", b"<tr>", b"<td colspan=99999>", b"<td rowspan=65535>", b"<th>"),
        *(
            b"PK\x03\x04",
            b"PK\x05\x06",
            b"PAR1",
            b"\x1f\x8b\x08",
            b"(\xb5/\xfd",
            b"BZh9",
        ),
        *(b"\x00\x00\x00\x00", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80"),
    ]
)


def zipped(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def seeds(*, guarded: bool) -> dict[str, bytes]:
    paths = sorted(CASES.iterdir())
    return {
        path.name: path.read_bytes()
        for path in paths
        if not path.name.endswith(".expected.json")
        and not path.name.startswith("export_")
        and path.stat().st_size < LARGE
        and path.read_bytes().startswith((b"PAR1", b"\xd0\xcf\x11\xe0")) == guarded
    }


SEEDS = seeds(guarded=False)
GUARDED_SEEDS = seeds(guarded=True)
ARCHIVES = {name: seed for name, seed in SEEDS.items() if seed.startswith(b"PK")}


def adds_up(content: bytes, overrides: Mapping[str, Any]) -> None:
    """Read *content* in the way that staging does.

    Only two exceptions may come out of it; rows ascend, none is lost or made up, and
    reading goes on behind any block as if it had never stopped.
    """
    source = io.BytesIO(content)
    with suppress(SourceError, UsageError):
        layout = files.inspect(source, **overrides)
        json.dumps([dict(layout.settings), dict(layout.reasons)])
        blocks = list(read(source, layout))
        if len(blocks) > 1:
            middle = len(blocks) // 2
            position = json.loads(json.dumps(dict(blocks[middle - 1].position)))
            rest = list(read(source, layout, position))
            assert [b.frame.rows() for b in rest] == [
                b.frame.rows() for b in blocks[middle:]
            ]
            assert [b.blank for b in rest] == [b.blank for b in blocks[middle:]]


def read(
    source: BinaryIO, layout: Layout, position: dict[str, Any] | None = None
) -> list[Block]:
    """Return the blocks as far as the source is sound, each one checked."""
    found: list[Block] = []
    with suppress(SourceError):
        for block in files.read(source, layout, ROWS, position):
            found.append(block)
            check(block, layout)
    frames = [block.frame for block in found]
    numbers = [number for frame in frames for number in frame["row"]]
    assert numbers == sorted(set(numbers))
    if numbers and position is None and layout.format in COUNTED:
        blank = sum(block.blank for block in found)
        start = layout.header_row + layout.settings["skip_after_header"]
        hidden = numbers[-1] - start - len(numbers) - blank
        assert hidden >= 0 if layout.settings["hidden_rows"] == "skip" else not hidden
    assert all(frame.height == ROWS for frame in frames[:-1] if frame.height)
    return found


def check(block: Block, layout: Layout) -> None:
    width = len(layout.header)
    frame = block.frame
    assert frame.schema == block_schema(width)
    assert (frame.height <= ROWS, block.blank >= 0) == (True, True)
    for faults in frame["faults"].drop_nulls():
        for fault in load_faults(faults):
            assert fault.code
            assert fault.message
            assert fault.column is None or 0 <= fault.column < width
    for kinds in frame["kinds"].drop_nulls():
        assert len(kinds) == width
        assert set(kinds) <= set("ndsbt-~")


def flipped(draw: st.DrawFn, found: bytearray, at: int, end: int) -> None:
    for place in range(at, min(end, at + 3)):
        found[place] ^= draw(st.integers(1, 255))


def cut(draw: st.DrawFn, found: bytearray, at: int, end: int) -> None:
    del found[at:end]


def ended(draw: st.DrawFn, found: bytearray, at: int, end: int) -> None:
    del found[at:]


def inserted(draw: st.DrawFn, found: bytearray, at: int, end: int) -> None:
    found[at:at] = draw(FRAGMENTS | st.binary(max_size=4))


def doubled(draw: st.DrawFn, found: bytearray, at: int, end: int) -> None:
    found[at:at] = found[at:end] * draw(st.integers(1, 3))


def swapped(draw: st.DrawFn, found: bytearray, at: int, end: int) -> None:
    other = draw(st.integers(0, len(found)))
    piece = found[other : other + end - at]
    found[other : other + end - at] = found[at:end]
    found[at:end] = piece


MUTATIONS = st.sampled_from([flipped, cut, ended, inserted, doubled, swapped])


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw *content* with bytes flipped, cut, inserted, doubled or exchanged."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(found)))
        end = min(at + draw(st.integers(0, 40)), len(found))
        draw(MUTATIONS)(draw, found, at, end)
    return bytes(found)


def damaged_seeds(seeds: dict[str, bytes]) -> st.SearchStrategy[bytes]:
    return st.sampled_from(sorted(seeds)).flatmap(lambda name: damaged(seeds[name]))


@st.composite
def damaged_parts(draw: st.DrawFn) -> bytes:
    """Draw an archive with damage inside a part of it."""
    seed = ARCHIVES[draw(st.sampled_from(sorted(ARCHIVES)))]
    with zipfile.ZipFile(io.BytesIO(seed)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw(st.sampled_from(sorted(parts)))
    return zipped(parts | {name: draw(damaged(parts[name]))})


OVERRIDES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "header_row": st.integers(1, 6),
        "header_rows": st.integers(1, 3),
        "skip_after_header": st.integers(0, 3),
        "expected_columns": st.lists(st.sampled_from(["id", "name", "a"]), max_size=3),
    },
)
ONLY_TEXT = {
    "delimiter": st.sampled_from([",", ";", "||", "\t", "a"]),
    "quote": st.sampled_from(['"', "'", ""]),
    "escape": st.just("\\"),
    "encoding": st.sampled_from(["utf-8", "cp1252", "utf-16", "shift_jis", "gb18030"]),
}
ONLY_SHEETS: dict[str, st.SearchStrategy[Any]] = {
    "sheet": st.integers(1, 3),
    "merged": st.sampled_from(["fill", "top"]),
    "hidden_rows": st.sampled_from(["read", "skip"]),
    "hidden_columns": st.sampled_from(["read", "skip"]),
}


@st.composite
def overridden(draw: st.DrawFn) -> tuple[bytes, dict[str, Any]]:
    """Draw a damaged case and what somebody says of it."""
    name = draw(st.sampled_from(sorted(SEEDS)))
    special = ONLY_SHEETS if name in ARCHIVES else ONLY_TEXT
    overrides = draw(OVERRIDES) | draw(st.fixed_dictionaries({}, optional=special))
    return draw(damaged(SEEDS[name])), overrides


def alone(content: bytes) -> None:
    adds_up(content, {})


def told(drawn: tuple[bytes, dict[str, Any]]) -> None:
    adds_up(*drawn)


def tried(*, examples: int, slow: int) -> Callable[[Any], Any]:
    """Make two tests of a function of a strategy: one of each length."""

    def decorate(test: Any) -> Any:
        quiet = (HealthCheck.too_slow, HealthCheck.data_too_large)
        short = settings(max_examples=examples, suppress_health_check=quiet)
        long = settings(max_examples=slow, suppress_health_check=quiet)
        lengths = [short, pytest.param(long, marks=pytest.mark.slow)]
        return pytest.mark.parametrize("length", lengths, ids=["short", "long"])(test)

    return decorate


@tried(examples=120, slow=5_000)
def test_any_bytes_are_read_or_refused(length: settings) -> None:
    length(given(st.binary(max_size=200))(alone))()


@tried(examples=250, slow=10_000)
def test_any_damage_to_a_file_is_read_or_refused(length: settings) -> None:
    length(given(damaged_seeds(SEEDS))(alone))()


@tried(examples=120, slow=5_000)
def test_any_damage_within_an_archive_is_read_or_refused(length: settings) -> None:
    length(given(damaged_parts())(alone))()


@tried(examples=120, slow=5_000)
def test_any_damage_is_read_or_refused_whatever_is_said(length: settings) -> None:
    length(given(overridden())(told))()


@tried(examples=60, slow=5_000)
def test_any_damage_to_a_compressed_file_is_read_or_refused(length: settings) -> None:
    packed = st.sampled_from(PACKS).flatmap(
        lambda pack: damaged(pack(SEEDS["csv_leading_zeros.csv"]))
    )

    length(given(packed)(alone))()


@tried(examples=4, slow=400)
def test_any_damage_to_a_file_for_foreign_code_is_read_or_refused(
    length: settings,
) -> None:
    length(given(damaged_seeds(GUARDED_SEEDS))(alone))()

"""Parquet files, whose typed columns become exact texts."""

from __future__ import annotations

import io
import json
import random
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files.parquet import inspect_parquet, read_parquet
from batchfx.files.parquet_child import inspect_inside, read_inside
from batchfx.model.blocks import Block, Fault, load_faults
from tests.unit.files.workbooks import CASES


def written(frame: pl.DataFrame, folder: Path, **options: Any) -> Path:
    path = folder / "file.parquet"
    frame.write_parquet(path, **options)
    return path


def read_here(path: Path, rows: int = 1000) -> list[Block]:
    """Read in this process, which is quicker; the process has tests of its own."""
    with path.open("rb") as file:
        return list(read_inside(file, inspect_inside(file), rows))


def cells(frame: pl.DataFrame, folder: Path) -> list[tuple[Any, ...]]:
    """Return the cells of all records, and their kinds."""
    blocks = read_here(written(frame, folder))
    return [row for block in blocks for row in block.frame.drop("row", "faults").rows()]


def faults(frame: pl.DataFrame, folder: Path) -> list[tuple[int, Fault]]:
    blocks = read_here(written(frame, folder))
    return [
        (row["row"], fault)
        for block in blocks
        for row in block.frame.iter_rows(named=True)
        for fault in load_faults(row["faults"] or "[]")
    ]


def column(values: list[Any], kind: Any) -> pl.DataFrame:
    return pl.DataFrame({"c": pl.Series(values, dtype=kind)})


def test_the_case_of_types_is_read_exactly() -> None:
    expected = json.loads((CASES / "parquet_types.expected.json").read_text("utf-8"))
    with (CASES / "parquet_types.parquet").open("rb") as file:
        layout = inspect_parquet(file)
        (block,) = read_parquet(file, layout, 1000)

    assert layout.format == "parquet"
    assert layout.header == tuple(expected["header"])
    assert layout.header_row == 0
    assert layout.warnings == ()
    assert block.frame.rows() == [
        (
            1,
            "1234.5000",
            "2026-03-29T00:30:00Z",
            "2026-03-29T02:30:00",
            "2026-02-28",
            "007",
            "true",
            '["a", "b"]',
            None,
            "ndddtbt",
        ),
        (
            2,
            "-0.0001",
            "2026-10-25T00:30:00Z",
            "1899-12-31T23:59:59.999999",
            "0001-01-01",
            "08",
            "false",
            "[]",
            None,
            "ndddtbt",
        ),
        (3, None, None, None, None, None, None, None, None, None),
    ]
    assert (block.blank, block.position) == (0, {"row": 3})


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pl.Int64, [-(2**63), 2**63 - 1], "-9223372036854775808 9223372036854775807"),
        (pl.UInt64, [2**64 - 1], "18446744073709551615"),
        (pl.Int8, [-1], "-1"),
        (
            pl.Float64,
            [1.0, 0.1, 1e20, 1e-7, -0.0, 0.1 + 0.2, 2.0**53],
            (
                "1 0.1 100000000000000000000 0.0000001 0 0.30000000000000004 "
                "9007199254740992"
            ),
        ),
        (pl.Float32, [0.1, 16777216.0], "0.1 16777216"),
        (pl.Decimal(38, 2), [Decimal("-0.10")], "-0.10"),
        (pl.Decimal(20, 0), [Decimal(10**19)], "10000000000000000000"),
    ],
)
def test_numbers_are_exact_decimal_text(
    tmp_path: Path, kind: Any, values: list[Any], expected: str
) -> None:
    found = cells(column(values, kind), tmp_path)

    assert found == [(text, "n") for text in expected.split()]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pl.Date, [date(1, 1, 1), date(9999, 12, 31)], "0001-01-01 9999-12-31"),
        (
            pl.Datetime("us"),
            [datetime(2026, 2, 28), datetime(2026, 2, 28, 1, 2, 3, 4)],  # noqa: DTZ001
            "2026-02-28 2026-02-28T01:02:03.000004",
        ),
        (
            pl.Datetime("ns"),
            [1, 1_000_000_000],
            "1970-01-01T00:00:00.000000001 1970-01-01T00:00:01",
        ),
        (pl.Datetime("ms"), [1500], "1970-01-01T00:00:01.500"),
        (
            pl.Datetime("us", "Europe/Berlin"),
            [
                datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2))),
                datetime(1970, 1, 1, tzinfo=timezone.utc),  # noqa: UP017 - its twin
            ],
            "2026-07-01T10:00:00Z 1970-01-01T00:00:00Z",
        ),
        (pl.Time, [time(1, 2, 3), time(23, 59, 59, 500)], "01:02:03 23:59:59.000500"),
    ],
)
def test_dates_and_times_are_iso_text_and_never_cut(
    tmp_path: Path, kind: Any, values: list[Any], expected: str
) -> None:
    found = cells(column(values, kind), tmp_path)

    assert found == [(text, "d") for text in expected.split()]


def test_durations_are_iso_text(tmp_path: Path) -> None:
    values = [
        timedelta(hours=32, minutes=15),
        timedelta(seconds=-1.5),
        timedelta(),
        None,
    ]

    assert cells(column(values, pl.Duration("us")), tmp_path) == [
        ("PT32H15M", "s"),
        ("-PT1.5S", "s"),
        ("PT0S", "s"),
        (None, None),
    ]


def test_texts_and_categories_are_their_text_and_need_no_kinds(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "a": ["007", "", None],
            "b": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "c": pl.Series(["on", "off", None], dtype=pl.Enum(["on", "off"])),
            "d": pl.Series([None] * 3, dtype=pl.Null),
        }
    )

    assert cells(frame, tmp_path) == [
        ("007", "x", "on", None, None),
        ("", None, "off", None, None),
        (None, "y", None, None, None),
    ]


def test_bytes_are_text_or_a_fault(tmp_path: Path) -> None:
    frame = column(["Größe".encode(), b"\xff\x00", None], pl.Binary)

    assert cells(frame, tmp_path) == [("Größe", None), (None, None), (None, None)]
    ((row, fault),) = faults(frame, tmp_path)
    assert (row, fault.code, fault.column, fault.value) == (2, "not_text", 0, "ff00")


def test_a_number_that_is_none_is_a_fault(tmp_path: Path) -> None:
    frame = column([1.5, float("nan"), float("-inf"), None], pl.Float64)

    assert cells(frame, tmp_path) == [
        ("1.5", "n"),
        ("NaN", None),
        ("-Infinity", None),
        (None, None),
    ]
    assert [(row, each.code, each.value) for row, each in faults(frame, tmp_path)] == [
        (2, "not_finite", "NaN"),
        (3, "not_finite", "-Infinity"),
    ]


def test_structures_are_columns_with_dots_and_lists_are_json(tmp_path: Path) -> None:
    address = {"city": "Rome", "geo": {"lat": 41.5, "lon": None}}
    lines = [{"sku": "A", "price": Decimal("1.50"), "on": date(2026, 2, 28)}]
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "address": [address, None],
            "lines": [lines, None],
            "sizes": [[1.0, float("nan")], []],
            "pair": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)),
        }
    )
    path = written(frame, tmp_path)
    with path.open("rb") as file:
        layout = inspect_inside(file)

    assert layout.header == (
        "id",
        "address.city",
        "address.geo.lat",
        "address.geo.lon",
        "lines",
        "sizes",
        "pair",
    )
    assert cells(frame, tmp_path) == [
        (
            "1",
            "Rome",
            "41.5",
            None,
            '[{"sku": "A", "price": 1.50, "on": "2026-02-28"}]',
            "[1, NaN]",
            "[1, 2]",
            "ntn-ttt",
        ),
        ("2", None, None, None, None, "[]", "[3, 4]", "n----tt"),
    ]
    ((row, fault),) = faults(frame, tmp_path)
    assert (row, fault.code, fault.column) == (1, "not_finite", 5)


def test_names_that_mean_something_to_polars_are_only_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"*": [1], "^a.*$": [2], "a": [3], "": [4]})

    assert cells(frame, tmp_path) == [("1", "2", "3", "4", "nnnn")]


def test_blocks_have_the_rows_asked_for_and_go_on_from_a_position(
    tmp_path: Path,
) -> None:
    frame = pl.DataFrame({"n": range(25)})
    path = written(frame, tmp_path, row_group_size=7)

    with path.open("rb") as file:
        layout = inspect_parquet(file)
        blocks = list(read_parquet(file, layout, 10))
        rest = list(read_parquet(file, layout, 10, blocks[0].position))

    assert [block.frame["c0"].to_list() for block in blocks] == [
        [str(n) for n in range(start, min(start + 10, 25))] for start in (0, 10, 20)
    ]
    assert [block.frame["row"][0] for block in rest] == [11, 21]
    assert [block.frame.rows() for block in rest] == [
        b.frame.rows() for b in blocks[1:]
    ]


def test_a_file_without_records_has_a_layout_and_no_block(tmp_path: Path) -> None:
    path = written(pl.DataFrame({"a": []}, schema={"a": pl.Int64}), tmp_path)
    with path.open("rb") as file:
        layout = inspect_parquet(file)
        assert layout.header == ("a",)
        assert list(read_parquet(file, layout, 10)) == []


def broken(change: str) -> bytes:
    whole = (CASES / "parquet_types.parquet").read_bytes()
    footer = 8 + int.from_bytes(whole[-8:-4], "little")
    return {
        "cut": whole[:-100],
        "footer": whole[:-footer] + bytes(footer - 8) + whole[-8:],
        "length": whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:],
        "pages": whole[:4] + bytes(600) + whole[604:],
        "short": b"PAR1PAR1",
        "other": b"PAR1" + bytes(100),
    }[change]


@pytest.mark.parametrize(
    "change", ["cut", "footer", "length", "pages", "short", "other"]
)
def test_a_damaged_file_is_an_error_of_the_file(change: str) -> None:
    file = io.BytesIO(broken(change))

    with pytest.raises(SourceError) as error:
        list(read_parquet(file, inspect_parquet(file), 10))

    assert error.value.code in ("corrupt", "unsafe_file")


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bytes_never_end_anything_but_the_reading(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    content = bytearray((CASES / "parquet_types.parquet").read_bytes())
    for _ in range(5):
        content[chance.randrange(len(content))] = chance.randrange(256)
    file = io.BytesIO(bytes(content))

    with suppress(SourceError):
        found = list(read_parquet(file, inspect_parquet(file), 10))
        assert sum(block.frame.height for block in found) <= 3


def test_an_encrypted_file_is_told() -> None:
    with pytest.raises(SourceError) as error:
        inspect_parquet(io.BytesIO(b"PARE" + bytes(50) + b"PARE"))

    assert error.value.code == "encrypted"


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False)))
def test_the_text_of_a_float_is_just_that_float(
    tmp_path_factory: pytest.TempPathFactory, values: list[float | None]
) -> None:
    frame = column(values, pl.Float64)

    found = [row[0] for row in cells(frame, tmp_path_factory.mktemp("floats"))]

    assert [None if text is None else float(text) for text in found] == values
    assert not any("e" in text for text in found if text)

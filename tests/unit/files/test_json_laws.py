"""Laws of the JSON reader, and what files may do that are made to do harm."""

from __future__ import annotations

import io
import json
import time
from decimal import Decimal
from typing import Any, BinaryIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batchfx.errors import SourceError
from batchfx.files import json_blocks
from batchfx.files.json import inspect_json, read_json
from batchfx.files.json_survey import COLUMNS
from batchfx.model.blocks import FAULTS, KINDS, ROW, Block, load_faults
from batchfx.model.sources import Layout

NAMES = st.sampled_from(["id", "name", "é", "a b", "", "n"])
VALUES = (
    st.none()
    | st.booleans()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    | st.integers()
    | st.integers(10**25, 10**30)
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, min_size=1), min_size=1, max_size=12)
SIZES = st.sampled_from([1, 2, 3, 5, 16, 1 << 20])
TOKENS = st.sampled_from(
    [
        *('{"a":1}', '{"a":1,"b":"x"}', "{", "}", "[", "]", ",", ":", '"', "\n", "\n"),
        *(
            " ",
            '"a"',
            "1",
            "-",
            "1.5e3",
            "null",
            "tru",
            "NaN",
            "\\",
            "\\u00",
            "é",
            "\x00",
        ),
        *(
            '"\\ud800"',
            '{"a":{"b":[1]}}',
            ',{"a":2}',
            '{"a":2}\n',
            "\r\n",
            '{"r":[',
            "{}",
        ),
    ]
)


def seen(blocks: list[Block]) -> list[Any]:
    return [row for block in blocks for row in block.frame.rows()]


def all_of(content: bytes, rows: int = 3, size: int = 1 << 20) -> Any:
    """Return all rows, the number of blank ones, and the error that ends it."""
    found: list[Any] = []
    blank = 0
    source = io.BytesIO(content)
    try:
        layout = inspect_json(source)
        for block in read_json(source, layout, rows, size=size):
            found += block.frame.rows()
            blank += block.blank
    except SourceError as error:
        return found, blank, (error.code, str(error))
    return found, blank, None


def rest_of(
    source: BinaryIO, layout: Layout, position: Any, size: int
) -> tuple[list[Any], str | None]:
    """Return the rows and blank ones of each block, its position, and the error."""
    found: list[Any] = []
    try:
        for block in read_json(source, layout, 1, position, size=size):
            place = json.loads(json.dumps(block.position))
            found.append(((block.frame.rows(), block.blank), place))
    except SourceError as error:
        return found, str(error)
    return found, None


def text_of(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


def written(records: list[Any], form: str) -> str:
    if form == "lines":
        return "\n".join(map(json.dumps, records)) + "\n\n"
    text = json.dumps(records, indent=2 if form == "indented" else None)
    return f'{{"a":{{"r":{text}}}, "z":"]"}}' if form == "nested" else text


@given(RECORDS, st.sampled_from(["list", "indented", "lines", "nested"]), SIZES)
def test_what_json_writes_is_read_back_equal(
    records: list[dict[str, Any]], form: str, size: int
) -> None:
    content = written(records, form).encode()
    source = io.BytesIO(content)
    names = tuple(dict.fromkeys(name for record in records for name in record))
    if not any(names):
        return

    layout = inspect_json(source)

    rows = seen(list(read_json(source, layout, 4, size=size)))
    assert layout.header == names
    assert [row[1:-2] for row in rows] == [
        tuple(text_of(record.get(name)) for name in names) for record in records
    ]
    numbers = [row[0] for row in rows]
    assert numbers == sorted(set(numbers))
    json.dumps(dict(layout.settings))


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimals_keep_their_value_and_their_digits(numbers: list[Decimal]) -> None:
    lines = "\n".join(f'{{"n":{number}}}' for number in numbers)
    source = io.BytesIO(lines.encode())

    blocks = list(read_json(source, inspect_json(source), 1_000))

    read = [text for block in blocks for text in block.frame["c0"].to_list()]
    assert [Decimal(text) for text in read] == numbers
    assert {kind for block in blocks for kind in block.frame[KINDS]} == {"n"}
    plain = [
        (text, number)
        for text, number in zip(read, numbers, strict=True)
        if "E" not in str(number)
    ]
    assert [text for text, _ in plain] == [str(number) for _, number in plain]


CONTENTS = st.lists(TOKENS, max_size=30).map("".join).map(str.encode) | st.binary()


@given(CONTENTS, st.integers(1, 5), SIZES)
@example(b'[{"a":1},{"a":"\xe2\x82', 1, 1)
@example(b'[{"a":1},1.5e+3,-Infinity,-1.25]', 1, 1)
@example(b'{"a":1}\n{"a":2}', 1, 1)
@example(b'{"a":1}\n\n\n{}\n{"a":2}\n\n', 1, 2)
def test_the_size_of_blocks_and_pieces_makes_no_difference(
    content: bytes, rows: int, size: int
) -> None:
    assert all_of(content, rows, size) == all_of(content, 1_000)


@given(CONTENTS, SIZES, st.sampled_from(["utf-8", "utf-16-le", "utf-32-be"]))
@example(b'[{"a":"\xff\xff"},{},{"a":1},{},{"a":2},{}]', 1, "utf-8")
@example(b'{"a":1}"x"1.5e3', 1, "utf-8")
@example(b'["a"]\n\n["\xff"]\n[]\n[1]\n', 1, "utf-16-le")
def test_reading_goes_on_exactly_from_every_position(
    content: bytes, size: int, encoding: str
) -> None:
    content = content.decode("utf-8", "replace").encode(encoding)
    source = io.BytesIO(content)
    try:
        layout = inspect_json(source)
    except SourceError:
        return

    whole, error = rest_of(source, layout, None, size)

    for index, (_, place) in enumerate(whole):
        rest, at_the_end = rest_of(source, layout, place, size)
        assert [block for block, _ in rest] == [b for b, _ in whole[index + 1 :]]
        assert at_the_end == error


@pytest.mark.parametrize("number", ["12.5", "1e5", "1.5e+3", "-Infinity", "-0"])
def test_a_number_is_read_whole_wherever_a_piece_ends(number: str) -> None:
    source = io.BytesIO(f'[{{"a":1}}, {number}]'.encode())
    layout = inspect_json(source)

    for size in range(1, 20):
        _, block = read_json(source, layout, 1, size=size)

        (fault,) = load_faults(block.frame[FAULTS][0])
        assert (fault.code, fault.value) == ("not_an_object", number)


@pytest.mark.parametrize("content", ['{"a":1}\n{"a":2}\n', '[{"a":1}, {"a":2}]'])
def test_a_position_says_how_many_records_came_before(content: str) -> None:
    source = io.BytesIO(content.encode())

    blocks = read_json(source, inspect_json(source), 1)

    assert [block.position["record"] for block in blocks] == [1, 2]


def test_a_value_of_140_kb_is_read() -> None:
    long = "lorem ipsum, " * 10_800

    found, _, _ = all_of(json.dumps([{"a": long}, {"a": "b"}]).encode(), size=1_000)

    assert [row[1] for row in found] == [long, "b"]


def test_lines_are_read_one_by_one_also_when_the_first_is_very_long() -> None:
    long = "x" * 2_000_000

    found, _, error = all_of(f'{{"a":"{long}"}}\n{{"a":"b"}}\n'.encode())

    assert error is None
    assert [(row[0], row[1]) for row in found] == [(1, long), (2, "b")]


def test_white_space_without_end_is_refused_in_bounded_memory() -> None:
    _, _, error = all_of(b'[{"a":1},' + b" " * 40_000_000 + b'{"a":2}]')

    assert error[0] == "record_too_long"


def test_a_number_of_a_hundred_thousand_digits_is_read() -> None:
    digits = "7" * 100_000

    found, _, _ = all_of(f'[{{"a":{digits}}}]'.encode())

    assert found[0][1] == digits


@pytest.mark.parametrize(
    "content",
    [
        "[" * 10_000_000,
        '{"a":' * 2_000_000,
        '[{"a":' + "[" * 10_000_000,
        '[{"a":"' + "x" * 20_000_000,
        '{"a":' + "1" * 20_000_000,
        '[{"a":' + '"x' * 10_000_000,
    ],
    ids=["lists", "objects", "deep record", "long text", "long number", "many quotes"],
)
def test_a_file_made_to_do_harm_is_refused_in_time(content: str) -> None:
    started = time.process_time()

    _, _, error = all_of(content.encode())

    assert error[0] in {"unsafe_file", "record_too_long", "invalid_json"}
    assert time.process_time() - started < 5


def test_a_deep_line_is_a_fault_of_its_row() -> None:
    deep = '{"a":' + "[" * 1_000_000
    nested = '{"a":' + "[" * 70 + "]" * 70 + "}"
    dotted = '{"a":' * 70 + "1" + "}" * 70

    found, _, error = all_of(
        f'{{"a":1}}\n{deep}\n{nested}\n{dotted}\n{{"a":2}}'.encode()
    )

    assert error is None
    assert [row[1] for row in found] == ["1", None, None, None, "2"]
    assert [row[0] for row in found if "too_deep" in (row[2] or "")] == [2, 3, 4]


def test_too_many_names_are_no_columns() -> None:
    lines = "\n".join(f'{{"name {number}":1}}' for number in range(COLUMNS + 1))

    _, _, error = all_of(lines.encode())

    assert error[0] == "too_many_columns"


def test_ten_thousand_columns_are_read() -> None:
    record = {f"c{number}": str(number) for number in range(10_000)}

    found, _, error = all_of(json.dumps([record]).encode())

    assert error is None
    assert found[0][1:-2] == tuple(record.values())


def test_blocks_of_very_many_columns_have_fewer_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_blocks, "CELLS", 6)
    source = io.BytesIO(b'{"a":1,"b":2}\n' * 7)

    blocks = list(read_json(source, inspect_json(source), 5))

    assert [block.frame.height for block in blocks] == [3, 3, 1]
    assert [block.frame[ROW].to_list() for block in blocks] == [
        [1, 2, 3],
        [4, 5, 6],
        [7],
    ]

"""Totals at the end of a table and its header once more are told, never records."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import Any

import openpyxl
import pytest
from pydantic import create_model

from batchfx.errors import SourceError
from batchfx.execution.checking import Account, portions, survey
from batchfx.files import open as files
from batchfx.files.strays import without_strays
from batchfx.model.blocks import Block, load_faults
from batchfx.model.issues import Level
from batchfx.model.settings import Settings
from batchfx.model.sources import Layout
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.records import records_of

Told = list[tuple[int, str, str | None]]


def workbook(*rows: tuple[Any, ...]) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def read(content: bytes, rows: int = 100) -> tuple[Layout, list[Block]]:
    source = io.BytesIO(content)
    layout = files.inspect(source)
    return layout, list(files.read(source, layout, rows))


def told(blocks: list[Block]) -> Told:
    return [
        (row, fault.code, fault.value)
        for block in blocks
        for row, faults in block.frame.select("row", "faults").rows()
        for fault in load_faults(faults or "[]")
    ]


def cells(blocks: list[Block]) -> list[tuple[str | None, ...]]:
    return [row[1:-2] for block in blocks for row in block.frame.rows()]


TOTAL, DOUBT = "not_a_record", "possible_total"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,qty\na,1\nb,2\nTotal,3\n", [(4, TOTAL, "Total")]),
        ("name,qty\na,1\n\nb,2\n\nTOTAL:,3\n\n", [(6, TOTAL, "TOTAL:")]),
        ("n;p\na;1.000,50\nb;2,25\nSumme;1.002,75\n", [(4, TOTAL, "Summe")]),
        ("n;p\na;1.000,50 €\nb;2,25 €\nSumme;EUR 1002,75\n", [(4, TOTAL, "Summe")]),
        ("n,p\na,(5.5)\nb,\u22121\nAll orders:,-6.50\n", [(4, TOTAL, "All orders:")]),
        ("n,q,p\na,1,9\nb,2,5\nTotal,3,7\n", [(4, TOTAL, "Total")]),
        (
            "n,q\na,1\nb,2\nSubtotal,3\nTotal,3\n",
            [(4, TOTAL, "Subtotal"), (5, TOTAL, "Total")],
        ),
        (
            "n,q\na,1\nb,2\nTotal,3\n=====,=====\n",
            [(4, TOTAL, "Total"), (5, TOTAL, "=====")],
        ),
        ("n,q,p\na,1,3\nb,2,4\n,3,7\n", [(4, TOTAL, None)]),
        ("n,q\na,1\nTotal,1\n", [(3, DOUBT, "Total")]),
        ("n,q,p\na,1,4\nTotal,1,4\n", [(3, TOTAL, "Total")]),
        ("n,q\nShell,9\nBP,2\nTotal,3\n", [(4, DOUBT, "Total")]),
        ("n,q\na,x\nb,2\nTotal,2\n", [(4, DOUBT, "Total")]),
        ("n,q\na,0\nb,0\nTotal,0\n", [(4, DOUBT, "Total")]),
        ("n,q\nTotal,3\na,1\nb,2\n", [(2, DOUBT, "Total")]),
        ("n,q\nTotal,3\n", [(2, DOUBT, "Total")]),
        ("n,q,p\nShell,9,x\nTotal,25,\nBP,7,y\n", [(3, DOUBT, "Total")]),
        ("n,q,p\na,5,x\nb,7,y\nTotal,99,\n", [(4, DOUBT, "Total")]),
        ("n,q,p\na,5,x\nb,7,y\nTotal,12,\n", [(4, TOTAL, "Total")]),
        ("n,q,p,r\na,,,5\nb,,,7\nAll orders:,,,12\n", [(4, TOTAL, "All orders:")]),
        ("n,q,p,r\na,,,5\nb,,,7\nAll orders:,,,99\n", [(4, DOUBT, "All orders:")]),
        ("key,de,fr\ntotal,Summe,\nother,x,y\n", [(2, DOUBT, "total")]),
        ("key,de\ntotal,Summe\nother,x\n", []),
        ("parent,id,level\n,1,0\n1,2,1\n,3,1\n", []),
        ("x,q\n,5\n,7\n,12\n", []),
        ("n,zip\na,01001\nb,01002\n,02003\n", []),
        ("n,phone\na,0401\nb,0402\nTotal,0803\n", []),
        ("n,q\na,0.1\nb,0.2\nTotal,0.30000000000000004\n", [(4, TOTAL, "Total")]),
        ("n,h\na,5:00\nb,30:30\nTotal,35:30\n", [(4, DOUBT, "Total")]),
        ("n,q\na,5\nb,7\nTotal,12\nAverage,6\n", [(4, DOUBT, "Total")]),
        (
            "n,q\na,5\nSubtotal,5\nb,7\nSubtotal,7\nTotal,12\n",
            [(3, DOUBT, "Subtotal"), (5, DOUBT, "Subtotal"), (6, TOTAL, "Total")],
        ),
        (
            "n,q\nShell,5\nTotal,2\nBP,7\nTotal,14\n",
            [(3, DOUBT, "Total"), (5, TOTAL, "Total")],
        ),
        ("n,q\na,1\nb,2\nTotal,three\n", []),
        ("n,q,p\na,1,3\nb,2,4\n,3,6\n", []),
        ("n,q,p\na,1,4\n,1,4\n", []),
        ("q,p\n1,3\n2,4\n3,7\n", []),
        ("note,q\na,1\nb,2\nNet:,4\n", []),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_total_is_known_by_its_sums(text: str, expected: Told, rows: int) -> None:
    layout, blocks = read(text.encode(), rows)
    _, whole = read(text.encode())

    assert told(blocks) == expected
    assert cells(blocks) == cells(whole)
    gone = {row for row, code, _ in expected if code == TOTAL}
    for block in blocks:
        for row in block.frame.rows():
            assert (set(row[1:-2]) == {None}) == (row[0] in gone)
    for index, block in enumerate(blocks):
        rest = files.read(io.BytesIO(text.encode()), layout, rows, block.position)
        assert cells(list(rest)) == cells(blocks[index + 1 :])


@pytest.mark.parametrize("rows", [1, 100])
def test_the_last_row_of_a_sheet_is_compared_with_its_columns(rows: int) -> None:
    head, body = ("name", "qty", "price"), (("a", 5, 0.1), ("b", 7, 0.2))
    named = workbook(head[:2], *(each[:2] for each in body), ("Total", 12))
    nameless = workbook(head, *body, (None, 12, 0.1 + 0.2))
    other = workbook(head, *body, (None, 12, 0.4))

    assert told(read(named, rows)[1]) == [(4, TOTAL, "Total")]
    assert told(read(nameless, rows)[1]) == [(4, TOTAL, None)]
    assert told(read(other, rows)[1]) == []
    assert cells(read(other, rows)[1])[-1] == (None, "12", "0.4")


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_full_row_below_a_sheet_is_a_total_by_its_sums_alone(rows: int) -> None:
    head, body = ("name", "qty", "price"), (("a", 5, 40), ("b", 7, 59.5))
    total = ("Total", 12, 99.5)

    sure = read(workbook(head, *body, total), rows)[1]
    noted = read(workbook(head, *body, total, (), ("Printed by Cy",)), rows)[1]
    oil = read(workbook(head, *body, ("Total", 1, 99)), rows)[1]

    assert told(sure) == [(4, TOTAL, "Total")]
    assert told(noted) == [(4, TOTAL, "Total"), (6, TOTAL, "Printed by Cy")]
    assert told(oil) == [(4, DOUBT, "Total")]
    assert cells(oil)[-1] == ("Total", "1", "99")


@pytest.mark.parametrize("rows", [1, 100])
def test_a_header_printed_on_every_page_of_a_sheet_is_no_record(rows: int) -> None:
    head = ("name", "qty")
    content = workbook(head, ("a", 5), head, ("name", "x"), (" name", "qty "), ("b", 7))

    _, blocks = read(content, rows)

    assert told(blocks) == [(3, TOTAL, None), (5, TOTAL, None)]
    nothing = (None, None)
    assert cells(blocks) == [("a", "5"), nothing, ("name", "x"), nothing, ("b", "7")]
    (fault,) = load_faults(
        next(
            faults
            for block in blocks
            for row, faults in block.frame.select("row", "faults").rows()
            if row == 3
        )
    )
    assert fault.message == "This row repeats the header; it is not a record."
    assert fault.fields == head


def test_what_may_be_a_total_is_read_though_the_file_is_damaged_behind_it() -> None:
    layout, (first, second) = read(b"n,q\na,1\nTotal,1\n", 1)

    def damaged() -> Iterator[Block]:
        yield from (first, second)
        message = "The file is damaged."
        raise SourceError("corrupt", message)

    came: list[Block] = []
    with pytest.raises(SourceError, match="damaged"):
        came.extend(without_strays(damaged(), layout, damaged))

    assert [block.frame.item(0, "row") for block in came] == [2, 3]


@pytest.mark.parametrize(
    "label",
    [
        *("Total amount", "TOTAL SALES", "Net total", "Sub total", "Sub-total"),
        *("Grand-Total", "Gran total", "Totale complessivo", "Gesamtbetrag", "Total."),
        *("Σ", "∑", "T O T A L", "I alt", "Totals for 2026", "Total (EUR)", "*Total*"),
        "小计\uff1a",
    ],
)
def test_a_total_has_many_names(label: str) -> None:
    _, blocks = read(f"n,q\na,5\nb,7\n{label},12\n".encode())
    _, others = read(f"n,q\na,5\nb,7\n{label},99\n".encode())

    assert told(blocks) == [(4, TOTAL, label)]
    assert told(others) == [(4, DOUBT, label)]


@pytest.mark.parametrize(
    "label", ["Total Wine", "Dim Sum", "TotalEnergies", "Summer", "Net", "All 5"]
)
def test_what_only_has_such_a_word_in_it_is_no_total(label: str) -> None:
    _, blocks = read(f"n,q\na,5\nb,7\n{label},12\n".encode())

    assert told(blocks) == []


@pytest.mark.parametrize("rows", [1, 100])
def test_texts_of_digits_in_a_sheet_are_no_numbers(rows: int) -> None:
    content = workbook(("n", "zip"), ("a", "501"), ("b", "502"), (None, "1003"))

    _, blocks = read(content, rows)

    assert told(blocks) == []
    assert cells(blocks)[-1] == (None, "1003")


def test_numbers_of_a_column_that_is_said_to_be_text_are_no_sums() -> None:
    source = io.BytesIO(b"city,year,qty\nRome,1000,1\nOslo,1024,2\n,2024,3\n")
    layout = files.inspect(source)

    known = list(files.read(source, files.with_texts(layout, [1]), 100))
    unknown = list(files.read(source, layout, 100))

    assert told(known) == []
    assert cells(known)[-1] == (None, "2024", "3")
    assert told(unknown) == [(4, TOTAL, None)]


def test_what_is_no_record_says_why_so_that_causes_are_told_apart() -> None:
    _, blocks = read(b"n,q,p\na,5,1\nn,q,p\nNote: x,,\nb,7,2\nTotal,12,3\n")

    causes = [
        (row, fault.parameters["cause"])
        for block in blocks
        for row, faults in block.frame.select("row", "faults").rows()
        for fault in load_faults(faults or "[]")
    ]
    assert causes == [(3, "header"), (4, "note"), (6, "total")]


def test_rows_that_are_no_records_for_two_reasons_are_two_problems() -> None:
    source = io.BytesIO(b"n,q\na,5\nn,q\nb,7\nTotal,12\n")
    found = survey(source, {}, Settings())
    account = Account()

    for validated, blank in portions(source, found):
        account.add(validated, blank)

    told_of = [(count, issue.row) for count, issue in account.causes.values()]
    assert sorted(told_of) == [(1, 3), (1, 5)]


def test_check_takes_no_sums_of_what_is_said_to_be_text() -> None:
    source = io.BytesIO(b"city,year\nRome,1000\nOslo,1024\n,2024\n")

    def faulty(types: dict[str, str]) -> int:
        account = Account()
        found = survey(source, types, Settings())
        for validated, blank in portions(source, found):
            account.add(validated, blank)
        return account.faulty

    assert faulty({"city": "text", "year": "text"}) == 0
    assert faulty({"city": "text", "year": "integer"}) == 1


def test_a_json_file_has_no_totals() -> None:
    _, blocks = read(
        b'[{"n": "a", "q": 1}, {"n": "b", "q": 2}, {"n": "Total", "q": 3}]'
    )

    assert told(blocks) == []


def test_a_possible_total_is_a_warning_and_a_record() -> None:
    _, (block,) = read(b"n,q\nShell,9\nBP,2\nTotal,3\n")
    frame = block.frame.rename({"c0": "n", "c1": "q"})

    found = records_of(
        plan_of(create_model("Row", n=(str, ...), q=(int, ...))),
        frame,
        {"n": 0, "q": 1},
    )

    ((index, issue),) = found.issues
    assert (index, issue.row, issue.level) == (2, 4, Level.WARNING)
    assert issue.message == (
        "This row is called 'Total', like a line of totals, but can't be told for one "
        "for sure, so it was read as a record. Take it out if it is none."
    )
    assert (found.broken, found.cells) == (frozenset(), {})


GROUPS = ("region,q,p", "N,1,x", "N,2,y", "N Total,3,", "S,4,z", "Total S,4,", "T,1,u")
OF_GROUPS = [tuple(line.split(",")) for line in GROUPS]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "text",
    [
        "\n".join(GROUPS).encode(),
        workbook(*OF_GROUPS),
        "<table>{}</table>".format(
            "".join(f"<tr>{''.join(f'<td>{c}' for c in row)}" for row in OF_GROUPS)
        ).encode(),
        gzip.compress("\n".join(GROUPS).encode()),
    ],
    ids=["csv", "xlsx", "html", "gz"],
)
def test_a_total_of_a_group_is_told_wherever_the_reading_goes_on(
    text: bytes, rows: int
) -> None:
    layout, blocks = read(text, rows)

    assert told(blocks) == [(4, DOUBT, "N Total"), (6, DOUBT, "Total S")]
    for index, block in enumerate(blocks):
        rest = list(files.read(io.BytesIO(text), layout, rows, block.position))
        assert told(rest) == told(blocks[index + 1 :])
        assert cells(rest) == cells(blocks[index + 1 :])

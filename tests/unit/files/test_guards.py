"""Apostrophes before formulas, in files that an export made."""

from __future__ import annotations

import io

from batchfx.files.csv import read_csv
from batchfx.files.csv_layout import Given, inspect_csv
from batchfx.files.guards import noted, taken_away
from batchfx.model.blocks import column_name
from batchfx.model.sources import Layout

ROWS = "'=1,''=1,'x\n'+4,'-5,'@a\n\"'\tx\",+1,a'=b\n"


def cells(content: str, said: str | None = None) -> tuple[Layout, list[list[str]]]:
    source = io.BytesIO(content.encode())
    layout = noted(inspect_csv(source, Given()), said)
    blocks = list(taken_away(read_csv(source, layout, 2), layout))
    names = [column_name(place) for place in range(len(layout.header))]
    return layout, [
        [str(cell) for cell in row]
        for block in blocks
        for row in block.frame.select(names).rows()
    ]


def test_an_export_of_failed_rows_is_read_without_guards() -> None:
    layout, found = cells(f"a,b,Error\n{ROWS}")

    assert found == [["=1", "'=1", "'x"], ["+4", "-5", "@a"], ["\tx", "+1", "a'=b"]]
    assert [issue.code for issue in layout.warnings] == ["guards_removed"]


def test_any_other_file_keeps_its_apostrophes() -> None:
    for header in ("a,Error,b", "a,b,error text"):
        layout, found = cells(f"{header}\n{ROWS}")

        assert found[0] == ["'=1", "''=1", "'x"]
        assert layout.warnings == ()


def test_what_is_said_counts_more_than_the_header() -> None:
    assert cells(f"a,b,Error\n{ROWS}", "keep")[1][0] == ["'=1", "''=1", "'x"]
    layout, found = cells(f"a,b,c\n{ROWS}", "remove")
    assert found[0] == ["=1", "'=1", "'x"]
    assert layout.warnings == ()

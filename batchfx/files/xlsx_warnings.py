"""What a person should know of how a workbook is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from batchfx.files.xlsx_header import SeenRow
from batchfx.files.xlsx_notes import Profile, kinds_in
from batchfx.files.xlsx_references import column_letters, row_ranges
from batchfx.model.blocks import Kind
from batchfx.model.issues import Issue, Level, Phase

NAMED_RANGES = 5
NAMED_ROWS = 20
NAMED_CELLS = 5
PLAIN = frozenset({Kind.TEXT, Kind.EMPTY})
HIDDEN = {
    "read": "What is hidden is read like the rest.",
    "skip": "What is hidden is left out, as was asked for.",
}
MERGED = {
    True: "Each of these rows gets the value of the top cell.",
    False: "Only the first of these rows has the value.",
}


def sheet_warnings(chosen: str, others: Sequence[str]) -> Iterator[Issue]:
    """Yield a warning that the sheets *others* aren't read."""
    if others:
        names = ", ".join(f"'{name}'" for name in others)
        message = f"Only sheet '{chosen}' is read; there is also something in {names}."
        yield _warning("other_sheets", message, sheet=chosen, others=list(others))


def above_warnings(rows: Sequence[int], header_row: int) -> Iterator[Issue]:
    """Yield a warning that *rows*, above the column names, are left out."""
    if rows:
        subject = _counted("Row", len(rows), row_ranges(rows))
        message = (
            f"Row {header_row} was taken for the column names. "
            f"{subject} above it {_are(len(rows))} left out."
        )
        yield _warning("rows_above_header", message, rows=list(rows))


def nameless_warnings(columns: Sequence[int]) -> Iterator[Issue]:
    """Yield a warning for each of the *columns* with content that have no name."""
    for column in columns:
        message = (
            f"Column {column_letters(column)} has data but no name, so it can't be "
            "imported."
        )
        yield _warning("nameless_column", message, column=column + 1)


def emptiness_warnings(sheet: str, *, empty: bool) -> Iterator[Issue]:
    """Yield a warning that the table is *empty*."""
    if empty:
        message = f"Sheet '{sheet}' has a header and no rows below it."
        yield _warning("no_rows", message, sheet=sheet)


def second_row_warnings(rows: Sequence[int], likely: Sequence[int]) -> Iterator[Issue]:
    """Yield a warning that a header in *rows* seems to go on in the *likely* ones."""
    below = [row for row in likely if row > rows[-1]]
    if below and rows[0] in likely:
        message = (
            f"Row {below[0]} seems to be a second row of names, but was read as a "
            "record. If it is one of names, say --set header_rows=2"
        )
        yield _warning("second_header_row", message, row=below[0])


def second_table_warnings(
    rows: Sequence[SeenRow], columns: Sequence[int], profile: Profile
) -> Iterator[Issue]:
    """Yield a warning that names of other columns stand in one of the *rows*.

    These are words alone, behind a blank row and above another one that isn't, where
    the table has something else than words.
    """
    for before, row, below in zip(rows, rows[1:], rows[2:], strict=False):
        kinds = kinds_in(row, columns)
        apart = before.number + 1 < row.number == below.number - 1
        named = row.cells.keys() >= below.cells.keys()
        if apart and named and PLAIN.issuperset(kinds) and not profile.fits(kinds):
            message = (
                f"Row {row.number}, behind a blank row, seems to begin another table. "
                "Move that one to a sheet of its own; it is not read as one."
            )
            yield _warning("second_table", message, row=row.number)


def hidden_row_warnings(
    rows: Sequence[int], choice: str, *, filtered: bool
) -> Iterator[Issue]:
    """Yield a warning of hidden *rows*, which are "read" or which we "skip"."""
    if rows:
        shown = rows[:NAMED_ROWS]
        more = ", …" if len(rows) > NAMED_ROWS else ""
        subject = _counted("Row", len(rows), row_ranges(shown) + more)
        cause = " by a filter" if filtered else ""
        message = f"{subject} {_are(len(rows))} hidden{cause}. {HIDDEN[choice]}"
        parameters = {"rows": list(shown), "count": len(rows)}
        yield _warning("hidden_rows", message, **parameters)


def hidden_column_warnings(names: Mapping[int, str], choice: str) -> Iterator[Issue]:
    """Yield a warning of hidden columns, by their index, which are as of rows."""
    if names:
        letters = [column_letters(column) for column in names]
        listed = ", ".join(
            f"{letter} ('{name}')" if name else letter
            for letter, name in zip(letters, names.values(), strict=True)
        )
        subject = _counted("Column", len(names), listed)
        message = f"{subject} {_are(len(names))} hidden. {HIDDEN[choice]}"
        yield _warning("hidden_columns", message, columns=letters)


def merge_warnings(ranges: Sequence[str], *, filled: bool) -> Iterator[Issue]:
    """Yield a warning of merged *ranges*, whether they are filled from the top."""
    if ranges:
        shown = ", ".join(ranges[:NAMED_RANGES]) + ", …" * (len(ranges) > NAMED_RANGES)
        message = f"Cells are merged over several rows ({shown}). {MERGED[filled]}"
        parameters = {"ranges": list(ranges[:NAMED_RANGES]), "count": len(ranges)}
        yield _warning("merged_cells", message, **parameters)


def beside_warnings(cells: Sequence[str], count: int) -> Iterator[Issue]:
    """Yield a warning of *count* cells beside the table, some of which are named."""
    if cells:
        shown = cells[:NAMED_CELLS]
        more = f" and {count - len(shown)} more cells" if count > len(shown) else ""
        message = (
            f"There is something beside the table, in {', '.join(shown)}{more}. "
            "It is left out. If it belongs to the table, give its column a name."
        )
        yield _warning("outside_table", message, cells=list(shown), count=count)


def _counted(noun: str, count: int, listed: str) -> str:
    return f"{noun}{'s' if count > 1 else ''} {listed}"


def _are(count: int) -> str:
    return "are" if count > 1 else "is"


def _warning(code: str, message: str, **parameters: Any) -> Issue:
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)

"""What a person should know of how a workbook is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from batchfx.files.xlsx_references import column_letters, row_ranges
from batchfx.model.issues import Issue, Level, Phase

NAMED_RANGES = 5
NAMED_ROWS = 20
HIDDEN = "What is hidden is read like the rest."


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


def hidden_row_warnings(rows: Sequence[int], *, filtered: bool) -> Iterator[Issue]:
    """Yield a warning that hidden *rows* are read like the others."""
    if rows:
        shown = rows[:NAMED_ROWS]
        more = ", …" if len(rows) > NAMED_ROWS else ""
        subject = _counted("Row", len(rows), row_ranges(shown) + more)
        cause = " by a filter" if filtered else ""
        message = f"{subject} {_are(len(rows))} hidden{cause}. {HIDDEN}"
        parameters = {"rows": list(shown), "count": len(rows)}
        yield _warning("hidden_rows", message, **parameters)


def hidden_column_warnings(names: Mapping[int, str]) -> Iterator[Issue]:
    """Yield a warning that hidden columns, named by their index, are read."""
    if names:
        letters = [column_letters(column) for column in names]
        listed = ", ".join(
            f"{letter} ('{name}')" if name else letter
            for letter, name in zip(letters, names.values(), strict=True)
        )
        subject = _counted("Column", len(names), listed)
        message = f"{subject} {_are(len(names))} hidden. {HIDDEN}"
        yield _warning("hidden_columns", message, columns=letters)


def merge_warnings(ranges: Sequence[str]) -> Iterator[Issue]:
    """Yield a warning that the cells of merged *ranges* are filled from the top."""
    if ranges:
        shown = ", ".join(ranges[:NAMED_RANGES]) + ", …" * (len(ranges) > NAMED_RANGES)
        message = (
            f"Cells are merged over several rows ({shown}). "
            "Each of these rows gets the value of the top cell."
        )
        parameters = {"ranges": list(ranges[:NAMED_RANGES]), "count": len(ranges)}
        yield _warning("merged_cells", message, **parameters)


def _counted(noun: str, count: int, listed: str) -> str:
    return f"{noun}{'s' if count > 1 else ''} {listed}"


def _are(count: int) -> str:
    return "are" if count > 1 else "is"


def _warning(code: str, message: str, **parameters: Any) -> Issue:
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)

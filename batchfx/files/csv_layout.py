"""How a delimited text is laid out: its encoding, delimiter, quotation mark, header.

All is decided from a sample at the start. That a file has data and no header can't be
known: the header is the first record, unless titles or notes plainly stand above it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from batchfx.errors import SourceError, UsageError
from batchfx.files.csv_header import Header, Wanted, find_header, name_columns
from batchfx.files.csv_plan import SPACED
from batchfx.files.csv_reasons import explain_layout
from batchfx.files.csv_record import LONG, NEVER, SPACE
from batchfx.files.csv_trial import COLUMNS, Trial, choose_trial
from batchfx.files.csv_warnings import (
    dialect_guesses,
    emptiness,
    encoding_guess,
    ignored_hint,
    nameless_column,
    second_row,
    titles,
)
from batchfx.files.encodings_found import Encoding, find_encoding
from batchfx.files.text import (
    ERRORS,
    LIMIT,
    Mark,
    Piece,
    find_newline,
    read_piece,
    read_up_to,
)
from batchfx.model.sources import Layout

SAMPLE = 1 << 18  # bytes, more when they hold few lines
LINES = 20
SEVERAL = 4  # records at the top

ESCAPED = re.compile(r"\\(t|x[0-9A-Fa-f]{2})")
STROKES = re.compile(r" *[-=]{2,}(?: +[-=]{2,})+ *")
SEPARATOR = re.compile(r'"?sep=([^"\w])"?\r*\Z', re.IGNORECASE)  # a hint for Excel


@dataclass(frozen=True, slots=True)
class Given:
    r"""What the caller knows of a file, so that it isn't found out.

    Attributes:
        encoding: What Python calls it.
        delimiter: One character or several; "tab", ``\t`` and ``\x1f`` stand for what
            they do elsewhere.
        quote: One character; "" says that nothing is quoted.
        escape: One character that takes its meaning from the quotation mark, delimiter
            or escape behind it. Otherwise it is text.
        skip_initial_space: Blanks in front of a cell are no part of it.
        header_row: The line of the header, the last one if it has several rows; 0 if
            there is none, and the columns are numbered.
        header_rows: How many rows the header has.
        skip_after_header: How many rows below the header are no records.
        expected_columns: Names that help to find the header.

    """

    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    skip_initial_space: bool | None = None
    header_row: int | None = None
    header_rows: int = 1
    skip_after_header: int = 0
    expected_columns: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse what can't be, with a UsageError."""
        object.__setattr__(self, "delimiter", _unescaped(self.delimiter))
        marks = {"quote": self.quote, "escape": self.escape}
        for name, mark in marks.items():
            if mark and len(mark) > 1:
                message = f"The {name} must be one character, not {mark!r}."
                raise UsageError(message)
        given = [each for each in (self.delimiter, *marks.values()) if each]
        if re.search(r"[\r\n]", "".join(given)):
            message = "A line end can't be the delimiter, the quote or the escape."
            raise UsageError(message)
        if self.skip_initial_space and self.delimiter == SPACE:
            message = "Blanks can't be the delimiter and no part of a cell at once."
            raise UsageError(message)
        if len(set(given)) < len(given):
            message = "The delimiter, the quote and the escape must differ."
            raise UsageError(message)
        self._refuse_rows()

    def _refuse_rows(self) -> None:
        row, rows = self.header_row, self.header_rows
        if row is not None and row < 0:
            message = f"The header can't be on line {row}: lines count from 1."
            raise UsageError(message)
        if rows < 1 or self.skip_after_header < 0:
            message = (
                "A header has one row or more (header_rows), and no row or more is "
                "left out after it (skip_after_header)."
            )
            raise UsageError(message)
        if row is not None and rows > max(row, 1):
            message = f"A header that ends on line {row} can't have {rows} rows."
            raise UsageError(message)


def _unescaped(delimiter: str | None) -> str | None:
    if delimiter == "tab":
        return "\t"
    found = ESCAPED.fullmatch(delimiter or "")
    if not found:
        return delimiter
    return "\t" if found[1] == "t" else chr(int(found[1][1:], 16))


def inspect_csv(source: BinaryIO, given: Given) -> Layout:
    """Return how the delimited text *source* is laid out.

    Raises:
        SourceError: ``empty_file``, ``encoding``, ``no_header``,
            ``duplicate_header``, ``line_too_long`` or ``too_many_columns``.
        UsageError: The encoding that is *given* can't be read.

    """
    encoding = find_encoding(source, given.encoding)
    wanted = Wanted(given.header_row, given.header_rows, tuple(given.expected_columns))
    sample = read_sample(source, encoding, given.header_row or 0)
    hint = _find_hint(sample, given)
    first = max((given.header_row or 0) - given.header_rows + 1, 2 if hint else 1)
    trial, ignored = _choose_trial(sample, first, given, hint)
    hint = None if ignored else hint
    _refuse_wide(trial.width)
    _refuse_fixed(trial)
    header = find_header(trial, wanted)
    after = _first_line(trial, header, given.skip_after_header, first)
    names, nameless = name_columns(header, trial, after)
    _refuse_wide(len(names))
    if trial.long:
        names = tuple(name.replace(LONG, trial.long) for name in names)
    warnings = (
        *encoding_guess(encoding),
        *ignored_hint(ignored, trial),
        *dialect_guesses(trial, given.delimiter or hint, given.quote),
        *titles(trial, header),
        *map(nameless_column, nameless),
        *second_row(header, trial, nameless),
        *emptiness(trial, after, sample),
    )
    reasons = explain_layout(encoding, sample, (trial, header), given)
    if hint and not given.delimiter:
        reasons["delimiter"] = f"{hint!r}: the first line says so (sep=)"
    settings = _settings(encoding, trial, sample, given)
    settings |= _start(sample, after)
    return Layout("csv", names, header.row, settings, warnings, reasons)


def _choose_trial(
    sample: Piece, first: int, given: Given, hint: str | None
) -> tuple[Trial, str | None]:
    """Return how the lines are cut, and the *hint* if they contradict it."""
    marks = given.quote, given.escape
    spaced = given.skip_initial_space
    trial = choose_trial(sample, first, given.delimiter or hint, *marks, spaced=spaced)
    if hint and not given.delimiter and trial.width == 1:
        other = choose_trial(sample, first, None, *marks, spaced=spaced)
        if other.width > 1:
            return other, hint
    return trial, None


def _refuse_wide(width: int) -> None:
    if width > COLUMNS:
        message = (
            f"The records have more than {COLUMNS:,} cells, which no table of records "
            "has. Perhaps rows and columns are the wrong way round."
        )
        raise SourceError("too_many_columns", message, limit=COLUMNS)


def _refuse_fixed(trial: Trial) -> None:
    """Refuse columns of a fixed width, as query tools print them over strokes."""
    lines = ("".join(each.cut.cells) for each in trial.seen[1:SEVERAL])
    if trial.dialect.delimiter == NEVER and any(map(STROKES.fullmatch, lines)):
        message = (
            "The columns of this text have a fixed width, over lines of strokes. "
            "Export the table with a delimiter between the columns, as CSV."
        )
        raise SourceError("unsupported_format", message)


def _find_hint(sample: Piece, given: Given) -> str | None:
    """Return the delimiter that the first line tells a spreadsheet, if it does."""
    lines = sample.lines()
    hint = SEPARATOR.match(lines[0]) if lines else None
    return hint[1] if hint and hint[1] not in {given.quote, given.escape} else None


def _first_line(trial: Trial, header: Header, skipped: int, first: int) -> int:
    """Return the number of the line on which the records begin."""
    if header.records:
        first = header.records[-1].after
    below = [each for each in trial.records if each.row >= first][:skipped]
    return below[-1].after if below else first


def read_sample(source: BinaryIO, encoding: Encoding, lines: int) -> Piece:
    """Read the sample: some lines more than *lines*, if the source has them."""
    source.seek(encoding.mark)
    start = read_up_to(source, SAMPLE).decode(encoding.name, ERRORS)
    wide = len("\n".encode(encoding.name)) > 1
    newline = find_newline(start, several=not wide)
    size = SAMPLE
    while True:
        piece = read_piece(source, encoding.name, newline, Mark(encoding.mark, 1), size)
        enough = piece.last or size >= LIMIT
        if enough or piece.text().count(piece.ends) >= lines + LINES:
            return piece
        size *= 2


def _settings(
    encoding: Encoding, trial: Trial, sample: Piece, given: Given
) -> dict[str, Any]:
    """Return what the reader needs, as plain data; None for what the file hasn't."""
    dialect = trial.dialect
    delimiter = trial.long or dialect.delimiter
    settings = {
        "encoding": encoding.name,
        "bom": encoding.mark > 0,
        "delimiter": None if delimiter == NEVER else delimiter,
        "quote": None if dialect.quote == NEVER else dialect.quote,
        "newline": sample.newline,
    }
    if dialect.spaced is not None:
        settings[SPACED] = dialect.spaced
    if given.escape:
        settings["escape"] = given.escape
    if given.header_rows > 1:
        settings["header_rows"] = given.header_rows
    return settings


def _start(sample: Piece, line: int) -> dict[str, int]:
    behind = line > len(sample.lines())
    start = sample.end(line) if behind else sample.mark(line, sample.start)
    return {"start": start.offset, "line": start.line}

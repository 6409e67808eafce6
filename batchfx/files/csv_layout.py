"""How a delimited text is laid out: its encoding, delimiter, quotation mark, header.

All is decided from a sample at the start. That a file has data and no header can't be
known: the header is the first record, unless titles or notes plainly stand above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from batchfx.errors import UsageError
from batchfx.files.csv_header import find_header, name_columns
from batchfx.files.csv_record import NEVER, Dialect
from batchfx.files.csv_trial import RARE_DELIMITERS, Found, Trial, choose_trial
from batchfx.files.text import (
    ERRORS,
    LIMIT,
    Encoding,
    Mark,
    Piece,
    find_encoding,
    find_newline,
    read_piece,
    read_up_to,
)
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

SAMPLE = 1 << 18  # bytes, more when they hold few lines
LINES = 20

SEPARATOR = re.compile(r'"?sep=([^"\w])"?\r*\Z', re.IGNORECASE)  # a hint for Excel


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller knows of a file, so that it isn't found out.

    An empty *quote* says that nothing is quoted.
    """

    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    header_row: int | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be, with a UsageError."""
        for name, mark in (("delimiter", self.delimiter), ("quote", self.quote)):
            if mark and (len(mark) > 1 or mark in "\r\n"):
                message = f"The {name} must be one character, not {mark!r}."
                raise UsageError(message)
        if self.delimiter and self.delimiter == self.quote:
            message = "The delimiter and the quote must differ."
            raise UsageError(message)
        if self.header_row is not None and self.header_row < 1:
            message = (
                f"The header can't be on line {self.header_row}: lines count from 1."
            )
            raise UsageError(message)


def inspect_csv(source: BinaryIO, given: Given) -> Layout:
    """Return how the delimited text *source* is laid out.

    Raises:
        SourceError: ``empty_file``, ``no_header``, ``duplicate_header`` or
            ``line_too_long``.
        UsageError: The encoding that is *given* can't be read.

    """
    encoding = find_encoding(source, given.encoding)
    sample = read_sample(source, encoding, given.header_row or 0)
    lines = sample.lines()
    hint = SEPARATOR.match(lines[0]) if lines else None
    first = given.header_row or (2 if hint else 1)
    delimiter = given.delimiter or (
        hint[1] if hint and hint[1] != given.quote else None
    )
    trial = choose_trial(sample, first, delimiter, given.quote)
    header = find_header(trial, given.header_row)
    names, nameless = name_columns(header, trial)
    warnings = (
        *_encoding_guess(encoding),
        *_dialect_guesses(trial.dialect, delimiter, given.quote),
        *_titles(trial, header),
        *map(_nameless_column, nameless),
        *_emptiness(trial, header, sample),
    )
    settings = _settings(encoding, trial.dialect, sample, header)
    return Layout("csv", names, header.row, settings, warnings)


def read_sample(source: BinaryIO, encoding: Encoding, lines: int) -> Piece:
    """Read the sample: some lines more than *lines*, if the source has them."""
    source.seek(encoding.mark)
    start = read_up_to(source, SAMPLE).decode(encoding.name, ERRORS)
    newline = find_newline(start)
    size = SAMPLE
    while True:
        piece = read_piece(source, encoding.name, newline, Mark(encoding.mark, 1), size)
        enough = piece.last or size >= LIMIT
        if enough or piece.text().count(newline) >= lines + LINES:
            return piece
        size *= 2


def _warning(code: str, message: str, **parameters: Any) -> Issue:
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)


def _nameless_column(column: int) -> Issue:
    message = f"Column {column + 1} has data but no name, so it can't be imported."
    return _warning("nameless_column", message, column=column + 1)


def _encoding_guess(encoding: Encoding) -> Iterator[Issue]:
    if encoding.guessed:
        message = (
            "The file doesn't say how its letters are encoded. It was read as "
            f"{encoding.title}, which is a guess: look at its accents and signs."
        )
        yield _warning("guessed_encoding", message, encoding=encoding.name)


def _dialect_guesses(
    dialect: Dialect, delimiter: str | None, quote: str | None
) -> Iterator[Issue]:
    if dialect.delimiter in RARE_DELIMITERS and not delimiter:
        message = f"The cells seem to be separated by {dialect.delimiter!r}: a guess."
        yield _warning("guessed_delimiter", message, delimiter=dialect.delimiter)
    if dialect.quote == "'" and not quote:
        message = "The cells seem to be quoted with apostrophes, which is a guess."
        yield _warning("guessed_quote", message, quote=dialect.quote)


def _titles(trial: Trial, header: Found) -> Iterator[Issue]:
    above = [each.row for each in trial.seen if each.row < header.row]
    if above:
        message = (
            f"The header was found on line {header.row}; what stands above it, from "
            f"line {above[0]} on, was left out."
        )
        yield _warning("rows_above_header", message, rows=above)


def _emptiness(trial: Trial, header: Found, sample: Piece) -> Iterator[Issue]:
    if sample.last and trial.seen[-1].row == header.row:
        yield _warning("no_rows", "The file has a header and no rows below it.")


def _settings(
    encoding: Encoding, dialect: Dialect, sample: Piece, header: Found
) -> dict[str, Any]:
    """Return what the reader needs, as plain data; None for what the file hasn't."""
    line = header.after
    behind = line > len(sample.lines())
    start = sample.end(line) if behind else sample.mark(line, sample.start)
    return {
        "encoding": encoding.name,
        "bom": encoding.mark > 0,
        "delimiter": None if dialect.delimiter == NEVER else dialect.delimiter,
        "quote": None if dialect.quote == NEVER else dialect.quote,
        "newline": sample.newline,
        "start": start.offset,
        "line": start.line,
    }

"""Why a delimited text was understood as it was, in words."""

from __future__ import annotations

from typing import Protocol

from batchfx.files.csv_header import Header
from batchfx.files.csv_record import NEVER
from batchfx.files.csv_trial import Trial
from batchfx.files.encodings_found import Encoding
from batchfx.files.text import ANY, LF_CR, Piece


class Said(Protocol):
    """What the caller knows of a file."""

    @property
    def delimiter(self) -> str | None:
        """The delimiter, if it was given."""

    @property
    def quote(self) -> str | None:
        """The quotation mark, if it was given."""


def explain_layout(
    encoding: Encoding, sample: Piece, found: tuple[Trial, Header], given: Said
) -> dict[str, str]:
    """Return what was found, each with the evidence for it."""
    (trial, header), text = found, sample.text()
    return {
        "format": "CSV: it is text, and no other format",
        "encoding": f"{encoding.title}: {encoding.why}",
        "delimiter": _delimiter(trial, given.delimiter),
        "quoting": _quoting(trial.dialect.quote, text, given.quote) + _gap(trial),
        "newline": _newline(sample.newline, text),
        "header_row": _header(header),
    }


def _delimiter(trial: Trial, given: str | None) -> str:
    if given:
        return f"{given!r}: it was given"
    mark = trial.long or trial.dialect.delimiter
    if mark == NEVER:
        return "none: no delimiter cuts most of the lines alike, so there is one column"
    found = f"{len(trial.usual)} of the first {len(trial.seen)} rows"
    return f"{mark!r}: {found} have {trial.width} cells with it"


def _quoting(mark: str, text: str, given: str | None) -> str:
    if given == "":
        return "none: it was given"
    if given:
        return f"{mark!r}: it was given"
    if mark == "'":
        return f"{mark!r}: cells begin and end with it throughout"
    return f"{mark!r}: it is the usual one, and {text.count(mark)} are in the sample"


def _gap(trial: Trial) -> str:
    if not trial.dialect.spaced:
        return ""
    return "; blanks in front of a cell are no part of it"


def _newline(newline: str, text: str) -> str:
    both, feeds, returns = (text.count(each) for each in ("\r\n", "\n", "\r"))
    if newline == ANY:
        feeds -= both
        return (
            f"CR LF, LF and CR: the sample has {both}, {feeds} and {returns - both}, "
            "and each ends lines like the others"
        )
    if newline == LF_CR:
        return f"LF CR: the sample has {feeds}, and no line ends otherwise"
    name = "CR" if newline == "\r" else "CR LF" if 2 * both > feeds else "LF"
    return (
        f"{name}: the sample has {both} CR LF, {feeds - both} LF alone and "
        f"{returns - both} CR alone"
    )


def _header(header: Header) -> str:
    if not header.records:
        return f"none: {header.why}"
    rows = len(header.records)
    lines = f"line {header.row}" if rows == 1 else f"lines {header.top} to {header.row}"
    return f"{lines}: {header.why}"

"""What a person should know of how a delimited text was understood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from batchfx.files.csv_header import Header, find_second_row
from batchfx.files.csv_trial import RARE_DELIMITERS, Trial
from batchfx.files.encodings import Alternative, Guess
from batchfx.files.encodings_found import Encoding
from batchfx.files.text import Piece
from batchfx.model.issues import Issue, Level, Phase

SURE = 0.95  # from which on other encodings aren't spoken of


def warning(code: str, message: str, **parameters: Any) -> Issue:
    """Return a warning about the file as a whole."""
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)


def nameless_column(column: int) -> Issue:
    """Return the warning that a column with data has no name."""
    message = f"Column {column + 1} has data but no name, so it can't be imported."
    return warning("nameless_column", message, column=column + 1)


def second_row(
    header: Header, trial: Trial, nameless: Sequence[int]
) -> Iterator[Issue]:
    """Yield the warning that the line below the header may belong to it."""
    if below := find_second_row(header, trial, nameless):
        message = (
            f"Line {below.row} seems to be a second row of names, but was read as a "
            "record. If it is one of names, say --set header_rows=2"
        )
        yield warning("second_header_row", message, line=below.row)


def encoding_guess(encoding: Encoding) -> Iterator[Issue]:
    """Yield the warning that the encoding is a guess, if it is one."""
    if not encoding.guessed:
        return
    message = (
        "The file doesn't say how its letters are encoded. It was read as "
        f"{encoding.title}, which is a guess: look at its accents and signs."
    )
    parameters: dict[str, Any] = {"encoding": encoding.name, "confidence": 1.0}
    if guess := encoding.guess:
        message += _doubts(guess)
        parameters["confidence"] = guess.confidence
        parameters["alternatives"] = [_plain(each) for each in guess.alternatives]
    if misfit := encoding.misfit:
        parameters |= {"line": misfit.line, "offset": misfit.offset}
    yield warning("guessed_encoding", message, **parameters)
    if encoding.mixed:
        message = (
            f"Most of the file is {encoding.title}, but line {encoding.mixed} is "
            "UTF-8. What is on such lines beyond ASCII can't be read, so their rows "
            "are faulty: save the whole file in one encoding."
        )
        yield warning("mixed_encodings", message, line=encoding.mixed)


def _doubts(guess: Guess) -> str:
    if guess.confidence >= SURE or not guess.alternatives:
        return ""
    other = guess.alternatives[0]
    ours = ", ".join(repr(word) for word, _ in other.words)
    theirs = ", ".join(repr(word) for _, word in other.words)
    return (
        f" It is {guess.confidence:.0%} sure: {other.title} would make {theirs} of "
        f"what is {ours} now. If that is right, set the encoding to {other.name}."
    )


def _plain(alternative: Alternative) -> dict[str, Any]:
    words = [list(pair) for pair in alternative.words]
    return {"encoding": alternative.name, "words": words}


def ignored_hint(hint: str | None, trial: Trial) -> Iterator[Issue]:
    """Yield the warning that the lines contradict the ``sep=`` above them."""
    if hint:
        found = trial.long or trial.dialect.delimiter
        message = (
            f"The first line says that {hint!r} separates the cells, but no line has "
            f"it. They were cut at {found!r}."
        )
        yield warning("ignored_hint", message, hint=hint, delimiter=found)


def dialect_guesses(
    trial: Trial, delimiter: str | None, quote: str | None
) -> Iterator[Issue]:
    """Yield the warnings about a delimiter and a quotation mark that are rarely one."""
    dialect, found = trial.dialect, trial.long or trial.dialect.delimiter
    unsure = trial.long or trial.ragged or found in RARE_DELIMITERS
    if unsure and not delimiter:
        message = f"The cells seem to be separated by {found!r}: a guess."
        yield warning("guessed_delimiter", message, delimiter=found)
    if trial.possible:
        yield _possible_delimiter(*trial.possible)
    if dialect.quote == "'" and not quote:
        message = "The cells seem to be quoted with apostrophes, which is a guess."
        yield warning("guessed_quote", message, quote=dialect.quote)


def _possible_delimiter(mark: str, why: str) -> Issue:
    if why == "quoted":
        message = (
            f"The file was read as one column: each line is quoted as a whole, with "
            f"{mark!r} in it. Export the file without these quotation marks."
        )
    else:
        cuts = "all lines alike" if why == "alike" else "the first line into names"
        message = (
            f"The file was read as one column, but {mark!r} cuts {cuts}. If "
            f"it separates cells, set the delimiter to it (--set delimiter={mark})."
        )
    return warning("possible_delimiter", message, delimiter=mark)


def titles(trial: Trial, header: Header) -> Iterator[Issue]:
    """Yield the warnings that the header may be a record, or has lines above it."""
    if header.doubtful:
        message = (
            f"Line {header.row} was taken for the names of the columns, but is like "
            "the lines below it. If it is a record, say --set header_row=0"
        )
        yield warning("possible_record", message, line=header.row)
    above = [each.row for each in trial.seen if each.row < header.top]
    if above:
        message = (
            f"The header was found on line {header.row}; what stands above it, from "
            f"line {above[0]} on, was left out."
        )
        yield warning("rows_above_header", message, rows=above)


def emptiness(trial: Trial, after: int, sample: Piece) -> Iterator[Issue]:
    """Yield the warning that there is nothing from line *after* on."""
    if sample.last and not any(each.row >= after for each in trial.seen):
        yield warning("no_rows", "The file has a header and no rows below it.")

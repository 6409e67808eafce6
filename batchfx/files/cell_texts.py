"""Texts of cells as a column, and what is wrong with those that are no texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from batchfx.errors import SourceError
from batchfx.files.csv_record import CONTROLS
from batchfx.files.text import UNDECODABLE
from batchfx.model.blocks import Fault

STRANGE = re.compile(f"[{CONTROLS}{UNDECODABLE}]")
CONTROL = re.compile(f"[{CONTROLS}]")
HALVES = re.compile("[\ud800-\udfff]")  # of characters, as UTF-16 writes some
UNSHOWABLE = re.compile(f"[\ud800-\udfff{UNDECODABLE}]")

FEW = 1_000  # texts, with which Polars' price of a call is more than that of all texts
SHOWN = 1_000  # characters of a text in a fault
NAMED = 10  # names in a message


class Texts(NamedTuple):
    """A column of texts, and the faults of some, by their index."""

    values: pl.Series
    faults: Sequence[tuple[int, Fault]] = ()


def clean(text: str) -> str:
    """Return *text* with the usual sign for halves of characters and undecodables."""
    return UNSHOWABLE.sub("\ufffd", text)


def whole(text: str) -> str:
    """Return *text* with the usual sign for halves of characters alone."""
    return HALVES.sub("\ufffd", text)


def shown(text: str) -> str:
    """Return the beginning of *text* with signs that can be shown for what can't."""
    return clean(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def refuse_undecodable(names: Sequence[str]) -> None:
    """Refuse names of columns that aren't known, for bytes that mean nothing.

    Raises:
        SourceError: ``encoding``.

    """
    columns = [place for place, name in enumerate(names, 1) if UNDECODABLE in name]
    if columns:
        told = ", ".join(repr(shown(names[place - 1])) for place in columns[:NAMED])
        message = (
            "Names of columns have bytes that mean nothing in the file's encoding: "
            f"{told}. Say which encoding it has, such as --set encoding=cp1252."
        )
        raise SourceError("encoding", message, columns=columns)


def checked(texts: list[str | None]) -> Texts:
    """Return the column of *texts*, with the faults of those that are strange."""
    try:
        values = pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        halves = [text and HALVES.sub(UNDECODABLE, text) for text in texts]
        values = pl.Series(halves, dtype=pl.String)
    places = places_with(STRANGE, values)
    if not places:
        return Texts(values)
    read = zip(places, values.gather(places).to_list(), strict=True)
    faults = [(index, fault) for index, text in read for fault in _faults(text)]
    return Texts(values.str.replace_all(UNDECODABLE, "\ufffd", literal=True), faults)


def places_with(pattern: re.Pattern[str], texts: pl.Series) -> list[int]:
    """Return where in *texts* the *pattern* is found, which Rust must read alike."""
    if len(texts) < FEW:
        pairs = enumerate(texts.to_list())
        return [place for place, text in pairs if text and pattern.search(text)]
    found = texts.str.contains(pattern.pattern).fill_null(value=False)
    return found.arg_true().to_list() if found.any() else []


def _faults(text: str) -> Iterator[Fault]:
    if UNDECODABLE in text:
        message = (
            "This cell has something that is no text: bytes that mean nothing in the "
            "file's encoding, or half a character such as \\ud83d."
        )
        yield Fault("encoding", message, value=shown(text))
    if control := CONTROL.search(text):
        yield control_fault(text, control[0])


def control_fault(text: str, control: str) -> Fault:
    """Return the fault of a *text* with the character *control*."""
    code = f"U+{ord(control):04X}"
    message = f"This cell has a control character ({code}). Take it out."
    parameters = {"character": code}
    return Fault("control_character", message, value=shown(text), parameters=parameters)

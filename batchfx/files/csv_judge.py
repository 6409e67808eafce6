"""What a record that was cut out of a text is: its cells, blank, or at fault.

The fast ways in `batchfx.files.csv_piece` give what this gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from batchfx.files.csv_notes import BLANKS, is_total
from batchfx.files.csv_record import CONTROLS, LEADING, Cut
from batchfx.files.text import AFTER_CR, UNDECODABLE
from batchfx.model.blocks import Fault

CONTROL = re.compile(f"[{CONTROLS}]")
CONTROL_ALONE = re.compile(f"([{CONTROLS}])[{CONTROLS}{BLANKS}]*")
STRAY = re.compile(rf"[{CONTROLS}\r\n]")

# ="04507" is how exporters keep a spreadsheet from taking text for a number.
FORCED_TEXT = re.compile(r'="([^"]*+(?:""[^"]*+)*+)"\Z')


# Characters that nobody can see wherever they stand in a name; in the languages that
# need joiners those have a meaning.
UNSEEN = dict.fromkeys(map(ord, "\xad\u200b\u2060\ufeff"))
AROUND = BLANKS + "\xad\u200c\u200d"  # a name


@dataclass(frozen=True, slots=True)
class Shape:
    """How many columns there are, and how many a record can't do without.

    *names* are those of the header, if another such row is no record.
    """

    width: int
    required: int
    names: tuple[str, ...] = ()

    @property
    def first(self) -> int:
        """The first column that has a name."""
        return next(number for number, name in enumerate(self.names) if name)

    @property
    def key(self) -> str | None:
        """Its name; None when there is no header or it names one column only."""
        return self.names[self.first] if sum(map(bool, self.names)) > 1 else None


@dataclass(frozen=True, slots=True)
class Record:
    """A record that isn't blank. Its cells are all None when they don't fit."""

    row: int
    cells: tuple[str | None, ...]
    faults: tuple[Fault, ...] = ()


def is_blank(cells: Sequence[str]) -> bool:
    """Tell whether no cell holds anything that can be seen."""
    return not any(cell.strip(BLANKS) for cell in cells)


def is_header(cells: Sequence[str], shape: Shape) -> bool:
    """Tell whether a record repeats the names of the columns, two or more of them."""
    names = shape.names
    if not shape.key or len(cells) < len(names):
        return False
    if cells[shape.first].strip(AROUND) != shape.key:
        return False
    texts = [name_of(cell) for cell in cells]
    return tuple(texts[: len(names)]) == names and not any(texts[len(names) :])


def name_of(cell: str) -> str:
    """Return the name that a cell of the header gives, without what nobody can see."""
    return show(free_text(cell)).translate(UNSEEN).strip(AROUND)


def free_text(cell: str) -> str:
    """Return the text of *cell* without the ``="…"`` that forces it to be text."""
    found = FORCED_TEXT.match(cell)
    return found[1].replace('""', '"') if found else cell


def judge(cut: Cut, row: int, line: str, shape: Shape) -> Record | None:
    """Return the record that *cut* is, None if it is blank.

    Args:
        cut: The record as it was cut out.
        row: The number of its line.
        line: The line that it starts on.
        shape: What the header asks for.

    """
    if cut.flaw:
        return _misfit(row, shape, _quote_fault(cut, line))
    cells = [free_text(cell) for cell in cut.cells]
    if is_blank(cells):
        return None
    if fault := _fault_of_all(cells, cut.stray, shape):
        return _misfit(row, shape, fault)
    cells = (cells + [""] * shape.width)[: shape.width]
    shown = tuple(show(cell) or None for cell in cells)
    return Record(row, shown, tuple(_cell_faults(cells, cut)))


def _fault_of_all(
    cells: Sequence[str], stray: Sequence[int], shape: Shape
) -> Fault | None:
    if is_total(cells, shape.width):
        return _note_fault(cells)
    if is_header(cells, shape):
        return _header_fault(cells)
    if len(cells) < shape.required:
        return _damage(cells) or _count_fault(cells, stray, shape)
    if not is_blank(cells[shape.width :]):
        return _count_fault(cells, stray, shape)
    return None


def show(text: str) -> str:
    """Return *text* as it was, with the usual sign for what couldn't be decoded."""
    return text.replace(UNDECODABLE, "\ufffd").replace(f"\r\n{AFTER_CR}", "\r")


def _misfit(row: int, shape: Shape, fault: Fault) -> Record:
    return Record(row, (None,) * shape.width, (fault,))


def _quote_fault(cut: Cut, line: str) -> Fault:
    number = (cut.column or 0) + 1
    message = (
        f"In column {number} text follows a closing quotation mark. Within a quoted "
        "cell, double every quotation mark."
        if cut.flaw == "bad_quote"
        else f"The quotation mark that opens column {number} isn't closed as it should "
        "be. Close it, or double it if it is part of the text."
    )
    value = show(line.lstrip(LEADING).rstrip("\r"))
    # Of the whole record: what its other cells hold is not known either.
    return Fault(cut.flaw or "", message, None, value, {"column": number})


def _note_fault(cells: Sequence[str]) -> Fault:
    label = next(cell for cell in cells if cell)
    message = "This is a line of totals, a note or a ruler, not a record."
    return Fault(
        "not_a_record",
        message,
        value=show(label),
        parameters={"cause": "note"},
        fields=_shown(cells),
    )


def _header_fault(cells: Sequence[str]) -> Fault:
    message = "This line repeats the header; it is not a record."
    cause = {"cause": "header"}
    return Fault("not_a_record", message, parameters=cause, fields=_shown(cells))


def _damage(cells: Sequence[str]) -> Fault | None:
    """Return the fault of a row whose end isn't text, which is why cells are missing.

    A file that was cut off within a character ends so, and one whose end was never
    written, and is NUL therefore.
    """
    if cells[-1].endswith(UNDECODABLE):
        message = (
            "This row ends with bytes that are no text in the file's encoding: it may "
            "be cut off there. Export the file again."
        )
        return Fault("encoding", message, fields=_shown(cells))
    if control := CONTROL_ALONE.fullmatch("".join(cells)):
        code = f"U+{ord(control[1]):04X}"
        message = (
            f"This row is nothing but control characters ({code}): the file is damaged "
            "there, or its end was never written. Export the file again."
        )
        return Fault("control_character", message, parameters={"character": code})
    return None


def _count_fault(cells: Sequence[str], stray: Sequence[int], shape: Shape) -> Fault:
    found, expected = len(cells), shape.width
    why = (
        "Look for a missing or stray delimiter, or a cell that needs quotation marks."
        if not stray
        else f"Within cell {stray[0] + 1} is a line end of another kind than those of "
        "the other lines (CR and LF are mixed). Write all of them alike."
    )
    message = (
        f"This row has {_several(found, 'cell')} where the header has "
        f"{_several(expected, 'column')}. {why}"
    )
    counts = {"expected": expected, "found": found}
    return Fault("field_count", message, parameters=counts, fields=_shown(cells))


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _shown(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(show, cells))


def _cell_faults(cells: Sequence[str], cut: Cut) -> Iterator[Fault]:
    for column, cell in enumerate(cells):
        if column in cut.apart:
            message = (
                "A blank stands before the quotation mark that opens this cell. Take "
                "it out, or say what such blanks are: --set skip_initial_space=true "
                "where they are no part of the cells, false where all of it is text."
            )
            yield Fault("bad_quote", message, column, show(cell))
        if UNDECODABLE in cell:
            message = (
                "This cell has bytes that are no text in the file's encoding. "
                "Correct it, and save the whole file in one encoding."
            )
            yield Fault("encoding", message, column, show(cell))
        unwanted = STRAY if column in cut.stray else CONTROL
        if control := unwanted.search(cell):
            code = f"U+{ord(control[0]):04X}"
            message = f"This cell has a control character ({code}). Take it out."
            yield Fault(
                "control_character", message, column, show(cell), {"character": code}
            )

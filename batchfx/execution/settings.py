"""The options for a file, as they are given on a command line or in a program.

An option is a name and a value. That of a notation may be one value for all columns, or
a mapping of columns to values, in which ``*`` stands for all the others. ``None`` and
"auto" mean that nothing is said.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from batchfx.errors import UsageError
from batchfx.execution import answers
from batchfx.model.notations import Notation
from batchfx.model.settings import EVERY_COLUMN, Settings

AUTO = "auto"
SIGNS = ("delimiter", "quote", "escape")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: what its value may be, in words, and how it is taken from a value.

    *take* returns the value, or raises ValueError when it is none.
    """

    possible: str
    take: Callable[[Any], Any]


def _one_of(*texts: str) -> Option:
    return Option(answers.listed(texts), answers.one_of(texts))


NAMES = Option("names of columns, separated by commas", answers.texts)
FLAG = Option("true or false", answers.truth)
LAYOUT: Mapping[str, Option] = {
    "encoding": Option("the name of an encoding, such as cp1252", answers.encoding),
    "delimiter": Option("one character or several, or 'tab'", answers.delimiter),
    "quote": Option("one character, or nothing", answers.character_or_none),
    "escape": Option("one character, or nothing", answers.character_or_none),
    "skip_initial_space": FLAG,
    "header_row": Option(
        "the number of a row, or 0 when the file has no header", answers.at_least(0)
    ),
    "header_rows": Option("how many rows, from 1", answers.at_least(1)),
    "skip_after_header": Option("how many rows", answers.at_least(0)),
    "sheet": Option("a sheet's name, or its number from 1", answers.sheet),
    "records": Option("names that lead to the records, as data.items", answers.text),
    "member": Option("the name of a file in the archive", answers.text),
    "guards": _one_of("remove", "keep"),
    "merged": _one_of("fill", "top"),
    "hidden_rows": _one_of("read", "skip"),
    "hidden_columns": _one_of("read", "skip"),
}
NOTATION: Mapping[str, Option] = {
    "decimal": Option("'.' or ','", answers.one_of(".,")),
    "thousands": Option(
        "one character, 'space', or nothing where there is none", answers.thousands
    ),
    "currency_allowed": FLAG,
    "percent": _one_of("fraction", "number"),
    "date_order": _one_of("dmy", "mdy", "ymd"),
    "date_formats": Option("formats such as %d.%m.%Y", answers.formats),
    "two_digit_year": Option(
        "the first year of the hundred years that are meant, such as 1930, or "
        "'not after today', or another day such as 'not after 2026-11-29'",
        answers.window,
    ),
    "zone_for_naive": Option("a time zone, such as Europe/Paris", answers.zone),
    "null_tokens": Option("texts, separated by commas", answers.texts),
    "trim": FLAG,
    "normal_form": _one_of("NFC", "NFD", "NFKC", "NFKD"),
    "languages": Option("codes such as de,fr", answers.languages),
    "values": Option('texts and what they mean, as {"Germania": "DE"}', answers.words),
}
WHOLE: Mapping[str, Option] = {
    "required": NAMES,
    "choices": Option('columns and their values, as {"size": ["S", "M"]}', dict),
    "unique": Option("names of columns, or lists of such names", answers.sets),
    "unique_fold": FLAG,
    "expected_columns": NAMES,
}
OPTIONS: Mapping[str, Option] = {**LAYOUT, **NOTATION, **WHOLE}
OTHER_NAMES = {"currency_allowed": "currency"}  # in a Notation
CHOICE = Option("values, separated by commas", answers.choices)


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Return the settings that the options *given* make.

    Raises:
        UsageError: An option is unknown, or its value is impossible; the message lists
            what is possible.

    """
    for name in given:
        _require_known(name)
    said = {name: value for name, value in given.items() if not _is_unsaid(value)}
    whole = {
        name: _taken(name, WHOLE[name], said[name])
        for name in said
        if name in WHOLE and name != "choices"
    }
    layout = {n: _taken(n, LAYOUT[n], said[n]) for n in said if n in LAYOUT}
    if expected := whole.get("expected_columns"):
        layout["expected_columns"] = expected
    _refuse_alike(layout)
    notations = _notations(said)
    return Settings(
        layout=layout,
        notation=notations.pop(EVERY_COLUMN, Notation()),
        columns=notations,
        choices=_choices(said.get("choices", {})),
        **whole,
    )


def given_of(pairs: Iterable[str], file: Path | None = None) -> dict[str, Any]:
    """Return options written as ``key=value``, over those in a JSON *file*.

    ``key.column=value`` is said of one column. A value that is JSON is taken as that,
    any other as text. What is said later counts; what is said of one column counts
    more than what is said of all.

    Raises:
        UsageError: A pair has no name or no "="; or *file* can't be read, or holds no
            JSON object.

    """
    given = _read_file(file) if file is not None else {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        name, dot, column = path.strip().partition(".")
        if not equals or not name or (dot and not column):
            message = (
                f"'{pair}' is no option: write KEY=VALUE, or KEY.COLUMN=VALUE for one "
                "column."
            )
            raise UsageError(message)
        _require_known(name)
        value = _value(text)
        given[name] = _with_column(name, given.get(name), column, value, bool(dot))
    return given


def _with_column(
    name: str,
    before: Any,
    column: str,
    value: Any,
    has_column: bool,  # noqa: FBT001 - of one caller
) -> Any:
    """Return the option's value with *value* said of *column*, or of all."""
    if not has_column:
        is_said_of_some = name in NOTATION and _is_by_column(name, before)
        if is_said_of_some and not _is_by_column(name, value):
            return {**before, EVERY_COLUMN: value}
        return value
    if name not in NOTATION and name != "choices":
        message = f"The option '{name}' is said of the file, not of one column."
        raise UsageError(message)
    others = before if _is_by_column(name, before) else {EVERY_COLUMN: before}
    kept = {key: each for key, each in others.items() if each is not None}
    return {**kept, column: value}


def _read_file(path: Path) -> dict[str, Any]:
    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"), parse_float=str)
    except OSError as error:
        message = f"The options in '{path}' can't be read: {error.strerror}."
        raise UsageError(message) from error
    except ValueError as error:  # no UTF-8, or no JSON
        message = f"'{path}' holds no JSON: {error}."
        raise UsageError(message) from error
    if not isinstance(given, dict):
        message = f'\'{path}\' must hold an object, such as {{"decimal": ","}}.'
        raise UsageError(message)
    return given


def _value(text: str) -> Any:
    try:
        return json.loads(text, parse_float=str)
    except (ValueError, RecursionError):  # no JSON, or nested beyond reason
        return text


def _notations(said: Mapping[str, Any]) -> dict[str, Notation]:
    """Return the notation of every column that one is said of, by its name."""
    stated: dict[str, dict[str, Any]] = {}
    for name, option in NOTATION.items():
        if name not in said:
            continue
        value = said[name]
        by_column = value if _is_by_column(name, value) else {EVERY_COLUMN: value}
        for column, each in by_column.items():
            if not _is_unsaid(each):
                taken = _taken(_path(name, column), option, each)
                entries = stated.setdefault(column, {})
                entries[OTHER_NAMES.get(name, name)] = taken
    found = {column: Notation(**entries) for column, entries in stated.items()}
    for column, notation in found.items():
        _refuse_one_sign(column, notation.over(found.get(EVERY_COLUMN, Notation())))
    return found


def _refuse_alike(layout: Mapping[str, Any]) -> None:
    """Refuse characters that can't be told apart from each other or from a line's end.

    Raises:
        UsageError: There are such.

    """
    if any(end in layout.get("delimiter", "") for end in "\r\n"):
        message = "The option 'delimiter' can't be the end of a line, which ends a row."
        raise UsageError(message)
    signs = {name: layout[name] for name in SIGNS if layout.get(name)}
    if signs.get("delimiter") == '"':
        signs.setdefault("quote", '"')  # as it is where nothing is said
    alike = [name for name in signs if list(signs.values()).count(signs[name]) > 1]
    if alike:
        message = (
            f"The options {' and '.join(map(repr, alike))} can't both be "
            f"{signs[alike[0]]!r}: one character has one meaning."
        )
        raise UsageError(message)


def _refuse_one_sign(column: str, notation: Notation) -> None:
    if notation.decimal is not None and notation.decimal == notation.thousands:
        mark = notation.decimal
        decimal, thousands = _path("decimal", column), _path("thousands", column)
        message = (
            f"The options '{decimal}' and '{thousands}' can't both be '{mark}': one "
            "sign can't be both. Leave one out, or write another sign."
        )
        raise UsageError(message)


def _is_by_column(name: str, value: Any) -> bool:
    """Tell whether a value is given by column; the words of `values` are no columns."""
    if not isinstance(value, Mapping):
        return False
    return name != "values" or all(isinstance(v, Mapping) for v in value.values())


def _choices(given: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(given, Mapping):
        _refuse("choices", WHOLE["choices"], given)
    return {
        column: _taken(_path("choices", column), CHOICE, value)
        for column, value in given.items()
        if not _is_unsaid(value)
    }


def _taken(path: str, option: Option, value: Any) -> Any:
    try:
        return option.take(value)
    except ValueError:
        _refuse(path, option, value)


def _path(name: str, column: str) -> str:
    return name if column == EVERY_COLUMN else f"{name}.{column}"


def _is_unsaid(value: Any) -> bool:
    return value is None or value == AUTO


def _refuse(path: str, option: Option, value: Any) -> NoReturn:
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    message = f"The option '{path}' can't be {shown}: it is {option.possible}."
    raise UsageError(message)


def _require_known(name: str) -> None:
    if name in OPTIONS:
        return
    near = difflib.get_close_matches(name, OPTIONS, n=1)
    meant = f" Is '{near[0]}' meant?" if near else ""
    message = f"There is no option '{name}'.{meant} There are: {', '.join(OPTIONS)}."
    raise UsageError(message)

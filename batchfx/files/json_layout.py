"""From what was found in JSON text to its layout: the records, their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batchfx.errors import SourceError
from batchfx.files.cell_texts import refuse_undecodable, whole
from batchfx.files.encodings_found import Encoding
from batchfx.files.json_survey import Content, Found, Survey
from batchfx.files.json_values import json_text
from batchfx.files.names import repeated
from batchfx.model.issues import Issue, Level, Phase
from batchfx.model.sources import Layout

NAMED = 10  # names in a message

# What lists of records are called in what services answer, and what is told of them.
RECORDS = frozenset(
    {
        *("data", "items", "results", "result", "records", "rows", "entries", "values"),
        *("list", "objects", "elements", "hits", "content", "d"),
    }
)
ABOUT_RECORDS = frozenset(
    {
        *("total", "count", "size", "page", "pages", "per_page", "limit", "offset"),
        *("next", "previous", "prev", "first", "last", "cursor", "has_more", "links"),
        *("status", "code", "ok", "success", "error", "errors", "message", "meta"),
        *("total_count", "totalcount", "totalresults", "total_pages", "version"),
    }
)

WAYS = {
    "lines": "each line holds a record",
    "list": "it begins with [, and ends with ]",
    "object": "it begins with {, and the records are a list in it",
    "values": "it holds an object, or one after another",
}


def layout_of(content: Content, encoding: Encoding, records: str | None) -> Layout:
    """Return the layout of *content*.

    Raises:
        SourceError: There are no records, or several lists of them, or no columns.

    """
    found = _chosen(content, records)
    survey = found.survey
    header = _header(survey)
    is_list = not survey.objects
    way = "list" if content.way == "object" else content.way
    numbered = "line" if way == "lines" or survey.own_lines else "record"
    settings = {
        "encoding": encoding.name,
        "way": way,
        "shape": "lists" if is_list else "objects",
        "records": found.name,
        "numbered": numbered,
        "start": ((is_list and survey.below) or survey.place).dump(),
        "damage": content.damage and _damage(content.damage),
    }
    row = survey.top_line if numbered == "line" else survey.top_record
    return Layout(
        "ndjson" if way == "lines" else "json",
        header,
        row if is_list else 0,
        settings,
        tuple(_warnings(content, found, header)),
        reasons=_reasons(content, found, encoding, numbered),
    )


def _chosen(content: Content, wanted: str | None) -> Found:
    lists = {each.name: each for each in content.lists}
    if wanted and wanted not in lists:
        known = ", ".join(map(repr, list(lists)[:NAMED])) or "none"
        message = f"There are no records under '{wanted}'. Lists in the file: {known}."
        raise SourceError("no_such_records", message, records=list(lists)[:NAMED])
    if wanted:
        return lists[wanted]
    tables = [each for each in content.lists if each.is_table]
    likely = tables or [each for each in content.lists if each.survey.top]
    if len(likely) == 1 and (tables or not likely[0].path):
        return likely[0]
    if likely:
        raise _choice(likely)
    raise _nothing(content)


def refuse_empty(content: Content) -> None:
    """Refuse an object that only says that there are no records.

    Raises:
        SourceError: ``empty_file``.

    """
    if content.way != "object" or content.damage:
        return
    empty = [each.name for each in content.lists if not each.survey.count]
    empty += [name for name in content.void if name.casefold() in RECORDS]
    others = [name for name in content.names if name.casefold() not in ABOUT_RECORDS]
    if empty and len(others) == 1:
        name = empty[0]
        message = f"There are no records under '{name}': there is nothing to import."
        raise SourceError("empty_file", message, records=name)


def _choice(likely: list[Found]) -> SourceError:
    names = [each.name for each in likely][:NAMED]
    message = (
        f"The file has lists that may be the records: {', '.join(map(repr, names))}. "
        f"Say which one to read: --set records={names[0]}, or for the whole file "
        "--set records=."
    )
    return SourceError("choose_records", message, records=names)


def _nothing(content: Content) -> SourceError:
    if content.damage:
        return content.damage
    survey = content.lists[0].survey if content.lists else Survey()
    if survey.flaw:
        line, flaw = survey.flaw
        message = f"No record can be read. Line {line}: {flaw.message}"
        return SourceError(flaw.code, message, line=line)
    if not survey.count:
        message = "The file has no records in it: there is nothing to import."
        return SourceError("empty_file", message)
    message = 'The file is JSON, but no record has names, such as {"name": "value"}.'
    return SourceError("no_records", message)


def _header(survey: Survey) -> tuple[str, ...]:
    names = survey.names() if survey.objects else _top_names(survey.top or [])
    refuse_undecodable(names)
    if not any(names):
        message = (
            "The records have no names for their columns, such as the name in "
            '{"name": "value"}, or in a first list of names.'
        )
        raise SourceError("no_header", message)
    return names


def _top_names(top: list[Any]) -> tuple[str, ...]:
    """Return the names that a first list holds."""
    if not all(isinstance(name, str | bytes | None) for name in top):
        return ()
    names = [_name(each).strip() for each in top]
    refuse_undecodable(names)
    while names and not names[-1]:
        names.pop()
    twice = repeated({place: name for place, name in enumerate(names, 1) if name})
    if twice:
        message = (
            f"More than one column is called {', '.join(map(repr, twice))}. "
            "Give every column a name of its own."
        )
        columns = sorted(column for found in twice.values() for column in found)
        raise SourceError(
            "duplicate_header", message, names=list(twice), columns=columns
        )
    return tuple(names)


def _name(cell: Any) -> str:
    return whole(cell) if isinstance(cell, str) else json_text(cell) if cell else ""


def _damage(damage: SourceError) -> dict[str, Any]:
    return {
        "code": damage.code,
        "message": str(damage),
        "parameters": damage.parameters,
    }


def _warning(code: str, message: str, **parameters: Any) -> Issue:
    return Issue(code, message, Phase.FILE, parameters=parameters, level=Level.WARNING)


def _warnings(
    content: Content, found: Found, header: tuple[str, ...]
) -> Iterator[Issue]:
    beside = _beside(content, found)
    if beside:
        shown = ", ".join(map(repr, beside[:NAMED])) + ", …" * (len(beside) > NAMED)
        message = (
            f"The records were found under '{found.name}'. What is beside them "
            f"({shown}) is not read."
        )
        yield _warning(
            "records_found", message, records=found.name, beside=beside[:NAMED]
        )
    if content.way == "values" and found.survey.count == 1 and not content.damage:
        message = "The file holds one object, which was taken for a single record."
        yield _warning("single_record", message)
    for place, name in enumerate(header, 1):
        if not name:
            message = f"Column {place} has no name, so it can't be imported."
            yield _warning("nameless_column", message, column=place)
    if content.damage:
        damage = content.damage
        yield _warning(damage.code, str(damage), **damage.parameters)


def _beside(content: Content, found: Found) -> list[str]:
    """Return the names of what is beside the records, and beside what holds them."""
    return [
        ".".join((*found.path[:depth], name))
        for depth, own in enumerate(found.path)
        for name in content.inside.get(found.path[:depth], ())
        if name != own
    ]


def _reasons(
    content: Content, found: Found, encoding: Encoding, numbered: str
) -> dict[str, str]:
    numbers = (
        "rows are numbered by the line on which they start"
        if numbered == "line"
        else "rows are numbered from 1, since several start on one line"
    )
    count = found.survey.count
    records = "1 record" if count == 1 else f"{count:,} records"
    return {
        "format": f"JSON: {WAYS[content.way]}",
        "encoding": f"{encoding.name}: {encoding.why}",
        "records": f"'{found.name}': {records}; {numbers}",
    }

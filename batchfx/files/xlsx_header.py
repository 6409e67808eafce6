"""Which rows of a sheet hold the column names, judged from its first rows.

Above them stand titles, notes and pairs of label and value; a row of names is text
only, has a name for most of the columns that the rows below use, and stands at the top
of a run of rows about as wide as the widest. Cells that are merged across name a group
of columns, whose own names stand in the next row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from batchfx.errors import SourceError
from batchfx.files.names import has_expected, matches, repeated
from batchfx.files.xlsx_references import Range, column_letters
from batchfx.model.blocks import Kind

SEARCHED_ROWS = 30
USUAL_SHARE = 0.75  # of the widest row, that a table's run of rows reaches
FEW_ROWS = 4
SURE_ROWS = 2  # below a header, that are unlike it
PAIR = 2  # a label and its value
SEVERAL = 3  # numbers that count up from 1
FIRST_YEAR, LAST_YEAR = 1900, 2100


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row that isn't blank; the text and kind of its cells, by column from 0."""

    number: int
    cells: Mapping[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Header:
    """The rows that hold the names, and the name of each column that has one."""

    rows: tuple[int, ...]
    names: Mapping[int, str]


def find_header(rows: Sequence[SeenRow], merges: Sequence[Range]) -> Header | None:
    """Return the header of the table that begins in *rows*, or None without a trace."""
    if not rows:
        return None
    widest = max(len(row.cells) for row in rows)
    if widest == 1:
        return _header(rows, merges, rows[0]) if _is_named(rows[0], least=1) else None
    candidates = [
        index
        for index, row in enumerate(rows[:SEARCHED_ROWS])
        if (_is_named(row, least=2) or _is_mixed(rows, index))
        and _covers(_spread(row, merges), rows[index + 1 : index + 1 + SEARCHED_ROWS])
        and len(max(_run(rows, index), key=_width).cells) >= widest * USUAL_SHARE
    ]
    if not candidates:
        return None
    found = candidates[0]
    for later in candidates[1:]:
        if _is_surer(rows, merges, found, later):
            found = later
    return _header(rows, merges, rows[found])


def stated_header(
    rows: Sequence[SeenRow],
    merges: Sequence[Range],
    number: int,
    count: int | None = None,
) -> Header | None:
    """Return the header whose last row is *number*; None when that row is blank.

    It has *count* rows; where that isn't said, rows of group names above it belong to
    it.
    """
    by_number = {row.number: row for row in rows}
    if number not in by_number:
        return None
    first = number - (count or 1) + 1
    while (
        not count and first - 1 in by_number and _groups(by_number[first - 1], merges)
    ):
        first -= 1
    numbers = [each for each in range(first, number + 1) if each in by_number]
    names = _names([by_number[each] for each in numbers], merges)
    return Header(tuple(numbers), names)


def counted_header(
    rows: Sequence[SeenRow], merges: Sequence[Range], count: int
) -> Header | None:
    """Return the header that has *count* rows; None without a trace of one.

    What looks like the header is its first row, unless rows of names stand above it.
    """
    found = find_header(rows, merges)
    if found is None:
        return None
    named = {row.number for row in rows if _is_named(row, least=1)}
    first = found.rows[0]
    if len(found.rows) == 1:
        while first - 1 in named and found.rows[0] - first < count - 1:
            first -= 1
    return stated_header(rows, merges, first + count - 1, count)


def expected_header(
    rows: Sequence[SeenRow],
    merges: Sequence[Range],
    expected: Sequence[str],
    count: int | None,
) -> Header | None:
    """Return the header with most of the *expected* names, if one plainly has them.

    Among equals it is the first. It has *count* rows, where that is said.
    """
    if not expected:
        return None
    headers = [
        header
        for row in rows[:SEARCHED_ROWS]
        if (header := stated_header(rows, merges, row.number, count))
    ]
    own = {row.number: [text for text, _ in row.cells.values()] for row in rows}
    names = [
        max(
            (list(header.names.values()), own[header.rows[-1]]),
            key=lambda each: matches(each, expected),
        )
        for header in headers
    ]
    best = max(range(len(headers)), key=lambda place: matches(names[place], expected))
    return headers[best] if has_expected(names[best], expected) else None


def is_part(header: Header, whole: Header, expected: Sequence[str]) -> bool:
    """Tell whether *header* is a part of the *whole*, which has its *expected* names.

    So names of the upper row don't make the lower one a record.
    """
    if not set(header.rows) <= set(whole.rows):
        return False
    own, wholes = header.names.values(), whole.names.values()
    return matches(own, expected) <= matches(wholes, expected)


def most_matches(rows: Sequence[SeenRow], expected: Sequence[str]) -> int:
    """Return how many of the *expected* names the row has that has most of them."""
    return max(_matches(row, expected) for row in rows[:SEARCHED_ROWS])


def refuse_repeated(names: Mapping[int, str]) -> None:
    """Refuse a header that has one name twice.

    Raises:
        SourceError: ``duplicate_header``, with the ``names`` and their ``columns``.

    """
    if twice := repeated(names):
        columns = [column_letters(each) for found in twice.values() for each in found]
        message = (
            f"More than one column is called {', '.join(map(repr, twice))} "
            f"({', '.join(columns)}). Give every column a name of its own."
        )
        raise SourceError(
            "duplicate_header", message, names=list(twice), columns=columns
        )


def _header(rows: Sequence[SeenRow], merges: Sequence[Range], first: SeenRow) -> Header:
    by_number = {row.number: row for row in rows}
    last = first
    while _groups(last, merges) and (below := by_number.get(last.number + 1)):
        if not _is_named(below, least=2):
            break
        last = below
    numbers = tuple(range(first.number, last.number + 1))
    return Header(numbers, _names([by_number[each] for each in numbers], merges))


def _matches(row: SeenRow, expected: Sequence[str]) -> int:
    return matches((text for text, _ in row.cells.values()), expected)


def _is_named(row: SeenRow, least: int) -> bool:
    """Tell whether the row's cells could be names: texts, and years among them."""
    texts = sum(kind == Kind.TEXT for _, kind in row.cells.values())
    years = sum(_is_year(*cell) for cell in row.cells.values())
    return texts >= least and texts + years == len(row.cells)


def _is_year(text: str, kind: str) -> bool:
    numeric = kind == Kind.NUMBER and text.isdigit()
    return numeric and FIRST_YEAR <= int(text) <= LAST_YEAR


def _covers(names: Mapping[int, str], below: Sequence[SeenRow]) -> bool:
    """Tell whether more than half of the columns that rows *below* use have a name."""
    uses = Counter(column for row in below for column in row.cells)
    least = 1 if len(below) < FEW_ROWS else 2
    used = {column for column, count in uses.items() if count >= least}
    used -= {each for each in used if uses[each] == 1 and _is_apart(each, uses, names)}
    return len(used & names.keys()) * 2 > len(used) or not used


def _is_apart(column: int, uses: Iterable[int], names: Iterable[int]) -> bool:
    """Tell whether empty columns lie between *column* and the *names*."""
    taken = {*uses, *names}
    first, last = min(names), max(names)
    between = range(last, column) if column > last else range(column, first)
    return not taken.issuperset(between)


def _run(rows: Sequence[SeenRow], index: int) -> Sequence[SeenRow]:
    """Return the rows from *index* to the next blank one."""
    first = rows[index].number
    end = next(
        (
            place
            for place in range(index, len(rows))
            if rows[place].number != first + place - index
        ),
        len(rows),
    )
    return rows[index:end]


def _width(row: SeenRow) -> int:
    return len(row.cells)


def _is_surer(
    rows: Sequence[SeenRow], merges: Sequence[Range], found: int, later: int
) -> bool:
    """Tell whether the row *later* is the header, and *found* a title or a label.

    Names stand above other things than words. A title has fewer cells than they, right
    above them; pairs of label and value are fewer than the records behind a blank row.
    """
    title, names = _run(rows, found), _run(rows, later)
    typed = _typed_below(names)
    if not typed:
        return False
    if rows[later].number == rows[found].number + 1:
        is_wider = rows[found].cells.keys() < rows[later].cells.keys()
        return is_wider and typed >= SURE_ROWS and not _groups(rows[found], merges)
    are_pairs = all(_width(row) <= PAIR for row in title) and len(title) < len(names)
    return later >= found + len(title) and are_pairs and _typed_below(title) < SURE_ROWS


def _typed_below(run: Sequence[SeenRow]) -> int:
    """Return how many of the rows below a row of words have something else in one.

    The column must have words in none of them.
    """
    most = 0
    for column, (_, kind) in run[0].cells.items():
        kinds = [row.cells[column][1] for row in run[1:] if column in row.cells]
        if kind == Kind.TEXT and Kind.TEXT not in kinds:
            most = max(most, len(kinds))
    return most


def _is_mixed(rows: Sequence[SeenRow], index: int) -> bool:
    """Tell whether a row names columns by numbers or dates too, above other things."""
    row, run = rows[index], _run(rows, index)
    if not _is_led(row, run[1:]):
        return False
    return (
        _is_counted(row)
        or _is_headed(row, rows[index + 1 :])
        or _is_dated(row, run[1:])
    )


def _is_led(row: SeenRow, below: Sequence[SeenRow]) -> bool:
    """Tell whether the row begins with a text, or with no name above texts."""
    first = min(row.cells)
    if row.cells[first][1] == Kind.TEXT:
        return len(row.cells) > 1
    leading = {min(each.cells) for each in below}
    kinds = {each.cells[min(each.cells)][1] for each in below}
    return len(leading) == 1 and min(leading) < first and kinds == {Kind.TEXT}


def _is_counted(row: SeenRow) -> bool:
    """Tell whether the row begins with a text, and has but texts and 1, 2, 3."""
    cells = [row.cells[column] for column in sorted(row.cells)]
    numbers = [text for text, kind in cells if kind != Kind.TEXT]
    counted = [str(number) for number in range(1, len(numbers) + 1)]
    kinds = {kind for _, kind in cells} - {Kind.TEXT}
    is_led = cells[0][1] == Kind.TEXT
    return (
        is_led
        and numbers == counted
        and len(counted) >= SEVERAL
        and kinds == {Kind.NUMBER}
    )


def _is_headed(row: SeenRow, below: Sequence[SeenRow]) -> bool:
    """Tell whether a row is a name and then years, or dates, above others."""
    first = min(row.cells)
    is_named = row.cells[first][1] == Kind.TEXT
    years = row.cells.keys() - ({first} if is_named else set())
    if not is_named and len(years) < PAIR:
        return False
    others = [each.cells[c] for each in below for c in years & each.cells.keys()]
    return any(
        all(is_one(*row.cells[column]) for column in years)
        and not all(is_one(*cell) for cell in others)
        for is_one in (_is_year, _is_date)
    )


def _is_dated(row: SeenRow, below: Sequence[SeenRow]) -> bool:
    """Tell whether a row has texts, years and dates, with no date below these.

    What stands right below is no row of names itself.
    """
    cells = row.cells.values()
    dates = {column for column, cell in row.cells.items() if _is_date(*cell)}
    named = [kind == Kind.TEXT or _is_year(text, kind) for text, kind in cells]
    if not dates or len(cells) <= PAIR or sum(named) + len(dates) < len(cells):
        return False
    kinds = {each.cells[c][1] for each in below for c in dates & each.cells.keys()}
    if not kinds or Kind.DATE in kinds:
        return False
    return not (_is_named(below[0], least=2) and _typed_below(below))


def _is_date(_: str, kind: str) -> bool:
    return kind == Kind.DATE


def _groups(row: SeenRow, merges: Iterable[Range]) -> bool:
    """Tell whether the row names groups of columns: some names, one merged across."""
    across = {
        merge.first_column
        for merge in merges
        if merge.first_row == merge.last_row == row.number
        and merge.last_column > merge.first_column
    }
    return len(row.cells) > 1 and not across.isdisjoint(row.cells)


def _spread(row: SeenRow, merges: Iterable[Range]) -> dict[int, str]:
    """Return the row's texts, those of merged cells in all the columns they cover."""
    texts = {column: _tidy(text) for column, (text, _) in row.cells.items()}
    free = 0
    for merge in sorted(merge for merge in merges if merge.first_row == row.number):
        # Ranges that overlap, which Excel never writes, could make this very long.
        if merge.first_column >= free and merge.first_column in texts:
            free = merge.last_column + 1
            covered = range(merge.first_column, free)
            texts = dict.fromkeys(covered, texts[merge.first_column]) | texts
    return texts


def _names(rows: Sequence[SeenRow], merges: Sequence[Range]) -> dict[int, str]:
    spread = [_spread(row, merges) for row in rows]
    columns = sorted(set().union(*spread))
    named = {
        column: " / ".join(texts[column] for texts in spread if texts.get(column))
        for column in columns
    }
    return {column: name for column, name in named.items() if name}


def _tidy(text: str) -> str:
    return " ".join(text.split())

"""What a file was found to be, and what is wrong with it, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from batchfx.cli.invocation import command
from batchfx.cli.languages import fate, message, number, phrase, words
from batchfx.cli.options import Settings
from batchfx.cli.screen import NUMBER_WIDTH, Screen, causes, columns
from batchfx.cli.text import MESSAGE, counted, cut, one_line
from batchfx.execution.checking import Account, Survey
from batchfx.execution.inspecting import Seen, Sight
from batchfx.model.issues import Issue, Level
from batchfx.model.notations import Notation
from batchfx.model.sources import Layout
from batchfx.store.outcomes import IssueGroup

MOST_CAUSES = 20
MOST_ISSUES = 12  # of the file
MOST_COLUMNS = 40  # listed with their values
MOST_CELLS = 8  # columns of the first rows
CELL = 20  # characters of a cell of the first rows
NAMES = {
    "packing": "Packing",
    "member": "Packed file",
    "encoding": "Encoding",
    "delimiter": "Delimiter",
    "quoting": "Quoting",
    "sheet": "Sheet",
    "table": "Table",
    "records": "Records",
}
UNTOLD = (None, "")
SIGNS = {"\t": "tab", " ": "blank"}
OPEN = {
    "date_order": "day or month first? --set date_order=dmy, or mdy",
    "decimal": "'.' or ',' before decimals? --set decimal=., or ,",
    "thousands": "what parts thousands? --set thousands=",
    "two_digit_year": "which century? --set two_digit_year=1930",
}
WORDS = {"dmy": "day, month, year", "mdy": "month, day, year", "ymd": "year first"}


def show_layout(screen: Screen, name: str, layout: Layout) -> None:
    """Say what the file is, how it is laid out, and why that is thought."""
    title = FORMATS.get(layout.format, layout.format)
    screen.say(f"{one_line(name)} is {title}.", "bold")
    screen.say()
    table = Table.grid(padding=(0, 3, 0, 0))
    reasons = dict(layout.reasons)
    reasons.pop("format", None)
    reason = reasons.pop("header_row", f"{layout.header_row}" * bool(layout.header_row))
    if reason:
        _add(table, "Header", f"row {reason}" if reason[0].isdigit() else reason)
    for key, label in NAMES.items():
        if key in reasons:
            _add(table, label, reasons.pop(key))
        elif layout.settings.get(key) not in UNTOLD:
            value = layout.settings[key]
            _add(table, label, words(SIGNS.get(value, str(value))))
    for key, reason in reasons.items():
        _add(table, key.replace("_", " ").capitalize(), reason)
    screen.show(table)
    screen.say()


def show_issues(
    screen: Screen, issues: Sequence[Issue], titles: Mapping[str, str]
) -> None:
    """Say what was noticed about the file as a whole."""
    for issue in issues[:MOST_ISSUES]:
        title = titles.get(issue.field or "", "")
        of = "" if title in issue.message else f"{cut(title)}: "
        level = words(issue.level.capitalize())
        screen.say(f"{level}: {of}{message(issue)}", STYLES[issue.level])
    if len(issues) > MOST_ISSUES:
        more = counted(len(issues) - MOST_ISSUES, "other note")
        screen.say(f"and {more} on the file; --json has all.")


def show_sight(screen: Screen, sight: Sight) -> None:
    """Show what the columns seem to hold, and the first rows."""
    _show_columns(screen, sight.columns)
    more = len(sight.titles) - min(len(sight.columns), MOST_COLUMNS)
    if more > 0:
        screen.say(f"and {counted(more, 'other column')}")
    screen.say()
    if sight.rows:
        screen.show(_rows(sight))
        screen.say()
    screen.say(_account_of(sight), "dim")


def show_written(screen: Screen, survey: Survey) -> None:
    """Show how the values of columns are read, where that isn't the plain way."""
    table = columns("Column", "Type", "Read as")
    for place, (title, each) in enumerate(
        zip(survey.titles, survey.notations.values(), strict=True)
    ):
        told = in_words(each)
        if told:
            kind = survey.types.get(place, "text")
            table.add_row(Text(cut(title)), kind, Text(told))
    if table.rows:
        screen.show(table)
        screen.say()


def show_account(screen: Screen, survey: Survey, account: Account) -> None:
    """Show the problems by cause, and how many rows there are of each kind."""
    groups = _groups(account)
    if groups:
        titles = survey.titles_by_field
        screen.show(causes(groups[:MOST_CAUSES], titles, suggestions=True))
        if len(groups) > MOST_CAUSES:
            screen.say(f"and {counted(len(groups) - MOST_CAUSES, 'other cause')}")
        screen.say()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", min_width=NUMBER_WIDTH)
    for count, name, style in (
        (account.good, "good", "green"),
        (account.faulty, "faulty", "yellow"),
        (account.blank, "blank, passed over", ""),
    ):
        if count:
            table.add_row(Text(number(count), style), Text(fate(name, count), style))
    noun = words("row" if account.read == 1 else "rows")
    table.add_row(Text(number(account.read), "bold"), Text(noun, "bold"))
    screen.show(table)
    screen.say()


def show_next(
    screen: Screen, settings: Settings, survey: Survey, account: Account, path: str
) -> None:
    """Say what to do now."""
    if survey.damage is not None:
        rows = "No row was checked."
        if account.read:
            rows = "Only the rows before the damage were checked."
        screen.say(rows)
    elif account.faulty:
        screen.say("Correct these rows in the file and check it again.")
        screen.say("If they are right, say how to read them: --set KEY=VALUE.")
    elif not survey.types:
        screen.say("All columns were read as text. To see what they seem to hold:")
        screen.say(f"  {command(settings, 'inspect', path)}", "bold")
    else:
        screen.say("Every row is good. Nothing was written.")


def show_next_check(
    screen: Screen, settings: Settings, sight: Sight, path: str, given: list[str]
) -> None:
    """Say how to check the whole file with the types that its columns seem to have."""
    if not sight.columns:
        return
    typed = ",".join(
        f"{_quoted(seen.title)}:{seen.type}" for seen in sight.columns[:MOST_COLUMNS]
    )
    screen.say()
    screen.say("To check every row of it:")
    line = command(settings, "check", path, "--columns", typed, *given)
    screen.say(f"  {line}", "bold")


def in_words(notation: Notation) -> str:
    """Return how values are written, in words; nothing for the plain way."""
    parts = [
        _mark(notation),
        WORDS.get(notation.date_order or "", ""),
        "currencies" if notation.currency else "",
        f"formats {', '.join(notation.date_formats)}" if notation.date_formats else "",
        f"empty: {', '.join(notation.null_tokens)}" if notation.null_tokens else "",
        *(OPEN.get(name, name) for name in notation.unsettled),
    ]
    return "; ".join(words(part) for part in parts if part)


def _mark(notation: Notation) -> str:
    told = []
    if notation.decimal:
        told.append(f"decimals after '{notation.decimal}'")
    if notation.thousands:
        told.append(f"thousands by '{one_line(notation.thousands)}'")
    return ", ".join(told)


def _add(table: Table, label: str, told: str) -> None:
    reason = cut(phrase("reason", told), MESSAGE)
    table.add_row(Text(f"  {words(label)}", "dim"), Text(reason))


def _show_columns(screen: Screen, seen: Iterable[Seen]) -> None:
    table = columns("Column", "Looks like", "First value", "Notes")
    for each in list(seen)[:MOST_COLUMNS]:
        table.add_row(
            Text(cut(each.title)),
            Text(each.type if each.filled else words("empty")),
            Text(cut(each.example or "")),
            Text(_notes(each), "dim"),
        )
    screen.show(table)


def _notes(seen: Seen) -> str:
    parts = [in_words(seen.notation)]
    if seen.misfits:
        value = f": '{cut(seen.misfit)}'" if seen.misfit else ""
        parts.append(words(f"{seen.misfits:,} of {seen.filled:,} are not{value}"))
    return "; ".join(part for part in parts if part)


def _rows(sight: Sight) -> Table:
    table = columns(
        "Row",
        *(cut(title, CELL) for title in sight.titles[:MOST_CELLS]),
        right=("Row",),
    )
    for row, cells in sight.rows:
        shown = [Text(cut(cell or "", CELL)) for cell in cells[:MOST_CELLS]]
        table.add_row(number(row), *shown)
    return table


def _account_of(sight: Sight) -> str:
    rows = counted(sight.looked_at, "row")
    faulty = f"; {sight.faulty:,} of them can't be read" if sight.faulty else ""
    if sight.confirmed:
        return f"The file has {rows}{faulty}."
    if sight.damage is not None:
        return f"{rows} could be read{faulty}."
    return f"The first {rows} were looked at{faulty}; the others may differ."


def _quoted(title: str) -> str:
    escaped = title.replace('"', '""')
    return f'"{escaped}"' if set(title) & set(',"') else title


def _groups(account: Account) -> list[IssueGroup]:
    groups = [
        IssueGroup(
            issue.level,
            issue.phase,
            issue.field,
            issue.code,
            count,
            issue.message,
            issue.row,
            issue.value,
            issue.suggestion,
        )
        for count, issue in account.causes.values()
    ]
    return sorted(groups, key=lambda group: -group.count)


STYLES = {Level.ERROR: "red", Level.WARNING: "yellow"}
FORMATS = {
    "csv": "a text file with delimiters (CSV)",
    "xlsx": "a workbook (XLSX)",
    "xlsb": "a workbook (XLSB)",
    "xls": "a workbook (XLS)",
    "ods": "a spreadsheet (ODS)",
    "json": "JSON",
    "ndjson": "JSON lines (NDJSON)",
    "html": "a web page with a table (HTML)",
    "parquet": "Parquet",
}

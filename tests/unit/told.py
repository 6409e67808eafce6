"""Everything that can be told, for the tests of its translations."""

from __future__ import annotations

import ast
import functools
import re
import tempfile
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

from pydantic import EmailStr, TypeAdapter

import batchfx
from batchfx.execution.checking import portions, survey
from batchfx.execution.row_models import stated_columns
from batchfx.execution.settings import given_of, settings_of
from batchfx.model.issues import Issue
from batchfx.pipeline.reading import Complaint, known
from batchfx.pipeline.reading import refusals as refusals_of
from batchfx.pipeline.rules import CODES
from tests.cases.checking import EXPECTED, FILES, arguments_of, case_of, every_case

PACKAGE = Path(batchfx.__file__).parent
WHEN = ("past", "future")

# What makes an issue: the code is the first, second or third of its arguments.
MAKERS = frozenset(
    {
        *("Issue", "Fault", "Complaint", "SourceError", "DamagedError", "Flaw"),
        *("known", "_told", "_said", "issue", "warning"),
        *("_issue", "_warning", "_fault", "partial"),
    }
)
CODE = re.compile(
    "ambiguous|corrupt|cycle|encoding|encrypted|missing|truncated|[a-z]+(?:_[a-z0-9]+)+"
)
# Their files are large or their readers slow, and what they say is said by others.
LEFT_OUT = frozenset(
    {
        "app_duplicate_keys_in_file",
        "csv_10000_columns",
        "parquet_types",
        "xls_ints_dates_long_text",
        "xlsx_formatted_empty_rows",
    }
)

# Pydantic's own messages that a person may see, with what they are made from.
OF_PYDANTIC: list[tuple[str, dict[str, Any]]] = [
    ("missing", {}),
    ("extra_forbidden", {}),
    ("greater_than", {"gt": 1}),
    ("greater_than_equal", {"ge": 1}),
    ("less_than", {"lt": 1}),
    ("less_than_equal", {"le": 1}),
    ("multiple_of", {"multiple_of": 2}),
    ("finite_number", {}),
    ("string_type", {}),
    ("string_unicode", {}),
    ("string_too_short", {"min_length": 1}),
    ("string_too_short", {"min_length": 2}),
    ("string_too_long", {"max_length": 1}),
    ("string_too_long", {"max_length": 2}),
    ("string_pattern_mismatch", {"pattern": "^a' b$"}),
    ("string_not_ascii", {}),
    ("literal_error", {"expected": "'a', 'b' or 'c'"}),
    ("enum", {"expected": "1 or 2"}),
    ("bool_type", {}),
    ("bool_parsing", {}),
    ("int_type", {}),
    ("int_parsing", {}),
    ("int_parsing_size", {}),
    ("int_from_float", {}),
    ("float_type", {}),
    ("float_parsing", {}),
    ("decimal_type", {}),
    ("decimal_parsing", {}),
    ("decimal_max_digits", {"max_digits": 1}),
    ("decimal_max_digits", {"max_digits": 2}),
    ("decimal_max_places", {"decimal_places": 1}),
    ("decimal_max_places", {"decimal_places": 2}),
    ("decimal_whole_digits", {"whole_digits": 1}),
    ("decimal_whole_digits", {"whole_digits": 2}),
    ("date_type", {}),
    ("date_past", {}),
    ("date_future", {}),
    ("date_from_datetime_inexact", {}),
    ("time_type", {}),
    ("datetime_type", {}),
    ("datetime_past", {}),
    ("datetime_future", {}),
    ("timezone_naive", {}),
    ("timezone_aware", {}),
    ("url_parsing", {"error": "empty host"}),
    ("url_scheme", {"expected_schemes": "'http' or 'https'"}),
    ("url_too_long", {"max_length": 1}),
    ("url_too_long", {"max_length": 2}),
    ("uuid_version", {"expected_version": 4}),
]
TYPED = "n:integer,d:decimal,b:boolean,day:date,at:time,when:datetime,for:duration"
# Files that are wrong in every way that the cases are not, and what is said of them.
WRONG: dict[str, tuple[bytes, list[str]]] = {
    "values.csv": (
        (
            b"n,d,b,day,at,when,for\n"
            b"x,x,maybe,x,x,x,x\n"
            b"1.5,12 EUR,2,2024-02-30,24:61,2024-02-30 10:00,P1X\n"
            b"1E+9,7 %,ja nein,2024-W05,7h,2024-W05-1,99999999999:00:00\n"
            b'12 EUR,5 CR,?,"Monday, 3 March 2026",x,2024-01-01 10:00:00.1234567,1\n'
            b"1 23,1.2.3,,2024-W05-1,,31.12.24,\n"
            b"1'2,1'2,,31.12.24,,31.02.2024,\n"
        ),
        ["--columns", TYPED],
    ),
    "orders.csv": (
        (
            b'day,when,n\n01/02/2026,01/02/2026,"1,234"\n13/01/2026,13/01/26,1\n'
            b'01/13/2026,01/13/2026,2\n03/04/2026,03/04/2026 10:00,"12,5"\n'
        ),
        ["--columns", "day:date,when:datetime,n:decimal"],
    ),
    "either.csv": (
        b"day;n;m;both\n01/02/2026;1,234;12 EUR;1.5\n03/04/2026;5,678;7 %;2,5\n",
        ["--columns", "day:date,n:decimal,m:decimal,both:decimal"],
    ),
    "mostly.csv": (
        b"day;n\n"
        + b"".join(b"%d/01/2026;%d,5\n" % (day, day) for day in range(13, 32)) * 2
        + b"01/13/2026;1.5\n02/03/2026;1.234\n",
        ["--columns", "day:date,n:decimal"],
    ),
    "stated.csv": (
        b'day,n\n31/12/2026,"1,5"\n2026.1.1,1.5\n1/2/26,2\n',
        [
            *("--columns", "day:date,n:decimal"),
            *("--set", "date_order=mdy", "--set", "decimal=."),
        ],
    ),
    "zones.csv": (
        b"when\n2026-03-29 02:30\n2026-10-25 02:30\n0001-01-01 00:00\n",
        ["--columns", "when:datetime", "--set", "zone_for_naive=Europe/Rome"],
    ),
    "choice.csv": (
        b"kind,code\nx,1\n,1\n",
        [
            *("--columns", "kind:text,code:text", "--set", "unique=code"),
            *("--set", 'choices.kind=["a","b"]', "--set", 'required=["kind"]'),
        ],
    ),
    "no_column.csv": (b"a,b\n1,2\n", ["--columns", "c:text,d:text"]),
    "ragged.csv": (b'a,b\n1\n1,2,3\n"x" y,2\n"z\n', []),
    "empty.csv": (b"", []),
    "header.csv": (b"a,b\n", []),
    "names.csv": (b"a,a\n1,2\n", []),
    "binary.csv": (b"%PDF-1.7\n" + bytes(range(256)), []),
    "letters.csv": (b"a,b\nx\x00y,\xff\xfe\n", ["--set", "encoding=utf-8"]),
    "cut.json": (b'[{"a": 1}, {"a": ', []),
    "wrong.json": (b'[{"a": 1}, {a: 2}]', []),
    "lists.json": (b'{"x": [{"a": 1}], "y": [{"a": 2}]}', []),
    "lines.ndjson": (b'{"a": NaN}\n{"a": 1, "a": 2}\n[1]\n{"a" 1}\n', []),
    "page.html": (b"<html><table><tr><td>a</table><table><tr><td>b</table>", []),
    "nothing.html": (b"<html><body>no table</body></html>", []),
    "archive.zip": (b"PK\x03\x04 and no more", []),
}


def refusals(kind: TypeAdapter[Any], text: str) -> list[Complaint]:
    return refusals_of(kind.validator, text)  # type: ignore[arg-type]  # either one


@functools.cache
def nodes() -> tuple[tuple[Path, ast.AST], ...]:
    """Every call and every constant in the source, with its file."""
    return tuple(
        (path.relative_to(PACKAGE), node)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call | ast.Constant)
    )


def named_codes() -> Iterator[str]:
    for path, node in nodes():
        if path.parts[0] in {"cli", "web"} or not isinstance(node, ast.Call):
            continue
        named = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
        name = named.id if isinstance(named, ast.Name) else named
        if name not in MAKERS:
            continue
        keywords = [each.value for each in node.keywords if each.arg == "code"]
        for argument in [*node.args[:3], *keywords]:
            for each in ast.walk(argument):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def every_code() -> set[str]:
    """The codes that the source names, and those of Pydantic's that it makes up."""
    found = {code for code in named_codes() if CODE.fullmatch(code)}
    moments = {f"{name}_{when}" for name in ("date", "datetime") for when in WHEN}
    return found | moments | {*CODES.values()} | {"timezone_aware", "timezone_naive"}


@functools.cache
def corpus() -> tuple[Issue, ...]:
    """Every issue that `check` has with the files of the cases, each message once."""
    found: dict[tuple[str, str], Issue] = {}
    for name in every_case():
        if name in LEFT_OUT:
            continue
        (path,) = (
            path for path in FILES.glob(f"{name}.*") if EXPECTED not in path.name
        )
        for issue in issues_of(path, arguments_of(case_of(name))):
            found[issue.code, issue.message] = issue
    with tempfile.TemporaryDirectory() as folder:
        for name, (content, arguments) in WRONG.items():
            path = Path(folder, name)
            path.write_bytes(content)
            for issue in issues_of(path, arguments):
                found[issue.code, issue.message] = issue
    return tuple(found.values())


def issues_of(path: Path, arguments: list[str]) -> list[Issue]:
    said = dict(enumerate(arguments))
    pairs = [said[at + 1] for at, word in said.items() if word == "--set"]
    columns = next((said[i + 1] for i, word in said.items() if word == "--columns"), "")
    with path.open("rb") as source:
        found = survey(source, stated_columns(columns), settings_of(given_of(pairs)))
        rows = [each for part, _ in portions(source, found) for each in part.issues]
    return [*found.issues, *rows]


@functools.cache
def written_in_the_source() -> str:
    """Every text in the source, and what Pydantic says."""
    texts = [known(code, **context).message for code, context in OF_PYDANTIC]
    for kind, text in ((EmailStr, "x"), (IPv4Address, "x"), (IPv6Address, "x")):
        texts += [each.message for each in refusals(TypeAdapter(kind), text)]
    for _, node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return "\0".join(texts)

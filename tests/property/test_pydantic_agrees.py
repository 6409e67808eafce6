"""The compiled way of validating and Pydantic's own agree on every value."""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import (
    UUID4,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    EmailStr,
    Field,
    FtpUrl,
    FutureDate,
    FutureDatetime,
    HttpUrl,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    create_model,
)

from batchfx.columns import Column
from batchfx.model.issues import Issue
from batchfx.pipeline.kinds import reader_of
from batchfx.pipeline.plan import plan_of
from batchfx.pipeline.reading import Complaint, Reader
from batchfx.pipeline.validate import Validated, declared


class Colour(Enum):
    RED = "red"
    GREEN = "dark green"


class Size(IntEnum):
    SMALL = 1
    LARGE = 20


@dataclass(frozen=True)
class Kind:
    """A type, its values and the texts that mean them."""

    annotation: Any
    values: st.SearchStrategy[Any]
    texts: Callable[[Any], st.SearchStrategy[str]]
    padded: bool = True


BLANKS = st.sampled_from(["", "", " ", "\t", "\u00a0 "])
TODAY = datetime.now(tz=UTC).date()


def written(*forms: str) -> st.SearchStrategy[str]:
    return st.sampled_from(forms)


def limits(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    each = dict.fromkeys(("ge", "gt", "le", "lt"), values)
    return st.fixed_dictionaries({}, optional=each)


# Text


def text_annotation() -> st.SearchStrategy[Any]:
    sizes = st.integers(0, 6)
    patterns = written("^[A-Z]{2}$", r"\d", "b+", "^a|c$", r"^\w{1,3}$", "^$")
    rules: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
        {},
        optional={
            "min_length": sizes,
            "max_length": sizes,
            "pattern": patterns,
            "strip_whitespace": st.booleans(),
            "to_upper": st.booleans(),
            "to_lower": st.booleans(),
        },
    )
    return rules.map(lambda found: Annotated[str, StringConstraints(**found)])


TEXT = st.text(
    st.sampled_from("aAbBcC19 \t٣éßΣ\u00a0\U0001f600") | st.characters(codec="utf-8"),
    max_size=8,
)


def text_kind(annotation: Any) -> Kind:
    return Kind(annotation, TEXT, st.just, padded=False)


# Numbers

INTEGERS = st.integers(-30, 30) | st.integers() | st.integers(-(2**70), 2**70)


def integer_kind(rules: dict[str, Any]) -> Kind:
    return Kind(
        Annotated[int, Field(**rules)],
        INTEGERS,
        lambda v: written(str(v), f"{'-' if v < 0 else '+'}00{abs(v)}"),
    )


INTEGER_RULES = st.tuples(
    limits(INTEGERS), st.none() | st.integers(1, 12) | st.just(2**65)
).map(lambda pair: pair[0] | ({} if pair[1] is None else {"multiple_of": pair[1]}))

DECIMALS = (
    st.decimals(-100, 100, places=2)
    | st.decimals(-10, 10, places=0)
    | st.decimals(allow_nan=False, allow_infinity=False, places=4)
    | st.decimals(-1, 1, places=14)
    | st.integers(-(10**45), 10**45).map(lambda n: Decimal(n).scaleb(-20))
    | written("0", "0.00", "-0", "0.05", "100", "007.50", "99.99", "1.005").map(Decimal)
)
FACTORS = written("0.5", "3", "0.01", "7.25").map(Decimal)


@st.composite
def decimal_rules(draw: st.DrawFn) -> dict[str, Any]:
    rules = draw(limits(DECIMALS.filter(lambda v: abs(v) < 10**20)))
    digits = draw(st.none() | st.integers(1, 32))
    places = draw(st.none() | st.integers(0, 12))
    if digits is not None:
        rules["max_digits"] = digits
    if places is not None and (digits is None or places <= digits):
        rules["decimal_places"] = places
    factor = draw(st.none() | FACTORS)
    return rules if factor is None else {**rules, "multiple_of": factor}


def decimal_kind(rules: dict[str, Any]) -> Kind:
    return Kind(
        Annotated[Decimal, Field(**rules)], DECIMALS, lambda v: st.just(f"{v:f}")
    )


FLOATS = st.floats(-50, 50) | st.floats(allow_nan=False, allow_infinity=False)
FLOAT_RULES = st.tuples(
    limits(FLOATS), st.none() | st.sampled_from([0.5, 3.0, 0.1])
).map(lambda pair: pair[0] | ({} if pair[1] is None else {"multiple_of": pair[1]}))


def float_kind(rules: dict[str, Any]) -> Kind:
    return Kind(
        Annotated[float, Field(**rules)],
        FLOATS,
        lambda v: written(repr(v), f"{v:+.17e}"),
    )


def boolean_texts(value: bool) -> st.SearchStrategy[str]:  # noqa: FBT001 - a value
    words = "true yes y t 1 on" if value else "false no n f 0 off"
    return st.sampled_from(words.split()).flatmap(lambda w: written(w, w.upper()))


# Moments

DATES = st.dates(max_value=TODAY - timedelta(days=2)) | st.dates(
    min_value=TODAY + timedelta(days=2)
)
NAIVE = st.builds(
    datetime.combine, DATES, st.times() | st.sampled_from([time(), time(10, 30)])
)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
AWARE = st.builds(
    lambda moment, zone: moment.replace(tzinfo=zone), NAIVE, ZONES | st.just(UTC)
)


def moment_texts(value: datetime | time) -> st.SearchStrategy[str]:
    full = value.isoformat()
    forms = [full, full.replace("T", " "), full.replace("+00:00", "Z")]
    if value.second == value.microsecond == 0:
        forms.append(value.isoformat(timespec="minutes"))
    return st.sampled_from(forms)


def moment_kind(annotation: Any, values: st.SearchStrategy[Any]) -> Kind:
    return Kind(annotation, values, moment_texts)


def ruled(annotation: Any, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return limits(values).map(lambda rules: Annotated[annotation, Field(**rules)])


DURATIONS = st.timedeltas() | st.timedeltas(
    timedelta(hours=-100), timedelta(hours=100)
).map(lambda v: timedelta(seconds=v // timedelta(seconds=1)))


def duration_texts(value: timedelta) -> st.SearchStrategy[str]:
    sign, length = ("-", -value) if value < timedelta() else ("", value)
    minutes, seconds = divmod(length, timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds.seconds:02}.{seconds.microseconds:06}"
    iso = f"PT{hours}H{minutes}M{seconds.seconds}.{seconds.microseconds:06}S"
    return written(sign + clock, sign + iso)


# Identifiers and choices

UUIDS = st.uuids() | st.uuids(version=4)


def choice_texts(value: Any) -> st.SearchStrategy[str]:
    return st.just(str(value.value if isinstance(value, Enum) else value))


KINDS: st.SearchStrategy[Kind] = st.one_of(
    text_annotation().map(text_kind),
    INTEGER_RULES.map(integer_kind),
    decimal_rules().map(decimal_kind),
    FLOAT_RULES.map(float_kind),
    st.just(Kind(bool, st.booleans(), boolean_texts)),
    st.one_of(ruled(date, DATES), st.sampled_from([PastDate, FutureDate])).map(
        lambda kind: Kind(kind, DATES, lambda v: st.just(v.isoformat()))
    ),
    st.one_of(
        ruled(datetime, NAIVE | AWARE),
        ruled(AwareDatetime, NAIVE | AWARE),
        ruled(NaiveDatetime, NAIVE),
        st.sampled_from([PastDatetime, FutureDatetime]),
    ).map(lambda kind: moment_kind(kind, NAIVE | AWARE)),
    ruled(time, st.times() | st.times(timezones=ZONES)).map(
        lambda kind: moment_kind(kind, st.times() | st.times(timezones=ZONES))
    ),
    ruled(timedelta, DURATIONS).map(lambda kind: Kind(kind, DURATIONS, duration_texts)),
    st.sampled_from([UUID, UUID4]).map(
        lambda kind: Kind(kind, UUIDS, lambda v: written(str(v), str(v).upper()))
    ),
    st.just(
        Kind(Literal["a", "b c", 7], st.sampled_from(["a", "b c", 7]), choice_texts)
    ),
    st.just(Kind(Literal[1, -2], st.sampled_from([1, -2]), choice_texts)),
    st.just(Kind(Colour, st.sampled_from(Colour), choice_texts)),
    st.just(Kind(Size, st.sampled_from(Size), choice_texts)),
)


@dataclass(frozen=True)
class Case:
    """A model, rows of typed values, and the same rows as text."""

    model: type[BaseModel]
    rows: list[dict[str, Any]]
    frame: pl.DataFrame

    @property
    def positions(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.model.model_fields)}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kinds = draw(st.lists(KINDS, min_size=1, max_size=3))
    names = string.ascii_lowercase[: len(kinds)]
    fields: dict[str, Any] = {}
    for name, kind in zip(names, kinds, strict=True):
        mode = draw(st.sampled_from(["plain", "nullable", "default"]))
        annotation = kind.annotation | None if mode != "plain" else kind.annotation
        default = draw(st.none() | kind.values) if mode == "default" else ...
        fields[name] = (annotation, default)
    rows, texts = [], []
    for _ in range(draw(st.integers(1, 8))):
        row, cells = {}, {}
        for name, kind in zip(names, kinds, strict=True):
            value = draw(st.none() | kind.values | kind.values)
            cells[name] = None if value is None else draw(cell_of(kind, value))
            if value is not None or fields[name][1] is ...:
                row[name] = value
        rows.append(row)
        texts.append(cells)
    model = create_model("Row", **fields)
    schema = dict.fromkeys(names, pl.String())
    frame = pl.DataFrame(texts, schema=schema).with_row_index("row", 2)
    return Case(model, rows, frame)


@st.composite
def cell_of(draw: st.DrawFn, kind: Kind, value: Any) -> str:
    text = draw(kind.texts(value))
    return draw(BLANKS) + text + draw(BLANKS) if kind.padded else text


MISSING = ("missing", "Field required")


def told(issues: list[Issue], row: int, field: str) -> list[tuple[str, str]]:
    """Return code and message of each issue of a cell."""
    return [(i.code, i.message) for i in issues if i.row == row and i.field == field]


def pydantic_says(
    model: type[BaseModel], row: dict[str, Any]
) -> dict[str, tuple[str, str]]:
    """Return the first error of each field; a None where none is taken is missing."""
    try:
        model.model_validate(row)
    except ValidationError as refused:
        return {
            str(error["loc"][0]): MISSING
            if error["input"] is None
            else (error["type"], error["msg"])
            for error in reversed(refused.errors())
        }
    return {}


def checked(case: Case) -> Validated:
    return declared(plan_of(case.model), case.frame, case.positions)


@given(cases())
def test_a_field_has_issues_exactly_where_pydantic_has_an_error(case: Case) -> None:
    validated = checked(case)

    for number, row in enumerate(case.rows, 2):
        found = {
            name: told(validated.issues, number, name)[0]
            for name in case.model.model_fields
            if told(validated.issues, number, name)
        }
        assert found == pydantic_says(case.model, row)


@given(cases())
def test_every_rule_that_pydantic_breaks_alone_is_an_issue(case: Case) -> None:
    validated = checked(case)
    now = datetime.now().astimezone()

    for name, field in validated.plan.fields.items():
        for number, row in enumerate(case.rows, 2):
            value = row.get(name)
            if value is None:
                continue
            if field.kind == "text":  # rules are about the text without blanks
                value = field.reader.read(value, "t")
            broken = [rule.code for rule in field.rules if rule.refuses(value, now)]
            found = [code for code, _ in told(validated.issues, number, name)]
            assert found == broken


@given(cases())
def test_sound_rows_become_the_instances_that_pydantic_makes(case: Case) -> None:
    validated = checked(case)
    sound = validated.sound.to_list()
    rows = validated.rows(validated.sound)
    expected = [
        case.model.model_validate(row)
        for row, is_sound in zip(case.rows, sound, strict=True)
        if is_sound
    ]

    assert rows == expected
    for row, other in zip(rows, expected, strict=True):
        assert row.model_fields_set == other.model_fields_set
        for name, value in other:
            assert type(getattr(row, name)) is type(value)
            assert str(getattr(row, name)) == str(value)


@given(cases())
def test_the_frame_holds_the_values_that_python_gets(case: Case) -> None:
    validated = checked(case)

    for name in case.model.model_fields:
        assert validated.frame[name].to_list() == validated.values(name)


@given(cases(), st.integers(0, 8))
def test_chunking_changes_nothing(case: Case, cut: int) -> None:
    whole = checked(case)
    parts = [
        declared(plan_of(case.model), part, case.positions)
        for part in (case.frame.head(cut), case.frame.slice(cut))
    ]

    assert [issue for part in parts for issue in part.issues] == whole.issues
    for name in case.model.model_fields:
        values = [value for part in parts for value in part.values(name)]
        assert values == whole.values(name)


# Readers


NEARLY: st.SearchStrategy[str] = st.one_of(
    st.text(st.sampled_from("0123456789.-+:TZeE /"), max_size=26),
    st.from_regex(
        r"[+-]?[0-9]{1,25}(\.[0-9]{1,14})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
    st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9]"
        r"(:[0-6][0-9](\.[0-9]{1,7})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?",
        fullmatch=True,
    ),
    st.from_regex(
        r"[0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,7})?)?Z?", fullmatch=True
    ),
    st.from_regex(r"[0-3]?[0-9]\.?[01]?[0-9]\.?[0-9]{2,4}", fullmatch=True),
    st.from_regex(r"[0-9]{3,4}/[01]?[0-9]/[0-3]?[0-9]", fullmatch=True),
    st.from_regex(
        r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", fullmatch=True
    ),
    written("yes", "NO", "\u017f", "ye\u017f", "\u0663", "\uff11", "\u22121", "nan"),
)
READ: list[tuple[Any, str | None]] = [
    (int, None),
    (float, None),
    (Decimal, None),
    (Annotated[Decimal, Field(decimal_places=2)], None),
    (Annotated[Decimal, Field(decimal_places=0)], None),
    (bool, None),
    (date, None),
    (date, "%d.%m.%Y"),
    (date, "%d%m%Y"),
    (date, "%Y/%m/%d"),
    (datetime, None),
    (datetime, "%d.%m.%Y %H:%M"),
    (AwareDatetime, None),
    (time, None),
    (UUID, None),
    (Literal["yes", "NO"], None),
]


def reader_for(annotation: Any, written: str | None) -> Reader:
    schema = TypeAdapter(annotation).core_schema
    reader = reader_of(schema, Column(format=written), {})
    assert reader is not None
    return reader


@given(st.lists(NEARLY, min_size=1, max_size=20), st.sampled_from(READ))
@example(["0000-01-01", "0999-01-01", "2025-02-29", "+024-01-01"], (date, None))
@example(["31.02.2026", "1.2.2026", "01.02.0026", "2026-02-01"], (date, "%d.%m.%Y"))
@example(["23:59:60", "24:00", "10:00", "10:00:00.1234567"], (time, None))
@example(["1e999", "-1e999", "1e-999", "1_0", "0x1"], (float, None))
@example(["9" * 38, "0." + "9" * 20, "1.500", "1.005"], (Decimal, None))
def test_a_typed_column_never_differs_from_what_is_read_one_by_one(
    texts: list[str], kind: tuple[Any, str | None]
) -> None:
    reader = reader_for(*kind)
    texts = [text.strip(" ") for text in texts]
    column = pl.Series("c", texts, pl.String)
    typed = pl.DataFrame([column]).select(reader.typed(pl.col("c"))).to_series()
    typed = typed.new_from_index(0, len(texts)) if len(typed) < len(texts) else typed

    source = column.zip_with(
        typed.is_not_null(), pl.Series([None] * len(texts), dtype=pl.String)
    )
    values = reader.values(source if reader.from_text else typed)
    for text, value in zip(texts, values, strict=True):
        if value is not None:
            read = reader.read(text, "t")
            assert not isinstance(read, Complaint)
            assert (read, type(read)) == (value, type(value))


# Addresses

LOCALS = st.text(
    st.sampled_from("abzAZ09.!#+_'-\"ü "), min_size=1, max_size=12
) | written("info", "INFO", "Postmaster", "Max", "john.smith", "a" * 64)
LABELS = st.text(st.sampled_from("abzAZ09-ü_"), min_size=1, max_size=6) | written(
    "xn--mnchen-3ya", "ab--c", "a" * 63, "a" * 64
)
ENDS = written(
    "de", "com", "test", "local", "c0m", "x1", "invalid", "co.uk", "DE", "arpa"
)
ADDRESSES = st.builds(
    lambda local, labels, end: f"{local}@{'.'.join([*labels, end])}",
    LOCALS,
    st.lists(LABELS, max_size=3),
    ENDS,
)
URLS = st.builds(
    lambda scheme, labels, end, path: f"{scheme}://{'.'.join([*labels, end])}{path}",
    written("http", "https", "HTTP", "ftp"),
    st.lists(LABELS, max_size=3),
    ENDS | written("1", "127.0.0.1", "com:80", "com:8080"),
    st.text(st.sampled_from("/ab.~-_?=&%é #:@"), max_size=10),
)


def agrees(annotation: Any, texts: list[str]) -> None:
    model = create_model("Row", a=(annotation, ...))
    frame = pl.DataFrame({"a": texts}, schema={"a": pl.String}).with_row_index("row", 2)
    validated = declared(plan_of(model), frame, {"a": 0})
    for number, text in enumerate(texts, 2):
        expected = pydantic_says(model, {"a": text})
        assert told(validated.issues, number, "a") == list(expected.values())
        if not expected:
            value = validated.values("a")[number - 2]
            other = model.model_validate({"a": text}).model_dump()["a"]
            assert (value, type(value)) == (other, type(other))


@given(st.lists(ADDRESSES, min_size=1, max_size=8))
@example([f"a@{'b' * 64}.de", f"{'a' * 64}@b.de", "a@b.test", "Sales@b.de", "a.B@c.de"])
def test_an_email_address_is_what_pydantic_makes_of_it(texts: list[str]) -> None:
    agrees(EmailStr, texts)


@given(
    st.lists(URLS, min_size=1, max_size=8), st.sampled_from([HttpUrl, AnyUrl, FtpUrl])
)
@example(["http://firm.de/", "ftp://firm.de/"], FtpUrl)
def test_a_url_is_what_pydantic_makes_of_it(texts: list[str], kind: Any) -> None:
    agrees(kind, texts)

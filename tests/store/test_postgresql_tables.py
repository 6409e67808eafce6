"""What becomes of rows in a table of PostgreSQL, where SQLite differs."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from pydantic import AwareDatetime, BaseModel, Field, NaiveDatetime
from sqlalchemy.dialects.postgresql import ARRAY, CITEXT, INET, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Store, TableImporter
from batchfx.errors import StoreError
from batchfx.store.engine import connect
from batchfx.tables.driver import bind, same
from batchfx.tables.finding import find, light
from batchfx.tables.target import Target
from batchfx.tables.writing import insert, update
from tests.store.writing import codes, run, verdicts, write


class Base(DeclarativeBase):
    """The tables of this module, in a schema of their own."""

    metadata = sa.MetaData(schema="shop")


class Kind(enum.Enum):
    NEW = "new"
    OLD = "old"


class Owner(Base):
    __tablename__ = "owner"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(sa.String(8), unique=True)


class Part(Base):
    __tablename__ = "part"
    id: Mapped[int] = mapped_column(sa.Identity(always=True), primary_key=True)
    code: Mapped[str] = mapped_column(sa.String(8), unique=True)
    label: Mapped[str | None] = mapped_column(sa.String(12))
    size: Mapped[int | None]
    owner_id: Mapped[int | None] = mapped_column(sa.ForeignKey(Owner.id))
    state: Mapped[str] = mapped_column(server_default="fresh")


class PartRow(BaseModel):
    code: str
    label: str | None = None
    size: int | None = None
    owner_id: int | None = None


class Parts(TableImporter[PartRow]):
    name = "postgresql-parts"
    model = Part
    match_on = "code"
    mode = "upsert"


class NewParts(TableImporter[PartRow]):
    name = "postgresql-new-parts"
    model = Part
    match_on = "code"


class OwnedRow(BaseModel):
    code: str
    owner_id: Annotated[str | None, Column("owner", lookup=Owner.code)] = None


class OwnedParts(TableImporter[OwnedRow]):
    name = "postgresql-owned-parts"
    model = Part
    match_on = "code"
    mode = "upsert"


class SecretRow(BaseModel):
    code: str
    label: Annotated[str, Column(sensitive=True)]
    size: Annotated[int | None, Column(sensitive=True)] = None


class SecretParts(TableImporter[SecretRow]):
    name = "postgresql-secret-parts"
    model = Part


class Stock(Base):
    """One column of each kind that PostgreSQL has of its own."""

    __tablename__ = "stock"
    id: Mapped[UUID] = mapped_column(
        primary_key=True, server_default=sa.func.gen_random_uuid()
    )
    code: Mapped[str] = mapped_column(CITEXT, unique=True)
    kind: Mapped[Kind]
    amount: Mapped[Decimal] = mapped_column(sa.Numeric(10, 2))
    share: Mapped[float] = mapped_column(sa.REAL)
    day: Mapped[date]
    seen: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True))
    noted: Mapped[datetime]
    sign: Mapped[str] = mapped_column(sa.CHAR(4))
    tags: Mapped[list[str]] = mapped_column(ARRAY(sa.String))
    more: Mapped[dict[str, Any]] = mapped_column(JSONB)
    is_new: Mapped[bool]
    number: Mapped[int] = mapped_column(sa.BigInteger)


class StockRow(BaseModel):
    code: str
    kind: Kind


class Stocks(TableImporter[StockRow]):
    name = "postgresql-stocks"
    model = Stock
    match_on = "code"
    mode = "update"


def stock_values(size: int) -> dict[str, list[Any]]:
    """Values of every column, as the driver takes them."""
    return {
        "code": [f"S{i}" for i in range(size)],
        "kind": ["NEW"] * size,
        "amount": [Decimal("0.10")] * size,
        "share": [0.1] * size,
        "day": [date(2024, 2, 29)] * size,
        "seen": [datetime(2024, 2, 29, 12, 0, tzinfo=UTC)] * size,
        "noted": [datetime(2024, 2, 29, 12, 0)] * size,  # noqa: DTZ001 - as stored
        "sign": ["ab"] * size,
        "tags": [["x", "y,\"z'"], []][:size],
        "more": [json.dumps({"a": [1, None]})] * size,
        "is_new": [True] * size,
        "number": [2**40] * size,
    }


class Ticket(Base):
    __tablename__ = "ticket"
    id: Mapped[int] = mapped_column(
        sa.Sequence("ticket_numbers", start=100, metadata=Base.metadata),
        primary_key=True,
    )
    code: Mapped[str]
    turn: Mapped[int] = mapped_column(sa.Sequence("turns", metadata=Base.metadata))


class TicketRow(BaseModel):
    code: str


class Tickets(TableImporter[TicketRow]):
    name = "postgresql-tickets"
    model = Ticket


class Loose(Base):
    """Columns that hold less, or something else, than the fields of a row."""

    __tablename__ = "loose"
    code: Mapped[str] = mapped_column(sa.CHAR(4), primary_key=True)
    flag: Mapped[int]
    day: Mapped[datetime]
    cost: Mapped[Decimal] = mapped_column(sa.Numeric(10, 2))
    part: Mapped[float]
    seen: Mapped[datetime] = mapped_column(sa.DateTime(timezone=True))
    noted: Mapped[datetime]
    address: Mapped[str] = mapped_column(INET)
    data: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    raw: Mapped[bytes] = mapped_column(server_default="")
    words: Mapped[list[str]] = mapped_column(ARRAY(sa.String), server_default="{}")


class LooseRow(BaseModel):
    code: str
    flag: bool
    day: date
    cost: float
    part: Annotated[Decimal, Field(decimal_places=2)]
    seen: NaiveDatetime
    noted: AwareDatetime
    address: str


class Looses(TableImporter[LooseRow]):
    name = "postgresql-looses"
    model = Loose
    match_on = "code"
    mode = "upsert"


STOCK = Stocks.target.table
PART = Parts.target.table
WHOLE = Target(STOCK, "upsert", dict(STOCK.columns), {}, ("code",), ())


@pytest.fixture
def store(postgresql: str) -> Iterator[Store]:
    """A database with the tables of this module, and one owner."""
    opened = connect(postgresql)
    run(opened, "CREATE EXTENSION citext", "CREATE SCHEMA shop")
    with opened.write() as connection:
        Base.metadata.create_all(connection)
        connection.execute(sa.insert(Owner), {"code": "acme"})
    yield opened
    opened.close()


def parts(store: Store, *names: str) -> list[tuple[Any, ...]]:
    """Return the named columns of all parts, by code."""
    columns = [PART.c[name] for name in names or ("code",)]
    with store.read() as connection:
        found = connection.execute(sa.select(*columns).order_by(Part.code))
        return [tuple(row) for row in found]


# --- Keys ----------------------------------------------------------------------------


def test_numbers_come_from_the_identity_and_the_rest_from_the_server(
    store: Store,
) -> None:
    first = write(store, Parts, "code label", [("b", "x"), ("a", "y")])
    run(store, "ALTER SEQUENCE shop.part_id_seq RESTART WITH 40")
    second = write(store, Parts, "code label", [("c", "x")])

    assert verdicts(first) == [(2, "created", "1"), (3, "created", "2")]
    assert verdicts(second) == [(2, "created", "40")]
    assert parts(store, "id", "code", "state") == [
        (2, "a", "fresh"),
        (1, "b", "fresh"),
        (40, "c", "fresh"),
    ]


def test_numbers_come_from_sequences_that_only_the_model_knows(store: Store) -> None:
    decision = write(store, Tickets, "code", [("b",), ("a",)])

    assert verdicts(decision) == [(2, "created", "100"), (3, "created", "101")]
    with store.read() as connection:
        found = connection.execute(sa.select(Ticket.code, Ticket.turn)).all()
    assert sorted(map(tuple, found)) == [("a", 2), ("b", 1)]


def test_a_key_without_a_default_in_the_database_stops_the_chunk(store: Store) -> None:
    run(store, "ALTER TABLE shop.part ALTER id DROP IDENTITY")

    with pytest.raises(StoreError, match=r"id of shop\.part is in the primary key"):
        write(store, Parts, "code", [("a",)])


# --- Types ---------------------------------------------------------------------------


def test_every_kind_of_column_keeps_its_value_and_is_found_by_it(store: Store) -> None:
    values = stock_values(2)
    with store.write() as connection:
        keys, errors = insert(connection, WHOLE, values)
        assert errors == {}
        changed: dict[str, list[Any]] = {
            "tags": [["q"]],
            "amount": [Decimal("0.20")],
            "more": [json.dumps({"b": 1})],
        }
        assert update(connection, WHOLE, [keys[1]], changed, list(values)) == {}
        for name in ("code", "kind", "amount", "share", "day", "seen", "noted"):
            column = STOCK.c[name]
            places = find(connection, STOCK, [column], values[name][:1], [STOCK.c.id])
            assert (0, keys[0][0]) in [tuple(row) for row in places], name
        found = connection.execute(sa.select(*STOCK.columns).order_by(Stock.code)).all()

    seen, noted = values["seen"][0], values["noted"][0]
    assert tuple(found[0]) == (
        *keys[0],
        "S0",
        Kind.NEW,
        Decimal("0.10"),
        pytest.approx(0.1),
        date(2024, 2, 29),
        seen,
        noted,
        "ab  ",
        ["x", "y,\"z'"],
        {"a": [1, None]},
        True,
        2**40,
    )
    assert found[1].tags == ["q"]
    assert found[1].amount == Decimal("0.20")
    assert found[1].more == {"b": 1}
    assert isinstance(keys[0][0], UUID)


DROPPED = ("flag", "day", "cost", "part", "seen", "noted", "address")
LOOSE = ("ab", "yes", "2024-02-29", "1.005", "0.10", "2024-02-29T12:00:00")


def test_values_of_a_wider_kind_are_stored_and_are_the_same_when_they_come_again(
    store: Store,
) -> None:
    fields = "code flag day cost part seen noted address"
    row = (*LOOSE, "2024-02-29T13:00:00+01:00", "10.0.0.1")

    first = write(store, Looses, fields, [row])
    again = write(store, Looses, fields, [row])
    other = write(store, Looses, fields, [(*row[:3], "1.02", *row[4:])])

    assert [verdicts(each)[0][1] for each in (first, again, other)] == [
        "created",
        "unchanged",
        "updated",
    ]
    with store.read() as connection:
        found = connection.execute(sa.select(*Loose.__table__.columns)).one()
    assert tuple(found)[:7] == (
        "ab  ",
        1,
        datetime(2024, 2, 29),  # noqa: DTZ001 - as stored
        Decimal("1.02"),
        0.1,
        datetime(2024, 2, 29, 12, 0, tzinfo=UTC),
        datetime(2024, 2, 29, 12, 0),  # noqa: DTZ001 - as stored
    )


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("data", {"a": [1, None, "\u00e4"]}, {"a": [1, None, "a"]}),
        ("data", None, {}),
        ("raw", b"\0\xff", b"\0"),
        ("words", ["a", "b,c"], ["a", "b"]),
        ("address", "10.0.0.1", "10.0.0.2"),
        ("code", "ab", "abc"),
        ("cost", Decimal("1.005"), Decimal("1.02")),
        ("cost", Decimal("NaN"), Decimal(1)),
    ],
)
def test_a_stored_value_is_known_again(
    store: Store, name: str, value: Any, other: Any
) -> None:
    table, column = Looses.target.table, Looses.target.table.c[name]
    run(store, *(f"ALTER TABLE shop.loose ALTER {c} DROP NOT NULL" for c in DROPPED))
    dialect = store.engine.dialect
    (bound, unlike), errors = bind(column, dialect, [value, other])
    assert errors == {}
    target = Target(table, "create", {"code": table.c.code, name: column}, {}, (), ())

    with store.write() as connection:
        insert(connection, target, {"code": ["k"], name: [bound]})
        plain = light(table, [column])
        found = connection.execute(sa.select(plain.c[name])).scalar()

    is_same = same(column, dialect)
    assert is_same(bound, found) is not (name == "cost" and value.is_nan())
    assert not is_same(unlike, found)


def test_texts_are_equal_whatever_their_case_where_the_column_says_so(
    store: Store,
) -> None:
    with store.write() as connection:
        insert(connection, WHOLE, stock_values(2))

    decision = write(
        store, Stocks, "code kind", [("s0", "old"), ("S0", "new"), ("s1", "new")]
    )

    assert [each[1] for each in verdicts(decision)] == [
        "updated",
        "unchanged",
        "unchanged",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("code", "far longer than it may be"),
        ("code", "a\0"),
        ("size", 2**31),
        ("size", 2**70),
        ("size", None),
    ],
)
def test_a_value_that_no_record_can_have_is_not_found(
    store: Store, name: str, value: Any
) -> None:
    run(store, "INSERT INTO shop.part (code, size) VALUES ('far long', 1)")

    with store.read() as connection:
        column = PART.c[name]
        assert find(connection, PART, [column], [value], [PART.c.id]) == []


def test_a_label_that_an_enumeration_lacks_is_not_found(store: Store) -> None:
    column = STOCK.c.kind

    with store.read() as connection:
        assert find(connection, STOCK, [column], ["ODD"], [STOCK.c.id]) == []


# --- NUL -----------------------------------------------------------------------------


def test_a_row_with_a_nul_in_a_text_is_told_so_and_its_neighbours_are_stored(
    store: Store,
) -> None:
    rows = [("a", "x"), ("b", "y\0z"), ("c\0", "x"), ("d", "x")]

    decision = write(store, Parts, "code label", rows)

    assert [each[:2] for each in verdicts(decision)] == [
        (2, "created"),
        (3, "invalid"),
        (4, "invalid"),
        (5, "created"),
    ]
    assert codes(decision) == [
        (3, "label", "nul_character"),
        (4, "code", "nul_character"),
    ]
    assert decision.issues[0].message == (
        "It holds the character NUL (U+0000), which PostgreSQL can't store in a text. "
        "Remove it from the file."
    )
    assert parts(store) == [("a",), ("d",)]


def test_a_name_with_a_nul_is_the_name_of_no_record(store: Store) -> None:
    rows = [("a", "acme\0"), ("b", "acme")]

    decision = write(store, OwnedParts, "code owner_id", rows)

    assert verdicts(decision) == [(2, "invalid", None), (3, "created", "1")]
    assert codes(decision) == [(2, "owner_id", "not_found")]


# --- What the database refuses -------------------------------------------------------

RULES = (
    "ALTER TABLE shop.part ALTER size SET NOT NULL",
    "ALTER TABLE shop.part ADD CONSTRAINT no_x CHECK (label <> 'x')",
    "CREATE UNIQUE INDEX one_label ON shop.part (lower(label)) WHERE label LIKE 'u%%'",
    "INSERT INTO shop.part (code, label, size) VALUES ('', 'uno', 1)",
)
FAULTY = {
    # fault: label, size, owner; the field and the code of its issue
    "missing": (None, None, "1", "size", "constraint_violation"),
    "check": ("x", "1", "1", None, "constraint_violation"),
    "long": ("thirteen char", "1", "1", "label", "constraint_violation"),
    "large": (None, str(2**31), "1", "size", "constraint_violation"),
    "orphan": (None, "1", "99", "owner_id", "constraint_violation"),
    "twin": ("uNO", "1", "1", None, "unique_violation"),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_each_faulty_row_of_many_has_the_error_that_is_its_own(
    store: Store, fault: str
) -> None:
    run(store, *RULES)
    label, size, owner, field, code = FAULTY[fault]
    bad = {0, 1, 77, 130, 131, 132, 299}
    rows = [
        (f"c{i}", label, size, owner) if i in bad else (f"c{i}", f"u{i}", "1", "1")
        for i in range(300)
    ]

    decision = write(store, Parts, "code label size owner_id", rows, first=0)

    failed = {each.row for each in decision.outcomes if each.verdict == "failed"}
    created = {each.row for each in decision.outcomes if each.verdict == "created"}
    assert failed == bad
    assert created == set(range(300)) - bad
    assert codes(decision) == [(row, field, code) for row in sorted(bad)]
    assert sorted(parts(store)) == sorted(
        [("",), *((f"c{i}",) for i in range(300) if i not in bad)]
    )


@pytest.mark.parametrize("fault", FAULTY)
def test_each_faulty_change_of_many_has_the_error_that_is_its_own(
    store: Store, fault: str
) -> None:
    run(store, *RULES)
    label, size, owner, field, code = FAULTY[fault]
    good = [(f"c{i}", f"u{i}", "1", "1") for i in range(300)]
    write(store, Parts, "code label size owner_id", good)
    bad = {3, 130, 131, 299}
    rows = [
        (f"c{i}", label, size, owner) if i in bad else (f"c{i}", f"v{i}", "2", "1")
        for i in range(300)
    ]

    decision = write(store, Parts, "code label size owner_id", rows, first=0)

    failed = {each.row for each in decision.outcomes if each.verdict == "failed"}
    assert failed == bad
    assert {e.verdict for e in decision.outcomes if e.row not in bad} == {"updated"}
    assert codes(decision) == [(row, field, code) for row in sorted(bad)]
    assert set(parts(store, "code", "size")) == {
        ("", 1),
        *((f"c{i}", 1 if i in bad else 2) for i in range(300)),
    }


def test_what_is_put_off_to_the_commit_is_said_of_the_row(store: Store) -> None:
    run(
        store,
        "ALTER TABLE shop.part ADD CONSTRAINT one_size UNIQUE (size) "
        "DEFERRABLE INITIALLY DEFERRED",
    )

    decision = write(store, Parts, "code size", [("a", "1"), ("b", "1"), ("c", "2")])

    assert [each[:2] for each in verdicts(decision)] == [
        (2, "created"),
        (3, "failed"),
        (4, "created"),
    ]
    assert codes(decision) == [(3, "size", "unique_violation")]


def test_a_refusal_shows_no_other_cell_and_no_sensitive_one(store: Store) -> None:
    run(store, "ALTER TABLE shop.part ADD CHECK (label <> 'psst')")

    decision = write(
        store,
        SecretParts,
        "code label size",
        [("a", "psst", "1"), ("b", "x", "99999999999"), ("c", "y", "7")],
    )

    assert codes(decision) == [
        (2, None, "constraint_violation"),
        (3, "size", "constraint_violation"),
    ]
    assert decision.issues[1].message == (
        'The database refused the row: value "•••" is out of range for type integer.'
    )
    shown = repr(decision.issues)
    assert "psst" not in shown
    assert "99999999999" not in shown
    detail = decision.issues[0].detail or ""
    assert detail.startswith("Traceback (most recent call last):\n")
    assert detail.endswith(
        'CheckViolation: new row for relation "part" violates check constraint '
        '"part_label_check"\n'
    )


def test_a_table_that_leaves_rows_out_in_silence_stops_the_chunk(store: Store) -> None:
    run(
        store,
        "CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN NULL; END $$",
        "CREATE TRIGGER silent BEFORE INSERT ON shop.part FOR EACH ROW "
        "WHEN (new.code = 'b') EXECUTE FUNCTION skip()",
    )

    with pytest.raises(StoreError, match="stored 1 of 2 rows, refusing none"):
        write(store, Parts, "code", [("a",), ("b",)])

    assert parts(store) == []


def change_new_parts(store: Store, change: str) -> None:
    run(
        store,
        "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {change}; RETURN new; END $$",
        "CREATE TRIGGER change BEFORE INSERT ON shop.part FOR EACH ROW "
        "EXECUTE FUNCTION change()",
    )


def test_a_trigger_may_change_what_is_stored(store: Store) -> None:
    change_new_parts(store, "new.label := 'changed'")

    decision = write(store, Parts, "code label", [("a", "x"), ("b", "y")])

    assert verdicts(decision) == [(2, "created", "1"), (3, "created", "2")]
    assert parts(store, "id", "label") == [(1, "changed"), (2, "changed")]


def test_a_trigger_that_changes_the_key_stops_the_chunk(store: Store) -> None:
    change_new_parts(store, "new.id := new.id + 1000")

    with pytest.raises(StoreError, match=r"of shop\.part changes the primary key"):
        write(store, Parts, "code", [("a",), ("b",)])

    assert parts(store) == []


def test_a_missing_right_is_no_fault_of_a_row(store: Store) -> None:
    run(store, "CREATE ROLE reader", "GRANT USAGE ON SCHEMA shop TO reader")
    run(store, "GRANT SELECT ON shop.part, shop.part_id_seq TO reader")
    run(store, "GRANT USAGE ON SEQUENCE shop.part_id_seq TO reader")

    def insert_as_reader() -> None:
        with store.write() as connection:
            connection.exec_driver_sql("SET LOCAL ROLE reader")
            insert(connection, Parts.target, {"code": ["a"], "label": ["x"]})

    try:
        with pytest.raises(StoreError, match="permission denied for table part"):
            insert_as_reader()
    finally:
        run(store, "DROP OWNED BY reader", "DROP ROLE reader")


def test_a_column_that_is_gone_is_no_fault_of_a_row(store: Store) -> None:
    run(store, "ALTER TABLE shop.part DROP COLUMN label")

    with pytest.raises(sa.exc.ProgrammingError), store.write() as connection:
        insert(connection, Parts.target, {"code": ["a", "b"], "label": ["x", "y"]})


# --- What COPY can't fill ------------------------------------------------------------


def test_a_row_that_a_policy_of_the_table_refuses_fails_alone(store: Store) -> None:
    run(
        store,
        "CREATE ROLE tenant",
        "GRANT USAGE ON SCHEMA shop TO tenant",
        "GRANT ALL ON shop.part, shop.part_id_seq TO tenant",
        "ALTER TABLE shop.part ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY small ON shop.part USING (size < 10)",
    )

    try:
        with store.write() as connection:
            connection.exec_driver_sql("SET LOCAL ROLE tenant")
            keys, errors = insert(
                connection,
                Parts.target,
                {"code": ["a", "b", "c"], "size": [1, 10, 2]},
            )
            changes = update(
                connection,
                Parts.target,
                [keys[0], keys[2]],
                {"size": [11, 3]},
                ["code", "size"],
            )
    finally:
        run(store, "DROP OWNED BY tenant", "DROP ROLE tenant")

    assert list(errors) == [1]
    assert list(changes) == [0]
    assert "row-level security policy" in str(errors[1])
    assert parts(store, "code", "size") == [("a", 1), ("c", 3)]


def test_rows_are_stored_through_a_view(store: Store) -> None:
    run(
        store,
        "ALTER TABLE shop.part RENAME TO part_table",
        "CREATE VIEW shop.part AS SELECT * FROM shop.part_table WHERE code <> 'z' "
        "WITH CHECK OPTION",
        "ALTER VIEW shop.part ALTER id SET DEFAULT nextval('shop.part_id_seq')",
    )

    decision = write(store, Parts, "code size", [("a", "1"), ("z", "2"), ("b", "3")])

    assert verdicts(decision) == [
        (2, "created", "1"),
        (3, "failed", None),
        (4, "created", "3"),
    ]
    assert parts(store, "id", "code") == [(1, "a"), (3, "b")]

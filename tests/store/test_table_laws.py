"""What holds of a table whatever the rows and their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from batchfx import Column, Store, TableImporter
from batchfx.model.verdicts import Decision
from batchfx.store.engine import connect
from tests.store.writing import write

FEW = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Base(DeclarativeBase):
    """The tables of this module."""


class Badge(Base):
    __tablename__ = "badge"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(unique=True)
    number: Mapped[str | None] = mapped_column(unique=True)


class BadgeRow(BaseModel):
    owner: str
    number: str | None = None


class Badges(TableImporter[BadgeRow]):
    name = "law-badges"
    model = Badge
    match_on = "owner"
    mode = "upsert"


class Leaf(Base):
    __tablename__ = "leaf"
    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(unique=True)
    parent_id: Mapped[int | None] = mapped_column(sa.ForeignKey("leaf.id"))


class LeafRow(BaseModel):
    code: str
    parent_id: Annotated[str | None, Column("parent", lookup=Leaf.code)] = None


class Leaves(TableImporter[LeafRow]):
    name = "law-leaves"
    model = Leaf
    match_on = "code"
    mode = "upsert"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A database with the tables of this module, on each of the two in turn."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('laws') / 'test.db'}"
    else:
        url = request.getfixturevalue("make_postgresql")()
    opened = connect(url)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def badges(store: Store) -> dict[str, str | None]:
    with store.read() as connection:
        found = connection.execute(sa.select(Badge.owner, Badge.number))
        return {row.owner: row.number for row in found}


def leaves(store: Store) -> dict[str, str | None]:
    wider = sa.orm.aliased(Leaf)
    statement = sa.select(Leaf.code, wider.code.label("wider")).join(
        wider, Leaf.parent_id == wider.id, isouter=True
    )
    with store.read() as connection:
        return {row.code: row.wider for row in connection.execute(statement)}


def clear(store: Store) -> None:
    with store.write() as connection:
        connection.execute(sa.delete(Badge))
        connection.execute(sa.update(Leaf).values(parent_id=None))
        connection.execute(sa.delete(Leaf))


def holders() -> st.SearchStrategy[dict[str, str | None]]:
    """Owners with numbers, each number once."""
    numbers = st.one_of(st.none(), st.sampled_from("123456"))
    pairs = st.lists(
        st.tuples(st.sampled_from("abcdef"), numbers),
        unique_by=(lambda pair: pair[0], lambda pair: pair[1] or id(pair)),
    )
    return pairs.map(dict)


@FEW
@given(before=holders(), rows=holders())
def test_good_rows_are_in_the_table_and_bad_ones_wanted_what_another_has(
    store: Store, before: dict[str, str | None], rows: dict[str, str | None]
) -> None:
    clear(store)
    write(store, Badges, "owner number", list(before.items()))

    decision = write(store, Badges, "owner number", list(rows.items()))

    after = badges(store)
    owners = list(rows)
    verdict = {owners[o.row - 2]: o.verdict for o in decision.outcomes}
    assert list(verdict) == owners
    for owner, number in rows.items():
        if verdict[owner] == "invalid":
            others = {n for name, n in after.items() if name != owner}
            assert number in others
            assert after.get(owner) == before.get(owner)
        else:
            assert after[owner] == number
            assert (verdict[owner] == "created") == (owner not in before)
            assert (verdict[owner] == "unchanged") == (
                before.get(owner, owner) == number
            )
    assert {o: n for o, n in after.items() if o not in rows} == {
        o: n for o, n in before.items() if o not in rows
    }


@st.composite
def forests(draw: st.DrawFn) -> list[tuple[str, str | None]]:
    """Codes, each with the code of its parent, in any order."""
    count = draw(st.integers(1, 12))
    wider = [draw(st.integers(-1, i - 1)) for i in range(count)]
    pairs = [(str(i), None if w < 0 else str(w)) for i, w in enumerate(wider)]
    return draw(st.permutations(pairs))


@FEW
@given(rows=forests(), size=st.integers(1, 12))
def test_a_tree_is_the_same_whatever_the_order_and_the_chunks(
    store: Store, rows: list[tuple[str, str | None]], size: int
) -> None:
    clear(store)
    chunks = [list(range(i, len(rows)))[:size] for i in range(0, len(rows), size)]
    decided: list[Decision] = []
    for _ in range(len(rows)):
        for places in chunks:
            decision = write(
                store,
                Leaves,
                "code parent_id",
                [rows[place] for place in places],
                first=0,
            )
            decided.append(decision)
            places[:] = [places[number] for number in decision.waiting]

    assert chunks == [[] for _ in chunks]
    assert leaves(store) == dict(rows)
    assert {o.verdict for each in decided for o in each.outcomes} == {"created"}
    assert sum(len(each.outcomes) for each in decided) == len(rows)

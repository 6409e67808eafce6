"""Two versions of an importer at once: what fits a batch, and what is told of the rest.

The batch is begun with `PersonImporter`; each other version goes by its name.
"""

from __future__ import annotations

import io
from datetime import date
from typing import Annotated, Any, Literal

import pytest
import sqlalchemy as sa
from pydantic import BaseModel, Field

from batchfx import (
    BatchKey,
    Column,
    Context,
    Importer,
    Notation,
    Options,
    Store,
    import_source,
    report,
    rerun,
)
from batchfx.errors import MisfitError
from batchfx.execution.run import run_claim
from batchfx.execution.versions import versions_of
from batchfx.execution.waiting import Wait
from batchfx.model.access import FOREVER, Identity
from batchfx.store import access, claims
from batchfx.store.claims import Claim
from batchfx.store.schema import BATCH, CHUNK
from tests.people import Base, PersonImporter, PersonRow

TENANT, NAME, WORKER = "acme", PersonImporter.name, "w1"
CONTENT = b"Code,Name,Age\nA,Ann,1\nB,Bob,2\nC,Cid,3\n"


class Sound:
    """What every version does with a row."""

    def process(self, row: Any, context: Context) -> str:
        """Accept it."""
        del context
        return str(row.code)


class FixedRow(PersonRow):
    """With another rule, other words, and a field that may be left out."""

    name: Annotated[Literal["Ann", "Bob", "Cid"], Column("Name", null_tokens=["-"])]
    age: Annotated[int, Field(le=200), Column("Age")]
    email: Annotated[str | None, Column("Email")] = None


class FixedImporter(Sound, Importer[FixedRow]):
    """A version that was mended: it fits."""

    name = "fixed"

    def check_code(self, value: str) -> None:
        """Check otherwise than before."""


class EmailRow(PersonRow):
    """With a field more, which is required."""

    email: Annotated[str, Column("Email")]


class EmailImporter(Sound, Importer[EmailRow]):
    """A version that requires what the file hasn't."""

    name = "email"


class AgelessRow(BaseModel):
    """With a field less."""

    code: Annotated[str, Column("Code", unique=True)]
    name: Annotated[str, Column("Name")]


class AgelessImporter(Sound, Importer[AgelessRow]):
    """A version that has no use for what was mapped."""

    name = "ageless"


class DateRow(AgelessRow):
    """With another kind of values."""

    age: Annotated[date, Column("Age")]


class DateImporter(Sound, Importer[DateRow]):
    """A version that reads the ages as days."""

    name = "days"


class CommaImporter(Sound, Importer[PersonRow]):
    """A version that reads numbers otherwise."""

    name = "comma"
    notation = Notation(decimal=",")


class UniqueRow(AgelessRow):
    """With another field whose values are all different."""

    name: Annotated[str, Column("Name", unique=True)]
    age: Annotated[int, Column("Age")]


class UniqueImporter(Sound, Importer[UniqueRow]):
    """A version that wants names to be unique."""

    name = "unique"


BEGUN = (
    f"The importer '{NAME}' is not of the version that batch 1 was begun with: "
    "{0}. Start a worker with that version, or {1}."
)
CANCEL = "cancel it ('batchfx cancel 1') and import its file with this one"
ANEW = "begin it anew with this one ('batchfx rerun 1')"
Version = type[Importer[Any]]
LACKING: dict[Version, str] = {
    EmailImporter: "it requires 'email', for which no column was mapped",
    AgelessImporter: "it has no 'age', for which a column was mapped",
}
DIFFERENT: dict[Version, str] = {
    DateImporter: "it reads 'age' as date, not as integer",
    CommaImporter: "it reads 'age' in another notation",
    UniqueImporter: "it wants other fields to be unique",
}
MISFITS: dict[Version, str] = {
    **{each: BEGUN.format(why, CANCEL) for each, why in LACKING.items()},
    **{each: BEGUN.format(why, ANEW) for each, why in DIFFERENT.items()},
}


@pytest.fixture
def waiting(store: Store) -> BatchKey:
    """A batch that workers may take; one of them has been let in."""
    with store.write() as connection:
        Base.metadata.create_all(connection)
        everything = frozenset({"*"})
        identity = Identity("w", everything, everything, FOREVER, None)
        access.enter(connection, WORKER, identity, "1")
    return import_source(
        store,
        PersonImporter,
        io.BytesIO(CONTENT),
        name="p.csv",
        options=Options(tenant=TENANT, chunk_size=1),
        detached=True,
    ).key


def install(patch: pytest.MonkeyPatch, version: Version) -> None:
    """Have *version* under the name of the importer."""
    patch.setattr("batchfx.importer._REGISTER", {NAME: version})


def tell(store: Store, worker: str, version: Version) -> None:
    with store.write() as connection:
        access.seen(connection, worker, versions_of({NAME: version}))


def claim(store: Store, *besides: int) -> Claim | None:
    with store.write() as connection:
        found = claims.fair(
            connection, WORKER, [NAME], 30.0, besides=frozenset(besides)
        )
    return found[0] if found else None


def give_back(store: Store, claimed: Claim) -> None:
    with store.write() as connection:
        assert claims.release(connection, claimed)


def drain(store: Store) -> None:
    while (found := claim(store)) is not None:
        run_claim(store, found)


@pytest.mark.parametrize("version", MISFITS)
def test_a_version_that_does_not_fit_touches_nothing_and_the_fitting_one_goes_on(
    store: Store, waiting: BatchKey, monkeypatch: pytest.MonkeyPatch, version: Version
) -> None:
    for _ in range(2):  # the preparation first, then a chunk
        found = claim(store)
        assert found is not None
        with monkeypatch.context() as patch:
            install(patch, version)
            with pytest.raises(MisfitError) as refused:
                run_claim(store, found)
        assert str(refused.value) == MISFITS[version]
        give_back(store, found)
        again = claim(store)
        assert again is not None
        run_claim(store, again)
    drain(store)
    ended = report(store, waiting)
    assert (ended.batch.state, ended.tally.created) == ("completed", 3)
    with store.read() as connection:
        charged = connection.execute(
            sa.select(sa.func.sum(CHUNK.c.failures), sa.func.sum(CHUNK.c.losses))
        ).one()
    assert tuple(charged) == (0, 0)


def test_a_version_that_was_mended_goes_on(
    store: Store, waiting: BatchKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = claim(store)
    assert found is not None
    run_claim(store, found)
    install(monkeypatch, FixedImporter)
    drain(store)
    ended = report(store, waiting)
    assert (ended.batch.state, ended.tally.created) == ("completed", 3)


def test_a_batch_of_which_nothing_is_known_is_judged_by_its_columns(
    store: Store, waiting: BatchKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.write() as connection:
        connection.execute(sa.update(BATCH).values(version=None))
    install(monkeypatch, EmailImporter)
    found = claim(store)
    assert found is not None
    with pytest.raises(MisfitError, match="requires 'email'"):
        run_claim(store, found)
    install(monkeypatch, UniqueImporter)
    run_claim(store, found)
    drain(store)
    assert report(store, waiting).batch.state == "completed"


@pytest.mark.parametrize("version", MISFITS)
def test_a_batch_says_that_no_worker_has_a_version_that_fits(
    store: Store, waiting: BatchKey, version: Version
) -> None:
    tell(store, WORKER, version)
    found = report(store, waiting)
    assert (found.waits_for, found.why) == (Wait.VERSION, MISFITS[version])
    everything = frozenset({"*"})
    with store.write() as connection:
        identity = Identity("w", everything, everything, FOREVER, None)
        access.enter(connection, "w2", identity, "1")
    assert report(store, waiting).waits_for == Wait.TURN  # it may have a fitting one
    tell(store, "w2", version)
    assert report(store, waiting).waits_for == Wait.VERSION
    tell(store, "w2", FixedImporter)
    found = report(store, waiting)
    assert (found.waits_for, found.why) == (Wait.TURN, None)


@pytest.mark.parametrize("version", LACKING)
def test_a_rerun_with_a_version_that_lacks_something_is_refused_with_the_same_sentence(
    store: Store, waiting: BatchKey, monkeypatch: pytest.MonkeyPatch, version: Version
) -> None:
    install(monkeypatch, version)
    with pytest.raises(MisfitError) as refused:
        rerun(store, waiting)
    assert str(refused.value) == MISFITS[version]
    assert report(store, waiting).batch.attempt == 1


@pytest.mark.parametrize("version", [FixedImporter, CommaImporter, UniqueImporter])
def test_a_rerun_takes_the_batch_over_for_the_version_that_is_here(
    store: Store, waiting: BatchKey, monkeypatch: pytest.MonkeyPatch, version: Version
) -> None:
    install(monkeypatch, version)
    rerun(store, waiting, detached=True)
    tell(store, WORKER, version)
    assert report(store, waiting).waits_for == Wait.TURN
    tell(store, WORKER, PersonImporter)
    is_misfit = version is not FixedImporter
    assert (report(store, waiting).waits_for == Wait.VERSION) is is_misfit
    drain(store)
    ended = report(store, waiting)
    assert (ended.batch.state, ended.tally.created) == ("completed", 3)


def test_a_batch_that_is_left_to_others_keeps_no_other_waiting(
    store: Store, waiting: BatchKey
) -> None:
    other = import_source(
        store,
        PersonImporter,
        io.BytesIO(CONTENT + b"D,Dan,4\n"),
        name="q.csv",
        options=Options(tenant=TENANT),
        detached=True,
    ).key
    found = claim(store, waiting.number)
    assert found is not None
    assert found.key == other
    assert claim(store, waiting.number) is None
    left = claim(store)
    assert left is not None
    assert left.key == waiting

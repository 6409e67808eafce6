"""What the web refuses, told in every language: each refusal really happens here."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from batchfx import (
    BatchKey,
    Context,
    Importer,
    Options,
    Store,
    cancel,
    import_source,
    open_store,
    pause,
    rerun,
    resume,
)
from batchfx.errors import BatchfxError
from batchfx.execution import browse, downloads, edits, operate, versions
from batchfx.execution.drafts import draft, redraft, start, view
from batchfx.execution.follow import place_of
from batchfx.execution.settings import CHOICE, OPTIONS, given_of, settings_of
from batchfx.model.states import BatchState
from batchfx.model.switches import SwitchScope
from batchfx.model.translation import Language, phrase_in
from batchfx.store import batches, claims, switches
from batchfx.web.access import Permission, Principal, require
from batchfx.web.problems import half, of_error
from batchfx.web.refusals import too_large
from tests.people import Base, PersonImporter

CONTENT = b"Code,Name,Age\nA,Ann,1\nB,Ben,x\nC,Cy,3\n"
WITHOUT_FAULTS = b"Code,Name,Age\nA,Ann,1\n"
OTHERS = (Language.GERMAN, Language.ITALIAN)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\{.*\}")
ENGLISH = frozenset(
    ["the", "is", "are", "of", "there", "can't", "be", "it", "its", "not", "to", "for"]
)
ROW_2 = 2

Refused = Callable[[Store], object]


class HouseRow(BaseModel):
    """A row with a number where people have a text."""

    code: int
    name: str
    street: str


class HouseImporter(Importer[HouseRow]):
    """What people can't be imported by."""

    name = "houses-told"

    def process(self, row: HouseRow, context: Context) -> int:
        """Keep nothing."""
        return row.code


def kept(store: Store, name: str = "people.csv", **options: Any) -> BatchKey:
    source = io.BytesIO(CONTENT)
    said = Options(**options)
    return draft(store, PersonImporter, source, name=name, options=said).key


def imported(store: Store, content: bytes = CONTENT, **options: Any) -> BatchKey:
    source, said = io.BytesIO(content), Options(**options)
    return import_source(
        store, PersonImporter, source, name="people.csv", options=said
    ).key


def running(store: Store) -> BatchKey:
    """Return a batch that waits for a worker, with its rows read."""
    key = imported(store, dry_run=True)
    rerun(store, key, dry_run=False, detached=True)
    return key


def reading(store: Store) -> BatchKey:
    """Return a batch whose file waits to be read."""
    key = kept(store)
    start(store, key, dry_run=True, detached=True)
    return key


def paused(store: Store) -> BatchKey:
    key = running(store)
    pause(store, key)
    return key


def cancelled(store: Store) -> BatchKey:
    key = running(store)
    cancel(store, key)
    return key


def checked(store: Store) -> BatchKey:
    return imported(store, dry_run=True)


def worked_on(store: Store) -> BatchKey:
    """Return a batch at whose preparation a worker on another host is."""
    key = imported(store)
    rerun(store, key, detached=True)
    with store.write() as connection:
        claims.of_batch(connection, key, "host.example-7", 30.0, preparation=True)
    return key


IN_STATE: Mapping[BatchState, Callable[[Store], BatchKey]] = {
    BatchState.DRAFT: kept,
    BatchState.STAGING: reading,
    BatchState.RUNNING: running,
    BatchState.PAUSED: paused,
    BatchState.CHECKED: checked,
    BatchState.COMPLETED: imported,
    BatchState.CANCELLED: cancelled,
}


def at(
    make: Callable[[Store], BatchKey], act: Callable[[Store, BatchKey], object]
) -> Refused:
    """Return what does something with a batch that *make* makes."""
    return lambda store: act(store, make(store))


def begun(store: Store, key: BatchKey) -> None:
    with store.write() as connection:
        batches.move(connection, key, "begin")


def edit(store: Store, key: BatchKey, row: int = 3, version: int = 0) -> None:
    edits.edit(store, key, row, {"age": "2"}, version=version, who="ann")


def edit_field(store: Store, **values: str) -> None:
    edits.edit(store, checked(store), 3, values, version=0, who="ann")


def edited_by_another(store: Store) -> None:
    key = checked(store)
    edit(store, key)
    edit(store, key)


def corrected(store: Store, folder: Path, text: str, **settings: Any) -> None:
    path = folder / "corrected.csv"
    path.write_text(text)
    rerun(store, imported(store), path, settings=settings or None)


def with_columns(store: Store, header: str, mapping: dict[str, str | None]) -> None:
    content = f"{header}\n{','.join('1' for _ in header.split(','))}\n".encode()
    imported(store, content, mapping=mapping)


def of_a_mapping(store: Store, name: str, saved: str | None = None) -> None:
    if saved is not None:
        imported(store, save_mapping=saved)
    kept(store, saved_mapping=name)


def misfit(store: Store, key: BatchKey) -> None:
    with store.read() as connection:
        batch = batches.read(connection, key)
    versions.require_fit(batch, HouseImporter)


def switched_off(store: Store) -> None:
    with store.write() as connection:
        switches.turn(
            connection,
            SwitchScope.ALL,
            switches.EVERYTHING,
            is_off=True,
            reason="a move",
            who="ann",
        )
    imported(store)


# Moves from a state in which they can't be made; who asks is refused by the use case.
MOVES: Mapping[str, Refused] = {
    **{
        f"pause, {state}": at(make, pause)
        for state, make in IN_STATE.items()
        if state not in {BatchState.RUNNING, BatchState.STAGING, BatchState.PAUSED}
    },
    **{
        f"resume, {state}": at(make, resume)
        for state, make in IN_STATE.items()
        if state is not BatchState.PAUSED
    },
    **{
        f"draft, {state}": at(make, view)
        for state, make in IN_STATE.items()
        if state is not BatchState.DRAFT
    },
    **{
        f"move, {state}": at(make, begun)
        for state, make in IN_STATE.items()
        if state is not BatchState.STAGING
    },
    **{
        f"rerun, {state}": at(make, rerun)
        for make, state in ((kept, "draft"), (paused, "paused"), (cancelled, "over"))
    },
    **{
        f"edit, {state}": at(make, edit)
        for make, state in ((kept, "draft"), (reading, "read"), (cancelled, "over"))
    },
    "cancel, completed": lambda s: cancel(s, imported(s)),
    "rerun, worked on": lambda s: rerun(s, worked_on(s)),
    "revive, paused": lambda s: operate.revive(s, paused(s)),
    "revive, nothing dead": lambda s: operate.revive(s, checked(s)),
    "switched off": switched_off,
    "no cursor": lambda s: place_of(s, checked(s), "odd"),
    "no such batch": lambda s: pause(s, BatchKey("default", 77)),
}

ROWS: Mapping[str, Refused] = {
    "no such row": lambda s: edit(s, checked(s), row=99),
    "no such row to see": lambda s: browse.history(s, checked(s), 99),
    "a finished row": lambda s: edit(s, imported(s), row=ROW_2),
    "a row that waits": lambda s: edits.approve(s, checked(s), [ROW_2], "ann"),
    "changed by another": edited_by_another,
    "a version to come": lambda s: edit(s, checked(s), version=5),
    "no field": edit_field,
    "unknown field": lambda s: edit_field(s, zip="1"),
    "nearly a field": lambda s: edit_field(s, agee="1"),
    "no such verdict": lambda s: browse.page(s, checked(s), verdict="odd"),
    "too many on a page": lambda s: browse.page(s, checked(s), limit=1_000_000),
    "no such format": lambda s: list(downloads.faulty_rows(s, checked(s), "pdf")),
}

FILES: Mapping[str, Refused] = {
    "imported before": lambda s: [imported(s, WITHOUT_FAULTS) for _ in range(2)],
    "no field to map to": lambda s: with_columns(s, "Code,X", {"X": "shoe"}),
    "nearly a field to map to": lambda s: with_columns(s, "Code,X", {"X": "nme"}),
    "no column to map": lambda s: with_columns(s, "Code,Name", {"Shoe": "age"}),
    "nearly a column": lambda s: with_columns(s, "Code,Naming", {"Namin": "name"}),
    "mapped by two": lambda s: with_columns(s, "A,B", {"A": "name", "B": "name"}),
    "mapped twice": lambda s: with_columns(s, "A,B", {"A": "name", "a": "age"}),
    "either of two": lambda s: with_columns(s, "a b,A_B", {"A-b": "name"}),
    "no saved mapping": lambda s: of_a_mapping(s, "crm"),
    "nearly a saved mapping": lambda s: of_a_mapping(s, "crn", "crm"),
    "another saved mapping": lambda s: of_a_mapping(s, "shop", "crm"),
    "no such version": lambda s: of_a_mapping(s, "crm@9", "crm"),
    "layout of a file that was read": lambda s: rerun(
        s, imported(s), settings={"delimiter": ";"}
    ),
    "of another version": lambda s: misfit(s, imported(s)),
    "no name": lambda s: imported(s, save_mapping="/"),
    "of the row model": lambda s: kept(s, settings={"required": "Name"}),
    "changed to no option": lambda s: redraft(s, kept(s), settings={"hue": 1}),
    "a column's option": lambda s: redraft(
        s, kept(s), settings={"decimal": {"Shoe": ","}}
    ),
}

ODD_OPTIONS = [
    *("header_row=-1", "header_rows=0", "skip_after_header=x", "sheet=0"),
    *("encoding=none", "delimiter=", "quote=xx", "escape=xx", "records=true"),
    *("skip_initial_space=perhaps", "member=true", "guards=x", "merged=x"),
    *("hidden_rows=x", "hidden_columns=x", "decimal=x", "thousands=xx"),
    *("currency_allowed=x", "percent=x", "date_order=x", "date_formats=x"),
    *("two_digit_year=x", "zone_for_naive=Mars", "null_tokens=true", "trim=x"),
    *("normal_form=x", "languages=3", "values=3", "required=true", "choices=3"),
    *("choices.size={}", "unique=true", "unique_fold=x", "expected_columns=true"),
    *("decimal.Price=x", "hue=1", "header_rwo=1", "sheet.Price=1", "header_row"),
    *('delimiter="\\n"', "decimal."),
]
PAIRS = [("delimiter=;", "quote=;"), ("decimal=,", "thousands=,")]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with no batch, and with the application's table."""
    path = tmp_path_factory.mktemp("empty") / "empty.db"
    opened = open_store(f"sqlite:///{path}")
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    opened.close()
    return path


@pytest.fixture
def store(empty: Path, tmp_path: Path) -> Iterator[Store]:
    """An empty database, which is a copy: that is made faster."""
    opened = open_store(f"sqlite:///{shutil.copy(empty, tmp_path / 'test.db')}")
    yield opened
    opened.close()


def told(error: BatchfxError, language: Language) -> str:
    """Return what the web says of *error*."""
    return str(json.loads(bytes(of_error(error, language).body))["detail"])


def assert_is_told(error: BatchfxError) -> None:
    english = told(error, Language.ENGLISH)
    german, italian = (told(error, each) for each in OTHERS)
    assert len({english, german, italian}) == len({*Language})
    for said in (german, italian):
        words = re.findall(r"[\w']+", QUOTED.sub("", said).lower())
        assert ENGLISH.isdisjoint(words), said
        assert "{" not in QUOTED.sub("", said)


@pytest.mark.parametrize("case", MOVES)
def test_a_move_that_is_not_possible_is_told(store: Store, case: str) -> None:
    with pytest.raises(BatchfxError) as raised:
        MOVES[case](store)
    assert_is_told(raised.value)


@pytest.mark.parametrize("case", ROWS)
def test_what_can_not_be_done_with_a_row_is_told(store: Store, case: str) -> None:
    with pytest.raises(BatchfxError) as raised:
        ROWS[case](store)
    assert_is_told(raised.value)


@pytest.mark.parametrize("case", FILES)
def test_what_can_not_be_said_of_a_file_is_told(store: Store, case: str) -> None:
    with pytest.raises(BatchfxError) as raised:
        FILES[case](store)
    assert_is_told(raised.value)


@pytest.mark.parametrize("said", [*((each,) for each in ODD_OPTIONS), *PAIRS])
def test_an_option_that_can_not_be_is_told(said: tuple[str, ...]) -> None:
    with pytest.raises(BatchfxError) as raised:
        settings_of(given_of(said))
    assert_is_told(raised.value)


@pytest.mark.parametrize("language", OTHERS)
def test_what_every_option_may_be_has_words_of_its_own(language: Language) -> None:
    possible = {each.possible for each in (*OPTIONS.values(), CHOICE)}
    assert {
        each for each in possible if phrase_in(language, "possible", each) == each
    } == set()
    names = phrase_in(language, "possible", "'a', 'b' or 'c'")
    assert names == {"de": "'a', 'b' oder 'c'", "it": "'a', 'b' o 'c'"}[language]


@pytest.mark.parametrize(
    "text", ["Name,Age\nBen,2\n", "Town\nRome\n", "row,Age\n99,2\n"]
)
def test_a_corrected_file_that_corrects_nothing_is_told(
    store: Store, tmp_path: Path, text: str
) -> None:
    with pytest.raises(BatchfxError) as raised:
        corrected(store, tmp_path, text)
    assert_is_told(raised.value)


def test_a_key_that_was_used_for_another_file_is_told(store: Store) -> None:
    def upload(content: bytes) -> None:
        source = io.BytesIO(content)
        draft(store, PersonImporter, source, name="a.csv", idempotency_key="k")

    upload(CONTENT)
    with pytest.raises(BatchfxError) as raised:
        upload(WITHOUT_FAULTS)
    assert_is_told(raised.value)


@pytest.mark.parametrize("permission", Permission)
def test_what_somebody_may_not_do_is_told(permission: Permission) -> None:
    with pytest.raises(BatchfxError) as raised:
        require(Principal("a", "ann", frozenset()), permission)
    assert_is_told(raised.value)


@pytest.mark.parametrize("error", [half(), too_large(1_000)])
def test_an_upload_that_is_not_taken_is_told(error: BatchfxError) -> None:
    assert_is_told(error)


def test_the_name_of_a_worker_is_not_told(store: Store) -> None:
    with pytest.raises(BatchfxError, match=r"by host\.example-7\.") as raised:
        rerun(store, worked_on(store))
    assert told(raised.value, Language.ENGLISH) == "Batch 1 is being worked on."
    assert told(raised.value, Language.GERMAN) == "Batch 1 wird gerade bearbeitet."
    assert told(raised.value, Language.ITALIAN) == "Il batch 1 è in lavorazione."


@pytest.mark.parametrize(
    ("said", "german", "italian"),
    [
        (
            "header_row=-1",
            (
                "Die Option 'header_row' kann nicht -1 sein. Möglich: die Nummer einer "
                "Zeile, oder 0, wenn die Datei keine Kopfzeile hat."
            ),
            (
                "L'opzione 'header_row' non può essere -1. Valori ammessi: il numero "
                "di una riga, o 0 se il file non ha intestazione."
            ),
        ),
        (
            "date_order.Day=x",
            (
                "Die Option 'date_order.Day' kann nicht \"x\" sein. Möglich: 'dmy', "
                "'mdy' oder 'ymd'."
            ),
            (
                "L'opzione 'date_order.Day' non può essere \"x\". Valori ammessi: "
                "'dmy', 'mdy' o 'ymd'."
            ),
        ),
    ],
)
def test_options_are_told_in_full(said: str, german: str, italian: str) -> None:
    with pytest.raises(BatchfxError) as raised:
        settings_of(given_of([said]))
    assert [told(raised.value, each) for each in OTHERS] == [german, italian]


def test_the_state_is_told_as_a_sentence_has_it(store: Store) -> None:
    with pytest.raises(BatchfxError) as raised:
        pause(store, imported(store))
    assert [told(raised.value, each) for each in OTHERS] == [
        "Batch 1 ist abgeschlossen: Es gibt nichts zu pausieren.",
        "Il batch 1 è completato: non c'è nulla da mettere in pausa.",
    ]

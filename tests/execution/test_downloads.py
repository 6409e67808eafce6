"""The file of faulty rows, and what a rerun reads back from it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from batchfx import (
    BatchKey,
    Column,
    Context,
    Importer,
    Options,
    Store,
    import_source,
    open_store,
    rerun,
)
from batchfx.errors import NotFoundError, UsageError
from batchfx.execution import browse, downloads, edits, views
from batchfx.model.revisions import Action
from batchfx.store import batches
from tests.execution.test_imports import people, run
from tests.oracle import check_batch
from tests.people import Base

FORMATS = list(downloads.FORMATS)
Texts = tuple[str | None, str | None]


class NoteRow(BaseModel):
    """A text that is always refused."""

    text: Annotated[str | None, Column("Text")] = None
    other: Annotated[str | None, Column("Other")] = None
    number: Annotated[int, Column("Number")]
    secret: Annotated[str | None, Column("Secret", sensitive=True)] = None


class NoteImporter(Importer[NoteRow]):
    """Keeps nothing."""

    name = "notes_for_downloads"

    def process(self, row: NoteRow, context: Context) -> Any:
        """Say that it was kept."""
        del row, context
        return 1


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """An empty database with the application's table."""
    opened = open_store(database)
    with opened.write() as connection:
        Base.metadata.create_all(connection)
    yield opened
    opened.close()


def notes(
    store: Store, rows: list[Mapping[str, Any]], name: str = "n.json"
) -> BatchKey:
    content = json.dumps(rows).encode()
    report = import_source(
        store,
        NoteImporter,
        io.BytesIO(content),
        name=name,
        options=Options(again=True),
    )
    return report.key


def download(store: Store, key: BatchKey, form: str) -> bytes:
    return b"".join(downloads.faulty_rows(store, key, form))


def test_a_csv_has_the_number_the_columns_and_what_is_wrong(store: Store) -> None:
    key = run(store, people("A,Ann,1", "B,=Ben,x", "C,Cy,", "D,boom,2")).key
    text = download(store, key, "csv").decode("utf-8-sig")

    rows = text.split("\r\n")
    assert rows[0] == '"row","Code","Name","Age","errors"'
    assert rows[1].startswith('"3","B","\'=Ben","x","Age: ')
    assert rows[2].startswith('"4","C","Cy",,"Age: ')
    assert rows[3].startswith('"5","D","boom","2","')


def test_json_and_workbook_hold_the_same_rows(store: Store) -> None:
    key = run(store, people("A,Ann,1", "B,=Ben,x", "C,<b>&,y")).key
    rows = json.loads(download(store, key, "json"))
    assert [list(row.values())[:4] for row in rows] == [
        [3, "B", "=Ben", "x"],
        [4, "C", "<b>&", "y"],
    ]
    assert list(rows[0]) == ["row", "Code", "Name", "Age", "errors"]
    with zipfile.ZipFile(io.BytesIO(download(store, key, "xlsx"))) as pack:
        sheet = pack.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert '<c r="C2" t="inlineStr"><is><t xml:space="preserve">=Ben</t>' in sheet
    assert '<t xml:space="preserve">&lt;b&gt;&amp;</t>' in sheet


@pytest.mark.parametrize("form", FORMATS)
def test_a_batch_without_faulty_rows_has_a_file_without_rows(
    store: Store, form: str
) -> None:
    key = run(store, people("A,Ann,1")).key
    content = download(store, key, form)
    if form == "json":
        assert json.loads(content) == []
    if form == "csv":
        assert content.decode("utf-8-sig") == '"row","Code","Name","Age","errors"\r\n'


@pytest.mark.parametrize("form", FORMATS)
def test_a_corrected_cell_is_taken_and_the_others_stay(
    store: Store, tmp_path: Path, form: str
) -> None:
    key = run(store, people("A,Ann,1", "B,Ben,FIX", "C,Cy,y")).key
    path = tmp_path / f"back.{form}"
    content = download(store, key, form)
    if form == "xlsx":
        content = replaced_in_sheet(content, b"FIX", b"7")
    path.write_bytes(content.replace(b"FIX", b"7"))

    report = rerun(store, key, path)
    assert report.tally.counts()["created"] == 2
    assert [issue.code for issue in report.file_issues] == []
    assert views.row_view(store, key, 3).values == {
        "Code": "B",
        "Name": "Ben",
        "Age": "7",
    }
    check_batch(store, key)


def replaced_in_sheet(content: bytes, old: bytes, new: bytes) -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as pack,
        zipfile.ZipFile(out, "w") as target,
    ):
        for name in pack.namelist():
            target.writestr(name, pack.read(name).replace(old, new))
    return out.getvalue()


nasty = st.one_of(
    st.sampled_from(
        [
            "=1+1",
            "'=1+1",
            "''=x",
            "'",
            "'x",
            "+39 06",
            "-",
            "-5",
            "@SUM(A1)",
            "\tx",
            "\rx",
            "a\nb",
            "a\r\nb",
            "a\rb",
            'say "hi"',
            '"',
            ",;|\t",
            "_x0041_",
            "_x005F_",
            " x ",
            " ",
            "NULL",
            "0012",
            "1e5",
            "😀 é ß",
            "\u202eabc",
            "a\x00b",
            "a\x07b",
            "\x1a0\x1a1",
            "\x85",
            "\u2028",
            "\ufeffx",
            "<b>&amp;",
            "]]>",
            "true",
            "2024-01-31",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Path]]:
    """A database on SQLite for many small batches."""
    folder = tmp_path_factory.mktemp("downloads")
    opened = open_store(f"sqlite:///{folder / 'many.db'}")
    yield opened, folder
    opened.close()


@pytest.mark.parametrize("form", FORMATS)
@given(
    rows=st.lists(
        st.tuples(st.one_of(st.none(), nasty), st.one_of(st.none(), nasty)),
        min_size=1,
        max_size=15,
    )
)
@settings(max_examples=12)  # each is an import and a rerun, of many texts
@example(rows=[("=x", None), (None, "'=x"), ("''=x", "a\r\nb")])
def test_what_is_read_back_is_what_was_written(
    quick: tuple[Store, Path], form: str, rows: list[Texts]
) -> None:
    assert_same_after_rerun(*quick, form, rows)


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_read_back_is_the_same_on_both_databases(
    store: Store, tmp_path: Path, form: str
) -> None:
    rows: list[Texts] = [
        ("=1+1", "'=1+1"),
        ("''-x", 'say "hi", twice\r\nand more'),
        ("a\x00b", "\ufeff😀"),
        (None, "_x0041_"),
    ]
    assert_same_after_rerun(store, tmp_path, form, rows)


def assert_same_after_rerun(
    store: Store,
    folder: Path,
    form: str,
    rows: list[Texts],
) -> None:
    key = notes(
        store,
        [
            {"Text": text, "Other": other, "Number": "none", "Secret": f"s{i}"}
            for i, (text, other) in enumerate(rows)
        ],
    )
    before = [dict(view.values) for view in views.rows(store, key)]
    numbers = [view.row for view in views.rows(store, key)]
    path = folder / f"back.{form}"
    path.write_bytes(download(store, key, form))
    rerun(store, key, path)

    assert [dict(view.values) for view in views.rows(store, key)] == before
    for number in numbers:
        told = browse.history(store, key, number).revisions
        assert [revision.changes for revision in told] == [{}]


@pytest.mark.parametrize("form", FORMATS)
def test_sensitive_values_are_not_in_the_file_and_stay(
    store: Store, tmp_path: Path, form: str
) -> None:
    key = notes(store, [{"Text": "a", "Number": "x", "Secret": "hush"}])
    content = download(store, key, form)
    path = tmp_path / f"back.{form}"
    path.write_bytes(content)
    rerun(store, key, path)

    unpacked = content
    if form == "xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as pack:
            unpacked = pack.read("xl/worksheets/sheet1.xml")
    assert b"hush" not in unpacked
    assert b"Secret" not in unpacked
    (view,) = views.rows(store, key)
    assert view.values["Secret"] == views.HIDDEN


def test_columns_called_row_and_errors_are_told_from_the_added_ones(
    store: Store, tmp_path: Path
) -> None:
    content = "row,errors,Code,Name,Age\n9,e,A,Ann,x\n"
    key = run(store, content.encode()).key
    path = tmp_path / "back.csv"
    path.write_bytes(download(store, key, "csv"))
    header = path.read_text("utf-8-sig").split("\n", 1)[0]

    assert header.startswith('"batchfx row","row","errors","Code","Name","Age"')
    assert header.rstrip().endswith('"batchfx errors"')
    rerun(store, key, path)
    (revision,) = browse.history(store, key, 2).revisions
    assert (revision.action, revision.changes) == (Action.CORRECTED, {})


def test_edited_values_are_what_is_downloaded(store: Store) -> None:
    key = run(store, people("A,Ann,x")).key
    edits.edit(store, key, 2, {"age": "999"}, version=0, who="ann")
    (row,) = json.loads(download(store, key, "json"))
    assert row["Age"] == "999"
    assert "150" in row["errors"]


def test_what_can_not_be_downloaded_is_said_before_the_first_piece(
    store: Store,
) -> None:
    key = notes(store, [{"Text": "x" * 40_000, "Number": "y"}])
    with pytest.raises(UsageError, match=r"^There is no format 'pdf'"):
        downloads.faulty_rows(store, key, "pdf")
    with pytest.raises(NotFoundError):
        downloads.faulty_rows(store, BatchKey("other", key.number), "csv")
    with pytest.raises(UsageError, match=r"^The cell B2 would have 40,000 characters"):
        downloads.faulty_rows(store, key, "xlsx")
    assert len(json.loads(download(store, key, "json"))[0]["Text"]) == 40_000


def test_the_file_has_a_plain_name_whatever_the_source_was_called(
    store: Store,
) -> None:
    key = notes(store, [{"Number": 1}], name="../a b/<x>\n.json")
    with store.read() as connection:
        batch = batches.read(connection, key)
    assert downloads.file_name(batch, "csv") == f"x-{key.number}-faulty-rows.csv"

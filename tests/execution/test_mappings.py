"""What is said of a file: its mapping, given or saved, and its options."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from batchfx import (
    Column,
    Context,
    Importer,
    Options,
    Report,
    Store,
    Watch,
    import_source,
    open_store,
    rerun,
)
from batchfx.errors import NotFoundError, SourceError, UsageError
from batchfx.execution import mappings, views
from batchfx.execution.mappings import with_values


class ContactRow(BaseModel):
    """A contact."""

    email: Annotated[str, Column("E-Mail", unique=True)]
    country: Annotated[str | None, Column("Country")] = None
    born: Annotated[str | None, Column("Born")] = None


class ContactImporter(Importer[ContactRow]):
    """Keeps nothing; what it is given is what the tests look at."""

    name = "mapping-contacts"

    def process(self, row: ContactRow, context: Context) -> str:
        """Return what was read."""
        if row.country == "boom":
            raise ZeroDivisionError
        return f"{row.email}/{row.country}/{row.born}"


class DayRow(BaseModel):
    """A day."""

    code: Annotated[str, Column("Code")]
    day: Annotated[date, Column("Day")]


class DayImporter(Importer[DayRow]):
    """Keeps nothing."""

    name = "mapping-days"

    def process(self, row: DayRow, context: Context) -> str:
        """Return what was read."""
        return str(row.day)


class SemicolonImporter(Importer[ContactRow]):
    """Has files of one layout."""

    name = "mapping-semicolons"
    layout = {"delimiter": ";"}  # noqa: RUF012 - as authors write it

    def process(self, row: ContactRow, context: Context) -> str:
        """Return what was read."""
        return row.email


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


def run(
    store: Store,
    *lines: str,
    importer: type[Importer[Any]] = ContactImporter,
    watch: Watch | None = None,
    **options: Any,
) -> Report:
    return import_source(
        store,
        importer,
        io.BytesIO("\n".join([*lines, ""]).encode()),
        name="contacts.csv",
        options=Options(**options),
        watch=watch,
    )


def records(store: Store, report: Report) -> list[str | None]:
    return [view.record_id for view in views.rows(store, report.key)]


def codes(report: Report) -> list[str]:
    return [issue.code for issue in report.file_issues]


def test_a_mapping_that_is_given_is_followed_and_kept_with_the_batch(
    store: Store,
) -> None:
    report = run(
        store, "Work,Mail,Land", "w,m,DE", mapping={"Mail": "email", "Land": "Country"}
    )

    assert records(store, report) == ["m/DE/None"]
    assert report.batch.mapping == {"email": 1, "country": 2}
    assert report.batch.saved_mapping is None


def test_unknown_columns_are_warned_of_and_their_cells_are_kept(store: Store) -> None:
    report = run(store, "E-Mail,Shoe", "a,44")

    (warning,) = report.file_issues
    assert (warning.code, warning.parameters["columns"]) == (
        "unknown_columns",
        ["Shoe"],
    )
    (view,) = views.rows(store, report.key)
    assert view.values == {"E-Mail": "a", "Shoe": "44"}


def test_a_missing_column_is_told_before_a_row_is_read(store: Store) -> None:
    with pytest.raises(SourceError, match="has no column 'E-Mail'"):
        run(store, "Name,Country")  # no rows: that would be the next complaint


def test_a_saved_mapping_is_used_again_with_its_options(store: Store) -> None:
    options = with_values({"delimiter": "|"}, [("country", "Germania", "DE")])
    first = run(
        store,
        "Mail|Land|Shoe",
        "a|Germania|44",
        mapping={"Mail": "email", "Land": "country", "Shoe": None},
        settings=options,
        save_mapping="crm",
    )
    second = run(store, "Land|Mail|Shoe", "Germania|b|45", saved_mapping="crm")

    assert first.batch.saved_mapping == {"name": "crm", "version": 1}
    assert second.batch.saved_mapping == {"name": "crm", "version": 1}
    assert records(store, first) == ["a/DE/None"]
    assert records(store, second) == ["b/DE/None"]
    assert second.file_issues == ()
    saved = mappings.show(store, "default", ContactImporter.name, "crm")
    assert saved.content == {
        "columns": {"Mail": "email", "Land": "country", "Shoe": None},
        "others": [],
        "options": {
            "delimiter": "|",
            "values": {"country": {"Germania": "DE"}},
        },
    }


def test_other_content_is_saved_as_the_next_version_and_both_can_be_used(
    store: Store,
) -> None:
    for number, header in enumerate(("Mail", "Mail", "Post")):
        run(store, header, f"{number}", mapping={header: "email"}, save_mapping="crm")
    found = mappings.listing(store, "default")

    assert [(each.name, each.version) for each in found] == [("crm", 2), ("crm", 1)]
    newest = run(store, "Post", "x", saved_mapping="crm")
    older = run(store, "Mail", "x", saved_mapping="crm@1")
    assert newest.batch.saved_mapping == {"name": "crm", "version": 2}
    assert older.batch.saved_mapping == {"name": "crm", "version": 1}


def test_what_is_given_is_laid_over_what_was_saved_and_saved_with_it(
    store: Store,
) -> None:
    first = with_values(
        {}, [("country", "Germania", "DE"), ("country", "Italia", "IT")]
    )
    run(
        store,
        "Mail,Born",
        "a,1",
        settings=first,
        save_mapping="x",
        mapping={"Mail": "email"},
    )
    second = with_values(
        {"trim": True}, [("country", "Italia", "I"), ("born", "-", "0")]
    )
    run(
        store,
        *("Mail,Country", "a,Italia"),
        saved_mapping="x",
        settings=second,
        save_mapping="y",
    )

    saved = mappings.show(store, "default", ContactImporter.name, "y")
    assert saved.content == {
        "columns": {"Mail": "email", "Born": "born", "Country": "country"},
        "others": [],
        "options": {
            "trim": True,
            "values": {
                "country": {"Germania": "DE", "Italia": "I"},
                "born": {"-": "0"},
            },
        },
    }


def test_a_file_that_drifted_is_imported_with_a_warning(store: Store) -> None:
    run(
        store,
        "Mail,Land",
        "a,DE",
        save_mapping="crm",
        mapping={"Mail": "email", "Land": "country"},
    )
    report = run(store, "Mail,Lande", "a,DE", saved_mapping="crm")

    assert codes(report) == ["mapping_drift", "unknown_columns"]
    assert report.file_issues[0].message == (
        "The file doesn't fit the saved mapping crm@1: gone: 'Land' (country); new: "
        "'Lande'. Where a new one is an old one, add --map \"Lande=country\"."
    )
    assert report.tally.all_well


def test_a_required_column_that_is_gone_is_refused_with_the_mappings_name(
    store: Store,
) -> None:
    run(store, "Mail", "a", save_mapping="crm", mapping={"Mail": "email"})
    with pytest.raises(
        SourceError, match="The saved mapping crm@1 takes 'Mail' for email"
    ):
        run(store, "Land", "a", saved_mapping="crm")


def test_another_tenants_mapping_does_not_exist(store: Store) -> None:
    run(store, "Mail", "a", save_mapping="crm", mapping={"Mail": "email"})

    with pytest.raises(NotFoundError, match="Tenant 'acme' has no mapping 'crm'"):
        run(store, "Mail", "b", saved_mapping="crm", tenant="acme")
    assert mappings.listing(store, "acme") == []
    own = run(
        *(store, "Post", "b"),
        tenant="acme",
        save_mapping="crm",
        mapping={"Post": "email"},
    )
    assert own.batch.saved_mapping == {"name": "crm", "version": 1}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            "cmr",
            r"no mapping 'cmr' for 'mapping-contacts'\. Is 'crm' meant\? There are",
        ),
        (
            "crm@7",
            r"no mapping 'crm@7' for 'mapping-contacts'\. There are versions 1\.",
        ),
        ("@", "no mapping '@'"),
        ("", "no mapping ''"),
    ],
)
def test_a_mapping_that_is_not_there_is_told_with_those_that_are(
    store: Store, reference: str, message: str
) -> None:
    run(store, "Mail", "a", save_mapping="crm", mapping={"Mail": "email"})
    with pytest.raises(NotFoundError, match=message):
        run(store, "Mail", "b", saved_mapping=reference)


def test_a_mapping_is_not_saved_when_the_file_is_refused(store: Store) -> None:
    with pytest.raises(SourceError, match="nothing to import"):
        run(store, "E-Mail", save_mapping="crm")
    assert mappings.listing(store, "default") == []


@pytest.mark.parametrize("name", ["", "a@b", " a", "x" * 101, "-", "a\nb"])
def test_a_name_that_is_none_is_refused(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="A mapping can't be called"):
        run(store, "E-Mail", "a", save_mapping=name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delimeter": ";"}, "There is no option 'delimeter'. Is 'delimiter' meant"),
        ({"required": ["email"]}, "required can't be said for an import"),
        (
            {"null_tokens": {"towns": ["-"]}},
            "The option for the column 'towns' can't be used: there is no field",
        ),
    ],
)
def test_an_option_that_cant_be_is_refused(
    store: Store, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        run(store, "E-Mail,Country", "a,DE", settings=settings)


@pytest.mark.parametrize("column", ["Land", "country", "COUNTRY"])
def test_an_option_names_a_column_by_its_header_or_its_field(
    store: Store, column: str
) -> None:
    report = run(
        *(store, "E-Mail,Land", "a,-", "b,DE"),
        mapping={"Land": "country"},
        settings={"null_tokens": {column: ["-"]}},
    )

    assert records(store, report) == ["a/None/None", "b/DE/None"]
    assert report.batch.given == {
        "notation": {},
        "columns": {"country": {"null_tokens": ["-"]}},
    }


def test_the_layout_of_the_class_is_followed_and_what_is_said_counts_more(
    store: Store,
) -> None:
    lines = "E-Mail;a,Country", "x;b,DE", "y;c,DE"
    plain = run(store, *lines, importer=SemicolonImporter)
    said = run(
        *(store, "E-Mail|a;b", "x|1;2"),
        importer=SemicolonImporter,
        settings={"delimiter": "|"},
    )

    assert records(store, plain) == ["x", "y"]
    assert records(store, said) == ["x"]


def test_an_answer_counts_for_the_rows_that_are_not_finished_and_stays(
    store: Store,
) -> None:
    report = run(store, "E-Mail,Country", "a,-", "b,boom")
    again = rerun(
        store, report.key, settings={"values": {"country": {"boom": "DE", "-": "XX"}}}
    )

    assert records(store, again) == ["a/-/None", "b/DE/None"]
    assert again.batch.given["columns"] == {
        "country": {"values": {"boom": "DE", "-": "XX"}}
    }


def test_an_answer_is_laid_over_what_was_said_before(store: Store) -> None:
    report = run(
        store, "E-Mail,Country", "a,boom", settings={"trim": {"country": True}}
    )
    again = rerun(store, report.key, settings={"null_tokens": ["boom"]})

    assert records(store, again) == ["a/None/None"]
    assert again.batch.given == {
        "notation": {"null_tokens": ["boom"]},
        "columns": {"country": {"trim": True}},
    }


def test_a_question_is_asked_until_it_is_answered(store: Store) -> None:
    lines = "Code,Day", "A,03/04/2025", "B,05/06/2025"
    asked = run(store, *lines, importer=DayImporter)
    again = rerun(store, asked.key)
    answered = rerun(store, asked.key, settings={"date_order": "dmy"})

    assert codes(asked) == codes(again) == ["ambiguous_date"]
    assert again.tally.invalid == 2
    assert "ambiguous_date" not in codes(answered)
    assert records(store, answered) == ["2025-04-03", "2025-06-05"]


def test_an_answer_to_nothing_is_refused_before_anything_runs(store: Store) -> None:
    report = run(store, "E-Mail,Country", "a,boom")

    with pytest.raises(UsageError, match="unique can't be said for an import"):
        rerun(store, report.key, settings={"unique": ["email"]})
    with pytest.raises(UsageError, match="there is no field 'town'"):
        rerun(store, report.key, settings={"trim": {"town": True}})
    assert rerun(store, report.key).batch.attempt == 2


def test_a_batch_that_goes_on_says_what_it_does_not_follow(store: Store) -> None:
    lines = ["E-Mail,Country", *(f"{n},DE" for n in range(6))]
    calls = iter(range(100))
    stopped = Watch(is_interrupted=lambda: next(calls) > 0)
    first = run(store, *lines, chunk_size=2, watch=stopped)
    assert first.batch.state == "stopped"

    ended = run(
        store,
        *lines,
        chunk_size=3,
        mapping={"Country": "born"},
        settings={"trim": True},
        save_mapping="crm",
    )

    assert ended.key == first.key
    assert ended.tally.created == 6
    (warning,) = ended.file_issues
    assert (warning.code, warning.level) == ("options_not_followed", "warning")
    assert warning.message == (
        "Batch 1 went on as it was begun (chunks of 2 rows): what was said otherwise "
        "had no effect, namely a chunk size of 3, the mapping, how values are written, "
        "that 'crm' be saved. --again imports the file anew."
    )


def test_a_batch_that_goes_on_as_it_was_begun_says_nothing(store: Store) -> None:
    lines = ["E-Mail,Country", *(f"{n},DE" for n in range(6))]
    calls = iter(range(100))
    stopped = Watch(is_interrupted=lambda: next(calls) > 0)
    said: dict[str, Any] = {
        "chunk_size": 2,
        "settings": {"delimiter": ",", "trim": True},
    }
    run(store, *lines, watch=stopped, **said)

    assert run(store, *lines, **said).file_issues == ()


def test_a_header_below_other_lines_is_found_by_the_importers_names(
    store: Store,
) -> None:
    report = run(
        store,
        "Report,of,the,week",
        "made,by,Ann,",
        "E-Mail,Country,Born,Shoe",
        "a,DE,1,4",
    )

    assert records(store, report) == ["a/DE/1"]
    assert report.batch.layout.header_row == 3


def test_a_value_mapping_is_laid_over_the_values_of_the_options() -> None:
    of_all = with_values({"values": {"-": ""}}, [("country", "Italia", "IT")])
    of_one = with_values(
        {"values": {"country": {"Italia": "I", "Francia": "FR"}}},
        [("country", "Italia", "IT")],
    )

    assert of_all == {"values": {"*": {"-": ""}, "country": {"Italia": "IT"}}}
    assert of_one == {"values": {"country": {"Italia": "IT", "Francia": "FR"}}}
    assert with_values({"trim": True}, []) == {"trim": True}

"""Which column is which field: said, saved, found by name, or only proposed."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
from pydantic import BaseModel

from batchfx.columns import Column, columns_of
from batchfx.errors import SourceError, UsageError
from batchfx.pipeline.headers import Saved, map_option
from batchfx.pipeline.mapping import Matched, field_named, match


class ContactRow(BaseModel):
    """A contact."""

    email: Annotated[str, Column("E-Mail", aliases=("Mail address",))]
    name: Annotated[str, Column("Name")]
    phone: str | None = None
    city: Annotated[str | None, Column("Città")] = None


COLUMNS = columns_of(ContactRow)


def matched(
    *header: str,
    given: dict[str, str | None] | None = None,
    saved: Saved | None = None,
) -> Matched:
    return match(ContactRow, COLUMNS, header, given, saved)


def refusal(
    *header: str,
    given: dict[str, str | None] | None = None,
    saved: Saved | None = None,
) -> str:
    with pytest.raises((SourceError, UsageError)) as refused:
        matched(*header, given=given, saved=saved)
    return str(refused.value)


@pytest.mark.parametrize(
    "header",
    [
        "E-Mail",
        "email",
        "Mail address",
        "E MAIL",
        "e_mail",
        "\ufeffE\u200b-Mail\u00a0",
        "É-mail:",
        "\uff25\uff0d\uff2d\uff41\uff49\uff4c",  # full width
    ],
)
def test_a_column_is_found_by_every_spelling_of_its_names(header: str) -> None:
    found = matched("Name", header)

    assert found.positions == {"email": 1, "name": 0}
    assert found.unknown == ()
    assert found.warnings == ()


def test_the_positions_come_in_the_order_of_the_fields() -> None:
    found = matched("CITTA", "phone", "name", "email")

    assert list(found.positions.items()) == [
        ("email", 3),
        ("name", 2),
        ("phone", 1),
        ("city", 0),
    ]


def test_an_exact_name_counts_more_than_a_folded_one() -> None:
    assert matched("e mail", "E-Mail", "Name").positions == {"email": 1, "name": 2}


def test_what_is_only_like_a_required_column_is_proposed_and_not_taken() -> None:
    assert refusal("Mail", "Nome", "Fone") == (
        "The file has no columns 'E-Mail', 'Name'. Is 'Mail' meant? Then add "
        '--map "Mail=email". Is \'Nome\' meant? Then add --map "Nome=name". '
        "It has: 'Mail', 'Nome', 'Fone'."
    )


def test_a_column_that_the_mapping_takes_away_is_not_said_to_be_missing() -> None:
    assert refusal("E-Mail", "Name", given={"Name": None}) == (
        "No column is left for 'Name'. By the mapping, 'Name' is left out: say "
        "--map \"Name=name\" instead. The file has: 'E-Mail', 'Name'."
    )
    assert refusal("E-Mail", "NAME", given={"NAME": "city"}) == (
        "No column is left for 'Name'. By the mapping, 'NAME' is 'city': say "
        "--map \"NAME=name\" instead. The file has: 'E-Mail', 'NAME'."
    )


def test_a_missing_column_names_its_fields_and_proposals_for_machines() -> None:
    with pytest.raises(SourceError) as refused:
        matched("Mail", "Name")

    assert refused.value.code == "missing_column"
    assert refused.value.parameters == {
        "fields": ["email"],
        "suggestions": {"email": "Mail"},
    }


def test_one_column_is_proposed_for_one_field_only() -> None:
    assert refusal("Names", "Phone").count("--map") == 1


def test_what_is_said_counts_more_than_a_columns_own_name() -> None:
    found = matched("E-Mail", "Name", "Work", given={"Work": "email"})

    assert found.positions == {"email": 2, "name": 1}
    assert found.unknown == ("E-Mail",)


@pytest.mark.parametrize("name", ["email", "E-Mail", "mail ADDRESS"])
def test_a_mapping_names_the_field_or_its_header(name: str) -> None:
    assert matched("Work", "Name", given={"Work": name}).positions["email"] == 0


@pytest.mark.parametrize("header", ["Work mail", "work-MAIL"])
def test_a_mapping_names_the_column_exactly_or_folded(header: str) -> None:
    found = matched("Work mail", "Name", given={header: "email"})

    assert found.positions["email"] == 0


def test_an_exact_column_counts_more_than_one_that_is_folded() -> None:
    found = matched("work mail", "Work Mail", "Name", given={"Work Mail": "email"})

    assert found.positions["email"] == 1


def test_a_column_is_left_out_on_purpose() -> None:
    found = matched("E-Mail", "Name", "Phone", given={"Phone": None})

    assert found.positions == {"email": 0, "name": 1}
    assert found.left_out == ("Phone",)
    assert found.unknown == ()
    assert found.warnings == ()


def test_two_columns_that_could_be_one_field_are_told_apart_by_a_mapping() -> None:
    assert refusal("e mail", "e_mail", "Name") == (
        "The columns 'e mail' and 'e_mail' could both be 'E-Mail'. Say which one it is "
        '(--map "e mail=email"), or rename or remove the others.'
    )
    found = matched("e mail", "e_mail", "Name", given={"e_mail": "email"})
    assert found.positions["email"] == 1
    assert found.unknown == ("e mail",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"Male": "email"},
            (
                "The mapping 'Male=email' can't be used: the file has no column "
                "'Male'. Is 'Mail' meant? It has: 'Mail', 'Name', 'na-me'."
            ),
        ),
        (
            {"Mail": "emial"},
            (
                "The mapping 'Mail=emial' can't be used: there is no field 'emial'. Is "
                "'email' meant? There are: 'email', 'name', 'phone', 'city'."
            ),
        ),
        (
            {"Mail": "email", "Name": "E-Mail"},
            (
                "The columns 'Mail' and 'Name' are both mapped to 'email'. Map one of "
                "them."
            ),
        ),
        (
            {"Mail": "email", "mail": "name"},
            "The column 'Mail' is mapped twice.",
        ),
        (
            {"NAME": "name"},
            (
                "The mapping 'NAME=name' can't be used: 'Name' and 'na-me' are both "
                "like it. Write the column's name exactly as it is in the file."
            ),
        ),
    ],
)
def test_a_mapping_that_cant_be_is_refused(
    given: dict[str, str | None], message: str
) -> None:
    assert refusal("Mail", "Name", "na-me", given=given) == message


def test_unknown_columns_are_named_with_what_they_may_be() -> None:
    (warning,) = matched("E-Mail", "Name", "Phones", "Shoe size").warnings

    assert (warning.code, warning.level, warning.phase, warning.row) == (
        "unknown_columns",
        "warning",
        "file",
        None,
    )
    assert warning.message == (
        "'Phones', 'Shoe size' are columns that the importer doesn't know; their cells "
        'are kept, but not imported. Where one was meant, add --map "Phones=phone".'
    )
    assert warning.parameters == {
        "count": 2,
        "columns": ["Phones", "Shoe size"],
        "suggestions": {"phone": "Phones"},
    }


def test_columns_without_a_name_are_no_unknown_ones() -> None:
    assert matched("E-Mail", "", "Name", "").warnings == ()


def test_thousands_of_unknown_columns_make_a_short_sentence() -> None:
    header = [f"{'long ' * 30}{number}" for number in range(10_000)]
    (warning,) = matched("E-Mail", "Name", *header).warnings

    assert len(warning.message) < 800
    assert warning.message.count("…") == 12
    assert " and 9,988 more are columns" in warning.message
    assert warning.parameters["count"] == 10_000
    assert len(warning.parameters["columns"]) == 100


CRM = Saved(
    "crm", 2, {"Mail": "email", "Full name": "name", "Shoe": None}, ("Internal",)
)


def test_a_saved_mapping_that_fits_says_nothing() -> None:
    found = matched("internal", "MAIL", "Full name", "Shoe", saved=CRM)

    assert found.positions == {"email": 1, "name": 2}
    assert found.left_out == ("Shoe",)
    assert [warning.code for warning in found.warnings] == ["unknown_columns"]


def test_what_is_said_counts_more_than_what_was_saved() -> None:
    found = matched(
        *("Mail", "Full name", "Shoe", "Internal", "Work"),
        given={"Work": "email", "Shoe": "phone"},
        saved=CRM,
    )

    assert found.positions == {"email": 4, "name": 1, "phone": 2}


def test_a_file_that_drifted_from_its_mapping_says_how() -> None:
    saved = Saved("crm", 1, {"Mail": "email", "Name": "name", "Tel": "phone"})
    found = matched("E-mail", "Name", "Telephone", saved=saved)

    assert found.positions == {"email": 0, "name": 1}
    drift, unknown = found.warnings
    assert (drift.code, unknown.code) == ("mapping_drift", "unknown_columns")
    assert drift.message == (
        "The file doesn't fit the saved mapping crm@1: gone: 'Mail' (email is read "
        "from 'E-mail' now), 'Tel' (phone); new: 'E-mail', 'Telephone'. Where a new "
        'one is an old one, add --map "Telephone=phone".'
    )
    assert drift.parameters == {
        "mapping": "crm",
        "version": 1,
        "gone": ["Mail", "Tel"],
        "new": ["E-mail", "Telephone"],
        "fields_gone": [],
        "suggestions": {"phone": "Telephone"},
    }


def test_a_field_that_the_importer_has_no_more_is_told() -> None:
    saved = Saved("crm", 1, {"E-Mail": "email", "Name": "name", "Fax": "fax"})
    drift, unknown = matched("E-Mail", "Name", "Fax", saved=saved).warnings

    assert drift.message == (
        "The file doesn't fit the saved mapping crm@1: no fields any more: 'fax'."
    )
    assert unknown.parameters["columns"] == ["Fax"]


def test_a_required_column_that_is_gone_names_the_saved_mapping() -> None:
    assert refusal("Posta", "Full name", "Shoe", saved=CRM) == (
        "The file has no column 'E-Mail'. The saved mapping crm@2 takes 'Mail' for "
        "email. It has: 'Posta', 'Full name', 'Shoe'."
    )


def test_a_mapping_is_written_so_that_a_shell_takes_it() -> None:
    assert map_option("Mail", "email") == '--map "Mail=email"'
    assert map_option('5" nail', "nail") == "--map '5\" nail=nail'"
    assert map_option("Price $", "price") == "--map 'Price $=price'"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("email", "email"),
        ("E-Mail", "email"),
        ("citta", "city"),
        ("CITTÀ", "city"),
        ("town", None),
    ],
)
def test_a_field_is_found_by_what_a_person_calls_it(
    name: str, found: str | None
) -> None:
    assert field_named(COLUMNS, name) == found


def test_a_control_character_alone_is_no_name_of_a_field() -> None:
    assert re.search("'x'", refusal("E-Mail", "\x01", given={"x": "name"}))

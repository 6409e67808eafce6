"""What is said of a file on the command line: its mapping and its options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import click

from batchfx.errors import UsageError

Command = TypeVar("Command", bound=Any)

set_option = click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="How the file is read, such as delimiter=';', date_order=dmy or "
    "decimal.price=','; may be repeated.",
)


def mapping_options(command: Command) -> Command:
    """Add the options that say which column is which field."""
    for option in (
        click.option(
            "--save-mapping",
            metavar="NAME",
            help="Save the mapping and the options of this import under a name.",
        ),
        click.option(
            "--mapping",
            "saved_mapping",
            metavar="NAME[@VERSION]",
            help="Use a mapping that was saved; the newest version when none is named.",
        ),
        click.option(
            "--map-value",
            "values",
            multiple=True,
            metavar="FIELD:TEXT=VALUE",
            help='What a text in a column stands for, such as "country:Germania=DE"; '
            "may be repeated.",
        ),
        click.option(
            "--map",
            "mapped",
            multiple=True,
            metavar="COLUMN=FIELD",
            help='Which field a column is, such as "Mail=email"; "Mail=" leaves the '
            "column out; may be repeated.",
        ),
    ):
        command = option(command)
    return command


def columns_of(texts: Iterable[str]) -> dict[str, str | None]:
    """Return the field of each column that is mapped; None for one that is left out.

    A column is left out by "Mail=" or by "-Mail".

    Raises:
        UsageError: A text is neither, or a column is mapped twice.

    """
    columns: dict[str, str | None] = {}
    for text in texts:
        written = f"{text[1:]}=" if "=" not in text and text[:1] == "-" else text
        header, equals, name = written.rpartition("=")
        if not equals or not header.strip():
            message = (
                f"--map '{text}' is no mapping: write COLUMN=FIELD, such as "
                '"Mail=email", or "Mail=" to leave the column out.'
            )
            raise UsageError(message)
        if header in columns:
            message = f"--map names the column '{header}' twice. Map it to one field."
            raise UsageError(message)
        columns[header] = name.strip() or None
    return columns


def values_of(texts: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return (field, text in the file, what it stands for) of each value mapping.

    Raises:
        UsageError: A text is no value mapping.

    """
    values: list[tuple[str, str, str]] = []
    for text in texts:
        name, colon, rest = text.partition(":")
        found, equals, meaning = rest.rpartition("=")
        if not (colon and equals and name.strip() and found):
            message = (
                f"--map-value '{text}' maps no value: write FIELD:TEXT=VALUE, such as "
                '"country:Germania=DE".'
            )
            raise UsageError(message)
        values.append((name.strip(), found, meaning))
    return values

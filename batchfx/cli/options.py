"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

MOST_ROWS = 1_000_000  # of a chunk, which is held in memory
DEFAULT_DATABASE = "sqlite:///batchfx.db"

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What was said on the command line about importers and the database."""

    importers: tuple[str, ...] = ()
    database: str | None = None

    @property
    def url(self) -> str:
        """The database: of the command line, of the environment, or the default."""
        from_environment = os.environ.get("BATCHFX_DATABASE_URL")
        return self.database or from_environment or DEFAULT_DATABASE


def _keep(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Add the value to the settings, before the command's name and after it."""
    settings: Settings = ctx.obj or Settings()
    if parameter.name == "importers":
        settings = dataclasses.replace(settings, importers=settings.importers + value)
    elif value:
        settings = dataclasses.replace(settings, database=value)
    ctx.obj = settings


def global_options(command: Decorated) -> Decorated:
    """Add the options that may stand before the command's name and after it."""
    database = click.option(
        "--database",
        metavar="URL",
        expose_value=False,
        callback=_keep,
        help="Where batches are kept.  [env: BATCHFX_DATABASE_URL; "
        f"default: {DEFAULT_DATABASE}]",
    )
    importers = click.option(
        "--importers",
        multiple=True,
        metavar="MODULE",
        expose_value=False,
        callback=_keep,
        help="A module that defines importers; may be repeated.  "
        "[env: BATCHFX_IMPORTERS]",
    )
    return importers(database(command))


tenant_option = click.option(
    "--tenant",
    metavar="NAME",
    envvar="BATCHFX_TENANT",
    help="Whose batch it is.  [env: BATCHFX_TENANT]",
)
json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON on standard output, and nothing else there.",
)
batch_argument = click.argument("number", metavar="BATCH", type=click.IntRange(min=1))


class Rate(click.ParamType[float]):
    """A part of the rows: 5%, 5 or 0.05. A bare 1 might be either and is refused."""

    name = "rate"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the part as a number from 0 to 1."""
        text = str(value).strip()
        written = re.fullmatch(r"([0-9]+\.?[0-9]*|\.[0-9]+)\s*(%?)", text)
        number = float(written[1]) if written else float("nan")
        is_percentage = bool(written and written[2])
        if number == 1 and not is_percentage:
            self.fail(f"{value!r} is ambiguous: write 1% or 100%.", param, ctx)
        if is_percentage or number > 1:
            number /= 100
        if not 0 <= number <= 1:
            self.fail(
                f"{value!r} is no part of all rows: write 5% or 0.05.", param, ctx
            )
        return number


class ChunkSize(click.ParamType[int]):
    """A number of rows that are held in memory and committed together."""

    name = "rows"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number."""
        text = str(value).strip()
        number = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
        if not 1 <= number <= MOST_ROWS:
            self.fail(
                f"{value!r} is no size of a chunk: write a whole number of rows from "
                f"1 to {MOST_ROWS:,}.",
                param,
                ctx,
            )
        return number


def examples(*lines: str) -> str:
    """Return the end of a help text: commands that one may type."""
    heading = "Example:" if len(lines) == 1 else "Examples:"
    return "\b\n" + "\n  ".join([heading, *lines])

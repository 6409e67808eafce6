"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from batchfx.cli.languages import speak
from batchfx.model.translation import Language

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
    importers = click.option(
        "--importers",
        multiple=True,
        metavar="MODULE",
        expose_value=False,
        callback=_keep,
        help="A module that defines importers; may be repeated.  "
        "[env: BATCHFX_IMPORTERS]",
    )
    return importers(language_option(database_option(command)))


def language_option(command: Decorated) -> Decorated:
    """Add the one of them that says in which language issues are told."""
    language = click.option(
        "--language",
        type=click.Choice([*map(str, Language)]),
        expose_value=False,
        callback=_speak,
        help="The language of issues and summaries.  [env: BATCHFX_LANGUAGE, or the "
        "locale]",
    )
    return language(command)


def _speak(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Speak the language, said before the command's name or after it."""
    del ctx, parameter
    if value is not None:
        speak(Language(value))


def database_option(command: Decorated) -> Decorated:
    """Add the one of them that says where batches are kept."""
    database = click.option(
        "--database",
        metavar="URL",
        expose_value=False,
        callback=_keep,
        help="Where batches are kept.  [env: BATCHFX_DATABASE_URL; "
        f"default: {DEFAULT_DATABASE}]",
    )
    return database(command)


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
detach_option = click.option(
    "--detach",
    "detached",
    is_flag=True,
    help="Only enter it; workers run it ('batchfx worker').",
)
batch_argument = click.argument("number", metavar="BATCH", type=click.IntRange(min=1))


SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


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


class Age(click.ParamType[float]):
    """A length of time: 90s, 15m, 2h, 7d."""

    name = "age"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return it in seconds."""
        written = re.fullmatch(r"([0-9]{1,6})([smhd])", str(value).strip())
        if written is None:
            message = f"{value!r} is no length of time: write 90s, 15m, 2h or 7d."
            self.fail(message, param, ctx)
        return float(int(written[1]) * SECONDS[written[2]])


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

"""The commands, and how each ends when something is wrong.

Nothing heavy is imported before a command asks for it, so that help comes at once.
"""

from __future__ import annotations

import errno
import importlib
import io
import json
import os
import sys
import tempfile
import traceback
from typing import Any

import click

from batchfx.cli.interruption import ended_quietly
from batchfx.cli.languages import language_of, sentence, speak
from batchfx.cli.options import examples, global_options
from batchfx.cli.text import plain
from batchfx.errors import (
    AlreadyImportedError,
    BatchfxError,
    CursorExpiredError,
    DeclarationError,
    IllegalMoveError,
    SourceError,
    UsageError,
)

EXIT_BROKEN = 1  # the batch could not run
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130  # 128 and the number of SIGINT, as a shell has it
FULL = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO})

EXIT_CODES = """

\b
Exit codes:
    0  every row ended well      3  some rows are invalid or failed
    1  the batch could not run  130  ended by Ctrl-C
    2  wrong usage              143  ended by SIGTERM
"""
SECTIONS = {
    "Import": {
        "import": ("run", "Import a file."),
        "rerun": ("run", "Run the unfinished rows of a batch again."),
    },
    "Files": {
        "inspect": ("files", "Show what a file is and how it would be read."),
        "check": ("files", "Check a whole file without an importer."),
    },
    "Look": {
        "status": ("look", "Show where a batch is, or list the batches."),
        "issues": ("look", "Show what is wrong with a batch, grouped by cause."),
        "rows": ("look", "Show the rows of a batch and what became of them."),
        "download": ("faulty", "Write the faulty rows of a batch, to be corrected."),
        "recount": ("look", "Count a batch from its rows and compare."),
    },
    "Operate": {
        "serve": ("serve", "Show batches on a page, and run them."),
        "worker": ("worker", "Run the batches that wait, until told to stop."),
        "watch": ("watch", "Follow a batch until it ends, whoever runs it."),
        "pause": ("operate", "Begin nothing more of a batch."),
        "resume": ("operate", "Let a paused batch go on."),
        "cancel": ("operate", "End a batch for good."),
        "exclude": ("faulty", "Decide that rows are never imported."),
        "dead": ("operate", "Show the chunks that broke too often."),
        "revive": ("operate", "Let dead chunks be tried again."),
        "sweep": ("sweep", "Mend what dead workers left."),
        "lane": ("lanes", "Share the workers among the tenants."),
        "effect": ("effects", "Settle what nobody knows to have happened."),
        "switch": ("switches", "Turn work off and on while everything runs."),
        "credential": ("credentials", "Say who may work, and for whom."),
        "db": ("db", "Show and upgrade the tables in the database."),
    },
    "Learn": {
        "types": ("learn", "Show the importers there are and their columns."),
        "mappings": ("mappings", "Show the mappings that were saved."),
        "template": ("learn", "Write an empty file with the columns of an importer."),
        "demo": ("demo", "Run a sample import in a checkout of batchfx."),
    },
}
COMMANDS = {name: entry for part in SECTIONS.values() for name, entry in part.items()}


class LazyGroup(click.Group):
    """A group that imports the module of a command once the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command called *cmd_name*, or None."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        with ended_quietly(held_back=True):
            module = importlib.import_module(f"batchfx.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands in sections, without importing them."""
        del ctx
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(name, text) for name, (_, text) in commands.items()]
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; write everything out while errors can still be told.

        Raises:
            DeclarationError: The application's code wanted to end the process.

        """
        try:
            result = super().invoke(ctx)
        except SystemExit as error:
            message = f"The importers' code ended the program: it raised {error!r}."
            raise DeclarationError(message) from error
        sys.stdout.flush()
        return result


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog=examples(
        "batchfx import customers customers.csv",
        "batchfx issues 1",
        "batchfx rerun 1 corrected.csv",
    )
    + EXIT_CODES,
)
@global_options
@click.version_option(package_name="batchfx", message="%(prog)s %(version)s")
def batchfx() -> None:
    """Import files, row by row accounted for.

    Importers are found through --importers, the variable BATCHFX_IMPORTERS,
    [tool.batchfx] in pyproject.toml, or installed packages; the first of these that
    names any is taken.
    """


def run_command_line(arguments: list[str]) -> int:
    """Run one command; say what is wrong in one sentence, and return the exit code."""
    _prepare_streams()
    as_json = "--json" in arguments
    try:
        speak(language_of(os.environ))
        code: int | None = batchfx.main(
            arguments, prog_name="batchfx", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        _print_error(as_json, "usage", error.format_message())
        return error.exit_code
    except BatchfxError as error:
        told = "\n".join([sentence(error), *getattr(error, "__notes__", [])])
        click.echo(plain(told), err=True)
        _print_error(as_json, code_of(error), str(error), **_details(error))
        return exit_code_of(error)
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except SystemExit:  # click's way to end when nobody reads any more
        raise
    except BaseException as error:  # noqa: BLE001 - the last place that can tell of it
        return _end_of(error, as_json)
    return code or 0


def _end_of(error: BaseException, as_json: bool) -> int:  # noqa: FBT001 - the flag of the command
    """Say what nobody expected, and return the exit code."""
    if isinstance(error, OSError) and _is_of_output(error):
        _leave_output()
        click.echo(f"Error: The output can't be written: {error.strerror}.", err=True)
    else:
        _print_error(as_json, "internal", _tell_of_fault(error))
    return EXIT_BROKEN


def _is_of_output(error: OSError) -> bool:
    """Tell whether standard output is full: that error names no file."""
    return error.filename is None and error.errno in FULL


def _leave_output() -> None:
    """Send what is still to be written nowhere, so that it can't fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def code_of(error: BatchfxError) -> str:
    """Return the stable name of *error*, for machines."""
    if isinstance(error, SourceError):
        return error.code
    name = type(error).__name__.removesuffix("Error")
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def exit_code_of(error: BatchfxError) -> int:
    """Return 2 when the command was wrong, 1 when the batch could not run."""
    could_not_run = isinstance(error, AlreadyImportedError | IllegalMoveError)
    is_usage = isinstance(error, UsageError) and not could_not_run
    return EXIT_USAGE if is_usage else EXIT_BROKEN


def _details(error: BatchfxError) -> dict[str, Any]:
    if isinstance(error, SourceError):
        return {"parameters": error.parameters}
    if isinstance(error, AlreadyImportedError):
        return {"batch": error.batch}
    if isinstance(error, CursorExpiredError):
        return {"earliest": error.earliest}
    return {}


def _print_error(as_json: bool, code: str, message: str, **details: Any) -> None:  # noqa: FBT001 - the flag of the command
    if as_json:
        error = {"code": code, "message": message, **details}
        click.echo(json.dumps({"error": error}, default=str))


def _tell_of_fault(error: BaseException) -> str:
    """Keep the traceback of a fault of batchfx in a file, and say so."""
    told = ": ".join([type(error).__name__, *str(error).splitlines()[:1]]).rstrip(".")
    with tempfile.NamedTemporaryFile(
        "w",
        encoding="utf-8",
        errors="backslashreplace",
        prefix="batchfx-error-",
        suffix=".txt",
        delete=False,
    ) as file:
        file.writelines(traceback.format_exception(error))
    message = (
        f"batchfx itself failed: {told} "
        f"(the traceback is in {file.name}; please report it)."
    )
    click.echo(f"Error: {plain(message)}", err=True)
    return message


def _prepare_streams() -> None:
    """Let every character be written, whatever the terminal's encoding."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started the process
            descriptor = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

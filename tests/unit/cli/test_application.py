from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from batchfx.cli.application import COMMANDS, LazyGroup, batchfx, code_of, exit_code_of
from batchfx.errors import (
    AlreadyImportedError,
    BatchfxError,
    DeclarationError,
    IllegalMoveError,
    LeaseLostError,
    NotFoundError,
    SourceError,
    StoreError,
    UsageError,
)


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (UsageError("x"), "usage", 2),
        (NotFoundError("x"), "not_found", 2),
        (AlreadyImportedError("x", 1), "already_imported", 1),
        (IllegalMoveError("x"), "illegal_move", 1),
        (SourceError("empty_file", "x"), "empty_file", 1),
        (StoreError("x"), "store", 1),
        (LeaseLostError("x"), "lease_lost", 1),
        (DeclarationError("x"), "declaration", 1),
    ],
)
def test_an_error_has_a_stable_name_and_an_exit_code(
    error: BatchfxError, code: str, exit_code: int
) -> None:
    assert (code_of(error), exit_code_of(error)) == (code, exit_code)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_a_sentence_and_has_help(name: str) -> None:
    command = batchfx.get_command(click.Context(batchfx), name)

    assert command is not None
    assert command.name == name
    assert COMMANDS[name][1].endswith(".")
    shown = CliRunner().invoke(batchfx, [name, "--help"], prog_name="batchfx")
    assert shown.exit_code == 0
    assert shown.output.startswith(f"Usage: batchfx {name} ")


@click.command("ends")
def ends_command() -> None:
    raise SystemExit(0)


class Ending(LazyGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        del ctx, cmd_name
        return ends_command


def test_application_code_does_not_end_a_command_in_silence() -> None:
    with pytest.raises(DeclarationError, match=r"it raised SystemExit\(0\)\.$"):
        Ending("batchfx").main(["ends"], standalone_mode=False)


def test_the_exit_codes_of_signals_are_in_the_help() -> None:
    shown = CliRunner().invoke(batchfx, ["--help"], prog_name="batchfx")

    assert "130  ended by Ctrl-C\n" in shown.output
    assert "143  ended by SIGTERM\n" in shown.output

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from batchfx.cli.application import COMMANDS, batchfx, code_of, exit_code_of
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

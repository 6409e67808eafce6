"""The names that `batchfx` exports, which are imported when they are asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import batchfx

SOURCE = Path(batchfx.__file__).read_text("utf-8")


def names_for_type_checkers() -> dict[str, str]:
    (block,) = (node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_every_public_name_can_be_imported() -> None:
    found = {name: getattr(batchfx, name) for name in batchfx.__all__}

    assert {name for name, value in found.items() if value is None} == set()
    assert set(batchfx.__all__) <= set(dir(batchfx))


def test_type_checkers_see_what_is_imported() -> None:
    homes = batchfx._HOME_OF  # noqa: SLF001 - the other half of the imports

    assert names_for_type_checkers() == homes
    assert sorted(homes) == sorted(batchfx.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'batchfx' has no attribute 'x'"):
        batchfx.x  # noqa: B018 - that is the test


def test_the_command_line_starts_without_the_heavy_libraries() -> None:
    code = (
        "import sys, batchfx.cli.application;"
        "print({'polars', 'pydantic', 'rich', 'sqlalchemy'} & set(sys.modules))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "set()\n"

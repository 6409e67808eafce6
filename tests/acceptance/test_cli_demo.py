from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.acceptance.shell import SCRIPT, Ran, Shell

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A copy of what a checkout has beside the package."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("importers", "samples"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return Shell(folder)


def run(shell: Shell, *arguments: str) -> Ran:
    return shell.run(*arguments, BATCHFX_IMPORTERS="")


def offered(ran: Ran) -> str:
    """Return the line with the command that finishes every row."""
    (line,) = [each for each in ran.out.splitlines() if " rerun 1 " in each]
    return line


def test_the_demo_shows_a_whole_import(checkout: Shell) -> None:
    ran = run(checkout, "demo")

    assert (ran.code, ran.err.count("Error")) == (0, 0)
    assert ran.out.startswith("Importing customers.csv as customers, batch 1\n")
    assert f"Database: {checkout.folder / 'batchfx-demo.db'}\n" in ran.out
    assert " rows need attention.\n" in ran.out
    assert "     Rows  Field         Problem\n" in ran.out
    assert offered(ran) == (
        f"  {SCRIPT} rerun 1 samples/customers-corrected.csv "
        "--database sqlite:///batchfx-demo.db"
    )
    assert ran.out.endswith(
        "\n\nTo see it on a page:\n"
        f"  {SCRIPT} serve --database sqlite:///batchfx-demo.db\n"
    )
    assert ran.err.startswith("100%, ")


def test_the_command_that_the_demo_prints_finishes_every_row(checkout: Shell) -> None:
    told = offered(run(checkout, "demo")).split()
    ran = run(checkout, *told[1:])

    assert ran.code == 0
    assert " rows ended well.\n" in ran.out


def test_the_demo_begins_anew_each_time(checkout: Shell) -> None:
    first, second = run(checkout, "demo"), run(checkout, "demo")

    assert first.out.splitlines()[0] == second.out.splitlines()[0]
    assert second.code == 0


def test_the_demo_runs_below_the_checkout_as_well(checkout: Shell) -> None:
    below = Shell(checkout.folder / "samples")
    told = offered(run(below, "demo")).split()
    ran = run(below, *told[1:])

    assert "customers-corrected.csv" in told
    assert ran.code == 0


def test_the_demo_takes_no_other_database(checkout: Shell) -> None:
    ran = run(checkout, "--database", "sqlite:///mine.db", "demo")

    assert ran.code == 2
    assert "Error: The demo brings its own importers and its own database." in ran.err

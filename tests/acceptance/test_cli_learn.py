from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import Shell, shell_in


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def test_types_shows_what_each_importer_expects(shell: Shell) -> None:
    ran = shell.run("types")

    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    start = lines.index("people People by their code.")
    assert ran.code == 0
    assert lines[start + 2 : start + 6] == [
        "Column Type Required Unique Example",
        "Code text yes yes 007",
        "Name text yes Zoë",
        "Age whole number",
    ]
    assert not (shell.folder / "batchfx.db").exists()


def test_types_as_json_has_every_field(shell: Shell) -> None:
    found = {each["name"]: each for each in shell.run("types", "--json").json}

    assert list(found) == ["noisy", "people"]
    assert found["people"]["summary"] == "People by their code."
    assert found["people"]["fields"][0] == {
        "field": "code",
        "header": "Code",
        "aliases": [],
        "type": "text",
        "required": True,
        "unique": True,
        "format": None,
        "example": "007",
    }


def test_a_template_has_the_headers_and_an_example(shell: Shell) -> None:
    ran = shell.run("template", "people")

    assert (ran.code, ran.out, ran.err) == (0, "Code,Name,Age\n007,Zoë,\n", "")


def test_a_template_can_be_imported(shell: Shell) -> None:
    ran = shell.run("template", "people", "-o", "new.csv")

    assert (ran.code, ran.out) == (0, "Wrote new.csv.\n")
    assert (
        shell.folder / "new.csv"
    ).read_bytes() == "Code,Name,Age\n007,Zoë,\n".encode()
    assert shell.run("import", "people", "new.csv").code == 0


def test_a_template_overwrites_nothing(shell: Shell) -> None:
    ran = shell.run("template", "people", "-o", "good.csv")
    elsewhere = shell.run("template", "people", "-o", "nowhere/new.csv")

    assert (ran.code, ran.err) == (
        2,
        "Error: 'good.csv' exists already. Name another file, or remove it first.\n",
    )
    assert (elsewhere.code, elsewhere.err) == (
        2,
        "Error: 'nowhere/new.csv' can't be written: No such file or directory.\n",
    )
    assert (shell.folder / "good.csv").read_text().startswith("Code,Name,Age\n1,Ann")


def test_help_and_version_are_told(shell: Shell) -> None:
    texts = shell.run("--help").out

    assert "\n  import  Import a file.\n" in texts
    assert "3  some rows are invalid or failed\n" in texts
    assert shell.run("--version").out == "batchfx 0.1.0\n"


def test_the_demo_needs_a_checkout(shell: Shell) -> None:
    ran = shell.run("demo")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "Error: There is no samples/customers.csv here: the demo needs a checkout of "
        "batchfx. Clone the project and run 'batchfx demo' in its folder.\n"
    )

"""What can't be imported: one sentence, the right exit code, and nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import Shell, shell_in

HEADER = "Code,Name,Age\n"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def refusal(shell: Shell, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code, the error's code, and the one sentence that is said."""
    ran = shell.run(*arguments, "--json")

    error = ran.json["error"]
    assert ran.err == f"Error: {error['message']}\n"
    assert shell.batches == 0
    return ran.code, error["code"], error["message"]


def test_without_json_the_sentence_is_all_that_is_written(shell: Shell) -> None:
    ran = shell.run("import", "people", "nowhere.csv")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "Error: There is no file 'nowhere.csv'. Check the name and the folder.\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("empty.csv", "", "empty_file", "empty"),
        ("blank.csv", "\n\n  \n", "empty_file", "empty"),
        ("header.csv", HEADER, "no_rows", "no rows"),
        ("missing.csv", "Code,Age\n1,2\n", "missing_column", "'Name'"),
        ("doubled.csv", "Code,Name,name\n1,a,b\n", "duplicate_column", "'Name' and"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "", ""),
        ("program.csv", bytes(range(256)) * 20, "", ""),
        ("broken.xlsx", b"PK\x03\x04 and no more", "", ""),
    ],
)
def test_a_file_without_the_rows_is_refused(
    shell: Shell, name: str, content: str | bytes, code: str, words: str
) -> None:
    shell.write(name, content)

    exit_code, found, sentence = refusal(shell, "import", "people", name)

    assert exit_code == 1
    assert code in {found, ""}
    assert words in sentence


def test_a_missing_file_is_refused_and_no_database_is_made(shell: Shell) -> None:
    assert refusal(shell, "import", "people", "nowhere.csv") == (
        1,
        "no_such_file",
        "There is no file 'nowhere.csv'. Check the name and the folder.",
    )
    assert not (shell.folder / "batchfx.db").exists()


def test_a_folder_is_refused(shell: Shell) -> None:
    assert refusal(shell, "import", "people", ".") == (
        1,
        "is_folder",
        "'.' is a folder. Name a file in it.",
    )


def test_a_file_that_can_not_be_opened_is_refused(shell: Shell) -> None:
    (shell.folder / "loop.csv").symlink_to("loop.csv")  # root can't open it either

    assert refusal(shell, "import", "people", "loop.csv") == (
        1,
        "unreadable_file",
        "'loop.csv' can't be read: Too many levels of symbolic links.",
    )


def test_a_type_that_is_not_there_is_wrong_usage(shell: Shell) -> None:
    assert refusal(shell, "import", "poeple", "good.csv") == (
        2,
        "not_found",
        (
            "There is no importer called 'poeple'. Did you mean 'people'? "
            "Known: noisy, people."
        ),
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "people"),
        ("import", "people", "good.csv", "--chunk-size", "0"),
        ("import", "people", "good.csv", "--chunk-size", "1000001"),
        ("import", "people", "good.csv", "--max-error-rate", "101"),
        ("import", "people", "good.csv", "--max-error-rate", "1"),
        ("import", "people", "good.csv", "--nonsense"),
        ("rows", "1", "--verdict", "great"),
        ("status", "first"),
        ("frobnicate",),
    ],
)
def test_a_wrong_command_line_ends_with_2(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    ran = shell.run(*arguments, "--json")

    assert ran.code == 2
    assert ran.json["error"]["code"] == "usage"
    assert f"Error: {ran.json['error']['message']}" in ran.err
    assert shell.batches == 0


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell whose database has batch 1, of the default tenant."""
    shell = shell_in(tmp_path_factory.mktemp("imported"))
    assert shell.run("import", "people", "good.csv").code == 0
    return shell


@pytest.mark.parametrize("name", ["status", "rows", "issues", "recount", "rerun"])
def test_a_batch_that_is_not_there_is_wrong_usage(imported: Shell, name: str) -> None:
    ran = imported.run(name, "9", "--json")

    assert (ran.code, ran.json["error"]) == (
        2,
        {
            "code": "not_found",
            "message": "There is no batch 9. "
            "'batchfx status' lists the batches there are.",
        },
    )


def test_a_batch_of_another_tenant_is_not_there(imported: Shell) -> None:
    ran = imported.run("status", "1", "--tenant", "other", "--json")

    assert (ran.code, ran.json["error"]["message"]) == (
        2,
        (
            "Tenant 'other' has no batch 1. "
            "'batchfx status' lists the batches there are."
        ),
    )


def test_a_batch_in_no_database_is_not_there_and_none_is_made(shell: Shell) -> None:
    ran = shell.run("rows", "1")

    assert (ran.code, ran.err) == (
        2,
        (
            f"Error: There is no database '{shell.folder / 'batchfx.db'}' yet; the "
            "first import makes it. Name another one with --database.\n"
        ),
    )
    assert not (shell.folder / "batchfx.db").exists()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("people.db", "'people.db' is no database address."),
        ("oracle://host/x", "A database 'oracle://host/x' is not supported"),
    ],
)
def test_what_is_no_address_of_a_database_is_wrong_usage(
    shell: Shell, url: str, words: str
) -> None:
    ran = shell.run("import", "people", "good.csv", "--database", url, "--json")

    assert (ran.code, ran.json["error"]["code"]) == (2, "usage")
    assert words in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite://", "A database in memory forgets every batch"),
        ("sqlite:///nowhere/x.db", "its folder must exist"),
        ("sqlite:///app.py", "the file is something else"),
    ],
)
def test_a_database_that_can_not_be_used_ends_with_1(
    shell: Shell, url: str, words: str
) -> None:
    ran = shell.run("import", "people", "good.csv", "--database", url, "--json")

    assert ran.code == 1
    assert ran.json["error"]["code"] == "store"
    assert words in ran.err
    assert ran.err.count("\n") == 1


UNWORKABLE = """
from typing import Annotated
from pydantic import BaseModel
from batchfx import Column, Importer

class Row(BaseModel):
    code: Annotated[str, Column("Code", format="%d.%m.%Y")]

class Unworkable(Importer[Row]):
    name = "unworkable"
    def process(self, row, context):
        return row.code
"""


def test_a_row_model_that_can_not_work_is_refused_by_its_sentence(shell: Shell) -> None:
    shell.write("unworkable.py", UNWORKABLE)
    named = ("--importers", "unworkable", "--importers", "app")
    sentence = "Row.code has a format, '%d.%m.%Y', but its values are of the kind"
    refused = shell.run("template", "unworkable", *named)
    shown = shell.run("types", *named)
    listed = {each["name"]: each for each in shell.run("types", "--json", *named).json}

    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"Error: {sentence}")
    assert shown.code == 0
    assert f"  Error: {sentence}" in shown.out
    assert "Zoë" in shown.out
    assert listed["unworkable"]["error"].startswith(sentence)
    assert "error" not in listed["people"]
    assert shell.run("import", "people", "good.csv", *named).code == 0

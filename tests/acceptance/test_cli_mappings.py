"""Mappings and options on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import Shell, shell_in

FOREIGN = "Nr;Vorname;Alter;Stadt\n1;Ann;30;Rom\n2;Bob;k. A.;Wien\n"
MAPPED = ("--map", "Nr=code", "--map", "Vorname=Name", "--map", "Alter=age")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = shell_in(tmp_path)
    shell.write("foreign.csv", FOREIGN)
    return shell


def test_a_missing_column_says_what_to_type(shell: Shell) -> None:
    shell.write("near.csv", "Codes,Name\n1,Ann\n")
    ran = shell.run("import", "people", "near.csv")

    assert ran.code == 1
    assert ran.err == (
        "Error: The file has no column 'Code'. Is 'Codes' meant? Then add "
        "--map \"Codes=code\". It has: 'Codes', 'Name'.\n"
    )
    again = shell.run("import", "people", "near.csv", "--map", "Codes=code")
    assert again.code == 0


def test_a_mapping_is_given_saved_shown_and_used_again(shell: Shell) -> None:
    options = (
        "--map-value",
        "age:k. A.=41",
        "--save-mapping",
        "crm",
        "--map",
        "-Stadt",
    )
    first = shell.run("import", "people", "foreign.csv", *MAPPED, *options)

    assert first.code == 0
    assert first.out.endswith("\nThe mapping is saved as crm@1.\n")
    assert shell.query("SELECT code, name, age FROM person ORDER BY id") == [
        ("1", "Ann", 30),
        ("2", "Bob", 41),
    ]

    listed = shell.run("mappings", "people")
    assert [line.split()[:3] for line in listed.out.splitlines()] == [
        ["Importer", "Mapping", "Columns"],
        ["people", "crm@1", "3"],
    ]
    shown = shell.run("mappings", "people", "crm")
    assert shown.out.splitlines()[2:] == [
        "Column   Field",
        "Nr       code",
        "Vorname  name",
        "Alter    age",
        "Stadt    left out",
        '--set values={"age": {"k. A.": "41"}}',
    ]

    shell.write("later.csv", FOREIGN.replace("Stadt", "Ort").replace("Bob", "Rob"))
    later = shell.run("import", "people", "later.csv", "--mapping", "crm", "--json")
    assert later.json["mapping"] == {"name": "crm", "version": 1}
    assert later.json["tally"]["updated"] == 1
    drift, unknown = later.json["file_issues"]
    assert (drift["code"], unknown["code"]) == ("mapping_drift", "unknown_columns")
    assert (drift["parameters"]["gone"], drift["parameters"]["new"]) == (
        ["Stadt"],
        ["Ort"],
    )
    status = shell.run("status", "2")
    assert "  Mapping    crm@1" in status.out.splitlines()
    template = shell.run("template", "people", "--mapping", "crm")
    assert template.out == "Nr,Vorname,Alter\n007,Zoë,\n"


def test_another_tenants_mapping_is_not_there(shell: Shell) -> None:
    shell.run("import", "people", "foreign.csv", *MAPPED, "--save-mapping", "crm")

    other = shell.run("mappings", "--tenant", "acme", "--json")
    shown = shell.run("mappings", "people", "crm", "--tenant", "acme", "--json")
    own = shell.run("mappings", "--json")
    assert (other.code, other.json) == (0, [])
    assert shown.code == 2
    assert shown.json["error"]["code"] == "not_found"
    assert "Tenant 'acme' has no mapping 'crm' for 'people'." in shown.err
    assert [(each["name"], each["version"]) for each in own.json] == [("crm", 1)]
    assert own.json[0]["columns"] == {"Nr": "code", "Vorname": "name", "Alter": "age"}
    assert own.json[0]["others"] == ["Stadt"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--map", "Nr=cod"), "there is no field 'cod'. Is 'code' meant?"),
        (("--map", "Nrs=code"), "the file has no column 'Nrs'. Is 'Nr' meant?"),
        (("--map", "Nr"), "--map 'Nr' is no mapping: write COLUMN=FIELD"),
        (("--map-value", "age"), "--map-value 'age' maps no value"),
        (("--map-value", "height:a=1", *MAPPED), "there is no field 'height'"),
        (("--set", "delimeter=;"), "There is no option 'delimeter'."),
        (("--set", "values=DE", *MAPPED), "The option 'values' can't be \"DE\""),
        (("--set", "delimiter"), "'delimiter' is no option: write KEY=VALUE"),
        (("--set", "unique=code", *MAPPED), "unique can't be said for an import"),
        (("--mapping", "crm"), "has no mapping 'crm' for 'people'. There are none"),
        (("--save-mapping", "a@1", *MAPPED), "A mapping can't be called 'a@1'"),
    ],
)
def test_what_cant_be_said_is_refused_in_a_sentence(
    shell: Shell, options: tuple[str, ...], told: str
) -> None:
    ran = shell.run("import", "people", "foreign.csv", *options)

    assert ran.code == 2
    assert told in ran.err
    assert shell.batches == 0


def test_an_option_answers_for_the_rows_that_are_not_finished(shell: Shell) -> None:
    shell.run("import", "people", "foreign.csv", *MAPPED)
    again = shell.run("rerun", "1", "--set", 'null_tokens.Alter=["k. A."]')

    assert again.code == 0
    assert shell.query("SELECT code, age FROM person ORDER BY id") == [
        ("1", 30),
        ("2", None),
    ]


def test_a_rerun_takes_no_layout_without_a_corrected_file(shell: Shell) -> None:
    shell.run("import", "people", "foreign.csv", *MAPPED)
    ran = shell.run("rerun", "1", "--set", "sheet=2")

    assert ran.code == 2
    assert "sheet can't be said now" in ran.err


def test_an_importer_that_cant_work_is_told_by_a_rerun_too(shell: Shell) -> None:
    application = (shell.folder / "app.py").read_text("utf-8")
    shell.write("app.py", application + SIZES)
    shell.write("sizes.csv", "size\nsmal\n")
    shell.run("import", "sizes", "sizes.csv")
    shell.write(
        "app.py", application + SIZES.replace('Literal["small", "large"]', "set[int]")
    )
    ran = shell.run("rerun", "1")

    assert ran.code == 1
    assert ran.err.startswith("Error: SizeRow.size ")
    assert "Traceback" not in ran.err


def test_a_suggestion_is_asked_as_a_question(shell: Shell) -> None:
    shell.write("app.py", (shell.folder / "app.py").read_text("utf-8") + SIZES)
    shell.write("sizes.csv", "size\nsmal\n")
    shell.run("import", "sizes", "sizes.csv")

    issues = shell.run("issues", "1")
    rows = shell.run("rows", "1")
    as_json = shell.run("rows", "1", "--json")
    assert "did you mean 'small'?" in issues.out
    assert "Did you mean 'small'?" in rows.out
    assert as_json.json[0]["issues"][0]["suggestion"] == "small"


SIZES = """

from typing import Literal


class SizeRow(BaseModel):
    size: Literal["small", "large"]


class Sizes(Importer[SizeRow]):
    name = "sizes"

    def process(self, row, context):
        return row.size
"""

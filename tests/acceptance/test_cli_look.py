from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.shell import SCRIPT, Shell, shell_in


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A database with a faulty batch, a good one, and one of another tenant."""
    shell = shell_in(tmp_path_factory.mktemp("look"))
    shell.write("notes.csv", "Code;Name;Age\n\n7;Eve \x1b[31m;1\n")
    assert shell.run("import", "people", "faulty.csv").code == 3
    assert shell.run("import", "people", "good.csv").code == 0
    assert shell.run("import", "people", "notes.csv", "--tenant", "acme").code in {0, 3}
    return shell


def test_status_lists_the_batches_of_a_tenant(shell: Shell) -> None:
    ran = shell.run("status")
    lines = [line.split() for line in ran.out.splitlines() if line]

    assert ran.code == 0
    assert lines[0] == ["Database:", str(shell.folder / "batchfx.db")]
    assert " ".join(lines[1]) == "Batch State Rows Faulty Started Importer Source"
    assert lines[2][:4] == ["2", "completed", "3", "0"]
    assert lines[3][:4] == ["1", "completed", "4", "3"]
    assert lines[3][-2:] == ["people", "faulty.csv"]
    assert ran.out.splitlines()[-1] == (
        "Other tenants have batches too (--tenant): acme."
    )


def test_status_lists_as_json(shell: Shell) -> None:
    ran = shell.run("status", "--json", BATCHFX_TENANT="acme")

    assert [each["batch"] for each in ran.json] == [3]
    assert ran.json[0]["tenant"] == "acme"
    assert "Other tenants have batches too (--tenant): default." in ran.err


def test_status_of_a_batch_finds_its_tenant(shell: Shell) -> None:
    ran = shell.run("status", "3")
    record = shell.run("status", "3", "--json").json

    lines = [line.split() for line in ran.out.splitlines()]
    assert ran.code == 0
    assert ["Tenant", "acme"] in lines
    assert ["Source", "notes.csv"] in lines
    assert record["blank"] == 1
    assert "1 blank row of the file was passed over." in ran.out


def test_status_without_a_database_makes_none(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    ran = shell.run("status")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "There are no batches yet.")
    assert shell.run("status", "--json").json == []
    assert not (tmp_path / "batchfx.db").exists()


def test_rows_are_shown_with_what_became_of_them(shell: Shell) -> None:
    ran = shell.run("rows", "1")

    lines = [" ".join(line.split()) for line in ran.out.splitlines()[2:]]
    assert ran.code == 0
    assert lines[0] == "Row Verdict Record or issue"
    assert lines[1].split(" ")[:2] == ["2", "created"]
    assert lines[2].startswith("3 invalid Age 'x': ")
    assert len(lines) == 5


def test_rows_as_json_are_an_array_of_one_row_a_line(shell: Shell) -> None:
    ran = shell.run("rows", "1", "--verdict", "invalid", "--json")

    lines = ran.out.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 5)
    assert [row["row"] for row in ran.json] == [3, 4, 5]
    first = json.loads(lines[1].removesuffix(","))
    (issue,) = first.pop("issues")
    assert first == {
        "row": 3,
        "verdict": "invalid",
        "record_id": None,
        "reason": None,
        "attempt": 1,
        "values": {"Code": "2", "Name": "Bob", "Age": "x"},
    }
    assert set(issue) == {
        *("code", "message", "phase", "row", "field", "value", "suggestion"),
        *("parameters", "level", "detail"),
    }
    assert (issue["code"], issue["field"], issue["value"]) == (
        "int_parsing",
        "age",
        "x",
    )


@pytest.mark.parametrize("verdict", ["pending", "failed", "unknown"])
def test_no_rows_are_an_empty_array(shell: Shell, verdict: str) -> None:
    assert shell.run("rows", "1", "--verdict", verdict, "--json").out == "[]\n"


def test_no_rows_of_a_verdict_are_a_sentence(shell: Shell) -> None:
    ran = shell.run("rows", "1", "--verdict", "failed")

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No row is failed.")
    assert "Verdict" not in ran.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("arguments", [("rows", "1", "--json"), ("issues", "1")])
def test_output_that_can_not_be_written_is_one_sentence(
    shell: Shell, arguments: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [SCRIPT, *arguments],
            cwd=shell.folder,
            env=shell.environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ran.returncode == 1
    told = [line for line in ran.stderr.splitlines() if "Database: " not in line]
    assert told == ["Error: The output can't be written: No space left on device."]


def test_values_are_told_only_where_the_importer_is_known(shell: Shell) -> None:
    ran = shell.run("rows", "1", "--json", BATCHFX_IMPORTERS="")

    assert ran.code == 2
    assert ran.json["error"]["code"] == "usage"


def test_a_reader_that_has_enough_is_no_fault(shell: Shell) -> None:
    with shell.start("rows", "1", "--json") as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=30)

    assert "Error" not in err
    assert "Traceback" not in err


def test_issues_are_grouped_by_cause(shell: Shell) -> None:
    ran = shell.run("issues", "1")
    groups = shell.run("issues", "1", "--json").json

    assert ran.code == 0
    assert ran.out.splitlines()[2].split() == ["Rows", "Field", "Problem"]
    assert "row 3: x · int_parsing" in ran.out
    assert {(g["field"], g["code"], g["count"], g["row"]) for g in groups} == {
        ("age", "int_parsing", 1, 3),
        ("age", "less_than_equal", 1, 4),
        ("code", "duplicate_in_file", 1, 5),
    }
    assert all(group["code"] in ran.out for group in groups)


def test_a_batch_without_issues_says_so(shell: Shell) -> None:
    ran = shell.run("issues", "2")

    assert ran.out.splitlines()[-1] == "Batch 2 has no issues."
    assert shell.run("issues", "2", "--json").json == []


def test_what_a_file_holds_does_not_steer_the_terminal(shell: Shell) -> None:
    shown = [shell.run(name, "3") for name in ("rows", "issues", "status")]

    assert all("\x1b" not in ran.out + ran.err for ran in shown)


def test_a_recount_agrees(shell: Shell) -> None:
    ran = shell.run("recount", "1")
    record = shell.run("recount", "1", "--json").json

    assert ran.code == 0
    assert ran.out.splitlines()[-2:] == [
        "Batch 1: 4 rows were counted; all agrees.",
        "  1 created, 3 invalid",
    ]
    assert (record["total"], record["tally"]["invalid"]) == (4, 3)
    assert record["differences"] == []


def test_a_recount_says_which_chunk_differs(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    shell.run("import", "people", "faulty.csv", "--chunk-size", "2")
    shell.execute("UPDATE batchfx_chunk SET invalid = 7 WHERE ordinal = 1")
    ran = shell.run("recount", "1")
    record = shell.run("recount", "1", "--json")

    assert (ran.code, record.code) == (1, 1)
    assert ran.out.splitlines()[-1] == (
        "  chunk 1, rows 4 to 5: invalid is kept as 7, the rows say 2, "
        "pending is kept as -5, the rows say 0"
    )
    (difference,) = record.json["differences"]
    assert (difference["chunk"], difference["first_row"]) == (1, 4)
    assert (difference["stored"]["invalid"], difference["counted"]["invalid"]) == (7, 2)


def test_the_next_command_is_said_with_the_status(shell: Shell) -> None:
    assert shell.run("status", "1").out.splitlines()[-1] == (
        f"  {SCRIPT} rerun 1 CORRECTED-FILE"
    )
    assert "rerun" not in shell.run("status", "2").out


def test_a_long_message_is_cut_for_a_person_and_whole_in_json(tmp_path: Path) -> None:
    shell = shell_in(tmp_path)
    shell.write(
        "long.py",
        "from app import PersonRow\n"
        "from batchfx import Importer, Invalid\n"
        "class Long(Importer[PersonRow]):\n"
        "    name = 'long'\n"
        "    def process(self, row, context):\n"
        "        raise Invalid('long', 'x' * 5_000)\n",
    )
    named = ("--importers", "long")
    imported = shell.run("import", "long", "good.csv", *named)
    shown = [shell.run(name, "1") for name in ("rows", "issues")]
    record = shell.run("rows", "1", "--json", *named).json

    assert imported.code == 3
    for ran in (imported, *shown):
        assert "x" * 199 + "…" in ran.out
        assert "x" * 200 not in ran.out
    assert record[0]["issues"][0]["message"] == "x" * 5_000

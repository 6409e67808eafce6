from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.shell import SCRIPT, Shell, shell_in


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def test_a_good_file_ends_with_0_and_its_tally(shell: Shell) -> None:
    ran = shell.run("import", "people", "good.csv")

    assert (ran.code, ran.out.splitlines()[:3]) == (
        0,
        [
            "Importing good.csv as people, batch 1",
            f"Database: {shell.folder / 'batchfx.db'}",
            "",
        ],
    )
    assert [line.split()[:2] for line in ran.out.splitlines()[3:]] == [
        ["Batch", "1"],
        [],
        ["3", "created"],
        ["3", "rows"],
    ]
    assert "Batch 1 is complete. All 3 rows ended well.\n" in ran.out
    assert shell.query("SELECT code, name, age FROM person ORDER BY id") == [
        ("1", "Ann", 30),
        ("2", "Bob", 40),
        ("3", "Cid", 50),
    ]


def test_faulty_rows_end_with_3_their_causes_and_the_next_command(
    shell: Shell,
) -> None:
    ran = shell.run("import", "people", "faulty.csv")

    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert ran.code == 3
    assert "Batch 1 is complete. 3 of 4 rows need attention." in lines
    assert lines[lines.index("1 created") + 1] == "3 invalid"
    assert "row 3: x · int_parsing" in lines
    assert lines[lines.index("row 3: x · int_parsing") - 1].startswith("1 Age ")
    assert lines[-1] == f"{SCRIPT} rerun 1 CORRECTED-FILE"


def test_what_comes_next_has_the_options_that_were_given(shell: Shell) -> None:
    ran = shell.run(
        *("--importers", "app", "import", "people", "faulty.csv"),
        *("--database", "sqlite:///other place.db"),
        BATCHFX_IMPORTERS="",
    )

    assert ran.out.splitlines()[-1] == (
        f"  {SCRIPT} rerun 1 CORRECTED-FILE --importers app "
        "--database 'sqlite:///other place.db'"
    )


def test_with_json_standard_output_is_one_object(shell: Shell) -> None:
    ran = shell.run("import", "people", "faulty.csv", "--tenant", "acme", "--json")

    found = ran.json
    assert ran.code == 3
    assert len(ran.out.splitlines()) == 1
    assert isinstance(found.pop("seconds"), float)
    assert found.pop("created_at") == found.pop("started_at") < found.pop("ended_at")
    assert found == {
        "batch": 1,
        "state": "completed",
        "total": 4,
        "tally": {
            "created": 1,
            "updated": 0,
            "unchanged": 0,
            "skipped": 0,
            "invalid": 3,
            "failed": 0,
            "unknown": 0,
            "pending": 0,
        },
        "attempt": 1,
        "importer": "people",
        "tenant": "acme",
        "source": "faulty.csv",
        "mapping": None,
        "reason": None,
        "dry_run": False,
        "blank": 0,
        "file_issues": [],
    }
    assert f"Database: {shell.folder / 'batchfx.db'}" in ran.err.splitlines()


def test_what_the_application_prints_stays_out_of_the_json(shell: Shell) -> None:
    ran = shell.run("import", "noisy", "good.csv", "--json")

    assert ran.json["tally"]["created"] == 3
    assert ran.err.count("noise from the application") == 3


def test_nothing_in_a_pipe_is_coloured(shell: Shell) -> None:
    ran = shell.run("import", "people", "faulty.csv")

    assert "\x1b" not in ran.out + ran.err
    assert [line for line in ran.out.splitlines() if line != line.rstrip()] == []
    assert ran.err.splitlines()[-1].startswith("100%, 4 of 4 rows, ")


def test_a_dry_run_writes_no_record_and_a_rerun_does(shell: Shell) -> None:
    checked = shell.run("import", "people", "good.csv", "--dry-run")
    tables = shell.query("SELECT name FROM sqlite_master WHERE name = 'person'")
    records = shell.query("SELECT * FROM person") if tables else []
    imported = shell.run("rerun", "1", "--json")

    assert checked.code == 0
    assert "Batch 1 was checked; nothing was written. All 3 rows are valid." in (
        checked.out
    )
    assert checked.out.splitlines()[-2:] == [
        "To import them now:",
        f"  {SCRIPT} rerun 1",
    ]
    assert records == []
    assert (imported.code, imported.json["tally"]["created"]) == (0, 3)


def test_after_a_dry_run_of_faulty_rows_both_ways_to_go_on_are_said(
    shell: Shell,
) -> None:
    checked = shell.run("import", "people", "faulty.csv", "--dry-run")
    imported = shell.run("rerun", "1", "--json")

    assert "Batch 1 was checked; nothing was written." in checked.out
    assert checked.out.splitlines()[-5:] == [
        "To import the valid rows now, without a corrected file:",
        f"  {SCRIPT} rerun 1",
        "",
        "Correct these rows in a copy of the file, then:",
        f"  {SCRIPT} rerun 1 CORRECTED-FILE",
    ]
    assert imported.json["tally"]["created"] == 1


def test_a_dry_run_of_faulty_rows_ends_with_3(shell: Shell) -> None:
    ran = shell.run("import", "people", "faulty.csv", "--dry-run", "--json")

    assert (ran.code, ran.json["state"]) == (3, "checked")
    assert (ran.json["tally"]["invalid"], ran.json["tally"]["pending"]) == (3, 1)


def test_the_same_content_is_refused_unless_again_is_said(shell: Shell) -> None:
    shell.run("import", "people", "good.csv")
    shell.write("copy.csv", (shell.folder / "good.csv").read_bytes())
    refused = shell.run("import", "people", "copy.csv", "--json")
    again = shell.run("import", "people", "copy.csv", "--again", "--json")

    assert refused.code == 1
    assert refused.json["error"]["code"] == "already_imported"
    assert refused.json["error"]["batch"] == 1
    assert refused.err.startswith("Error: This content was imported before, as batch 1")
    assert (again.code, again.json["batch"]) == (0, 2)
    assert again.json["tally"]["unchanged"] == 3


def test_too_many_faults_stop_the_run_cleanly(shell: Shell) -> None:
    ran = shell.run(
        *("import", "people", "faulty.csv"),
        *("--chunk-size", "2", "--max-error-rate", "25%"),
    )

    assert ran.code == 3
    assert "Batch 1 was stopped. 1 of 4 rows are done, 1 needs attention.\n" in ran.out
    assert "1 of the first 2 rows are faulty (50.0%)" in ran.out
    assert ran.out.splitlines()[-1] == f"  {SCRIPT} rerun 1"


def test_a_corrected_file_finishes_the_rows_that_were_faulty(shell: Shell) -> None:
    shell.run("import", "people", "faulty.csv")
    shell.write("fixed.csv", "row,Code,Name,Age\n3,2,Bob,40\n4,3,Cid,50\n5,4,Dan,60\n")
    ran = shell.run("rerun", "1", "fixed.csv")
    nothing = shell.run("rerun", "1", "--json")

    assert ran.code == 0
    assert ran.out.startswith("Running batch 1 again: faulty.csv as people\n")
    assert "4  created" in ran.out
    assert (nothing.code, nothing.json["attempt"]) == (0, 2)


def test_an_exception_in_the_application_is_a_failed_row(shell: Shell) -> None:
    shell.write("zero.csv", "Code,Name,Age\n1,Ann,0\n2,Bob,1\n")
    ran = shell.run("import", "noisy", "zero.csv", "--json")
    (row,) = shell.run("rows", "1", "--verdict", "failed", "--json").json

    assert (ran.code, ran.json["tally"]["failed"]) == (3, 1)
    (issue,) = row["issues"]
    assert issue["message"].startswith("ZeroDivisionError: ")
    assert "(app.py, line " in issue["message"]
    assert issue["detail"].startswith("Traceback (most recent call last):")


def test_a_reader_that_goes_away_stops_no_import(shell: Shell) -> None:
    with shell.start("import", "people", "good.csv") as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=30)

    assert process.returncode == 0
    assert "Traceback" not in err
    assert shell.query("SELECT count(*) FROM person") == [(3,)]


def test_faults_of_batchfx_itself_are_one_sentence(shell: Shell) -> None:
    shell.run("import", "people", "good.csv")
    shell.execute("DROP TABLE batchfx_issue")
    ran = shell.run("issues", "1", "--json", TMPDIR=str(shell.folder))

    (kept,) = shell.folder.glob("batchfx-error-*.txt")
    assert ran.code == 1
    assert ran.json["error"]["code"] == "internal"
    assert ran.err.splitlines()[-1].startswith(
        "Error: batchfx itself failed: OperationalError: "
    )
    assert str(kept) in ran.err
    assert kept.read_text().startswith("Traceback (most recent call last):")


def test_a_corrected_file_that_changes_nothing_has_its_warnings_told(
    shell: Shell,
) -> None:
    shell.run("import", "people", "good.csv")
    shell.write("corrected.csv", "row,Code,Name,Age\n2,1,Ann,31\n99,9,Zoe,1\n")
    ran = shell.run("rerun", "1", "corrected.csv")

    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[1] == "Nothing was left to do."
    warnings = [line for line in lines[2:] if line]
    assert warnings
    assert all(line.startswith("Warning: ") for line in warnings)


def test_an_importer_that_ends_the_program_does_so_with_a_sentence(
    shell: Shell,
) -> None:
    shell.write("ends.py", "raise SystemExit(0)\n")
    ran = shell.run("types", "--importers", "ends")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: The module 'ends' can't be imported: SystemExit")


def test_an_interrupt_of_the_importers_has_no_traceback(shell: Shell) -> None:
    shell.write("stops.py", "raise KeyboardInterrupt\n")
    ran = shell.run("types", "--importers", "stops")

    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "")


def test_a_run_that_loses_its_batch_names_the_command_to_go_on(
    shell: Shell,
) -> None:
    shell.write(
        "robbed.py",
        "import sqlite3\n"
        "from app import PersonRow\n"
        "from batchfx import Importer\n"
        "class Robbed(Importer[PersonRow]):\n"
        "    name = 'robbed'\n"
        "    def check_row(self, row):\n"
        "        with sqlite3.connect('batchfx.db') as connection:\n"
        "            connection.execute('UPDATE batchfx_chunk SET fence = fence + 1 '\n"
        "                \"WHERE state = 'leased'\")\n"
        "    def process(self, row, context):\n"
        "        return 1\n",
    )
    ran = shell.run("import", "robbed", "good.csv", "--importers", "robbed", "--json")

    assert (ran.code, ran.json["error"]["code"]) == (1, "lease_lost")
    assert ran.err.splitlines()[-3:] == [
        f"Error: {ran.json['error']['message']}",
        "To go on:",
        f"  {SCRIPT} rerun 1 --importers robbed",
    ]

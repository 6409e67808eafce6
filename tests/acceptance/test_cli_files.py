"""`batchfx inspect` and `batchfx check`: a file looked at without an importer."""

from __future__ import annotations

import gzip
import json
import subprocess
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

from batchfx.cli.application import run_command_line
from batchfx.execution import repeats
from tests.acceptance.shell import SCRIPT, Shell, shell_in
from tests.acceptance.test_cli_terminal import CONTROL, HIDE, SHOW, seen
from tests.cases.checking import Checked, checked, parsed

TYPED = "sku:text,qty:integer,price:decimal,day:date,ok:boolean"
ORDERS = (
    "sku,qty,price,day,ok\n"
    "007,3,3.00,2026-02-28,true\n"
    "\n"
    "008,x,free,2026-02-30,maybe\n"
    ",,,,\n"
    "009,,0.00000001,,\n"
)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return shell_in(tmp_path)


def check(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    content: str | bytes,
    *arguments: str,
) -> Checked:
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return checked(path, arguments, capsys)


def codes(row: dict[str, Any]) -> dict[str | None, str]:
    return {issue["column"]: issue["code"] for issue in row["issues"]}


def test_every_row_is_a_line_between_what_was_found_and_the_totals(
    shell: Shell,
) -> None:
    shell.write("orders.csv", ORDERS)

    ran = shell.run("check", "orders.csv", "--columns", TYPED, "--json")

    found = parsed(ran.code, ran.out)
    assert (ran.code, ran.err) == (3, "")
    assert found.first["header"] == ["sku", "qty", "price", "day", "ok"]
    assert found.first["issues"] == []
    assert found.first["detected"]["format"] == "csv"
    assert found.first["detected"]["encoding"] == "utf-8"
    assert found.first["detected"]["delimiter"] == ","
    assert found.first["detected"]["header_row"] == 1
    assert [(row["row"], row["values"]) for row in found.rows] == [
        (2, ["007", 3, "3.00", "2026-02-28", True]),
        (4, ["008", None, None, None, None]),
        (6, ["009", None, "0.00000001", None, None]),
    ]
    assert codes(found.rows[1]) == {
        "qty": "int_parsing",
        "price": "decimal_parsing",
        "day": "date_parsing",
        "ok": "bool_parsing",
    }
    assert found.totals == {"read": 5, "good": 2, "faulty": 1, "blank": 2}
    assert shell.batches == 0
    assert not (shell.folder / "batchfx.db").exists()


def test_a_person_reads_causes_totals_and_what_to_do(shell: Shell) -> None:
    shell.write("orders.csv", ORDERS)

    ran = shell.run("check", "orders.csv", "--columns", TYPED)

    lines = [line.strip() for line in ran.out.splitlines()]
    assert ran.code == 3
    assert lines[0] == "orders.csv is a text file with delimiters (CSV)."
    assert "row 4: x · int_parsing" in lines
    assert "2  good" in lines
    assert "1  faulty" in lines
    assert "2  blank, passed over" in lines
    assert "Correct these rows in the file and check it again." in lines


def test_good_files_end_with_zero_and_the_next_command(shell: Shell) -> None:
    shell.write("a b.csv", "id,day\n1,2026-02-28\n")

    plain = shell.run("check", "a b.csv")
    looked = shell.run("inspect", "a b.csv")
    typed = shell.run("check", "a b.csv", "--columns", "id:integer,day:date")

    assert (plain.code, looked.code, typed.code) == (0, 0, 0)
    assert plain.out.splitlines()[-1].endswith("inspect 'a b.csv'")
    assert looked.out.splitlines()[-1].endswith(
        "check 'a b.csv' --columns id:integer,day:date"
    )
    assert typed.out.splitlines()[-1] == "Every row is good. Nothing was written."


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "empty_file"), (b"%PDF-1.7 ...", "unsupported_format")],
)
def test_a_file_that_can_t_be_read_is_a_line_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, code: str
) -> None:
    found = check(tmp_path, capsys, content)

    assert found.code == 1
    assert found.file_codes == [code]
    assert found.rows == []
    assert found.totals == {"read": 0, "good": 0, "faulty": 0, "blank": 0}


def test_a_file_that_is_not_there_is_told_in_the_same_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = checked(tmp_path / "none.csv", [], capsys)

    assert (found.code, found.file_codes) == (1, ["no_such_file"])


def test_what_stands_before_the_damage_is_told_and_nothing_behind_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{n},Ann {n * 7919 % 100_003}\n" for n in range(200_000))
    whole = gzip.compress(b"id,name\n" + rows.encode())

    found = check(tmp_path, capsys, whole[: len(whole) // 2], "--columns", "id:integer")

    assert found.code == 1
    assert found.first["issues"][0]["level"] == "error"
    assert found.totals["faulty"] == 0
    assert [row["values"][0] for row in found.rows] == list(range(len(found.rows)))


def test_a_column_that_the_file_does_not_have_is_an_issue_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ("--columns", "sku:text,amount:decimal"),
        ("--set", "required=amount"),
        ("--set", "expected_columns=sku,amount"),
        ("--set", "null_tokens.amount=-"),
    ):
        found = check(tmp_path, capsys, "SKU,qty\na,1\n", *arguments)

        assert (found.code, found.file_codes) == (1, ["missing_column"])
        assert "'amount'" in found.first["issues"][0]["message"]
        assert found.rows == []


def test_columns_are_found_by_names_that_differ_in_case_accents_and_signs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check(
        tmp_path,
        capsys,
        '"Größe, cm",Stück-Zahl,other\n1.50,2,x\n',
        "--columns",
        '"grosse cm":decimal,stuck zahl:integer',
    )

    assert found.first["header"] == ["Größe, cm", "Stück-Zahl", "other"]
    assert [row["values"] for row in found.rows] == [["1.50", 2, "x"]]


def test_names_with_commas_and_colons_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = '"a,b",c:d,"e""f"\n1,2,3\n'
    for written in (
        '"a,b":integer,c:d:integer,"e""f":integer',
        json.dumps({"a,b": "integer", "c:d": "integer", 'e"f': "integer"}),
    ):
        found = check(tmp_path, capsys, content, "--columns", written)

        assert [row["values"] for row in found.rows] == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("sku", "'sku' is no column with a type"),
        ("sku:string", "'string' of the column 'sku' is no type"),
        ("sku:int", "Is 'integer' meant?"),
        ("sku:text,sku:date", "given a type twice"),
        ("{sku", "no JSON"),
    ],
)
def test_types_that_are_none_are_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str, told: str
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("sku\n1\n")

    assert run_command_line(["check", str(path), "--columns", written]) == 2
    assert told in capsys.readouterr().err


def test_options_come_from_a_file_and_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = tmp_path / "options.json"
    options.write_text('{"decimal": ",", "date_order": "mdy"}')

    found = check(
        tmp_path,
        capsys,
        "a;day\n1,5;03.04.2026\n",
        "--options",
        str(options),
        "--set",
        "date_order=dmy",
        "--columns",
        "a:decimal,day:date",
    )

    assert [row["values"] for row in found.rows] == [["1.5", "2026-04-03"]]
    assert found.first["detected"]["decimal"] == ","
    assert found.first["detected"]["date_order"] == "dmy"


def test_an_option_that_means_nothing_to_the_file_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("sku\n1\n")

    assert run_command_line(["check", str(path), "--set", "sheet=2"]) == 2
    assert "sheet can't be set for a text file" in capsys.readouterr().err


def test_required_choices_and_uniqueness_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check(
        tmp_path,
        capsys,
        "sku,size,box\nA,S,1\nB,m,1\n,L,2\nA,S,2\nB,M,1\nC,XXXL,3\n",
        "--set",
        "required=sku",
        "--set",
        'choices={"size": ["S", "M", "L"]}',
        "--set",
        'unique=[["sku", "box"]]',
    )

    assert [codes(row) for row in found.rows] == [
        {},
        {"size": "literal_error"},
        {"sku": "missing"},
        {},
        {"sku": "duplicate_in_file"},
        {"size": "literal_error"},
    ]
    assert [issue["suggestion"] for issue in found.rows[1]["issues"]] == ["M"]
    assert [issue["suggestion"] for issue in found.rows[5]["issues"]] == [None]
    (twice,) = found.rows[4]["issues"]
    assert twice["parameters"] == {"first_row": 3, "fields": ["sku", "box"]}
    assert found.rows[4]["values"] == [None, "M", "1"]


@pytest.mark.parametrize(
    ("kind", "allowed", "values"),
    [
        ("integer", "[1,2]", {"1": 1, "02": 2, "3": None}),
        ("decimal", "1,2.50", {"1.00": "1.00", "2.5": "2.5", "2.51": None}),
        ("boolean", "[true]", {"yes": True, "1": True, "no": None}),
        ("date", "2026-03-01", {"2026-03-01": "2026-03-01", "2026-03-02": None}),
    ],
)
def test_choices_are_compared_as_values(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    allowed: str,
    values: dict[str, Any],
) -> None:
    content = "\n".join(["n", *values])
    options = ("--columns", f"n:{kind}", "--set", f"choices.n={allowed}")

    found = check(tmp_path, capsys, content, *options)

    assert [row["values"] for row in found.rows] == [[each] for each in values.values()]
    assert codes(found.rows[-1]) == {"n": "literal_error"}


@pytest.mark.parametrize(
    ("kind", "choice", "end"),
    [
        ("integer", "x", "its type is integer."),
        ("datetime", "2026-01-01", "There are no choices of this type."),
    ],
)
def test_choices_that_the_type_does_not_have_are_wrong_usage(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: str,
    choice: str,
    end: str,
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("n\n1\n")
    arguments = ["--columns", f"n:{kind}", "--set", f"choices.n={choice}"]

    assert run_command_line(["check", str(path), *arguments]) == 2
    error = capsys.readouterr().err
    assert f"The column 'n' can't have the choice '{choice}'" in error
    assert error.strip().endswith(end)


def test_blanks_alone_are_nothing_where_a_text_is_required(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = "a,b\n   ,1\n\u00a0,2\n x ,  \n"

    found = check(tmp_path, capsys, content, "--set", "required=a")

    assert [codes(row) for row in found.rows] == [
        {"a": "missing"},
        {"a": "missing"},
        {},
    ]
    assert found.rows[2]["values"] == [" x ", "  "]


def test_a_header_without_rows_is_told_of_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"a": pl.String, "b": pl.Int64}
    pl.DataFrame(schema=names).write_parquet(tmp_path / "parquet")
    book = openpyxl.Workbook()
    book.worksheets[0].append(["a", "b"])
    book.save(tmp_path / "xlsx")
    (tmp_path / "json").write_text('[["a", "b"]]')
    (tmp_path / "html").write_text("<table><tr><th>a<th>b</table>")
    (tmp_path / "csv").write_text("a,b\n")

    for name in ("parquet", "xlsx", "json", "html", "csv"):
        found = checked(tmp_path / name, (), capsys)
        codes_of_file = [issue["code"] for issue in found.first["issues"]]
        assert (found.first["header"], found.totals["read"]) == (["a", "b"], 0)
        assert codes_of_file.count("no_rows") == 1
        run_command_line(["inspect", str(tmp_path / name), "--json"])
        issues = json.loads(capsys.readouterr().out)["issues"]
        assert [issue["code"] for issue in issues].count("no_rows") == 1


@pytest.mark.parametrize("options", [(), ("--columns", "a:duration")])
def test_durations_have_one_notation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    lengths = [timedelta(days=1, hours=6), timedelta(seconds=-90.5), None]
    frame = pl.DataFrame({"a": lengths, "b": ["x"] * 3})
    frame.write_parquet(tmp_path / "file")

    found = checked(tmp_path / "file", options, capsys)

    values = [row["values"][0] for row in found.rows]
    assert values == ["PT30H", "-PT1M30.5S", None]


def test_no_value_of_a_file_breaks_a_line_of_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.csv"
    path.write_text("ü\u2028ü,b\nx\u2028é,\u2029\nb\x85,\x0b\x0c\x1c\n", "utf-8")

    for command, lines in ("check", 4), ("inspect", 1):
        run_command_line([command, str(path), "--json"])
        out = capsys.readouterr().out
        assert len(out.splitlines()) == lines
        assert all(json.loads(line) for line in out.splitlines())
        assert "x\\u2028é" in out


@pytest.mark.parametrize("at_once", [1, 7, 1_000_000])
def test_repeats_are_found_in_any_number_of_passes(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
) -> None:
    monkeypatch.setattr(repeats, "HASHES_AT_ONCE", at_once)
    values = ["a", "B", "c", None, "b ", "A", "d", None, "a", "e", "1.0", "1.00"]
    content = "key,n\n" + "".join(f"{v or ''},{i}\n" for i, v in enumerate(values))

    plain = check(tmp_path, capsys, content, "--set", "unique=key")
    folded = check(
        tmp_path, capsys, content, "--set", "unique=key", "--set", "unique_fold=true"
    )

    def firsts(found: Checked) -> dict[int, int]:
        return {
            row["row"]: row["issues"][0]["parameters"]["first_row"]
            for row in found.rows
            if row["issues"]
        }

    assert firsts(plain) == {10: 2}
    assert firsts(folded) == {6: 3, 7: 2, 10: 2}


def test_numbers_that_are_equal_repeat_however_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = "n\n1.0\n1.00\n1\n2\n"

    found = check(
        tmp_path, capsys, content, "--columns", "n:decimal", "--set", "unique=n"
    )

    assert [len(row["issues"]) for row in found.rows] == [0, 1, 1, 0]


def test_values_are_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = check(
        tmp_path,
        capsys,
        "i,d,dt,t,s\n"
        f"{'9' * 40},{'1' * 30}.{'2' * 30},2026-02-28T10:00:00Z,23:59:59.5,PT32H15M\n"
        "-1,-0.10,2026-02-28T10:00:00+05:30,00:00:00,-PT0.5S\n"
        "0,0.00,2026-02-28T10:00:00,12:00:00,PT0S\n",
        "--columns",
        "i:integer,d:decimal,dt:datetime,t:time,s:duration",
    )

    assert [row["values"] for row in found.rows] == [
        [
            int("9" * 40),
            f"{'1' * 30}.{'2' * 30}",
            "2026-02-28T10:00:00Z",
            "23:59:59.500000",
            "PT32H15M",
        ],
        [-1, "-0.10", "2026-02-28T10:00:00+05:30", "00:00:00", "-PT0.5S"],
        [0, "0.00", "2026-02-28T10:00:00", "12:00:00", "PT0S"],
    ]


def test_dates_of_a_sheet_are_told_in_text_columns_that_somebody_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Data")
    sheet.append(["id", "day"])
    sheet.append([1, date(2026, 2, 28)])
    book.save(path)

    plain = checked(path, [], capsys)
    text = checked(path, ["--columns", "day:text"], capsys)

    assert (plain.code, plain.rows[0]["values"]) == (0, ["1", "2026-02-28"])
    assert (text.code, text.rows[0]["values"]) == (3, ["1", None])
    assert codes(text.rows[0]) == {"day": "date_in_text_field"}


def test_numbers_shown_with_more_are_told_in_text_columns_that_somebody_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.xlsx"
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["id", "code"])
    sheet.append([1, 42])
    sheet["B2"].number_format = '[>9]00000;"A"0'
    book.save(path)

    plain = checked(path, [], capsys)
    text = checked(path, ["--columns", "code:text"], capsys)

    assert (plain.code, plain.rows[0]["values"]) == (0, ["1", "42"])
    assert (text.code, text.rows[0]["values"]) == (3, ["1", None])
    assert codes(text.rows[0]) == {"code": "leading_zero_risk"}


def test_a_total_is_told_and_every_row_is_accounted_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sure = check(tmp_path, capsys, "name,qty\na,1\n\nb,2\nTotal,3\n")
    doubtful = check(tmp_path, capsys, "name,qty\na,1\nb,2\nTotal,4\n")

    assert codes(sure.rows[2]) == {None: "not_a_record"}
    assert sure.totals == {"read": 4, "good": 2, "faulty": 1, "blank": 1}
    assert codes(doubtful.rows[2]) == {None: "possible_total"}
    assert doubtful.rows[2]["values"] == ["Total", "4"]
    assert doubtful.rows[2]["issues"][0]["level"] == "warning"
    assert (doubtful.code, doubtful.totals["good"]) == (0, 3)


def test_columns_without_a_name_and_rows_without_a_header_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = check(
        tmp_path,
        capsys,
        "a,,c\n1,2,3\n4,5,6\n",
        "--columns",
        "column 2:integer",
    )

    assert [row["values"] for row in found.rows] == [["1", 2, "3"], ["4", 5, "6"]]


def test_a_reader_that_goes_away_ends_it_quietly(shell: Shell) -> None:
    rows = "".join(f"{n},Ann\n" for n in range(100_000))
    shell.write("long.csv", f"id,name\n{rows}")
    process = shell.start("check", "long.csv", "--json")
    assert process.stdout is not None

    first = process.stdout.readline()
    process.stdout.close()

    assert json.loads(first)["header"] == ["id", "name"]
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(60)


def test_output_in_another_encoding_is_still_json(shell: Shell) -> None:
    shell.write("a.csv", "Größe\n€ 1 中 😀\n")

    process = subprocess.run(
        [SCRIPT, "check", "a.csv", "--json"],
        cwd=shell.folder,
        env=shell.environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        check=True,
    )

    found = parsed(0, process.stdout.decode("ascii"))
    assert found.first["header"] == ["Größe"]
    assert found.rows[0]["values"] == ["€ 1 中 😀"]


def test_inspect_says_what_the_columns_look_like(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.csv"
    rows = "".join(
        f"{n},{n % 7},{n},{n % 28 + 1:02}.03.2026,0{n},ja,{n}.5,word\n"
        for n in range(100)
    )
    path.write_text("id,x,free,day,zip,ok,n,word\n" + rows + "1,,free,,,,,\n")

    assert run_command_line(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    looks = {each["title"]: each["type"] for each in found["columns"]}
    assert looks == {
        "id": "integer",
        "x": "integer",
        "free": "integer",
        "day": "date",
        "zip": "text",
        "ok": "boolean",
        "n": "decimal",
        "word": "text",
    }
    free = found["columns"][2]
    assert (free["filled"], free["misfits"], free["misfit"]) == (101, 1, "free")
    assert found["columns"][3]["notation"]["date_order"] == "dmy"
    assert found["detected"]["date_order"] == "dmy"
    assert (found["rows_looked_at"], found["confirmed"]) == (101, True)
    assert [row["row"] for row in found["first_rows"]] == [2, 3, 4, 5, 6]


def test_inspect_takes_options_and_looks_at_the_first_rows_only(
    shell: Shell,
) -> None:
    rows = "".join(f"{n};{n},5\n" for n in range(5_000))
    shell.write("long.csv", f"id;price\n{rows}")

    ran = shell.run(
        "inspect", "long.csv", "--set", "decimal=,", "--set", "encoding=utf-8"
    )

    assert ran.code == 0
    assert "The first 1,000 rows were looked at; the others may differ." in ran.out
    assert ran.out.splitlines()[-1].endswith(
        "check long.csv --columns id:integer,price:decimal "
        "--set decimal=, --set encoding=utf-8"
    )


def test_inspect_refuses_what_can_t_be_read(shell: Shell) -> None:
    shell.write("empty.csv", "")

    ran = shell.run("inspect", "empty.csv", "--json")

    assert ran.code == 1
    assert ran.json["error"]["code"] == "empty_file"


def test_somebody_at_a_terminal_sees_that_the_file_is_read(shell: Shell) -> None:
    code, text = seen(shell, "check", "faulty.csv", "--columns", "Age:integer")

    plain = CONTROL.sub("", text)
    assert code == 3
    assert "Reading faulty.csv" in plain
    assert plain.index("1  faulty") < plain.index("Correct these rows")
    assert text.count(HIDE) == text.count(SHOW) == 1


def test_a_file_with_many_oddities_is_told_of_briefly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.csv"
    names = [f"d{number}" for number in range(40)]
    path.write_text(f"{','.join(names)}\n{','.join(['03/04/2026'] * 40)}\n")
    typed = ",".join(f"{name}:date" for name in names)

    assert run_command_line(["check", str(path), "--columns", typed]) == 3

    told = capsys.readouterr().out
    assert "and 28 other notes on the file; --json has all." in told
    assert "and 20 other causes" in told

"""Uploads: streamed, bounded, told apart when they are refused, and never half kept."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import socket
import tempfile
import threading
import time
import zipfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import psutil
import pytest
import sqlalchemy as sa

from batchfx.store.schema import BATCH, SOURCE
from batchfx.web import create_app, uploads
from batchfx.web.uploads import label
from tests.web.site import FAULTY, GOOD, RAW, Site, as_user, by_header, running, site_on

UPLOAD = "/api/batches?importer=people"


def batches_in(site: Site) -> int:
    with site.store.read() as connection:
        counts = [
            connection.execute(
                sa.select(sa.func.count()).select_from(each)
            ).scalar_one()
            for each in (BATCH, SOURCE)
        ]
    assert counts[0] == counts[1]
    return counts[0]


def test_a_form_with_one_file_is_as_good_as_the_file(site: Site) -> None:
    files = {"file": ("C:\\Users\\ann\\people.csv", GOOD.encode(), "text/csv")}
    answer = site.post(UPLOAD, files=files, data={"comment": "hello"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["source_name"] == "people.csv"
    with site.store.read() as connection:
        digest = connection.execute(sa.select(BATCH.c.digest)).scalar_one()
    assert digest == hashlib.sha256(GOOD.encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.csv", "a.csv"),
        ("a\x00b\r\nc.csv", "abc.csv"),
        ("\u202evsc.exe", "vsc.exe"),
        ("..", "upload"),
        ("", "upload"),
        ("  ", "upload"),
        ("\ud800.csv", "?.csv"),
        ("é" * 300 + ".csv", "é" * 98 + ".csv"),
    ],
)
def test_a_files_name_is_a_label_that_can_be_shown(name: str, shown: str) -> None:
    assert label(name) == shown


def test_what_can_not_be_taken_is_told_apart_and_leaves_nothing(here: Site) -> None:
    def refused(path: str = UPLOAD, **more: Any) -> tuple[int, str]:
        answer = here.post(path, **more)
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == answer.status_code
        return answer.status_code, problem["type"].removeprefix("urn:batchfx:problem:")

    many = [("a", ("a", b"1")), ("b", ("b", b"2"))]
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    broken = b"PK\x03\x04 this is no workbook"
    assert refused(content=b"", headers=RAW) == (422, "empty_file")
    assert refused(content=broken, headers=RAW)[0] == 422
    assert refused(content=broken, headers=RAW)[1] not in {"empty_file", "no_file"}
    assert refused("/api/batches?importer=ghosts", content=b"a", headers=RAW) == (
        404,
        "unknown_importer",
    )
    assert refused("/api/batches", content=b"a", headers=RAW) == (
        422,
        "invalid_request",
    )
    assert refused(content=b"a", headers={"Content-Type": "image/png"}) == (
        415,
        "wrong_content_type",
    )
    assert refused(data={"a": "b"}, headers={"Content-Type": "text/csv"})[0] == 415
    assert refused(files=many) == (422, "no_file")
    assert refused(content=b"--x--\r\n", headers=form) == (422, "no_file")
    assert refused(content=b"--x\r\nnonsense", headers=form) == (400, "malformed")
    assert refused(content=b"", headers={"Content-Type": "multipart/form-data"}) == (
        400,
        "malformed",
    )
    assert batches_in(here) == 0


@pytest.mark.parametrize("is_form", [False, True])
def test_a_file_that_is_too_large_is_refused_with_the_limit(
    here: Site, *, is_form: bool
) -> None:
    small = site_on(here.store, max_upload=1_000)

    def sent(size: int) -> httpx.Response:
        text = ("Code,Name,Age\n" + "1,Ann,30\n" * 200).encode()[:size]
        if is_form:
            return small.post(UPLOAD, files={"f": ("a.csv", text)})
        return small.post(UPLOAD, content=text, headers=RAW)

    assert sent(1_000).status_code == 201
    refused = sent(1_001)
    assert refused.status_code == 413
    assert refused.json()["limit"] == 1_000
    assert batches_in(here) == 1


def test_a_body_without_a_length_is_cut_off_where_it_becomes_too_large(
    here: Site,
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10_000

    small = site_on(here.store, max_upload=100_000)
    answer = small.post(UPLOAD, content=endless(), headers=RAW)
    assert answer.status_code == 413
    document = here.post(
        "/api/batches/1/start",
        content=endless(),
        headers={"Content-Type": "application/json"},
    )
    assert document.status_code == 413


def test_an_upload_that_breaks_off_leaves_nothing(here: Site) -> None:
    with running(here.app) as place:
        host, port = place.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(
                f"POST {UPLOAD} HTTP/1.1\r\nHost: x\r\nX-User: acme:ann\r\n"
                "Content-Type: application/octet-stream\r\n"
                "Content-Length: 5000000\r\n\r\n".encode()
            )
            connection.sendall(b"Code,Name,Age\n" * 1000)
            time.sleep(0.2)
        assert httpx.get(f"{place}/api/session", headers=as_user()).is_success
    assert batches_in(here) == 0


def test_a_full_disk_is_said_and_leaves_nothing(
    here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Path("/dev/full")
    if not full.exists():  # pragma: no cover - Linux has it
        pytest.fail("needs /dev/full")
    opened = full.open("r+b", buffering=0)
    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda **_: opened)
    answer = here.upload(GOOD)
    assert answer.status_code == 507
    assert answer.json()["type"] == "urn:batchfx:problem:disk_full"
    assert errno.ENOSPC in uploads.FULL
    assert batches_in(here) == 0


def test_a_rerun_refuses_a_file_that_is_none_of_the_batchs(here: Site) -> None:
    number = here.done(FAULTY)
    place = f"/api/batches/{number}/rerun"
    foreign = here.post(place, content=b"a,b\n1,2\n", headers=RAW)
    assert foreign.status_code == 422
    settings = here.post(place, json={"settings": {"nonsense": 1}})
    assert (settings.status_code, settings.json()["type"]) == (
        422,
        "urn:batchfx:problem:usage",
    )
    no_json = here.post(
        place, content=b"{", headers={"Content-Type": "application/json"}
    )
    assert no_json.json()["type"] == "urn:batchfx:problem:invalid_request"
    unknown = here.post("/api/batches/77/rerun", content=b"a", headers=RAW)
    assert unknown.status_code == 404
    assert here.get(f"/api/batches/{number}").json()["attempt"] == 1


def test_a_large_upload_is_never_whole_in_memory(here: Site) -> None:
    line = "{:07},Somebody,44\n"
    rows = "".join(line.format(n) for n in range(50_000)).encode()
    pieces = 64  # of 0.9 MB

    def body() -> Iterator[bytes]:
        yield b"Code,Name,Age\n"
        for _ in range(pieces):
            yield rows

    peak, done = [0], threading.Event()
    process = psutil.Process(os.getpid())

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], process.memory_info().rss)

    with running(create_app(here.store, authenticate=by_header)) as place:
        httpx.post(place + UPLOAD, content=b"", headers=as_user() | RAW)
        before = process.memory_info().rss
        watcher = threading.Thread(target=watch)
        watcher.start()
        answer = httpx.post(
            place + UPLOAD, content=body(), headers=as_user() | RAW, timeout=60
        )
        done.set()
        watcher.join()
    assert answer.status_code == 201, answer.text
    assert peak[0] - before < 40_000_000 < pieces * len(rows)


def workbook(*sheets: str) -> bytes:
    """Return a workbook with the same table on each of the *sheets*."""
    book = openpyxl.Workbook(write_only=True)
    for name in sheets:
        sheet = book.create_sheet(name)
        for row in csv.reader(io.StringIO(GOOD)):
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_a_refusal_that_an_option_would_answer_asks_for_it(here: Site) -> None:
    def asked(content: bytes) -> tuple[str, str, list[str]]:
        answer = here.post(UPLOAD, content=content, headers=RAW)
        assert answer.status_code == 422, answer.text
        told = answer.json()
        code = told["type"].removeprefix("urn:batchfx:problem:")
        return code, told["option"], told["choices"]

    people = [{"Code": 1, "Name": "Ann", "Age": 30}]
    inside = json.dumps({"made": "today", "people": people, "others": people}).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", GOOD)
        archive.writestr("b.csv", GOOD)
    twice = b"Code,Name,Name\n1,Ann,30\n"
    records = b"5,5\n6,7\n8,9\n"
    assert asked(workbook("January", "2")) == (
        *("choose_sheet", "sheet"),
        ["January", "2"],
    )
    assert asked(inside) == (
        *("choose_records", "records"),
        ["people", "others", "."],
    )
    assert asked(packed.getvalue()) == (
        *("choose_member", "member"),
        ["a.csv", "b.csv"],
    )
    assert asked(twice) == ("duplicate_header", "header_row", [])
    assert asked(records) == ("no_header", "header_row", ["0", "1"])
    plain = here.post(UPLOAD, content=b"", headers=RAW).json()
    assert "option" not in plain
    assert batches_in(here) == 0


def test_an_upload_may_say_how_its_file_is_read(here: Site) -> None:
    book = workbook("January", "2")

    def uploaded(*said: str) -> httpx.Response:
        params = {"importer": "people", "set": list(said)}
        return here.post("/api/batches", params=params, content=book, headers=RAW)

    drafted = uploaded('sheet="2"', "header_row=1", "date_order.Age=dmy")
    assert drafted.status_code == 201, drafted.text
    place = f"/api/batches/{drafted.json()['number']}/draft"
    draft = here.get(place).json()
    assert draft["settings"] == {
        "sheet": "2",
        "header_row": 1,
        "date_order": {"Age": "dmy"},
    }
    assert draft["layout"]["settings"]["sheet"] == "2"
    assert [each["cells"][1] for each in draft["rows"]] == ["Ann", "Bob", "Cid"]
    for wrong, detail in (
        ("sheet", "'sheet' is no option: write KEY=VALUE"),
        ('delimiter="\\u0000"', "The request can't be understood: set: U+0000"),
        ("values=" + "[" * 5_000, "The option 'values' can't be"),
        ("shet=1", "There is no option 'shet'. Is 'sheet' meant?"),
        ("header_row=-1", "The option 'header_row' can't be -1: it is the number"),
        ("sheet=March", "There is no sheet 'March'."),
    ):
        refused = uploaded(wrong)
        assert refused.status_code == 422
        assert refused.json()["detail"].startswith(detail)
    assert batches_in(here) == 1


def test_a_corrected_file_may_say_how_it_is_read(here: Site) -> None:
    number = here.done()
    place = f"/api/batches/{number}/rerun"
    book = workbook("January", "2")
    refused = here.post(place, content=book, headers=RAW)
    assert (refused.status_code, refused.json()["option"]) == (422, "sheet")
    params = {"set": 'sheet="2"', "name": "again.xlsx"}
    taken = here.post(place, params=params, content=book, headers=RAW)
    assert taken.status_code == 202, taken.text

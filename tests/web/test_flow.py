"""From an upload to a finished batch, on both databases."""

from __future__ import annotations

import csv
import io
import json
from typing import get_args

from batchfx.execution.waiting import Wait
from batchfx.model.switches import SwitchScope
from batchfx.store import switches
from batchfx.web import pages
from batchfx.web.shapes import WaitsFor
from batchfx.web.showing import WAITS
from tests.web.site import FAULTY, GOOD, RAW, Site, as_user


def test_an_upload_is_a_draft_that_was_looked_into(site: Site) -> None:
    uploaded = site.upload(name="../../etc/people.csv")
    number = uploaded.json()["number"]

    assert uploaded.status_code == 201
    assert uploaded.headers["Location"] == f"/api/batches/{number}"
    assert uploaded.json()["state"] == "draft"
    assert uploaded.json()["source_name"] == "people.csv"
    assert uploaded.json()["created_by"] == "ann"
    assert uploaded.json()["moves"] == ["start", "cancel"]
    draft = site.get(f"/api/batches/{number}/draft").json()
    assert draft["layout"]["header"] == ["Code", "Name", "Age"]
    assert draft["missing"] == []
    assert draft["rows"][1]["cells"] == ["2", "Bob", "x"]


def test_a_check_goes_through_the_whole_file_and_writes_nothing(site: Site) -> None:
    number = site.started(dry_run=True)
    begun = site.get(f"/api/batches/{number}").json()
    assert (begun["state"], begun["waits_for"]) == ("staging", "worker")
    assert begun["moves"] == ["pause", "cancel"]

    site.worked(number)

    checked = site.get(f"/api/batches/{number}").json()
    assert checked["state"] == "checked"
    assert (checked["tally"]["invalid"], checked["tally"]["pending"]) == (3, 1)
    assert checked["progress"]["share"] == 1
    assert checked["moves"] == ["cancel", "rerun", "approve", "edit"]
    groups = site.get(f"/api/batches/{number}/issues").json()["groups"]
    assert {each["code"] for each in groups} == {
        "duplicate_in_file",
        "int_parsing",
        "less_than_equal",
    }


def test_what_is_switched_off_is_said_but_not_by_whom_and_why(site: Site) -> None:
    number = site.started()
    for is_off in (True, False):
        with site.store.write() as connection:
            switches.turn(
                connection,
                *(SwitchScope.IMPORTER, "people"),
                is_off=is_off,
                reason="a secret audit",
                who="operator Olga",
            )
        told = site.get(f"/api/batches/{number}")
        assert told.json()["waits_for"] == ("switch" if is_off else "worker")
        assert "secret" not in told.text
        assert "Olga" not in told.text


def test_there_are_words_for_whatever_a_batch_waits_for() -> None:
    for catalogue in (pages.STATIC / "messages").iterdir():
        texts = json.loads(catalogue.read_text("utf-8"))
        for word in get_args(WaitsFor):
            assert texts[f"waits.{word}"], catalogue
            assert texts[f"waits.{word}.do"], catalogue
    assert set(WAITS) == set(Wait)
    assert set(WAITS.values()) == set(get_args(WaitsFor))


def rows_of(site: Site, query: str, after: int | None = 0) -> list[int]:
    """Return the numbers of the rows on all pages; some may be empty."""
    found: list[int] = []
    while after is not None:
        page = site.get(f"{query}&after={after}").json()
        found += [each["row"] for each in page["rows"]]
        after = page["next"]
    return found


def test_rows_come_page_by_page_after_a_filter(site: Site) -> None:
    place = f"/api/batches/{site.done(dry_run=True)}/rows"
    page = site.get(f"{place}?verdict=invalid&limit=2").json()
    assert [each["row"] for each in page["rows"]] == [3, 4]
    assert rows_of(site, f"{place}?verdict=invalid", page["next"]) == [5]
    assert rows_of(site, f"{place}?code=less_than_equal&field=age") == [4]
    assert rows_of(site, f"{place}?text=aNN") == [2]
    assert rows_of(site, f"{place}?verdict=created") == []
    assert [each["field"] for each in page["columns"]] == ["code", "name", "age"]


def test_of_two_who_edit_a_row_the_later_one_is_told(site: Site) -> None:
    number = site.done(dry_run=True)
    place = f"/api/batches/{number}/rows/3"
    edited = site.ask("PATCH", place, json={"values": {"age": "41"}, "version": 0})
    assert edited.status_code == 200
    assert (edited.json()["verdict"], edited.json()["version"]) == ("pending", 1)
    late = site.ask("PATCH", place, json={"values": {"age": "42"}, "version": 0})
    assert late.status_code == 409
    assert late.json()["type"] == "urn:batchfx:problem:conflict"

    history = site.get(place).json()
    assert history["as_read"]["Age"] == "x"
    assert history["row"]["values"]["Age"] == "41"
    (revision,) = history["revisions"]
    assert (revision["action"], revision["who"]) == ("edited", "ann")
    assert revision["changes"] == {"Age": {"before": "x", "after": "41"}}


def test_what_was_checked_is_mended_and_then_imported(site: Site) -> None:
    number = site.done(dry_run=True)
    place = f"/api/batches/{number}"
    fix = {
        "code": "less_than_equal",
        "field": "age",
        "value": "500",
        "replacement": "50",
    }
    assert site.post(f"{place}/issues/fix", json=fix).json() == {"changed": 1}
    excluded = site.post(f"{place}/rows/exclude", json={"rows": [5], "reason": "twice"})
    assert excluded.json() == {"changed": 1}
    assert site.post(f"{place}/rows/approve", json={"rows": [3]}).json() == {
        "changed": 1
    }
    assert site.post(f"{place}/approve").status_code == 202

    site.worked(number)

    done = site.get(place).json()
    assert (done["state"], done["faulty"], done["moves"]) == ("completed", 0, [])
    assert (done["tally"]["created"], done["tally"]["skipped"]) == (2, 2)
    again = site.post(f"{place}/approve")
    assert again.status_code == 409
    assert again.json()["state"] == "completed"
    final = site.ask(
        "PATCH", f"{place}/rows/2", json={"values": {"age": "1"}, "version": 0}
    )
    assert (final.status_code, final.json()["type"]) == (
        409,
        "urn:batchfx:problem:illegal_move",
    )


def test_faulty_rows_are_downloaded_corrected_and_run_again(site: Site) -> None:
    number = site.done()
    answer = site.get(f"/api/batches/{number}/downloads/faulty.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith(
        'attachment; filename="people-1-faulty-rows.csv"'
    )
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [each["row"] for each in rows] == ["3", "4", "5"]

    for each, (code, age) in zip(
        rows, [("2", "4"), ("3", "5"), ("4", "6")], strict=True
    ):
        each["Code"], each["Age"] = code, age
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    again = site.post(
        f"/api/batches/{number}/rerun?name=fixed.csv",
        content=out.getvalue().encode(),
        headers=RAW,
    )
    assert again.status_code == 202, again.text
    site.worked(number)

    done = site.get(f"/api/batches/{number}").json()
    assert (done["state"], done["tally"]["created"], done["faulty"]) == (
        "completed",
        4,
        0,
    )
    assert done["attempt"] == 2
    history = site.get(f"/api/batches/{number}/rows/3").json()
    assert history["revisions"][0]["who"] == "fixed.csv"


def test_a_batch_is_paused_resumed_and_cancelled(site: Site) -> None:
    number = site.started(GOOD)
    place = f"/api/batches/{number}"
    assert site.post(f"{place}/pause").json()["state"] == "paused"
    assert site.post(f"{place}/resume").json()["state"] == "staging"
    cancelled = site.post(f"{place}/cancel").json()
    assert (cancelled["state"], cancelled["moves"]) == ("cancelled", [])

    late = site.post(f"{place}/pause")
    assert late.status_code == 409
    assert late.headers["Content-Type"] == "application/problem+json"
    assert late.json() == {
        "type": "urn:batchfx:problem:illegal_move",
        "title": "Not possible now",
        "status": 409,
        "detail": f"Batch {number} is cancelled: there is nothing to pause.",
        "state": "cancelled",
        "possible": [],
    }


def test_a_draft_is_read_as_it_is_said(site: Site) -> None:
    text = "Code;Who;Age\n1;Ann;30\n"
    number = site.upload(text).json()["number"]
    place = f"/api/batches/{number}"
    assert site.get(f"{place}/draft").json()["missing"] == ["name"]
    refused = site.post(f"{place}/start")
    assert refused.status_code == 422
    assert refused.json()["type"] == "urn:batchfx:problem:missing_column"

    said = site.ask("PATCH", f"{place}/draft", json={"mapping": {"Who": "name"}})

    assert said.status_code == 200
    assert said.json()["missing"] == []
    (name,) = [each for each in said.json()["fields"] if each["name"] == "name"]
    assert (name["column"], name["match"]) == ("Who", "said")
    assert site.post(f"{place}/start").status_code == 202
    assert site.get(f"{place}/draft").status_code == 409


def test_the_same_content_is_imported_again_only_when_it_is_said(site: Site) -> None:
    first = site.done(GOOD)
    second = site.upload(GOOD).json()["number"]
    refused = site.post(f"/api/batches/{second}/start")
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:batchfx:problem:already_imported"
    assert refused.json()["batch"] == first
    assert "--again" not in refused.json()["detail"]
    again = site.post(f"/api/batches/{second}/start", json={"again": True})
    assert again.status_code == 202


def test_batches_are_listed_by_state_importer_and_name_page_by_page(
    site: Site,
) -> None:
    numbers = [site.upload(GOOD, f"file-{n}.csv").json()["number"] for n in range(3)]
    site.post(f"/api/batches/{numbers[1]}/cancel")

    def listed(query: str) -> list[int]:
        found = site.get(f"/api/batches?{query}").json()
        return [each["number"] for each in found["batches"]]

    assert listed("") == numbers[::-1]
    assert listed("state=cancelled") == [numbers[1]]
    assert listed("state=draft&state=cancelled&limit=2") == numbers[:0:-1]
    assert listed("text=FILE-2") == [numbers[2]]
    assert listed("text=%25") == []
    assert listed("importer=other") == []
    page = site.get("/api/batches?limit=2").json()
    assert page["next"] == numbers[1]
    assert listed(f"before={page['next']}") == [numbers[0]]


def test_one_key_is_one_batch_and_never_another_file(site: Site) -> None:
    first = site.upload(FAULTY, **{"Idempotency-Key": "k-1"})
    again = site.upload(FAULTY, **{"Idempotency-Key": "k-1"})
    other = site.upload(GOOD, **{"Idempotency-Key": "k-1"})
    assert again.json()["number"] == first.json()["number"]
    assert other.status_code == 409
    assert other.json()["type"] == "urn:batchfx:problem:conflict"
    elsewhere = site.upload(GOOD, **{"Idempotency-Key": "k-1", **as_user("zeta:zoe")})
    assert elsewhere.status_code == 201
    assert site.get(f"/api/batches/{elsewhere.json()['number']}").status_code == 404

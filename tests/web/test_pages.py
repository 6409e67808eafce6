"""The site's pages and the widgets' files, as they are sent."""

from __future__ import annotations

import gzip
import re

import pytest

from batchfx.errors import DeclarationError
from batchfx.web import create_app, pages
from batchfx.web.packing import SMALLEST
from tests.web.site import Site

MOST_BYTES = 40_000  # of the widgets, with the texts of one language
MOST_OF_SITE = 8_000  # beside them
PLAIN, PACKED = {"Accept-Encoding": "identity"}, {"Accept-Encoding": "br, gzip"}


@pytest.mark.parametrize(
    "path", ["/", "/new", "/sign-in", "/batches/7", "/batches/7/rows/2"]
)
def test_a_page_is_shown_to_everybody_and_holds_no_data(here: Site, path: str) -> None:
    here.let_in = {}
    answer = here.get(path, headers={"Accept-Language": "fr, de-AT;q=0.8, en;q=0.5"})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = answer.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert 'lang="de"' in answer.text
    assert f"/static/{pages.digest()}/" in answer.text
    assert not re.search(
        r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", answer.text
    )


def test_files_are_kept_for_a_year_under_the_address_with_their_digest(
    here: Site,
) -> None:
    by_digest = here.get(f"/static/{pages.digest()}/batchfx.js")
    plain = here.get("/static/batchfx.js")
    assert by_digest.content == plain.content
    assert by_digest.headers["Cache-Control"].endswith("immutable")
    assert plain.headers["Cache-Control"] == "no-cache"
    assert plain.headers["Content-Type"].startswith("text/javascript")
    again = here.get(
        "/static/batchfx.js", headers={"If-None-Match": plain.headers["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


def test_files_are_sent_packed_to_those_who_take_that(here: Site) -> None:
    place = f"/static/{pages.digest()}/import.js"
    packed, plain = here.get(place, headers=PACKED), here.get(place, headers=PLAIN)
    assert packed.content == plain.content  # which the client has unpacked
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    length, whole = (int(each.headers["Content-Length"]) for each in (packed, plain))
    assert length < whole / 2
    assert whole == len(plain.content)
    for each in (packed, plain):
        assert each.headers["Vary"] == "Accept-Encoding"
        assert each.headers["Cache-Control"].endswith("immutable")
        assert each.headers["Content-Type"].startswith("text/javascript")
    assert packed.headers["ETag"] != plain.headers["ETag"]


@pytest.mark.parametrize(
    ("said", "is_packed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("*;q=0", False),
        ("gzip;q=none", False),
        ("br", False),
        ("", False),
    ],
)
def test_nobody_is_sent_what_they_do_not_take(
    here: Site, said: str, *, is_packed: bool
) -> None:
    answer = here.get("/static/site.js", headers={"Accept-Encoding": said})
    assert ("Content-Encoding" in answer.headers) == is_packed
    assert answer.content == pages.files()["site.js"].plain.content


@pytest.mark.parametrize("accepted", [PLAIN, PACKED])
def test_who_has_a_file_already_is_told_so(
    here: Site, accepted: dict[str, str]
) -> None:
    full = here.get("/static/site.js", headers=accepted)
    tag = full.headers["ETag"]
    for said in (tag, f'"other", W/{tag}', "*"):
        again = here.get("/static/site.js", headers=accepted | {"If-None-Match": said})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["Vary"] == "Accept-Encoding"
        assert "Content-Encoding" not in again.headers
    for said in ('"other"', tag[:-2] + '"', tag.strip('"')):
        again = here.get("/static/site.js", headers=accepted | {"If-None-Match": said})
        assert again.status_code == 200


@pytest.mark.parametrize("accepted", [PLAIN, PACKED])
def test_a_look_at_the_head_tells_what_the_file_would(
    here: Site, accepted: dict[str, str]
) -> None:
    full = here.get("/static/styles.js", headers=accepted)
    head = here.ask("HEAD", "/static/styles.js", headers=accepted)
    assert head.content == b""
    assert dict(head.headers) == dict(full.headers)
    assert here.ask("HEAD", "/static/none.js").status_code == 404


def test_the_widgets_and_the_site_are_light_as_they_are_sent(here: Site) -> None:
    sent = {
        name: here.ask("HEAD", f"/static/{name}", headers=PACKED).headers
        for name in pages.files()
    }
    weights = {name: int(headers["Content-Length"]) for name, headers in sent.items()}
    texts = [weights.pop(f"messages/{each}.json") for each in ("de", "en", "it")]
    of_site = weights.pop("site.js") + weights.pop("site.css")
    assert sum(weights.values()) + max(texts) < MOST_BYTES
    assert of_site < MOST_OF_SITE
    assert all(headers["Content-Encoding"] == "gzip" for headers in sent.values())


def test_scripts_are_sent_without_remarks_and_line_by_line_as_they_are(
    here: Site,
) -> None:
    for path in pages.STATIC.glob("*.js"):
        sent = here.get(f"/static/{path.name}").text.split("\n")
        kept = path.read_text("utf-8").split("\n")
        bare = [line.strip() for line in kept]
        assert [line for line in sent if line.startswith("//")] == []
        assert sent == ["" if line.startswith("//") else line for line in bare]


def test_large_answers_are_packed_and_small_ones_and_refusals_are_not(
    here: Site,
) -> None:
    number = here.done("Code,Name,Age\n" + "".join(f"{n},Ann,7\n" for n in range(50)))
    rows = here.get(f"/api/batches/{number}/rows", headers=PACKED)
    assert len(rows.json()["rows"]) == 50
    assert rows.headers["Content-Encoding"] == "gzip"
    assert int(rows.headers["Content-Length"]) == len(gzip.compress(rows.content, 1))
    plain = here.get(f"/api/batches/{number}/rows", headers=PLAIN)
    assert "Content-Encoding" not in plain.headers
    assert plain.json()["rows"] == rows.json()["rows"]
    short = here.get("/api/session", headers=PACKED)
    assert len(short.content) < SMALLEST
    assert "Content-Encoding" not in short.headers
    assert short.headers["Vary"] == "Accept-Encoding"
    refused = here.get(f"/api/{'a' * SMALLEST}", headers=PACKED)
    assert refused.status_code == 404
    assert len(refused.content) > SMALLEST
    assert "Content-Encoding" not in refused.headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/nothing.js",
        "/static/",
        "/batches/none",
    ],
)
def test_no_path_leads_out_of_the_widgets_files(here: Site, path: str) -> None:
    answer = here.get(path)
    assert answer.status_code in {404, 422}
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_an_address_that_is_none_is_a_page_to_browsers_and_a_problem_to_others(
    here: Site,
) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for path in ("/nope", "/batches/abc", "/batches/0/rows/1"):
        shown = here.get(path, headers=browser)
        assert shown.status_code == 404
        assert 'data-page="missing"' in shown.text
        told = here.get(path)
        assert told.headers["Content-Type"] == "application/problem+json"
    for path in ("/api/nope", "/static/none.js"):
        told = here.get(path, headers=browser)
        assert told.json()["type"] == "urn:batchfx:problem:no_such_page"


def test_pages_say_where_one_signs_in(here: Site) -> None:
    there = "/in?a=1&next={next}"
    app = create_app(here.store, authenticate=lambda _: None, sign_in=there)
    page = Site(app, here.store).get("/sign-in").text
    assert 'data-sign-in="/in?a=1&amp;next={next}"' in page
    with pytest.raises(DeclarationError, match="is no address"):
        create_app(here.store, authenticate=lambda _: None, sign_in="javascript:0")

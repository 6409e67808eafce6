"""The site's pages and the widgets' files, as they are sent."""

from __future__ import annotations

import re

import pytest

from batchfx.web import pages
from tests.web.site import Site


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

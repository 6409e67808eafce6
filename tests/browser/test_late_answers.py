"""Answers that come late, or in another order than they were asked for."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Screen
from tests.browser.guests import file_of
from tests.browser.journeys import (
    cell,
    checked,
    count_of,
    headline,
    mend,
)


class Held:
    """The first question that fits *pattern*, which waits for its answer."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._page = page
        self._route: Route | None = None
        page.route(re.compile(pattern), self._take)

    def _take(self, route: Route) -> None:
        if self._route is None and route.request.method == "GET":
            self._route = route
        else:
            route.continue_()

    def answer(self, text: str | None = None) -> None:
        """Answer with *text*, or with what the server says; return once it is seen."""
        assert self._route, "nothing was asked for"
        asked = self._route.request
        with self._page.expect_response(lambda each: each.request == asked):
            if text is None:
                self._route.continue_()
            else:
                self._route.fulfill(body=text, content_type="application/json")
        self._page.evaluate("() => new Promise((done) => setTimeout(done, 50))")


def test_what_was_true_before_does_not_replace_what_is_true_now(
    screen: Screen,
) -> None:
    page = screen.page
    number = checked(screen, file_of(40, {7: "Narnia", 8: "Narnia"}))
    late = Held(page, r"/batches/\d+$")
    mend(page, 7, "Nation", "IT")
    before = page.request.get(f"{screen.site}/api/batches/{number}").text()
    assert json.loads(before)["tally"]["invalid"] == 1
    mend(page, 8, "Nation", "IT")
    expect(headline(page, "Checked: every row is valid")).to_be_visible()

    late.answer(before)

    expect(headline(page, "Checked: every row is valid")).to_be_visible()
    expect(count_of(page, "valid, not imported yet")).to_have_text("40")


def test_rows_that_come_leave_the_cell_alone_that_is_edited(screen: Screen) -> None:
    page = screen.page
    faulty = dict.fromkeys(range(2, 72), "Narnia")
    checked(screen, file_of(90, faulty))
    expect(page.locator("tr[data-row]")).to_have_count(50)
    late = Held(page, r"/rows\?")
    page.get_by_role("button", name="Show more rows").click()
    cell(page, 3, "Nation").click()
    page.get_by_label("Nation, row 3").fill("I")

    late.answer()
    expect(page.locator("tr[data-row]")).to_have_count(70)
    page.keyboard.type("T")
    page.keyboard.press("Enter")

    expect(cell(page, 3, "Nation")).to_have_text("IT")
    expect(cell(page, 3, "Nation")).to_be_focused()

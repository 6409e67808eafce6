"""Each page in three languages, light and dark, on a screen and on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.browser.conftest import Open, Screen, Served
from tests.browser.guests import file_of
from tests.browser.journeys import checked, choose, csv_file, headline

DESK: Any = {"width": 1280, "height": 900}
PHONE: Any = {"width": 360, "height": 740}
LOOKS: dict[str, dict[str, Any]] = {
    "english-light-desk": {"locale": "en-GB", "viewport": DESK},
    "italian-dark-phone": {
        "locale": "it-IT",
        "viewport": PHONE,
        "color_scheme": "dark",
        "reduced_motion": "reduce",
    },
    "german-dark-desk": {"locale": "de-DE", "viewport": DESK, "color_scheme": "dark"},
    "german-light-phone": {"locale": "de-DE", "viewport": PHONE},
}
TITLES = {
    "en": ("Imports", "New import", "Import", "Row 3"),
    "it": ("Importazioni", "Nuova importazione", "Importazione", "Riga 3"),
    "de": ("Importe", "Neuer Import", "Import", "Zeile 3"),
}


@pytest.fixture(scope="package")
def numbers(browser: Browser, served: Served, signed_in: Any) -> tuple[int, int]:
    """A batch that was checked and has faulty rows, and one that is still a draft."""
    context = browser.new_context(storage_state=signed_in, locale="en-GB")
    screen = Screen(context.new_page(), served.site, "numbers")
    number = checked(screen, file_of(12, {3: "Italia", 4: "Francia"}), "gäste.csv")
    answer = context.request.post(
        f"{served.site}/api/batches?importer=guests&name=entwurf.csv",
        data=file_of(9),
        headers={"X-Batchfx": "1", "Content-Type": "application/octet-stream"},
    )
    draft: int = answer.json()["number"]
    context.close()
    return number, draft


@pytest.mark.parametrize("name", LOOKS)
def test_every_page_reads_well(name: str, look: Open, numbers: tuple[int, int]) -> None:
    screen = look(**LOOKS[name])
    page, (number, draft) = screen.page, numbers
    imports, new, batch, row = TITLES[LOOKS[name]["locale"][:2]]
    screen.open("/")
    expect(page.get_by_role("heading", name=imports, exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="gäste.csv")).to_be_visible()
    screen.keep("imports")
    screen.judge()
    screen.open("/new")
    expect(page.get_by_role("heading", name=new)).to_be_visible()
    expect(page.locator(".drop")).to_be_visible()
    screen.keep("new")
    screen.judge()
    screen.open(f"/batches/{draft}")
    expect(page.locator(".mapping")).to_be_visible()
    screen.keep("draft")
    screen.judge()
    screen.open(f"/batches/{number}")
    expect(page.get_by_role("heading", name=f"{batch} {number}")).to_be_visible()
    expect(page.get_by_role("grid")).to_be_visible()
    screen.keep("batch")
    screen.judge()
    screen.open(f"/batches/{number}/rows/3")
    expect(page.get_by_role("heading", name=row)).to_be_visible()
    expect(page.get_by_role("table")).to_be_visible()
    screen.keep("row")
    screen.judge()


def test_whoever_has_not_signed_in_is_sent_to_where_that_is_done(
    look: Open, served: Served, numbers: tuple[int, int]
) -> None:
    screen = look(storage_state=None, viewport=PHONE)
    page = screen.page
    screen.open(f"/batches/{numbers[0]}")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    screen.keep("asked")
    screen.judge()
    page.get_by_label("Token").fill("guessed")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    screen.keep("refused")
    screen.judge()
    page.get_by_label("Token").fill(served.way_in.partition("token=")[2])
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(f"{served.site}/batches/{numbers[0]}")
    expect(headline(page, "Checked")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_printed_address_lets_in_and_the_token_leaves_the_address(
    look: Open, served: Served
) -> None:
    screen = look(storage_state=None)
    screen.page.goto(served.way_in)
    expect(screen.page.get_by_role("heading", name="Imports")).to_be_visible()
    assert screen.page.url == f"{served.site}/"
    assert screen.page.evaluate("document.cookie") == ""


def test_what_can_not_be_loaded_is_said_and_can_be_tried_again(
    look: Open, numbers: tuple[int, int]
) -> None:
    screen = look()
    page = screen.page
    lists = re.compile(r"/(batches|rows|issues)(\?|$)")
    page.route(lists, lambda route: route.abort())
    screen.open("/")
    expect(page.get_by_text("There is no connection to the server.")).to_be_visible()
    screen.keep("list")
    screen.judge()
    screen.open(f"/batches/{numbers[0]}")
    expect(page.get_by_text("There is no connection to the server.")).to_have_count(2)
    screen.keep("batch")
    page.unroute_all()
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_role("button", name="Try again")).to_have_count(1)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("grid")).to_be_visible()
    expect(page.get_by_text("There is no connection")).to_have_count(0)


def test_a_change_that_is_refused_is_told_and_the_controls_work_again(
    look: Open, numbers: tuple[int, int]
) -> None:
    screen = look()
    page = screen.page
    screen.open(f"/batches/{numbers[1]}")
    page.get_by_label("Header row").fill("900")
    page.get_by_label("Header row").press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    screen.keep("refused")
    screen.judge()
    expect(page.get_by_label("Header row")).to_have_value("1")
    page.get_by_label("Decimal sign").select_option("Comma: 1,5")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_label("Decimal sign")).to_have_value(",")


def test_a_file_that_is_none_is_refused_and_another_can_be_chosen(
    screen: Screen,
) -> None:
    page = screen.page
    screen.open("/new")
    page.get_by_label("What is in the file").select_option("guests")
    page.locator("input[type=file]").set_input_files(csv_file("empty.csv", b""))
    expect(page.get_by_role("alert")).to_contain_text("empty")
    screen.keep("refused")
    screen.judge()
    expect(page.locator(".drop")).to_be_visible()


def test_what_only_a_person_can_say_of_a_file_is_asked_in_the_pages_words(
    screen: Screen,
) -> None:
    page = screen.page
    screen.open("/new")
    choose(page, b"Guest no.;Name;Country;Arrival\nG1;Ada;DE;03/04/2026\n", "dates.csv")
    asked = page.locator(".cells td").filter(has_text="03/04/2026")
    expect(asked).to_contain_text("“Order of dates: Day, month, year”")
    expect(page.get_by_text("--set")).to_have_count(0)
    screen.keep("asked")
    screen.judge()
    page.get_by_label("Order of dates").select_option("Day, month, year")
    expect(asked).to_have_text("03/04/2026")


def test_a_list_without_a_match_says_so(screen: Screen) -> None:
    page = screen.page
    screen.open("/")
    page.get_by_label("Name of the file").fill("no such file")
    expect(page.get_by_text("No import is like that.")).to_be_visible()
    page.get_by_label("State").select_option("failed")
    expect(page.get_by_text("No import is like that.")).to_be_visible()


def test_an_empty_list_offers_the_first_import(look: Open) -> None:
    screen = look(viewport=PHONE)

    def nothing(route: Route) -> None:
        route.fulfill(json={"batches": [], "next": None})

    screen.page.route(re.compile(r"/api/batches(\?|$)"), nothing)
    screen.open("/")
    expect(screen.page.get_by_text("Nothing was imported yet.")).to_be_visible()
    screen.keep("empty")
    screen.judge()

"""Each page in three languages, light and dark, on a screen and on a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.conftest import Open, Screen, Served
from tests.browser.guests import file_of
from tests.browser.journeys import (
    cell,
    check,
    checked,
    choose,
    count_of,
    csv_file,
    headline,
)

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


def test_what_is_typed_stays_when_the_session_ends_and_one_signs_in_above_it(
    look: Open, served: Served
) -> None:
    screen = look(storage_state=None)
    page = screen.page
    page.goto(f"{served.site}/sign-in")
    expect(page.get_by_label("Token")).to_be_visible()
    page.goto(f"{served.site}/sign-in#token=guessed")
    expect(page.get_by_role("alert")).to_contain_text("This is not the token.")
    assert page.url == f"{served.site}/sign-in"
    page.goto(served.way_in)
    expect(page.get_by_role("heading", name="Imports")).to_be_visible()
    checked(screen, file_of(9, {4: "Italia"}))
    cell(page, 4, "Nation").click()
    page.get_by_label("Nation, row 4").fill("IT")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Your session has ended. Sign in and go")).to_be_visible()
    screen.keep("ended")
    screen.judge()
    page.get_by_label("Token").fill(served.way_in.partition("token=")[2])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("dialog")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(headline(page, "Checked: every row is valid")).to_be_visible()


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
    expect(page.get_by_label("What is in the file")).to_have_value("guests")
    several = b'{"march": [{"Guest no.": "G1", "Name": "Ada", "Country": "DE"}],'
    several += b'"april": [{"Guest no.": "G2", "Name": "Bo", "Country": "DE"}]}'
    page.locator("input[type=file]").set_input_files(csv_file("all.json", several))
    page.get_by_label("Where the records are").select_option("april")
    screen.keep("asked")
    screen.judge()
    page.get_by_role("button", name="Send it with this answer").click()
    expect(page.get_by_text("all.json · guests · JSON")).to_be_visible()
    expect(page.get_by_role("region", name="First rows")).to_contain_text("Bo")


def test_a_file_waits_for_its_kind_and_a_discarded_one_is_gone(screen: Screen) -> None:
    page = screen.page
    screen.open("/new")
    expect(page.get_by_label("What is in the file")).to_have_value("")
    drop(page, ["one.csv", "two.csv"])
    expect(page.get_by_text("One file at a time, please: 2 were")).to_be_visible()
    drop(page, [])
    expect(page.get_by_text("What was dropped is no file.")).to_be_visible()
    assert drop(page, ["beside.csv"], "h1"), "the browser would leave the page"
    drop(page, ["one.csv"])
    expect(page.get_by_text("Choose above what is in “one.csv”.")).to_be_visible()
    screen.keep("waits")
    page.get_by_label("What is in the file").select_option("guests")
    page.get_by_role("button", name="Go on").click()
    expect(headline(page, "Is the file understood?")).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_text("“one.csv” was discarded; nothing of it")).to_be_visible()
    expect(page).to_have_url(f"{screen.site}/new")
    screen.keep("discarded")
    screen.judge()


def drop(page: Page, names: list[str], place: str = ".drop") -> bool:
    """Drop files of guests, or a text, on a place; tell if the page took it."""
    text = "Guest no.;Name;Country\nG1;Ada;DE\n"
    held = page.evaluate_handle(
        """([names, text]) => {
          const held = new DataTransfer();
          for (const each of names) held.items.add(new File([text], each));
          if (!names.length) held.setData("text/plain", text);
          return held;
        }""",
        [names, text],
    )
    taken: bool = page.locator(place).evaluate(
        """(place, dataTransfer) => {
          const far = { bubbles: true, cancelable: true, composed: true };
          const said = { ...far, dataTransfer };
          return !place.dispatchEvent(new DragEvent("drop", said));
        }""",
        held,
    )
    return taken


def test_of_very_many_columns_some_are_drawn_and_all_are_found(screen: Screen) -> None:
    page = screen.page
    screen.open("/new")
    names = ["Guest no.", "Name", *(f"c{n}" for n in range(3_000)), "Country"]
    cells = ["G1", "Ada", *("x" for _ in range(3_000)), "Narnia"]
    choose(page, f"{';'.join(names)}\n{';'.join(cells)}\n".encode(), "wide.csv")
    expect(page.get_by_text("Shown: 40 of 3,003 columns.")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Country")).to_be_visible()
    page.get_by_label("Column for Nights").fill("c2999")
    page.get_by_label("Column for Nights").press("Enter")
    expect(page.get_by_role("columnheader", name="c2999")).to_be_visible()
    check(page)
    page.get_by_label("Find a column by its name").fill("c1777")
    page.get_by_label("Find a column by its name").press("Enter")
    expect(page.get_by_role("columnheader", name="c1777")).to_be_visible()
    expect(page.get_by_text("Shown: 1 of 3,003 columns.")).to_be_visible()


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
    check(page)
    expect(headline(page, "Checked: 1 row needs attention")).to_be_visible()
    again = page.get_by_role("button", name="Check again with this")
    again.click()
    expect(page.get_by_label("Order of dates")).to_have_value("")
    expect(headline(page, "Checked: 1 row needs attention")).to_be_visible()
    screen.keep("owed")
    screen.judge()
    page.get_by_label("Order of dates").select_option("Day, month, year")
    again.click()
    expect(headline(page, "Checked: every row is valid, nothing is")).to_be_visible()
    expect(count_of(page, "valid, not imported yet")).to_have_text("1")


def test_a_list_without_a_match_says_so(screen: Screen) -> None:
    page = screen.page
    screen.open("/")
    page.get_by_label("Name of the file").fill("no such file")
    expect(page.get_by_text("No import is like that.")).to_be_visible()
    page.get_by_label("State").select_option("failed")
    expect(page).to_have_url(f"{screen.site}/?state=failed&text=no+such+file")
    page.reload()
    expect(page.get_by_text("No import is like that.")).to_be_visible()
    expect(page.get_by_label("Name of the file")).to_have_value("no such file")
    expect(page.get_by_label("State")).to_have_value("failed")


def test_an_address_that_is_none_has_a_way_back(screen: Screen) -> None:
    page = screen.page
    for path in ("/nope", "/batches/abc"):
        screen.open(path)
        expect(page.get_by_role("heading", name="There is nothing")).to_be_visible()
        asked = [each for each in screen.answers if each.url.endswith(path)]
        assert [each.status for each in asked] == [404]
    screen.keep("missing")
    screen.judge()
    screen.open("/batches/9999")
    expect(page.get_by_text("There is no import 9999 here.")).to_be_visible()
    page.get_by_role("link", name="Imports").click()
    expect(page).to_have_url(f"{screen.site}/")


def test_an_empty_list_offers_the_first_import(look: Open) -> None:
    screen = look(viewport=PHONE)

    def nothing(route: Route) -> None:
        route.fulfill(json={"batches": [], "next": None})

    screen.page.route(re.compile(r"/api/batches(\?|$)"), nothing)
    screen.open("/")
    expect(screen.page.get_by_text("Nothing was imported yet.")).to_be_visible()
    screen.keep("empty")
    screen.judge()

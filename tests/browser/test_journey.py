"""A faulty file's whole way through the page, and what can come between."""

from __future__ import annotations

import re

from playwright.sync_api import FileChooser, Page, expect

from tests.browser.conftest import Open, Screen
from tests.browser.guests import file_of
from tests.browser.journeys import (
    cell,
    check,
    checked,
    choose,
    count_of,
    csv_file,
    headline,
    map_country,
    mend,
    number_of,
    shares,
    watch_bar,
)
from tests.browser.wire import Wire

MARKUP = "<img src=x onerror=\"document.title='stolen'\">"


def test_a_faulty_file_is_mapped_checked_imported_mended_and_ends_well(
    screen: Screen,
) -> None:
    page = screen.page
    screen.open("/new")
    expect(page.locator(".drop")).to_be_visible()
    show(screen, "1-file")
    choose(page, file_of(500, {5: "Italia", 250: "Francia"}))
    expect(headline(page, "Is the file understood?")).to_be_visible()
    to_check = page.get_by_role("button", name="Check all rows")
    expect(to_check).to_have_attribute("aria-disabled", "true")
    show(screen, "2-columns")
    map_country(page)
    check(page)
    expect(count_of(page, "invalid")).to_have_text("2")
    expect(count_of(page, "valid, not imported yet")).to_have_text("498")
    show(screen, "3-checked")
    watch_it_run(screen)
    mend(page, 5, "Nation", "IT")
    mend(page, 250, "Nation", "FR")
    expect(headline(page, "2 corrected rows wait to be imported")).to_be_visible()
    expect(page.get_by_text("99% · 498 of 500 rows", exact=True)).to_be_visible()
    show(screen, "6-mended")
    page.get_by_role("button", name="Import 2 valid rows").click()
    expect(headline(page, "Complete: every row ended well")).to_be_visible()
    expect(count_of(page, "created")).to_have_text("500")
    expect(page.locator(".bar.good")).to_be_visible()
    show(screen, "7-well")
    screen.open(f"/batches/{number_of(screen)}/rows/5")
    expect(page.get_by_text("Nation: Italia → IT")).to_be_visible()
    show(screen, "8-row")


def watch_it_run(screen: Screen) -> None:
    """Import what is valid, and see the bar move but forwards."""
    page = screen.page
    page.get_by_role("button", name="Import 498 valid rows").click()
    expect(headline(page, "Importing")).to_be_visible()
    watch_bar(page)
    screen.keep("4-running")
    expect(headline(page, "Complete, but 2 rows need attention")).to_be_visible()
    expect(count_of(page, "created")).to_have_text("498")
    seen = shares(page)
    assert seen == sorted(seen)
    assert len({each for each in seen if 0 < each < 100}) >= 2
    show(screen, "5-faulty")


def show(screen: Screen, part: str) -> None:
    """Keep a picture of the page, and judge it."""
    screen.keep(part)
    screen.judge()


def test_an_upload_that_the_network_cuts_goes_on_and_makes_one_batch(
    screen: Screen, wire: Wire
) -> None:
    page, screen.site = screen.page, wire.site
    screen.open("/new")
    expect(page.get_by_label("What is in the file")).to_be_visible()
    wire.rate = 1.5e6
    choose(page, file_of(6000, fill="x" * 1200), "cut.csv")  # more than sockets hoard
    expect(page.get_by_text(re.compile(r"^[1-9][\d.]* [kM]B of"))).to_be_visible()
    wire.cut()
    expect(page.get_by_text("The connection is down")).to_be_visible()
    screen.keep("cut")
    screen.judge()
    wire.rate = None
    wire.join()
    map_country(page)
    number = number_of(screen)
    screen.open("/")
    page.get_by_label("Name of the file").fill("cut.csv")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("rowheader", name=f"cut.csv #{number}")).to_be_visible()


def test_a_run_that_is_watched_is_caught_up_with_after_the_network_was_cut(
    screen: Screen, wire: Wire
) -> None:
    page, screen.site = screen.page, wire.site
    checked(screen, file_of(800))
    page.get_by_role("button", name="Import 800 valid rows").click()
    expect(headline(page, "Importing")).to_be_visible()
    wire.cut()
    expect(page.get_by_text("The connection is down")).to_be_visible()
    assert page.locator(".bar > div").get_attribute("style") != "width: 100%;"
    wire.join()
    expect(headline(page, "Complete: every row ended well")).to_be_visible()
    expect(page.get_by_text("The connection is down")).to_have_count(0)
    assert page.locator(".bar > div").get_attribute("style") == "width: 100%;"


def test_where_no_event_stream_gets_through_it_is_asked_for(screen: Screen) -> None:
    page = screen.page
    page.route("**/events**", lambda route: route.abort())
    checked(screen, file_of(60))
    page.get_by_role("button", name="Import 60 valid rows").click()
    expect(headline(page, "Complete: every row ended well")).to_be_visible()


def test_one_goes_the_whole_way_with_the_keyboard_alone(screen: Screen) -> None:
    page = screen.page
    screen.open("/new")
    expect(page.get_by_label("What is in the file")).to_be_visible()
    chooser = opened_by_keys(page)
    content = file_of(40, {7: "Österreich"})
    chooser.set_files(csv_file("keys.csv", content))
    expect(headline(page, "Is the file understood?")).to_be_focused()
    tab_to(page, "LABEL:Column for Country")
    page.keyboard.type("Nation")
    expect(page.get_by_text("Chosen by hand")).to_be_visible()
    tab_to(page, "Check all rows")
    page.keyboard.press("Enter")
    expect(headline(page, "Checked: 1 row needs attention")).to_be_focused()
    tab_to(page, "CELL")
    for key in ("ArrowRight",) * 6:
        page.keyboard.press(key)
    expect(cell(page, 7, "Nation")).to_be_focused()
    page.keyboard.type("AT")
    page.keyboard.press("Enter")
    expect(headline(page, "Checked: every row is valid")).to_be_visible()
    expect(cell(page, 7, "Nation")).to_be_focused()
    tab_back_to(page, "Import 40 valid rows")
    page.keyboard.press("Enter")
    expect(headline(page, "Complete")).to_be_visible()


def test_a_value_is_replaced_in_every_row_and_rows_are_left_out(
    screen: Screen,
) -> None:
    page = screen.page
    checked(screen, file_of(40, {3: "Italia", 9: "Italia", 20: "Narnia", 30: "Oz"}))
    page.get_by_role("button", name="Replace a value").click()
    page.get_by_label("Replace this value").fill("Italia")
    page.get_by_label("By", exact=True).fill("IT")
    screen.keep("fix")
    screen.judge()
    page.get_by_role("button", name="Replace in all rows").click()
    expect(page.get_by_text("Replace “Italia” by “IT” in 2 rows?")).to_be_visible()
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_text("2 rows were changed.")).to_be_visible()
    expect(count_of(page, "invalid")).to_have_text("2")
    cell(page, 20, "Nation").click()
    page.get_by_label("Nation, row 20").fill("DE")
    page.get_by_role("button", name="In all such rows").click()
    expect(page.get_by_text("Replace “Narnia” by “DE” in 1 row?")).to_be_visible()
    page.get_by_role("button", name="No", exact=True).click()
    page.keyboard.press("Escape")
    leave_out_two(screen)
    expect(headline(page, "Checked: 2 rows are left out")).to_be_visible()
    expect(count_of(page, "left out")).to_have_text("2")
    page.get_by_role("button", name="Import 38 valid rows").click()
    expect(headline(page, "Complete: 2 rows were left out")).to_be_visible()


def leave_out_two(screen: Screen) -> None:
    """Leave two faulty rows out, which is asked first; valid ones can't be settled."""
    page = screen.page
    settle = page.get_by_role("button", name="Settle without importing")
    page.get_by_label("Result").select_option("")
    page.get_by_label("Mark row 10", exact=True).check()
    expect(page.get_by_role("button", name="Leave out")).to_be_visible()
    expect(settle).to_have_count(0)
    page.get_by_label("Mark row 10", exact=True).uncheck()
    page.get_by_label("Mark row 20").check()
    page.get_by_label("Mark row 30").check()
    expect(settle).to_be_visible()
    page.get_by_role("button", name="Leave out").click()
    expect(page.get_by_text("Leave 2 rows out for good?")).to_be_visible()
    screen.keep("marked")
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_text("2 rows are left out and will not")).to_be_visible()


def test_whoever_comes_second_to_a_row_is_told_and_overwrites_nothing(
    look: Open,
) -> None:
    screen, other = look(), look()
    page = screen.page
    number = checked(screen, file_of(20, {4: "Italia"}))
    other.open(f"/batches/{number}")
    mend(other.page, 4, "Nation", "IT")
    cell(page, 4, "Nation").click()
    page.get_by_label("Nation, row 4").fill("FR")
    page.get_by_role("button", name="Save", exact=True).click()
    told = page.get_by_text(
        "local has changed row 4 meanwhile: “Nation” is “IT” now. "
        "Yours, “FR”, was not saved."
    )
    expect(told).to_be_visible()
    expect(cell(page, 4, "Nation")).to_have_text("IT")
    screen.keep("conflict")
    screen.judge()
    page.get_by_role("button", name="Save mine").click()
    expect(cell(page, 4, "Nation")).to_have_text("FR")
    expect(told).to_have_count(0)


def test_a_cell_is_written_or_pasted_into_and_the_next_click_saves_it(
    look: Open,
) -> None:
    screen = look(permissions=["clipboard-read", "clipboard-write"])
    page = screen.page
    checked(screen, file_of(20, {4: "Italia", 5: "Francia"}))
    cell(page, 4, "Nation").focus()
    paste(page, "IT\tFR\n")
    expect(page.get_by_text("One value at a time")).to_be_visible()
    paste(page, "IT\n")
    expect(page.get_by_label("Nation, row 4")).to_have_value("IT")
    cell(page, 5, "Nation").click()
    expect(page.locator('tr[data-row="4"]')).to_have_class("pending")
    expect(page.get_by_label("Nation, row 4")).to_have_count(0)
    page.get_by_label("Nation, row 5").fill("FR")
    page.get_by_label("Result").select_option("")
    expect(headline(page, "Checked: every row is valid")).to_be_visible()
    expect(cell(page, 5, "Nation")).to_have_text("FR")
    expect(cell(page, 5, "Result")).to_have_text("valid, not imported yet")
    cell(page, 6, "Nation").click()
    page.get_by_label("Nation, row 6").fill("AT")
    page.get_by_role("button", name="Import 20 valid rows").click()
    expect(headline(page, "Complete: every row ended well")).to_be_visible()
    expect(cell(page, 6, "Nation")).to_have_text("AT")


def paste(page: Page, text: str) -> None:
    """Paste a text where the focus is."""
    page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("Control+V")


def test_what_others_go_on_with_is_seen_in_every_window(look: Open) -> None:
    screen, other = look(), look()
    page, late = screen.page, other.page
    number = checked(screen, file_of(20, {4: "Italia"}))
    other.open(f"/batches/{number}")
    expect(cell(late, 4, "Nation")).to_have_text("Italia")
    mend(page, 4, "Nation", "IT")
    late.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(headline(late, "Checked: every row is valid")).to_be_visible()
    page.get_by_role("button", name="Import 20 valid rows").click()
    expect(headline(page, "Complete: every row ended well")).to_be_visible()
    late.get_by_role("button", name="Import 20 valid rows").click()
    expect(headline(late, "Complete: every row ended well")).to_be_visible()
    expect(late.get_by_role("alert")).to_contain_text("only what was checked can be")


def test_what_a_file_holds_never_becomes_markup(screen: Screen) -> None:
    page = screen.page
    lines = f"Guest no.;Name;Nation;{MARKUP}\nG1;{MARKUP};{MARKUP};{MARKUP}\n"
    checked(screen, lines.encode(), f"{MARKUP}.csv")
    expect(page.get_by_role("grid")).to_contain_text(MARKUP)
    expect(page.locator("img")).to_have_count(0)
    screen.open(f"/batches/{number_of(screen)}/rows/2")
    expect(page.get_by_role("table")).to_contain_text(MARKUP)
    screen.open("/")
    page.get_by_label("Name of the file").fill("onerror")
    expect(page.locator("tbody")).to_contain_text(MARKUP)
    expect(page.locator("img")).to_have_count(0)
    assert page.title() == "Imports · batchfx"


def test_the_faulty_rows_go_out_as_a_file_and_come_back_corrected(
    screen: Screen,
) -> None:
    page = screen.page
    number = checked(screen, file_of(10, {4: "Italia", 6: "Francia"}))
    page.get_by_text("Fix 2 rows in a file instead").click()
    expect(page.get_by_text("nothing is written yet. Rows that")).to_be_visible()
    name = correct(page, "Italia", "IT")
    assert name == f"guests-{number}-faulty-rows.csv"
    expect(headline(page, "Checked: 1 row needs attention")).to_be_visible()
    expect(count_of(page, "valid, not imported yet")).to_have_text("9")
    page.get_by_role("button", name="Import 9 valid rows").click()
    expect(page.get_by_text("Fix 1 row in a file instead")).to_be_visible()
    expect(page.get_by_text("Its rows are imported at once.")).to_be_visible()
    screen.keep("file")
    screen.judge()
    correct(page, "Francia", "FR")
    expect(headline(page, "Complete: every row ended well")).to_be_visible()
    expect(count_of(page, "created")).to_have_text("10")


def correct(page: Page, old: str, new: str) -> str:
    """Take the file of faulty rows, bring it back corrected, and return its name."""
    with page.expect_download() as waited:
        page.get_by_role("link", name="CSV").click()
    text = waited.value.path().read_text("utf-8-sig").replace(old, new)
    corrected = csv_file("back.csv", text.encode())
    page.locator("input[type=file]").set_input_files(corrected)
    return waited.value.suggested_filename


def test_a_run_is_paused_resumed_and_cancelled(screen: Screen) -> None:
    page = screen.page
    checked(screen, file_of(2500))
    page.get_by_role("button", name="Import 2,500 valid rows").click()
    expect(headline(page, "Importing")).to_be_visible()
    page.context.set_offline(True)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("There is no connection")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("There is no connection")).to_have_count(0)
    page.get_by_role("button", name="Pause").click()
    expect(headline(page, "Paused")).to_be_visible()
    expect(page.get_by_text("Nothing more begins until it is resumed.")).to_be_visible()
    screen.keep("paused")
    screen.judge()
    page.get_by_role("button", name="Resume").click()
    expect(headline(page, "Importing")).to_be_visible()
    page.get_by_role("button", name="Cancel import").click()
    expect(page.get_by_text("Cancel for good?")).to_be_visible()
    page.get_by_role("button", name="Yes").click()
    expect(headline(page, "Cancelled; what is done is kept")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)


def opened_by_keys(page: Page) -> FileChooser:
    """Open the browser's window for a file of guests."""
    choosers: list[FileChooser] = []
    page.on("filechooser", lambda opened: choosers.append(opened))  # noqa: PLW0108 - Playwright marks what it is given
    tab_to(page, "LABEL:What is in the file")
    page.keyboard.type("guests")
    page.keyboard.press("Tab")
    expect(page.locator("input[type=file]")).to_be_focused()
    while not choosers:  # a busy browser may not let one come up at the first key
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)
    return choosers[0]


def tab_to(page: Page, wanted: str, key: str = "Tab") -> None:
    """Press Tab until what is *wanted* has the focus."""
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate(FOCUSED) == wanted:
            return
    message = f"'{wanted}' can't be reached with {key}."
    raise AssertionError(message)


def tab_back_to(page: Page, wanted: str) -> None:
    """Press Shift+Tab until what is *wanted* has the focus."""
    tab_to(page, wanted, "Shift+Tab")


FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (at.closest("[role=grid]")) return "CELL";
  if (at.ariaLabel) return `LABEL:${at.ariaLabel}`;
  if (at.labels?.length) return `LABEL:${at.labels[0].textContent}`;
  return at.textContent.trim();
}"""

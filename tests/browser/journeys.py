"""What a person does on the page, by the words that are on it."""

from __future__ import annotations

import re

from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.conftest import Screen


def csv_file(name: str, content: bytes) -> FilePayload:
    """Return a file as the browser takes it."""
    return {"name": name, "mimeType": "text/csv", "buffer": content}


def choose(page: Page, content: bytes, name: str = "guests.csv") -> None:
    """Choose a file of guests."""
    page.get_by_label("What is in the file").select_option("guests")
    page.locator("input[type=file]").set_input_files(csv_file(name, content))


def map_country(page: Page) -> None:
    """Say which column the country is in."""
    expect(headline(page, "Is the file understood?")).to_be_visible()
    page.get_by_label("Column for Country").select_option("Nation")
    expect(page.get_by_text("Chosen by hand")).to_be_visible()


def check(page: Page) -> None:
    """Have all rows checked."""
    page.get_by_role("button", name="Check all rows").click()
    expect(headline(page, "Checked")).to_be_visible()


def headline(page: Page, words: str) -> Locator:
    """Return the headline that begins with *words*."""
    return page.get_by_role("heading", name=re.compile(f"^{re.escape(words)}"))


def count_of(page: Page, verdict: str) -> Locator:
    """Return the number that stands above the name of a verdict."""
    named = page.locator(".counts > div").filter(has=page.get_by_text(verdict))
    return named.locator("dd")


def cell(page: Page, row: int, column: str) -> Locator:
    """Return a cell of the grid."""
    return page.locator(f'tr[data-row="{row}"] [data-label="{column}"]')


def mend(page: Page, row: int, column: str, text: str) -> None:
    """Write *text* into a cell of the grid."""
    cell(page, row, column).click()
    page.get_by_label(f"{column}, row {row}").fill(text)
    page.keyboard.press("Enter")
    expect(page.locator(f'tr[data-row="{row}"]')).to_have_class("pending")


def checked(screen: Screen, content: bytes, name: str = "guests.csv") -> int:
    """Bring a file in and have it checked; return the number of its batch."""
    screen.open("/new")
    choose(screen.page, content, name)
    map_country(screen.page)
    check(screen.page)
    return number_of(screen)


def number_of(screen: Screen) -> int:
    """Return the batch whose page this is."""
    return int(screen.page.url.rpartition("/")[2])


def shares(page: Page) -> list[int]:
    """Return the percentages that the bar has had since `watch_bar`."""
    found: list[int] = page.evaluate("window.shares")
    return found


def watch_bar(page: Page) -> None:
    """Note every change of the bar from now on."""
    page.locator("[role=progressbar]").evaluate(
        """(bar) => {
          window.shares = [];
          new MutationObserver(() => window.shares.push(
            Number(bar.getAttribute("aria-valuenow")))
          ).observe(bar, { attributes: true, attributeFilter: ["aria-valuenow"] });
        }"""
    )

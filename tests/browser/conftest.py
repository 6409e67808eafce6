"""A browser, and what it looks at: `batchfx serve`, as somebody would run it.

The browser is Debian's Chromium (.ci/chromium installs it), with a new profile for each
run. What each page looks like is kept in build/screenshots.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Response,
    expect,
    sync_playwright,
)

from tests.browser.wire import Wire, wire_to

ROOT = Path(__file__).parent.parent.parent
SCREENSHOTS = ROOT / "build" / "screenshots"
PATIENCE = 20_000  # ms until a test gives up on a page
ARGUMENTS = (
    "--no-sandbox",  # the tests may run as root, as in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
expect.set_options(timeout=PATIENCE)
# What the content security policy stops is told to the page, not to the test.
WATCH = """
window.stopped = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.stopped.push(event.violatedDirective + " " + event.blockedURI));
"""


@dataclass
class Screen:
    """A page of the browser, with what went wrong on it and came through the wire."""

    page: Page
    site: str
    name: str
    faults: list[str] = field(default_factory=list)
    answers: list[Response] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to a page of the site."""
        self.page.goto(f"{self.site}{path}")

    def keep(self, part: str) -> None:
        """Keep a picture of the page."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{self.name}-{part}.png"
        self.page.screenshot(path=path, full_page=True, animations="disabled")

    def judge(self) -> None:
        """Fail on what axe finds serious, and on a page that is wider than its window.

        Every text is from a catalogue: none is the key of one that is missing.
        """
        found = self.page.evaluate(f"{axe()}; axe.run()")["violations"]
        serious = [
            (each["id"], [node["html"] for node in each["nodes"]])
            for each in found
            if each["impact"] in {"serious", "critical"}
        ]
        assert serious == []
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= self.page.evaluate("innerWidth")
        keys = re.compile(r"\b(site|state|verdict|grid|file|map|read|draft)\.[a-z_]+\b")
        assert keys.findall(self.page.locator("main").inner_text()) == []

    def end(self) -> None:
        """Fail if a script broke, or the policy had to stop something."""
        assert self.page.evaluate("window.stopped") == []
        assert self.faults == []


def axe() -> str:
    """Return the source of axe-core, which a test's package brings along."""
    return (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The browser of this run."""
    path = shutil.which("chromium")
    assert path, "There is no chromium on PATH; sh .ci/chromium installs it."
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


@dataclass(frozen=True)
class Served:
    """What `batchfx serve` has printed: its address, and the one that lets in."""

    site: str
    way_in: str


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`batchfx serve` with a worker, on a database of its own."""
    folder = tmp_path_factory.mktemp("serve")
    log = folder / "log"
    words = "--importers", "tests.browser.guests", "--port", "0"
    command = [str(Path(sys.executable).with_name("batchfx")), "serve", *words]
    environment = os.environ | {
        "BATCHFX_DATABASE_URL": f"sqlite:///{folder / 'batches.db'}",
        "PYTHONPATH": str(ROOT),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, cwd=folder, env=environment
        )
    try:
        yield _printed(process, log)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def _printed(process: subprocess.Popen[bytes], log: Path) -> Served:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        found = re.search(r"(http://[\d.:]+)/sign-in#token=\S+", log.read_text("utf-8"))
        if found:
            return Served(found[1], found[0])
        time.sleep(0.05)
    pytest.fail(f"batchfx serve does not come up: {log.read_text('utf-8')}")


@pytest.fixture(scope="package")
def signed_in(browser: Browser, served: Served) -> Any:
    """The cookie of somebody who came in by the printed address."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.way_in)
    page.get_by_role("heading", name="Imports").wait_for()
    state = context.storage_state()
    context.close()
    return state


Open = Callable[..., Screen]


@pytest.fixture
def look(
    request: pytest.FixtureRequest, browser: Browser, served: Served, signed_in: Any
) -> Iterator[Open]:
    """Return what opens a window on the site, signed in, with settings of its own."""
    windows: list[tuple[BrowserContext, Screen]] = []

    def opened(**settings: Any) -> Screen:
        given = {"locale": "en-GB", "storage_state": signed_in, **settings}
        context = browser.new_context(**given)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(WATCH)
        name = request.node.name.removeprefix("test_").replace("/", "-")
        screen = Screen(context.new_page(), served.site, name)
        screen.page.on("pageerror", lambda fault: screen.faults.append(str(fault)))
        screen.page.on("response", lambda answer: screen.answers.append(answer))  # noqa: PLW0108 - Playwright marks what it is given
        windows.append((context, screen))
        return screen

    yield opened
    for context, screen in windows:
        if not context.pages or screen.page.is_closed():
            continue
        screen.end()
        context.close()


@pytest.fixture
def wire(served: Served) -> Iterator[Wire]:
    """A wire to the site that can be cut."""
    with wire_to(int(served.site.rpartition(":")[2])) as laid:
        yield laid


@pytest.fixture
def screen(look: Open) -> Screen:
    """A window on the site, as most people have it."""
    return look(viewport={"width": 1280, "height": 900})

"""A real browser for the tests of pages: Debian's Chromium, driven by Playwright, watched for errors and requests."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.visits import Visit, Visitor

# Without the network flags Chromium looks up its maker's hosts at every start. It refuses to run as root in a sandbox.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium. Without it the tests are skipped. In CI they fail, because nobody would notice a skip."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        message = "no chromium on this machine: `make chromium` installs it, or apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visitor]:
    """Opens an address in a fresh profile: `visit(url, width=390, color_scheme="dark", java_script_enabled=False)`.

    At the end of the test, no page may have an error, and no page may have sent a request to another machine. A test
    that expects errors empties `errors`.
    """
    visits: list[Visit] = []
    with ExitStack() as stack:

        def open_page(address: str, *, width: int = 1280, height: int = 900, **options: Any) -> Visit:
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            stack.callback(context.close)
            made = Visit(context.new_page())
            visits.append(made)
            made.page.on("request", lambda request: made.requests.append(request.url))
            made.page.on("pageerror", lambda error: made.errors.append(str(error)))
            made.page.on(
                "console", lambda message: made.errors.append(message.text) if message.type == "error" else None
            )
            made.page.goto(address)
            return made

        yield open_page
    for each in visits:
        assert each.errors == []
        assert each.outside == []

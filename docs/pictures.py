"""Draws the pictures of the README: the report and the playground of the demo study, in a real browser.

python docs/pictures.py out/demo        # the folder of a finished study; `make pictures` runs the demo first
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from piecework.playground.catalogue import Catalogue
from piecework.playground.server import listen, serve_in_background
from piecework.results.folder import StudyFolder

FOLDER = Path(__file__).parent / "pictures"
WIDTH = 1280
# Without the network flags Chromium looks up its maker's hosts at every start. It refuses to run as root in a sandbox.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
TEXT = "Den gamla fyren på udden lyser fortfarande varje kväll, fast ingen längre bor där. Łódź!"
MOST_BYTES = 250_000


def main(study: Path) -> None:
    """Draw both pictures."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        sys.exit("no chromium on this machine: `make chromium` installs it")
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            _report(browser, study)
            _playground(browser, study)
        finally:
            browser.close()


def _page(browser: Browser, height: int) -> Page:
    context = browser.new_context(viewport={"width": WIDTH, "height": height}, color_scheme="light")
    return context.new_page()


def _report(browser: Browser, study: Path) -> None:
    """The top of the report, as it opens."""
    page = _page(browser, 820)
    page.goto((study / "report.html").resolve().as_uri())
    _save(page, "report")


def _playground(browser: Browser, study: Path) -> None:
    """Two lanes on a Swedish text, and the merges of one of its words."""
    with serve_in_background(Catalogue.from_study(StudyFolder.load(study)), listen(port=0)) as address:
        page = _page(browser, 900)
        page.goto(f"{address}#lanes=multilingual;sv")
        page.wait_for_selector("body[data-answers]")
        page.fill("#text", TEXT)
        page.locator(".lane").first.locator(".token", has_text="kv").first.click()
        page.wait_for_selector(".why-word")
        page.mouse.move(5, 5)
        page.wait_for_selector(".languages [data-language=sv]")
        _save(page, "playground")


def _save(page: Page, name: str) -> None:
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    size = path.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{path} has {size:,} bytes; a README should load at once: at most {MOST_BYTES:,}")
    print(f"{path}: {size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))

"""Records the playground of a study as an animated picture, in a real browser, and copies the study's report.

python docs/site/recording.py out/demo build/gallery      # `make docs` runs the demo first
"""

import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from piecework.playground.catalogue import Catalogue
from piecework.playground.server import listen, serve_in_background
from piecework.results.folder import StudyFolder

WIDTH, HEIGHT = 1100, 760
# Without the network flags Chromium looks up its maker's hosts at every start. It refuses to run as root in a sandbox.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
TEXT = "Den gamla fyren på udden lyser fortfarande varje kväll, fast ingen längre bor där."
SIZES = (6000, 4000, 2500, 1500, 1500, 4000, 8192)
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def main(study: Path, out: Path) -> None:
    """Write demo-report.html, playground.png (animated) and playground-still.png into `out`."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        sys.exit("no chromium on this machine: `make chromium` installs it")
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(study / "report.html", out / "demo-report.html")
    with (
        sync_playwright() as playwright,
        serve_in_background(Catalogue.from_study(StudyFolder.load(study)), listen(port=0)) as address,
    ):
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
            frames = list(_frames(context.new_page(), address))
        finally:
            browser.close()
    (out / "playground.png").write_bytes(animated(frames))
    (out / "playground-still.png").write_bytes(frames[-1][0])
    print(f"{out}: {len(frames)} pictures, {(out / 'playground.png').stat().st_size:,} bytes")


def _frames(page: Page, address: str) -> Iterator[tuple[bytes, int]]:
    """Pictures, and for how many milliseconds each is shown: text is typed, the size moves, a word is explained."""
    page.goto(f"{address}#lanes=multilingual;sv")
    page.wait_for_selector("body[data-answers]")
    words = TEXT.split()
    for end in range(2, len(words) + 1, 2):
        _fill(page, " ".join(words[:end]))
        yield page.screenshot(), 500
    slider = page.locator(".lane").first.locator("input[type=range]").first
    for size in SIZES:
        slider.fill(str(size))
        page.wait_for_timeout(200)
        yield page.screenshot(), 700
    page.locator(".lane").first.locator(".token", has_text="kv").first.click()
    page.wait_for_selector(".why-word")
    page.mouse.move(5, 5)
    page.wait_for_timeout(200)
    yield page.screenshot(), 4000


def _fill(page: Page, text: str) -> None:
    """Type, and wait for the answer: each lane has the last word's first letters."""
    page.fill("#text", text)
    shown = "letters => [...document.querySelectorAll('.lane')].every(lane => lane.innerText.includes(letters))"
    page.wait_for_function(shown, arg=text.split()[-1][:2])
    page.wait_for_timeout(200)


def animated(frames: list[tuple[bytes, int]]) -> bytes:
    """One animated PNG of PNG pictures of one size: the first as it is, the others' data as fdAT chunks.

    Format: "PNG Specification (Third Edition)", section 11.3.6: acTL before the data, fcTL before each picture.
    """
    first = list(_chunks(frames[0][0]))
    parts = [SIGNATURE, _chunk(b"IHDR", first[0][1]), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
    width, height = struct.unpack(">II", first[0][1][:8])
    number = 0
    for picture, milliseconds in frames:
        control = struct.pack(">IIIIIHHBB", number, width, height, 0, 0, milliseconds, 1000, 0, 0)
        parts.append(_chunk(b"fcTL", control))
        number += 1
        data = b"".join(content for kind, content in _chunks(picture) if kind == b"IDAT")
        if picture is frames[0][0]:
            parts.append(_chunk(b"IDAT", data))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
            number += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    offset = len(SIGNATURE)
    while offset < len(png):
        length, kind = struct.unpack(">I4s", png[offset : offset + 8])
        yield kind, png[offset + 8 : offset + 8 + length]
        offset += 12 + length


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))

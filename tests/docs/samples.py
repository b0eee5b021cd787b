"""The samples of the site's pages: blocks of shell and Python, and why some of them are not run."""

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NOT_RUN", "Sample", "read_samples", "samples"]

FENCE = re.compile(
    r"(?ms)^(?:<!-- not run: (?P<reason>[^\n]+?) -->\n)?```(?P<language>sh|python)\n(?P<source>.*?)^```$"
)

# Shell lines that are not run: the start of the line, and the reason.
NOT_RUN = {
    "pip install": "installs from the registries",
    "piecework playground": "serves until Ctrl-C; tests/browser drives it",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A block of code on a page; `reason` says why it is not run, or is empty; `where` is page and line."""

    where: str
    language: str
    source: str
    reason: str

    @property
    def commands(self) -> str:
        """The lines of a shell sample that run."""
        return "\n".join(line for line in self.source.splitlines() if not line.startswith(tuple(NOT_RUN)))


def samples(page: Path) -> list[Sample]:
    """The samples of a page in order."""
    return read_samples(page.read_text(encoding="utf-8"), page.name)


def read_samples(text: str, name: str) -> list[Sample]:
    """The samples of a text; `where` is the page with the line of the fence."""
    return [
        Sample(
            f"{name}:{text.count(chr(10), 0, found.start('language')) + 1}",
            found["language"],
            found["source"],
            found["reason"] or "",
        )
        for found in FENCE.finditer(text)
    ]

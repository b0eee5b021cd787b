"""What a test sees of a page that it opens."""

from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from playwright.sync_api import Page

LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass
class Visit:
    """A page that was opened, and what happened there."""

    page: Page
    requests: list[str] = field(default_factory=list)
    """Every address that the page asked for, itself included."""
    errors: list[str] = field(default_factory=list)
    """Errors on the console, and exceptions that nothing caught."""

    @property
    def outside(self) -> list[str]:
        """Requests that leave this machine."""
        parts = [(urlsplit(address), address) for address in self.requests]
        local = ("file", "data", "blob", "about")
        return [address for part, address in parts if part.scheme not in local and part.hostname not in LOOPBACK]


class Visitor(Protocol):
    def __call__(self, address: str, *, width: int = ..., height: int = ..., **options: Any) -> Visit: ...

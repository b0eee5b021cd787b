"""A bounded number of HTTP connections: a new one above the limit closes the one that has waited longest."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MAX_CONNECTIONS", "BoundedProtocol"]

# A process may have a limited number of open files, usually 1,024. Above that no connection is accepted. A server that
# waits for clients to close their connections could then be blocked for ever.
MAX_CONNECTIONS = 256


class BoundedProtocol(H11Protocol):
    """A connection that makes room for a new one, unless it is being answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection, and close the oldest idle one if there are too many."""
        super().connection_made(transport)
        waiting: dict[Any, None] = self.server_state.__dict__.setdefault("waiting", {})
        self._waiting = waiting
        waiting[self] = None
        if len(waiting) > MAX_CONNECTIONS:
            idle = next((each for each in waiting if each is not self and each.is_idle), self)
            waiting.pop(idle)
            idle.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """After an answer a connection is the youngest of those that wait."""
        if self in self._waiting:
            self._waiting.pop(self)
            self._waiting[self] = None
        super().on_response_complete()

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered. A request counts only when its whole body has arrived."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

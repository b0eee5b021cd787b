"""Access control: checks of host, origin and token, and headers that forbid foreign content."""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Access", "Guard"]

COOKIE = "piecework_token"

HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "manifest-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ]
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use the server: its address and port, and the token if other machines can reach it."""

    host: str
    port: int
    token: str | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def knows(self, authority: str) -> bool:
        """Whether a Host header names this server.

        Another site can point its own name at this machine (DNS rebinding) and then send requests to it. These requests
        carry that name, so names are checked. An address cannot be redirected in this way.

        >>> access = Access("127.0.0.1", 8080)
        >>> [access.knows(name) for name in ("localhost:8080", "[::1]:8080", "localhost", "evil.example:8080")]
        [True, True, False, False]
        """
        found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::([0-9]{1,5}))?", authority)
        if not found or int(found[2] or 80) != self.port:
            return False
        name = found[1].lower()
        if name in LOOPBACK_NAMES:
            return True
        if self.is_loopback:
            return name.strip("[]") == self.host
        return _is_address(name.strip("[]")) or name in (self.host.lower(), socket.gethostname().lower())

    def admits(self, token: str | None) -> bool:
        """Whether the token is right, if one is needed."""
        return self.token is None or (token is not None and hmac.compare_digest(token.encode(), self.token.encode()))


class Guard:
    """Refuses requests that do not come from the page, before their body is read, and adds the headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.knows(hosts[0]):
            return refusal(421, "this server does not have that name; open the address that piecework printed")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{hosts[0]}":
            return refusal(403, "requests from other pages are refused")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and scope["method"] != "GET":
            return refusal(403, "requests from other pages are refused")
        if self._access.token is None:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        if given is not None and scope["path"] == "/" and self._access.admits(given):
            # The token is removed from the address bar; the browser keeps it as a cookie of this server.
            response = RedirectResponse("/", status_code=303)
            response.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return response
        if not self._access.admits(_cookie(headers.get("cookie", ""))):
            return refusal(401, "open the full address that piecework printed, including its token")
        return None


def refusal(status: int, message: str) -> JSONResponse:
    """A refusal that says why."""
    return JSONResponse({"error": message}, status_code=status)


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address or localhost.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, True, False, True)
    """
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(header: str) -> str | None:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return found.value if found else None

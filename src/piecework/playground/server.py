"""Runs the playground: opens a socket, serves requests, stops."""

from __future__ import annotations

import errno
import logging
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn

from piecework.errors import InputError
from piecework.playground.app import make_app
from piecework.playground.catalogue import Catalogue
from piecework.playground.connections import BoundedProtocol
from piecework.playground.guard import Access, is_loopback

__all__ = ["DEFAULT_PORT", "Listener", "listen", "serve", "serve_in_background"]

DEFAULT_PORT = 8765
FURTHER_PORTS = 20
STARTING_S = 30.0


@dataclass(frozen=True, slots=True)
class Listener:
    """An open socket, and who may use it."""

    socket: socket.socket
    access: Access

    @property
    def url(self) -> str:
        """The address to open."""
        host = self.access.host
        if host in ("0.0.0.0", "::"):
            host = socket.gethostname()
        name = f"[{host}]" if ":" in host else host
        token = f"?token={self.access.token}" if self.access.token else ""
        return f"http://{name}:{self.access.port}/{token}"


def listen(host: str = "127.0.0.1", port: int | None = None) -> Listener:
    """Listen on the given port, or on 8765 or the next free port.

    If other machines can reach it, requests need a token.
    """
    wanted = [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + FURTHER_PORTS)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for each in wanted:
        # IPPROTO_TCP is explicit: asyncio sets TCP_NODELAY only on such sockets, and without it each answer waits
        # 40 ms for the browser's acknowledgement.
        opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((host, each))
            opened.listen(128)  # from here on an early browser waits instead of being refused
        except (OSError, OverflowError) as error:
            opened.close()
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE and port is None:
                continue
            what = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot listen on {host}, port {each}: {what}; choose another --port") from error
        token = None if is_loopback(host) else secrets.token_urlsafe(24)
        return Listener(opened, Access(host, opened.getsockname()[1], token))
    raise InputError(f"ports {wanted[0]} to {wanted[-1]} are all taken; choose one with --port")


def serve(catalogue: Catalogue, listener: Listener, *, verbose: bool = False) -> None:
    """Serve until Ctrl-C."""
    server = _server(catalogue, listener, verbose=verbose)
    # uvicorn catches the signal, closes its connections, and raises it again.
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener.socket])
    listener.socket.close()


@contextmanager
def serve_in_background(catalogue: Catalogue, listener: Listener) -> Iterator[str]:
    """Serve from a thread while the block runs; yields the address."""
    server = _server(catalogue, listener, verbose=False)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]}, daemon=True)
    thread.start()
    try:
        yield listener.url
    finally:
        server.should_exit = True
        thread.join(STARTING_S)
        listener.socket.close()


def _server(catalogue: Catalogue, listener: Listener, *, verbose: bool) -> uvicorn.Server:
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    else:
        logging.getLogger("piecework.playground").setLevel(logging.CRITICAL)
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        make_app(catalogue, listener.access),
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=verbose,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)

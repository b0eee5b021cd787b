"""Attacks on the playground. Each is refused, and the playground keeps answering in bounded memory."""

import http.client
import json
import resource
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from piecework.playground.connections import MAX_CONNECTIONS
from piecework.playground.requests import MAX_BYTES
from playground.examples import tokenizer
from playground.running import Server, running

TEXT = "det regnar på havet"


@pytest.fixture(autouse=True)
def keeps_answering(server: Server) -> Any:
    yield
    assert server.process.poll() is None
    before = server.cpu_s
    answer = server.ask("encode", {"text": TEXT, "lanes": [{"tokenizer": "paper"}]})
    assert answer["lanes"][0]["ids"] == tokenizer().encode(TEXT)
    assert server.cpu_s - before < 2


def test_headers_allow_nothing_foreign(server: Server) -> None:
    for path in ("/", "/page/main.js", "/api/about", "/nothing"):
        _, _, headers = server.request("GET", path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "localhost",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "",
        "::1",
        "a b",
        "localhost:{port}:{port}",
        "192.0.2.1:{port}",
    ],
)
def test_wrong_host(server: Server, host: str) -> None:
    status, content, _ = server.request("GET", "/", headers={"Host": host.format(port=server.port)})
    assert status in (400, 421), content


def test_hosts_that_are_right(server: Server) -> None:
    for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", f"LOCALHOST:{server.port}"):
        assert server.request("GET", "/", headers={"Host": host})[0] == 200


def test_other_pages_are_not_answered(server: Server) -> None:
    body = {"text": TEXT, "lanes": []}
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert server.request("POST", "/api/encode", body, headers)[0] == 403
    own = {"Origin": f"http://127.0.0.1:{server.port}", "Sec-Fetch-Site": "same-origin"}
    assert server.request("POST", "/api/encode", body, own)[0] == 200
    # The content types that a form on another page could send without asking first.
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert server.request("POST", "/api/encode", body, {"Content-Type": kind})[0] == 415


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/%2e%2e/app.py",
        "/page//etc/passwd",
        "/page/....//app.py",
        "/page/app.py",
        "/page/main.js%00.html",
        "/page/",
        "/page/C:%5Cwindows",
        "//etc/passwd",
        "/%ff%fe",
    ],
)
def test_path_traversal(server: Server, path: str) -> None:
    status, content, _ = server.request("GET", path)
    assert status == 404
    assert content == {"error": "not found; the playground is at /"}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "GET", "FOO"])
def test_other_methods(server: Server, method: str) -> None:
    assert server.request(method, "/api/encode")[0] == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"text": "\\ud800", "lanes": []}',
        b'{"text": "a", "lanes": [{}]}',
        b'{"text": "a", "text2": "b", "lanes": []}',
        b'{"text": NaN, "lanes": []}',
        b'{"text": "a", "lanes": [{"tokenizer": "paper", "vocab_size": 1e400}]}',
        b'{"text": "a", "lanes": [{"tokenizer": "paper", "vocab_size": 99999999999999999999999}]}',
        b'{"text": "a", "lanes": [{"tokenizer": "../../etc/passwd"}, {"tokenizer": ""}]}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
    ],
)
def test_malformed_json(server: Server, body: bytes) -> None:
    status, content, _ = server.request("POST", "/api/encode", body)
    assert status == 400
    assert content["error"]
    assert "Traceback" not in content["error"]


def test_names_are_never_paths(server: Server, models: Path) -> None:
    for name in (str(models / "paper"), str(models / "paper" / "tokenizer.model"), "../paper", "paper/../paper"):
        answer = server.ask("encode", {"text": "a", "lanes": [{"tokenizer": name}]})
        assert "no tokenizer" in answer["lanes"][0]["error"]


def test_ten_megabytes_are_refused_politely(server: Server) -> None:
    before = server.memory_bytes
    for _ in range(5):
        status, content, _ = server.request("POST", "/api/encode", {"text": "x" * 10_000_000, "lanes": []})
        assert status == 413
        assert "a text may have 100,000 characters" in content["error"]
    status, content, _ = server.request("POST", "/api/encode", {"text": "x" * 100_001, "lanes": []})
    assert (status, content["error"]) == (413, "a text of 100,001 characters; the playground takes up to 100,000")
    assert server.memory_bytes - before < 60_000_000


def test_a_body_without_end_is_cut_off(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("POST", "/api/encode")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    before = server.memory_bytes
    chunk = b"%x\r\n" % 1_000_000 + b"x" * 1_000_000 + b"\r\n"
    with pytest.raises(OSError):
        for _ in range(500):
            connection.send(chunk)
    connection.close()
    assert server.memory_bytes - before < 60_000_000


def test_a_body_that_is_promised_and_never_sent(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(50):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            head = f"POST /api/encode HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
            opened.sendall(f"{head}Content-Length: {MAX_BYTES}\r\n\r\n{{".encode())
        assert server.request("GET", "/")[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 1000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100_000,
        b"GET /" + b"a" * 1_000_000,
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a browser that tries https
        b"POST /api/encode HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
    ids=["zeros", "headers", "address", "version", "tls", "lengths", "websocket"],
)
def test_what_is_no_http(server: Server, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as opened:
        try:
            opened.sendall(data)
            opened.settimeout(5)
            received = opened.recv(65536)
        except ConnectionError:
            return
    assert not received or received.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(x+x+)+y", "(.*a){25}", "((a{0,99}){0,99}){0,99}", "(?:" * 60, "[" * 199, r"\p{L}*" * 30]
)
def test_catastrophic_expressions(server: Server, pattern: str) -> None:
    before = server.cpu_s
    asked = {"tokenizer": "paper", "search": {"text": pattern, "mode": "regex"}}
    assert server.request("POST", "/api/vocabulary", asked)[0] in (200, 400)
    assert server.cpu_s - before < 2
    asked["search"] = {"text": "a" * 201, "mode": "regex"}
    assert server.request("POST", "/api/vocabulary", asked)[0] == 400


def test_texts_made_to_be_slow(server: Server) -> None:
    for text in ("a" * 100_000, " " * 100_000, "\U0010ffff" * 100_000, "ab" * 50_000, "a " * 50_000, "\n" * 100_000):
        before = server.cpu_s
        body = {"text": text, "lanes": [{"tokenizer": "paper"}] * 4}
        status, content, _ = server.request("POST", "/api/encode", json.dumps(body, ensure_ascii=False).encode())
        assert status == 200, content
        assert server.request("POST", "/api/cuts", {"text": text[:80_000], "tokenizer": "paper"})[0] == 200
        assert server.cpu_s - before < 6


def test_thousands_of_idle_connections(server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3000
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted + 500)), hard))
    count = min(wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    try:
        with ExitStack() as stack:
            for number in range(count):
                opened = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
                if number % 3 == 0:
                    with suppress(ConnectionError):
                        opened.sendall(b"GET / HTTP/1.1\r\nHost:")  # and never the rest
                if number % 500 == 499:
                    answer = server.ask("encode", {"text": TEXT, "lanes": [{"tokenizer": "paper"}]})
                    assert answer["lanes"][0]["ids"] == tokenizer().encode(TEXT)
            assert server.open_files < MAX_CONNECTIONS + 60
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_unfinished_bodies_give_way(server: Server) -> None:
    head = f"POST /api/encode HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        for _ in range(MAX_CONNECTIONS + 44):
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
            with suppress(ConnectionError):
                opened.sendall(f'{head}Content-Length: 500\r\n\r\n{{"text": '.encode())  # and never the rest
        # Each of them may take 15 seconds to arrive; nobody else waits for them.
        started = time.monotonic()
        answer = server.ask("encode", {"text": TEXT, "lanes": [{"tokenizer": "paper"}]})
        assert answer["lanes"][0]["ids"] == tokenizer().encode(TEXT)
        assert time.monotonic() - started < 10


def test_open_to_others_it_asks_for_a_token(models: Path) -> None:
    with running(models / "paper", "--host", "0.0.0.0", cwd=models) as started:
        token = started.url.partition("?token=")[2]
        assert len(token) >= 30
        # Requests from this machine need the token too.
        assert started.request("GET", "/")[0] == 401
        assert started.request("GET", "/api/about")[0] == 401
        assert started.request("GET", "/?token=wrong")[0] == 401
        assert started.request("GET", "/api/about", headers={"Cookie": "piecework_token=wrong"})[0] == 401
        assert started.request("GET", f"/?token={token}", headers={"Host": f"evil.example:{started.port}"})[0] == 421
        status, _, headers = started.request("GET", f"/?token={token}")
        assert (status, headers["location"]) == (303, "/")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert started.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]})[0] == 200

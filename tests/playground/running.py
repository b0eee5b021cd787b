"""The playground as a person starts it: it runs in its own process and answers over HTTP."""

import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cli.command import COMMAND, environment
from faults.runs import cpu_seconds


@dataclass
class Server:
    url: str
    process: "subprocess.Popen[str]"

    @property
    def host(self) -> str:
        return str(urlsplit(self.url).hostname)

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    @property
    def memory_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def cpu_s(self) -> float:
        return cpu_seconds(self.process.pid)

    @property
    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, "http.client.HTTPMessage"]:
        """Status, content (decoded if it is JSON) and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            types = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, body=sent, headers=types | (headers or {}))
            response = connection.getresponse()
            content = response.read()
            is_json = response.getheader("content-type") == "application/json"
            return response.status, json.loads(content) if is_json else content, response.headers
        finally:
            connection.close()

    def ask(self, path: str, body: Any) -> Any:
        status, content, _ = self.request("POST", f"/api/{path}", body)
        assert status == 200, content
        return content


@contextmanager
def running(*arguments: object, cwd: Path) -> Iterator[Server]:
    command = [*COMMAND, "playground", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=cwd, env=environment(), text=True) as process:
        assert process.stderr
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"http://\S+", line):
                break
        else:
            raise AssertionError(said)
        try:
            yield Server(found[0], process)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.stderr.read()
            process.wait(30)

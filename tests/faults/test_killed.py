"""Killed at any moment and started again: the same files; and nothing is left over, no process and no file."""

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cli.command import COMMAND, environment
from counting.corpora import RESULTS, made_up_corpus, make_study, result_bytes, write_corpus
from faults.runs import STUDY, is_running, servers, start, wait_until, workers
from piecework.counting.local import count
from piecework.errors import InputError

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

SMALL_SHARDS: dict[str, Any] = {"threads": 2, "shard_bytes": 8_000, "table_bytes": 30_000}
ALL_RESULTS = (*RESULTS, "counts.json")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, made_up_corpus(200), files=2)
    write_corpus(folder, {"long_sv": made_up_corpus(400)["law_sv"]}, suffix=".jsonl.zst")
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


@pytest.fixture(scope="module")
def expected(study: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected")
    count(make_study(study.parent), out=out, threads=1)
    return result_bytes(out, ALL_RESULTS)


def assert_complete(out: Path, expected: dict[str, bytes]) -> None:
    assert result_bytes(out, ALL_RESULTS) == expected
    names = sorted(path.name for path in (out / "counts").iterdir())
    assert names == sorted((*ALL_RESULTS, "inputs.json"))


def test_killed_at_20_random_moments(study: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    generator = random.Random(20)
    # How long a run takes here and now: a busy machine may need seconds before the first shard is done.
    started = time.monotonic()
    with start(study, tmp_path / "whole", **SMALL_SHARDS) as process:
        process.communicate()
    whole_s = time.monotonic() - started
    kills = finished = 0
    out = tmp_path / "0"
    seen = set()
    while kills < 20:
        process = start(study, out, **SMALL_SHARDS)
        try:
            process.wait(timeout=generator.uniform(0.2, 1.0) * whole_s)
        except subprocess.TimeoutExpired:
            counting = [*servers(process.pid), *workers(process.pid)]
            process.kill()
            process.communicate()
            kills += 1
            wait_until(lambda counting=counting: not any(map(is_running, counting)))  # type: ignore[misc]
            shards = len([path for path in out.glob("counts/.partial/*") if not path.name.startswith(".")])
            seen.add(shards)
            assert not (out / "counts" / "counts.json").exists() or result_bytes(out, ALL_RESULTS) == expected
            continue
        assert process.returncode == 0, process.communicate()
        process.communicate()
        assert_complete(out, expected)
        finished += 1
        out = tmp_path / str(finished)
    with start(study, out, **SMALL_SHARDS) as process:
        _, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert_complete(out, expected)
    assert len(seen) > 2, "all kills came before the first shard was done, or after the last"


def test_shards_that_are_done_are_not_done_again(study: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    process = start(study, tmp_path, threads=1, shard_bytes=8_000)
    partial = tmp_path / "counts" / ".partial"
    wait_until(lambda: len([path for path in partial.glob("*") if not path.name.startswith(".")]) >= 5)
    process.kill()
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in partial.glob("*/shard.json") if path.parent.name[0] != "."}
    # One shard is damaged, and one has other settings: the first is counted again, the second is removed.
    damaged = next(path for shard in done for path in shard.parent.glob("train-*.spill"))
    os.truncate(damaged, 10)
    del done[damaged.parent / "shard.json"]
    (partial / ("0" * 32)).mkdir()
    seen: dict[str, Any] = {}

    def progress(stage: str, finished: int, total: int) -> None:
        seen.setdefault(stage, (finished, total))
        if stage == "merging":
            now = {path: path.stat().st_mtime_ns for path in partial.glob("*/shard.json")}
            seen["kept"] = done.items() <= now.items()
            seen["others"] = (partial / ("0" * 32)).exists()

    count(make_study(study.parent), out=tmp_path, progress=progress, threads=1, shard_bytes=8_000)
    first, total = seen["counting"]
    assert 0 < first < total
    assert seen["kept"]
    assert not seen["others"]
    assert_complete(tmp_path, expected)


@pytest.mark.parametrize("when", ["counting", "merging"])
def test_a_worker_that_is_killed(study: Path, expected: dict[str, bytes], tmp_path: Path, when: str) -> None:
    warnings: list[str] = []
    killed: list[int] = []

    def progress(stage: str, done: int, _total: int) -> None:
        if stage == when and (done or when == "merging") and not killed:
            killed.append(workers(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    count(make_study(study.parent), out=tmp_path, progress=progress, warn=warnings.append, **SMALL_SHARDS)
    assert_complete(tmp_path, expected)
    assert len(warnings) == 1
    assert "was killed (SIGKILL), most likely because memory ran out; trying once more" in warnings[0]
    assert str(study.parent if when == "counting" else tmp_path / "counts") in warnings[0]


def test_workers_that_are_killed_again_and_again(study: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    stop = threading.Event()

    def kill_all() -> None:
        while not stop.wait(0.002):
            for pid in workers(os.getpid()):
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_all)
    killer.start()
    try:
        with pytest.raises(
            InputError, match=r"(-0000|merging).*2 processes died while working on it.*SIGKILL.*fewer --threads"
        ):
            count(make_study(study.parent), out=tmp_path, warn=lambda _: None, **SMALL_SHARDS)
    finally:
        stop.set()
        killer.join()
    assert not servers(os.getpid())
    assert not list(tmp_path.rglob("*unfinished*"))
    count(make_study(study.parent), out=tmp_path, **SMALL_SHARDS)
    assert_complete(tmp_path, expected)


def test_the_process_that_starts_the_workers_is_killed(study: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    warnings: list[str] = []
    killed: list[int] = []

    def progress(stage: str, done: int, _total: int) -> None:
        if stage == "counting" and done and not killed:
            killed.extend([*servers(os.getpid()), *workers(os.getpid())])
            os.kill(killed[0], signal.SIGKILL)
            wait_until(lambda: not any(map(is_running, killed)))  # workers end with it

    count(make_study(study.parent), out=tmp_path, progress=progress, warn=warnings.append, **SMALL_SHARDS)
    assert len(killed) > 1
    assert_complete(tmp_path, expected)
    assert all("the process that worked on it ended together with the process that" in each for each in warnings)
    assert not servers(os.getpid())


def test_workers_that_cannot_be_started(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("piecework.counting.local.PRELOAD", ["piecework.no_such_module"])
    with pytest.raises(InputError, match=r"(?s)cannot start a process: it ended with exit code 1.*no_such_module"):
        count(make_study(study.parent), out=tmp_path, **SMALL_SHARDS)


def test_where_workers_are_not_forked(
    study: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("piecework.counting.processes.FORKS", False)
    test_a_worker_that_is_killed(study, expected, tmp_path, "counting")


@pytest.fixture(scope="module")
def long_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that takes several seconds."""
    folder = tmp_path_factory.mktemp("long")
    write_corpus(folder, {"books_sv": made_up_corpus(1000)["books_sv"]})
    block = (folder / "books_sv-00000.jsonl").read_bytes()
    with (folder / "books_sv-00000.jsonl").open("ab") as file:
        for _ in range(400_000_000 // len(block)):
            file.write(block)
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


def test_ctrl_c(long_study: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "count", str(long_study), "--out", "out", "--threads", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, env=environment(), text=True, start_new_session=True
    )
    wait_until(lambda: bool(list(tmp_path.rglob("*unfinished*"))))
    counting = workers(process.pid)
    assert len(counting) == 2
    counting += servers(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130, stderr
    assert stderr.strip().endswith("interrupted")
    assert "Traceback" not in stderr
    assert not any(map(is_running, counting))
    assert not list(tmp_path.rglob("*unfinished*"))
    assert not list(tmp_path.rglob(".lock"))


def test_a_second_process_is_refused(long_study: Path, tmp_path: Path) -> None:
    process = start(long_study, tmp_path, threads=1)
    try:
        wait_until((tmp_path / "counts" / ".lock").exists)
        wait_until(lambda: bool(list(tmp_path.rglob("*unfinished*"))))
        stopped = [process.pid, *servers(process.pid), *workers(process.pid)]
        for pid in stopped:  # so that the first process cannot end before the second one is refused
            os.kill(pid, signal.SIGSTOP)
        message = rf"another process \({process.pid}\) is at work in this folder; wait for it to end"
        with pytest.raises(InputError, match=message):
            count(make_study(long_study.parent), out=tmp_path)
        assert list(tmp_path.rglob("*unfinished*")), "what the first one is at was removed"
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    finally:
        process.kill()
        process.communicate()
    # The lock file still exists, but it does not block a new run.
    assert (tmp_path / "counts" / ".lock").exists()
    write_corpus(long_study.parent, {"a_x": ["hej"]})
    small = make_study(long_study.parent, corpus={"path": "a_{language}-*"})
    assert count(small, out=tmp_path).languages == ["x"]

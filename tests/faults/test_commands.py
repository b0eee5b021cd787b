"""Faults in commands that write a tokenizer: kills, interrupts, a full disk, no permission. No partial result is left.

Each command is killed twice. With PIECEWORK_FAULTS=all it is killed forty times, and each signal is tried on it.
"""

import os
import random
import re
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

import piecework as pw
from cli.command import COMMAND, UNPRIVILEGED
from counting.corpora import made_up_corpus, made_up_documents, make_study, write_corpus
from faults.runs import cpu_seconds, is_running, wait_until
from faults.small_disk import NAMESPACE

ALL = os.environ.get("PIECEWORK_FAULTS") == "all"
KILLS = 40 if ALL else 2
COMMANDS = ("train", "export", "edit", "spm-train", "prune", "extend", "balance")
SIGNALLED = {
    signal.SIGINT: ("train", "export", "spm-train", "balance"),
    signal.SIGTERM: ("train", "export", "spm-train", "balance"),
    signal.SIGHUP: ("train", "extend"),
}
SIGNALS = [
    pytest.param(name, kind, id=f"{name}-{kind.name}")
    for name in COMMANDS
    for kind in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if ALL or kind is signal.SIGKILL or name in SIGNALLED[kind]
]
TO_STDOUT = ("evaluate", "compare", "check")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    texts = made_up_documents(400, copies=False)
    (folder / "text.txt").write_text("\n".join(texts), encoding="utf-8")
    write_corpus(folder / "data", made_up_corpus(60))
    counts = pw.count(make_study(folder / "data"), out=folder / "counted").training()
    for name, size in (("model", 600), ("larger", 640)):
        pw.train(counts, pw.Recipe.gpt_sw3(vocab_size=size)).save(folder / name)
    return folder


TIMES = re.compile(rb'"(cpu_s|elapsed_s)": [0-9.]+')
"""The entries of balance.json that depend on the machine."""


def command(name: str, folder: Path, out: Path) -> list[str]:
    model, text, counts = str(folder / "model"), str(folder / "text.txt"), str(folder / "counted")
    spm_train = [f"--input={text}", "--model_prefix=m", "--model_type=bpe", "--vocab_size=400"]
    arguments = {
        "train": [text, "--vocab-size", "500", "--out", str(out)],
        "export": [model, "--to", "hf", "--out", str(out)],
        "edit": [model, "--truncate", "400", "--unreachable", "keep", "--out", str(out)],
        "spm-train": spm_train,
        "prune": [model, "--prune", "--counts", counts, "--larger", str(folder / "larger"), "--out", str(out)],
        "extend": [model, "--counts", counts, "--add", "40", "--out", str(out)],
        "balance": [counts, "--vocab-size", "600", "--out", str(out)],
        "tokenize": [text, "--model", model, "--threads", "1", "--out", str(out)],
        "check": [model, "--counts", counts, "--json"],
        "evaluate": [model, "--data", text, "--language", "sv", "--csv"],
        "compare": [f"first={model}", f"second={model}", "--data", text, "--language", "sv", "--html"],
    }
    return [*COMMAND, "edit" if name == "prune" else name, *arguments[name]]


def contents(out: Path) -> dict[str, bytes]:
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    return {path: TIMES.sub(b"", data) if path == "balance.json" else data for path, data in found.items()}


@pytest.fixture(scope="module")
def expected(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    results = {}
    for name in COMMANDS:
        out = tmp_path_factory.mktemp(name) / "out"
        out.mkdir()
        subprocess.run(command(name, folder, out), check=True, capture_output=True, cwd=out)
        results[name] = contents(out)
        assert results[name]
    return results


@pytest.mark.parametrize(("name", "kind"), SIGNALS)
def test_killed_at_random_moments(
    name: str, kind: signal.Signals, folder: Path, expected: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    generator = random.Random(name + kind.name)
    out = tmp_path / "out"
    out.mkdir()
    for _ in range(KILLS if kind is signal.SIGKILL else 1):
        process = subprocess.Popen(
            command(name, folder, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=out
        )
        moment = generator.uniform(0.05, 0.6)
        wait_until(partial(_has_come, process.pid, moment))
        process.send_signal(kind)
        _, told = process.communicate(timeout=60)
        assert b"Traceback" not in told or moment < 0.2, told  # Python itself may still be starting
        # Each file is whole or not there.
        for path, data in contents(out).items():
            assert Path(path).name.startswith(".") or data == expected[name][path], path
    subprocess.run([*command(name, folder, out), *_force(name)], check=True, capture_output=True, cwd=out)
    found = {path: data for path, data in contents(out).items() if path in expected[name]}
    assert found == expected[name]


def _has_come(pid: int, cpu_s: float) -> bool:
    """Whether the process has used `cpu_s` seconds of processor time, or has ended."""
    try:
        return not is_running(pid) or cpu_seconds(pid) > cpu_s
    except OSError:
        return True


def _force(name: str) -> list[str]:
    return [] if name == "spm-train" else ["--force"]


@pytest.mark.parametrize("name", [*COMMANDS, "tokenize"])
def test_two_processes_in_one_folder(name: str, folder: Path, tmp_path: Path) -> None:
    """The files are those of one process. The other one writes the same, or is refused."""
    outs = tmp_path / "alone", tmp_path / "out"
    for out in outs:
        out.mkdir()
    subprocess.run(command(name, folder, outs[0]), check=True, capture_output=True, cwd=outs[0])
    processes = [
        subprocess.Popen(command(name, folder, outs[1]), stderr=subprocess.PIPE, text=True, cwd=outs[1])
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in processes]
    codes = sorted(process.returncode for process in processes)
    assert codes in ([0, 0], [0, 1]), told
    assert all(
        code == 0 or "already; pass --force" in text or "another process" in text
        for code, text in zip((process.returncode for process in processes), told, strict=True)
    ), told
    found, expected = contents(outs[1]), contents(outs[0])
    assert found == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(name: str, folder: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size=8k tmpfs "{disk}" && mkdir "{disk}/out" && cd "{disk}/out"'
    script = f'{mounted} && "$@"; code=$?; ls -A "{disk}/out"; exit $code'
    done = _in_namespace(script, command(name, folder, disk / "out"))
    assert done.returncode == 1, done.stderr
    assert "no space left on the disk" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_cannot_be_written(name: str, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o555)
    done = subprocess.run([*UNPRIVILEGED, *command(name, folder, out)], capture_output=True, text=True, cwd=out)
    assert done.returncode in (1, 2), done.stderr
    assert "permission" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert not contents(out)


@pytest.mark.parametrize("name", TO_STDOUT)
def test_output_that_finds_no_room(name: str, folder: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(name, folder, tmp_path), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "no space left" in done.stderr.lower()
    assert "Traceback" not in done.stderr


def _in_namespace(script: str, arguments: list[str]) -> "subprocess.CompletedProcess[str]":
    tried = subprocess.run([*NAMESPACE, "true"], capture_output=True)
    if tried.returncode:
        assert not os.environ.get("CI"), "a small disk cannot be mounted here"
        pytest.skip("a small disk cannot be mounted here")
    shell = [*NAMESPACE, "sh", "-c", script, "sh", *arguments]
    return subprocess.run(shell, capture_output=True, text=True)

"""Saved tokenizers have a SHA256SUMS: damage is noticed, and no kill, other command or other process makes it wrong."""

import hashlib
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import piecework as pw
from cli.command import COMMAND, UNPRIVILEGED, environment, made_up_lines
from piecework.common.recorded_files import read_recorded, update_recorded, write_recorded
from piecework.errors import DamagedError, InputError
from piecework.sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from piecework.tokenizer.load import load_tokenizer

SUMS = "SHA256SUMS"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    lines = made_up_lines(60)
    (folder / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    pw.train(lines, vocab_size=200).save(folder / "model")
    pw.train(lines, vocab_size=180).save(folder / "smaller")
    counts = pw.count_pre_tokens(lines, pre_tokenizer="gpt2")
    pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=300)).save(folder / "bytes")
    return folder


def call(*arguments: object, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=cwd)


def assert_checksums(folder: Path, *names: str) -> None:
    """As `sha256sum -c` does; and these are all the files that are listed."""
    listed = dict(reversed(line.split("  ")) for line in (folder / SUMS).read_text().splitlines())
    assert listed == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sorted(listed)}
    assert not names or sorted(listed) == sorted(names)


def load_drop_in(path: Path) -> Any:
    return SentencePieceProcessor(model_file=str(path / "tokenizer.model")).encode("hej")


@pytest.mark.parametrize(
    ("kind", "name", "load"),
    [
        ("model", "tokenizer.model", pw.Tokenizer.load),
        ("model", "tokenizer.model", load_tokenizer),
        ("model", "tokenizer.model", lambda path: load_tokenizer(path / "tokenizer.model")),
        ("model", "tokenizer.json", lambda path: load_tokenizer(path / "tokenizer.json")),
        ("model", "tokenizer.model", load_drop_in),
        ("bytes", "tokenizer.json", load_tokenizer),
        ("bytes", "tokenizer.json", pw.ByteLevelTokenizer.load),
    ],
)
def test_a_flipped_bit_is_noticed(
    saved: Path, tmp_path: Path, kind: str, name: str, load: Callable[[Path], Any]
) -> None:
    folder = shutil.copytree(saved / kind, tmp_path / "out")
    assert_checksums(folder)
    load(folder)
    data = (folder / name).read_bytes()
    generator = random.Random(1)
    for _ in range(40):
        changed = bytearray(data)
        changed[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        (folder / name).write_bytes(changed)
        with pytest.raises((DamagedError, RuntimeError), match=rf"{name}: damaged .*; if .* delete .*/{SUMS}"):
            load(folder)
    (folder / SUMS).unlink()  # as the message says
    (folder / name).write_bytes(data)
    load(folder)


@pytest.mark.parametrize("command", ["encode --model", "inspect", "check", "verify", "export --to hf --out o"])
def test_commands_notice_it(saved: Path, tmp_path: Path, command: str) -> None:
    folder = shutil.copytree(saved / "model", tmp_path / "out")
    model = folder / "tokenizer.model"
    data = model.read_bytes()
    at = data.index("▁".encode(), 600)
    model.write_bytes(data[:at] + "▂".encode() + data[at + 3 :])
    done = call(*command.split(), folder, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert f"{model}: damaged since it was written" in done.stderr


def test_commands_that_add_to_a_folder(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved / "model", tmp_path / "out")
    first = {"special_tokens_map.json", "tokenizer.json", "tokenizer.model", "tokenizer.vocab", "tokenizer_config.json"}
    assert_checksums(folder, *first)
    for arguments in ("--to hf", "--to token-bytes", "--to hf"):
        assert call("export", folder, *arguments.split(), "--out", folder).returncode == 0
    assert_checksums(folder, *first, "spiece.model", "token_bytes.npy")
    assert call("edit", folder, "--truncate", 150, "--out", folder, "--force").returncode == 0
    assert_checksums(folder, *first, "spiece.model", "token_bytes.npy", "id_mapping.json")
    assert pw.Tokenizer.load(folder).vocab_size == 150
    assert call("extend", folder, "--data", saved / "text.txt", "--add", 9, "--out", tmp_path / "more").returncode == 0
    assert_checksums(tmp_path / "more", *first, "extension.json")


def test_what_overwrites_a_listed_file_lists_it_again(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved / "model", tmp_path / "out")
    flags = [f"--input={saved}/text.txt", "--vocab_size=120", "--model_type=bpe"]
    assert call("spm-train", *flags, f"--model_prefix={folder}/tokenizer").returncode == 0
    assert_checksums(folder)
    assert pw.Tokenizer.load(folder).vocab_size == 120
    SentencePieceTrainer.train(
        input=str(saved / "text.txt"), vocab_size=130, model_type="bpe", model_prefix=f"{folder}/tokenizer"
    )
    assert_checksums(folder)
    assert pw.Tokenizer.load(folder).vocab_size == 130
    update_recorded({folder / "other": b"1"})
    assert "other" not in (folder / SUMS).read_text()


def test_spm_train_writes_its_files_and_no_others(saved: Path, tmp_path: Path) -> None:
    flags = [f"--input={saved}/text.txt", "--vocab_size=120", "--model_type=bpe", "--model_prefix=m"]
    assert call("spm-train", *flags, cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.model", "m.vocab"]


def test_killed_between_any_two_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file can be read, be it the old one or the new one; the same command ends with the same files."""
    old = {name: f"old {name}".encode() for name in ("a", "b", "c")}
    new = {name: f"new {name}".encode() for name in ("b", "c", "d")}
    replace = Path.replace
    stop = 0
    for stop in range(99):
        folder = tmp_path / str(stop)
        write_recorded(folder, old)
        renames = 0

        def failing(path: Path, target: Path, stop: int = stop) -> Path:
            nonlocal renames
            renames += 1
            if renames > stop:
                raise KeyboardInterrupt
            return replace(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", failing)
            try:
                write_recorded(folder, new, force=True)
                break
            except KeyboardInterrupt:
                pass
        for path in folder.iterdir():
            assert path.name == SUMS or read_recorded(path) in (old.get(path.name), new.get(path.name))
        (folder / "a").write_bytes(b"damaged")
        with pytest.raises(DamagedError):
            read_recorded(folder / "a")
        (folder / "a").write_bytes(old["a"])
        write_recorded(folder, new, force=True)
        assert_checksums(folder, "a", "b", "c", "d")
    assert stop == 5  # the old and new checksums, three files, the new checksums


@pytest.mark.parametrize(
    "content", [b"", b"# notes\n", b"\xff\xfe\n", b"0" * 64 + b"  ../x\n", b"0" * 64 + b"  other\n"]
)
def test_lists_of_others_are_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SUMS).write_bytes(content)
    write_recorded(tmp_path, {"a": b"1"})
    assert read_recorded(tmp_path / "a") == b"1"
    assert set(content.splitlines()) < set((tmp_path / SUMS).read_bytes().splitlines())


@pytest.mark.parametrize("kind", ["folder", "pipe", "long", "dangling"])
def test_what_is_no_list_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / SUMS
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        subprocess.run(["mkfifo", path], check=True)
    elif kind == "long":
        path.write_bytes(b"x" * (1 << 21))
    else:
        path.symlink_to(tmp_path / "nowhere")
    before = path.lstat().st_ino
    write_recorded(tmp_path, {"a": b"1"})
    assert read_recorded(tmp_path / "a") == b"1"
    assert kind == "dangling" or path.lstat().st_ino == before


def test_other_ways_to_write_a_list(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    right = hashlib.sha256(b"1").hexdigest()
    for line in (f"{right} *a", f"{right}  ./a", f"{right}  a\r", f"{'0' * 64}  b/a"):
        (tmp_path / SUMS).write_text(line + "\n")
        assert read_recorded(tmp_path / "a") == b"1"
    (tmp_path / SUMS).write_text(f"{'0' * 64} *./a")
    with pytest.raises(DamagedError):
        read_recorded(tmp_path / "a")


def test_models_without_a_list_load_as_before(saved: Path, tmp_path: Path) -> None:
    shutil.copy(saved / "model" / "tokenizer.model", tmp_path)
    assert pw.Tokenizer.load(tmp_path).vocab_size == 200


PROGRAM = """
import sys
from pathlib import Path
from piecework.common.recorded_files import read_recorded, write_recorded
folder, force, data = Path(sys.argv[1]), sys.argv[2] == "force", sys.argv[3].encode()
for number in range(int(sys.argv[4])):
    write_recorded(folder, {name: data + b"%d" % number for name in "abc"}, force=force)
    for name in "abc":
        read_recorded(folder / name)
"""


def test_two_processes_write_and_read_at_once(tmp_path: Path) -> None:
    write_recorded(tmp_path, dict.fromkeys("abc", b"0"))
    commands = [[sys.executable, "-c", PROGRAM, str(tmp_path), "force", data, "60"] for data in "xyz"]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE) for command in commands]
    for process in processes:
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told
    assert_checksums(tmp_path, "a", "b", "c")
    assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1


def test_only_one_of_two_processes_writes_without_force(tmp_path: Path) -> None:
    def write(number: int) -> bool:
        try:
            write_recorded(tmp_path / "out", dict.fromkeys("abc", b"%d" % number))
        except InputError as error:
            assert "already; pass --force" in str(error)
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(8))) == 1
    assert len({(tmp_path / "out" / name).read_bytes() for name in "abc"}) == 1


def test_a_folder_that_may_be_written_but_not_listed(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o333)
    command = [*UNPRIVILEGED, *COMMAND, "export", str(saved / "model"), "--to", "hf", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    out.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert_checksums(out)

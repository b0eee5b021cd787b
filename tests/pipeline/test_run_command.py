"""`piecework run` on the command line: its messages, its exit codes and its files."""

import json
import resource
import subprocess
from pathlib import Path

import pytest

from cli.command import COMMAND, environment
from piecework.counting.lock import locked
from pipeline.studies import STUDY, change_study, write_study


def run(*arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, "run", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_a_second_run_says_so(study: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run("study.toml", "--out", "out", cwd=study.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # This is CPU time, because the machine may be busy with other work.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2
    assert done.returncode == 0, done.stderr
    assert "out: nothing has changed since the last run (--force runs every stage again)" in done.stderr
    assert "next: piecework report out --open" in done.stderr
    assert done.stdout.splitlines()[-1] == str(Path("out") / "report.html")
    told = json.loads(run("--out", "out", "--json", "-q", cwd=study.parent).stdout)
    assert told["report"] == str(Path("out") / "report.html")
    assert told["tokenizers"]["sv"] == str(Path("out") / "tokenizers" / "sv")
    assert {"sentence", "certainty", "value"} <= told["findings"][0].keys()
    assert run("--out", "out", "-q", cwd=study.parent).stdout == ""


def test_what_was_done(study: Path) -> None:
    change_study(study, STUDY, {"[400, 512, 640]": "[400]"})
    done = run("study.toml", "--out", "out", "--latex", "-v", cwd=study.parent)
    assert done.returncode == 0, done.stderr
    assert "small: 6 tokenizers, 4 languages in " in done.stderr
    assert "peak memory" in done.stderr
    assert (study.parent / "out" / "results" / "latex" / "fertility.tex").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "no STUDY.toml is given, and there is no study.toml here"),
        (("--demo", "study.toml"), 2, "--demo is a study of its own"),
        (("nothing.toml",), 1, "nothing.toml: cannot read the study file"),
        (("bad.toml",), 2, 'bad.toml:3: unknown key "pth" in [corpus]; did you mean "path"?'),
        (("lost.toml",), 2, 'lost.toml:3: path = "nowhere/{language}.txt" matches no file'),
    ],
    ids=["none", "demo", "missing", "mistake", "corpus"],
)
def test_mistakes(tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    (tmp_path / "bad.toml").write_text('name = "x"\n[corpus]\npth = "data/{language}.txt"\n')
    (tmp_path / "lost.toml").write_text('name = "x"\n[corpus]\npath = "nowhere/{language}.txt"\n')
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_second_process(study: Path) -> None:
    with locked(study.parent / "out" / ".lock"):
        done = run("study.toml", "--out", "out", cwd=study.parent)
    assert done.returncode == 1
    assert "is at work in this folder; wait for it to end, or choose another --out" in done.stderr


def test_a_vocabulary_that_is_too_large(tmp_path: Path) -> None:
    write_study(tmp_path, **{"vocab_size = 640": "vocab_size = 640000"})
    done = run(cwd=tmp_path)
    assert done.returncode == 2
    assert "vocab_size = 640,000 is too large for this text: it allows at most" in done.stderr

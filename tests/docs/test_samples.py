"""The samples of the site's pages run unchanged, in order, in one folder for each page.

`make docs` runs all pages. `make test` runs those that take little time.
"""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import commands_page

from cli.command import environment
from docs.samples import NOT_RUN, Sample, read_samples, samples
from docs.stage import make_stage
from piecework.cli import group

ROOT = Path(__file__).parents[2]
KNOWN = ROOT / "build/known"
QUICK = ("index.md", "size.md", "study.md", "tokenize.md")
# These pages begin in an empty folder, as a new user does.
FROM_NOTHING = ("index.md", "tutorial.md")
# The samples of these pages are sessions, which the tests of metrics run.
SESSIONS = ("metrics.md",)
PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in SESSIONS and samples(path))

# The comment after an expression is checked, if it is a Python value: `tokenizer.decode(ids)  # 'Hej'`.
CHECKER = """
import ast, sys
for where, source in {samples!r}:
    for statement in ast.parse(source, where).body:
        said = source.splitlines()[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode().strip()
        if isinstance(statement, ast.Expr) and said.startswith("#"):
            value = eval(compile(ast.Expression(statement.value), where, "eval"))
            try:
                expected = ast.literal_eval(said.lstrip("# "))
            except (SyntaxError, ValueError):
                continue
            assert value == expected, f"{{where}}: {{said}} is {{value!r}}"
        else:
            exec(compile(ast.Module([statement], []), where, "exec"))
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stage")
    make_stage(folder)
    return folder


def _parameter(name: str) -> object:
    return name if name in QUICK else pytest.param(name, marks=[pytest.mark.slow, pytest.mark.minutes])


@pytest.mark.parametrize("name", [_parameter(name) for name in PAGES])
def test_the_samples_of_a_page_run(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    if name in FROM_NOTHING:
        folder.mkdir()
    else:
        shutil.copytree(request.getfixturevalue("stage"), folder)
    run_samples(samples(ROOT / "docs" / name), folder)


def run_samples(found: list[Sample], folder: Path) -> None:
    """Python samples of a page share their names; they run when the shell samples before them have run."""
    python: list[tuple[str, str]] = []
    for sample in found:
        if sample.reason:
            continue
        if sample.language == "python":
            python.append((sample.where, sample.source))
        else:
            run(["bash", "-euo", "pipefail", "-c", sample.commands], folder, sample.where)
    if python:
        run([sys.executable, "-W", "error", "-c", CHECKER.format(samples=python)], folder, python[0][0])


def run(program: list[str], folder: Path, where: str) -> None:
    variables = environment(PIECEWORK_KNOWN=str(KNOWN), BROWSER="true", HF_HUB_OFFLINE="1")
    done = subprocess.run(program, cwd=folder, env=variables, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{where}: exit code {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\npiecework validat study.toml\n```\n", "page.md:1: exit code 2"),
        ("Text.\n\n```sh\nfalse | true\n```\n", "page.md:3: exit code 1"),
        ("```python\nimport piecework as pw\npw.trian()\n```\n", "trian"),
        ("```python\n1 + 1  # 3\n```\n", "page.md:1: # 3 is 2"),
        ('```python\n"å" + "ä"  # \'ö\'\n```\n', "page.md:1: # 'ö' is 'åä'"),
    ],
)
def test_a_sample_that_does_not_run_is_found(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        run_samples(read_samples(text, "page.md"), tmp_path)
    assert expected in str(caught.value)


def test_every_sample_is_run_or_says_why_not() -> None:
    found = [sample for name in PAGES for sample in samples(ROOT / "docs" / name)]
    assert len(found) > 40
    reasons = [sample.where for sample in found if sample.reason]
    assert {where.split(":")[0] for where in reasons} == {"byte-level.md", "cluster.md", "extend.md", "tokenize.md"}
    left_out = [line for sample in found if not sample.reason for line in sample.source.splitlines()]
    assert len([line for line in left_out if line.startswith(tuple(NOT_RUN))]) < 8


def test_the_examples_of_commands_are_understood() -> None:
    """Examples of --help name files that a reader has: they are parsed, and their commands and options exist."""
    context = click.Context(group, info_name="piecework")
    lines = [
        line
        for sample in read_samples(commands_page(), "commands.md")
        for line in sample.source.replace("\\\n", " ").splitlines()
    ]
    assert len(lines) > 80
    for line in lines:
        parts = shlex.split(line.split(" > ")[0].split(" | jq")[0])
        for start in [index for index, part in enumerate(parts) if part == "piecework"]:
            end = parts.index("|", start) if "|" in parts[start:] else len(parts)
            command = group.get_command(context, parts[start + 1])
            assert command is not None, line
            if not command.context_settings.get("ignore_unknown_options"):
                command.make_parser(click.Context(command, info_name=command.name)).parse_args(parts[start + 2 : end])

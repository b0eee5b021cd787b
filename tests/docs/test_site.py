"""Parts of the site, without building it: the pages in its navigation, the generated pages, and the notebook."""

import re
import struct
import zlib
from pathlib import Path

from api import api_page
from commands import commands_page
from notebook import run_notebook
from recording import animated
from table_code import without_backslashes

import piecework
from piecework.cli import COMMANDS

ROOT = Path(__file__).parents[2]

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
HOOKS = (ROOT / "docs/site/hooks.py").read_text(encoding="utf-8")


def test_the_navigation_has_every_page_once() -> None:
    pages = re.findall(r"(?m)^ +- .+: ([\w-]+\.md)$", CONFIGURATION)
    generated = set(re.findall(r'"([a-z-]+\.md)"', HOOKS))
    assert sorted(pages) == sorted({path.name for path in (ROOT / "docs").glob("*.md")} | generated)


def test_the_site_loads_nothing_from_a_host() -> None:
    assert "font: false" in CONFIGURATION
    assert "https://" not in CONFIGURATION
    assert "analytics" not in CONFIGURATION


def test_every_command_and_option_is_in_the_reference() -> None:
    page = commands_page()
    assert re.findall(r"(?m)^## piecework (.+)$", page) == list(COMMANDS)
    assert "--vocab-size " in page
    assert page.count("Examples:") == len(COMMANDS)


def test_every_public_name_is_in_the_reference() -> None:
    page = api_page()
    assert sorted(re.findall(r"(?m)^### (\w+)$", page)) == sorted(piecework.__all__)
    assert "#### Tokenizer.encode_batch\n" in page
    assert " object at 0x" not in page
    assert str(ROOT) not in page


def test_the_notebook_runs() -> None:
    outputs = [cell.output for cell in run_notebook(ROOT / "docs/tutorial.ipynb") if cell.kind == "code"]
    assert "tokens per word" in outputs[0]
    assert outputs[-2:] == ["True", "True"]


def test_an_animated_picture() -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    frames = [
        b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes([0, grey]))) + chunk(b"IEND", b"")
        for grey in (0, 255)
    ]
    made = animated([(frames[0], 500), (frames[1], 500)])
    assert re.findall(rb"IHDR|acTL|fcTL|IDAT|fdAT|IEND", made) == [
        b"IHDR", b"acTL", b"fcTL", b"IDAT", b"fcTL", b"fdAT", b"IEND",
    ]  # fmt: skip


def test_code_in_tables_has_no_backslashes() -> None:
    row = "| `--to [hf\\|llama]` | \\|A\\| of `a\\|b` |"
    assert without_backslashes(f"text `x\\|y`\n{row}") == "text `x\\|y`\n| `--to [hf|llama]` | \\|A\\| of `a|b` |"

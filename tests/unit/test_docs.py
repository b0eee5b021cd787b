"""README, docs and pyproject.toml stay true: links and paths exist, and dependencies are declared and explained."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from unit.test_layout import CORE_FOLDERS, MODULES, PACKAGES

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks/RESULTS.md"])
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Imported names whose package has another name, or comes with it in the version that it needs.
INSTALLED_AS = {"google": "protobuf", "pydantic_core": "pydantic"}
# Imported only if they are installed, or only by type checkers. They are never required.
OPTIONAL = {"_typeshed", "gigatoken", "kitoken", "py4j", "IPython"}
# Pages of the documentation site that are generated: only pages that are for the site alone link to them.
SITE_PAGES = {"index.md", "gallery.md"}
GENERATED = {"api.md", "commands.md", "gallery/demo-report.html", "notebook.md"}


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        if page.name in SITE_PAGES and path in GENERATED:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name}: {link}"
        assert not heading or heading in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    """Paths of the repository in backticks; <name> stands for any."""
    for path in re.findall(r"`((?:core|src|tests|docs|benchmarks)/[^`\s]*)`", page.read_text(encoding="utf-8")):
        pattern = re.sub(r"<\w+>", "*", path.split("::")[0].rstrip("/"))
        assert any(ROOT.glob(pattern)), f"{page.name}: {path}"


def test_the_tests_of_promises_exist() -> None:
    """Each promise names tests that exist and run: none of them is skipped for good."""
    text = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 40
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row)
        assert named, row
        for path, name in named:
            assert re.search(rf"(?m)^def {name}\(", (ROOT / path).read_text(encoding="utf-8")), f"{path}::{name}"


def test_every_page_makes_promises_that_are_held() -> None:
    """Each page of the docs is in the table, except those that describe the code or list results."""
    text = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"promises.md", *SITE_PAGES}
    assert pages <= set(re.findall(r"\]\(([\w-]+\.md)\)", text))


def test_the_tour_has_every_folder_in_order() -> None:
    packages = [name.rstrip("/").removesuffix(".py") for name in re.findall(r"(?m)^\| `([\w.]+/?)` \|", ARCHITECTURE)]
    assert packages == list(PACKAGES)
    assert re.findall(r"(?m)^\| `core/(\w+)` \|", ARCHITECTURE) == [*CORE_FOLDERS, "tests"]


def declared(requirements: list[str]) -> set[str]:
    names = {re.split(r"[<>=!;\[ ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}
    return names - {"piecework"}


def imported() -> set[str]:
    found = set()
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return {INSTALLED_AS.get(name, name) for name in found - set(sys.stdlib_module_names) - {"piecework"}}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    required = declared(PROJECT["dependencies"])
    extras = {name for extra in ("cluster", "hf", "demo") for name in declared(PROJECT["optional-dependencies"][extra])}
    assert {name.lower() for name in imported() - OPTIONAL} <= required | extras
    assert required <= {name.lower() for name in imported()}


def test_each_dependency_has_a_line_that_says_what_it_is_for() -> None:
    table = ARCHITECTURE.split("## Dependencies")[1].lower()
    extras = PROJECT["optional-dependencies"]
    explained = [PROJECT["dependencies"], *(extras[name] for name in ("cluster", "hf", "known", "demo"))]
    for name in set().union(*map(declared, explained)):
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", table), name
    for extra in extras:
        assert f"extra `{extra}`" in table

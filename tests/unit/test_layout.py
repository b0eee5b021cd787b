"""The order of the folders: each imports only from those before it, and no deferred import hides a cycle."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import piecework

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/piecework"
CORE = ROOT / "core"

PACKAGES = (
    "errors",
    "common",
    "corpus",
    "study",
    "counting",
    "tokenizer",
    "dataset",
    "training",
    "evaluation",
    "health",
    "results",
    "report",
    "balancing",
    "playground",
    "pipeline",
    "sentencepiece",
    "cli",
)
CORE_FOLDERS = ("system", "text", "pretokenize", "count", "train", "model", "encode", "evaluate", "extend", "bindings")


# What a function outside `cli` may import. Packages that take long to import, or that may be missing:
DEFERRED_PACKAGES = {
    *("numpy", "orjson", "pyarrow", "zstandard"),  # a command that does not need them starts in half the time
    *("gigatoken", "kitoken", "pandas", "py4j", "pyspark", "sentencepiece", "tiktoken", "tokenizers", "transformers"),
    *("fcntl", "resource"),  # not on Windows
    "importlib",  # importlib.metadata, which takes 15 ms
}
# … and our own modules that few calls need, and that load such packages:
DEFERRED_MODULES = {
    "piecework.balancing.alternatives",
    "piecework.counting.spark",
    "piecework.dataset.spark",
    "piecework.report",
    "piecework.tokenizer.outside_huggingface",
    "piecework.tokenizer.outside_sentencepiece",
    "piecework.tokenizer.outside_tiktoken",
}
# Functions that Spark sends to workers by value: whatever they use, they import there.
SENT_TO_WORKERS = {"piecework.counting.spark_worker", "piecework.dataset.spark_worker"}


@dataclass(frozen=True, slots=True)
class Import:
    """An import statement anywhere in a module: at its top, in a function, or for type checkers only."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(module: str) -> Iterator[Import]:
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write imports with their full path"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("piecework."):
                yield Import(module, defining_module(name), node.lineno)


def defining_module(name: str) -> str:
    """The module that an imported name comes from: `piecework.Tokenizer` comes from `piecework.tokenizer.tokenizer`."""
    if name in MODULES:
        return name
    parent, _, attribute = name.rpartition(".")
    home = piecework._HOMES.get(attribute) if parent == "piecework" else None
    return f"piecework.{home}" if home else parent


# `piecework` imports its public names when they are used, and `python -m piecework` starts the command line:
# both stand outside the order.
OUTSIDE = {"piecework", "piecework.__main__"}
IMPORTS = [
    found
    for module in MODULES.keys() - OUTSIDE
    for found in imports_of(module)
    if found.imported in MODULES.keys() - OUTSIDE
]


def package_of(module: str) -> str:
    return module.split(".")[1]


def position(module: str) -> int:
    return PACKAGES.index(package_of(module))


def test_every_package_has_its_position() -> None:
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found - {"__init__", "__main__"} == set(PACKAGES)


def test_packages_import_only_from_those_before_them() -> None:
    assert len(IMPORTS) > 400
    wrong = [str(each) for each in IMPORTS if position(each.imported) > position(each.importer)]
    assert wrong == []


def test_the_package_itself_gives_only_its_public_names() -> None:
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "piecework":
                names = {alias.name for alias in node.names}
                assert names <= {"__version__", "_core", *piecework.__all__}, f"{module}:{node.lineno}"


def test_no_cycles_hide_in_deferred_imports() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for each in IMPORTS:
        if each.imported != each.importer:
            graph[each.importer].add(each.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def imports_in_functions(module: str) -> Iterator[tuple[int, set[str]]]:
    """The line of each import in a function, and the modules that it may import."""
    for function in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield node.lineno, {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    yield node.lineno, {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}


def test_functions_import_only_what_takes_long_or_may_be_missing() -> None:
    wrong, checked = [], 0
    for module in MODULES.keys() - OUTSIDE - SENT_TO_WORKERS:
        for line, names in imports_in_functions(module) if package_of(module) != "cli" else ():
            checked += 1
            packages = {name.split(".")[0] for name in names}
            if not (packages & DEFERRED_PACKAGES or names & (DEFERRED_MODULES | SENT_TO_WORKERS)):
                wrong.append(f"{module}:{line} imports {min(names)} in a function")
    assert checked > 80
    assert wrong == []


def test_core_folders_include_only_from_those_before_them() -> None:
    sources = sorted(path for folder in CORE_FOLDERS for path in (CORE / folder).glob("*.[ch]pp"))
    assert {path.parent.name for path in sources} == set(CORE_FOLDERS)
    wrong, checked = [], 0
    for path in sources:
        name = path.relative_to(ROOT).as_posix()
        for included in re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8")):
            folder = included.split("/")[0]
            assert (CORE / included).is_file(), f"{name} includes {included}: write the path from core/"
            checked += 1
            if CORE_FOLDERS.index(folder) > CORE_FOLDERS.index(path.parent.name):
                wrong.append(f"{name} includes {included}")
    assert checked > 100
    assert wrong == []


def test_core_headers_do_not_include_each_other_in_a_circle() -> None:
    graph = {
        path.relative_to(CORE).as_posix(): re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8"))
        for path in CORE.rglob("*.hpp")
    }
    TopologicalSorter(graph).prepare()


def test_only_bindings_know_python() -> None:
    for path in sorted(CORE.rglob("*.[ch]pp")):
        knows_python = re.search(r"#include <(nanobind|Python)", path.read_text(encoding="utf-8")) is not None
        assert not knows_python or path.parent.name == "bindings", path


def test_binding_files_stay_short() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in CORE.glob("bindings/*.cpp")}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


def test_nothing_asks_for_the_time_of_day() -> None:
    """So a clock that jumps changes no result, no timeout and no duration."""
    python = r"time\.(time|localtime|gmtime|ctime|strftime)\(|time_ns\(|datetime|from time import"
    native = r"system_clock|gettimeofday|\btime\((nullptr|NULL|0)\)|<ctime>"
    for folder, suffix, pattern in ((PACKAGE, "*.py", python), (CORE, "*.[ch]pp", native)):
        found = [path for path in folder.rglob(suffix) if re.search(pattern, path.read_text(encoding="utf-8"))]
        assert found == [], "time.monotonic() and steady_clock do not jump"

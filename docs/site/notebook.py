"""Runs the cells of a notebook, and shows it as a page with what the cells gave."""

import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cell", "notebook_page", "run_notebook"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell and, for code, what it printed and the value of its last line."""

    kind: str
    source: str
    output: str = ""


def run_notebook(path: Path) -> Iterator[Cell]:
    """Run the cells in order, in an empty folder. An error in a cell is raised as it is."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(cells, start=1):
                source = "".join(cell["source"])
                output = _run(source, names, f"{path.name}, cell {number}") if cell["cell_type"] == "code" else ""
                yield Cell(cell["cell_type"], source, output)
        finally:
            os.chdir(before)


def _run(source: str, names: dict[str, Any], where: str) -> str:
    """As Jupyter does: the value of a last line that is an expression is shown, unless it is None."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
            if value is not None:
                print(repr(value))
    return printed.getvalue().rstrip()


def notebook_page(path: Path) -> str:
    """The notebook as Markdown, run now, with a link to the file."""
    parts = []
    for cell in run_notebook(path):
        if cell.kind == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            if cell.output:
                parts.append(f"```text\n{cell.output}\n```")
    parts.insert(1, f"This page is a notebook that the build has run: [{path.name}]({path.name}).")
    return "\n\n".join(parts) + "\n"

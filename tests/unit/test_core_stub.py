"""The stub of the core has all names of the core: stubtest cannot see into functions that nanobind makes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from piecework import _core

STUB = Path(__file__).parents[2] / "src" / "piecework" / "_core.pyi"


def test_the_stub_has_each_name_of_the_core_and_no_other() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    described = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    described |= {ast.unparse(node.target) for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert described == {name for name in vars(_core) if not name.startswith("_")}


def test_each_function_takes_the_arguments_of_its_stub() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            signature = (getattr(_core, node.name).__doc__ or "").splitlines()[0]
            named = [name for name in re.findall(r"(\w+): ", signature) if name != "self"]
            assert named == [argument.arg for argument in arguments], node.name

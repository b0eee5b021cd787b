"""The reference of the Python API: every public name by subject, with its signature and its docstring."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import piecework

__all__ = ["api_page"]

# The packages in the order of the data, with the heading that a reader looks for.
SUBJECTS = {
    "study": "Studies and recipes",
    "corpus": "Text",
    "common": "Text",
    "counting": "Counting",
    "training": "Training",
    "tokenizer": "Tokenizers",
    "dataset": "Training shards",
    "evaluation": "Evaluation",
    "balancing": "Balance",
    "health": "Health",
    "pipeline": "A whole study",
    "errors": "Errors",
}

HEADER = """# Python API

`import piecework as pw` gives every name on this page. The guides have samples of each subject. The samples here
are those of the docstrings; they run in the tests.

"""
LONGEST_LINE = 100


def api_page() -> str:
    """All public names under the heading of their subject; functions come first, then classes.

    >>> "### train\\n" in api_page()
    True
    """
    by_subject: dict[str, list[str]] = {subject: [] for subject in SUBJECTS.values()}
    for name in sorted(piecework.__all__, key=lambda name: (name[0].isupper(), name.lower())):
        subject = SUBJECTS[piecework._HOMES[name].split(".")[0]]
        by_subject[subject].append(_entry(name, getattr(piecework, name)))
    return HEADER + "\n".join(f"## {subject}\n\n" + "\n".join(names) for subject, names in by_subject.items())


def _entry(name: str, value: Any) -> str:
    parts = [f"### {name}"]
    if not inspect.isclass(value):
        return "\n\n".join([*parts, _signature(name, value), _text(value)]) + "\n"
    fields = dict(_fields(value))
    if dataclasses.is_dataclass(value) or fields:
        constructor = ""
    elif "__init__" in vars(value) and not issubclass(value, Exception):
        constructor = _signature(name, value)
    else:
        constructor = ""
    parts += [constructor, _text(value)]
    if fields:
        parts.append(
            "\n".join(["| field | |", "| --- | --- |", *(f"| `{key}` | {text} |" for key, text in fields.items())])
        )
    parts += [_member(name, key, member) for key, member in _members(value)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that our own classes define, those of bases included."""
    seen = set()
    for base in value.__mro__:
        if base.__module__.startswith("piecework."):
            for key, member in vars(base).items():
                public = not key.startswith("_") and key not in seen
                is_property = isinstance(member, property) or type(member).__name__ == "cached_property"
                if public and (
                    is_property or isinstance(member, classmethod | staticmethod) or inspect.isfunction(member)
                ):
                    seen.add(key)
                    yield key, member


def _member(owner: str, key: str, member: Any) -> str:
    if isinstance(member, property) or type(member).__name__ == "cached_property":
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        kind = str(inspect.signature(function).return_annotation) if function else ""
        shown = f"```python\n{owner}.{key}: {kind.strip(chr(39))}\n```"
        return f"#### {owner}.{key}\n\n{shown}\n\n{_text(member)}"
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    return f"#### {owner}.{key}\n\n{_signature(f'{owner}.{key}', function)}\n\n{_text(function)}"


def _signature(name: str, value: Any) -> str:
    signature = inspect.signature(value)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    shown = str(signature.replace(parameters=parameters))
    shown = re.sub(r"<(?:class ')?([\w.]+)[^>]*>", r"\1", shown).replace("'", '"')
    arguments, arrow, returned = shown.rpartition(" -> ")
    if not arrow:
        arguments, returned = shown, ""
    # Annotations are strings here; they read better without quotes.
    arguments = re.sub(r': "([^"]+)"', r": \1", arguments)
    line = f"{name}{arguments}{arrow}{returned.strip(chr(34))}"
    if len(line) > LONGEST_LINE:
        each = [re.sub(r": \'([^\']+)\'", r": \1", str(parameter)).replace("'", '"') for parameter in parameters]
        first_keyword = next((i for i, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY), None)
        if first_keyword is not None and not any(one.kind is one.VAR_POSITIONAL for one in parameters):
            each.insert(first_keyword, "*")
        each = [re.sub(r"<(?:class ')?([\w.]+)[^>]*>", r"\1", one) for one in each]
        line = f"{name}(\n" + "".join(f"    {one},\n" for one in each) + f"){arrow}{returned.strip(chr(34))}"
    return f"```python\n{line}\n```"


def _text(value: Any) -> str:
    """A docstring as Markdown: samples become blocks of code."""
    document = inspect.getdoc(value) or ""
    assert document, value
    parts = []
    for paragraph in re.split(r"\n\s*\n", document):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{textwrap.dedent(paragraph)}\n```")
        elif paragraph.startswith("    "):
            parts.append(paragraph)
        else:
            parts.append(re.sub(r"(?<![`\w])<(?=[\w|])", r"\\<", paragraph) if "`" not in paragraph else paragraph)
    return "\n\n".join(parts)


def _fields(value: type) -> Iterator[tuple[str, str]]:
    """The annotated attributes of a class with their docstring, or their type where they have none."""
    for base in reversed(value.__mro__):
        if not base.__module__.startswith("piecework."):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(body, ast.ClassDef)
        following = [*body.body[1:], ast.Pass()]
        for statement, after in zip(body.body, following, strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                key = statement.target.id
                if key.startswith("_") or "ClassVar" in ast.unparse(statement.annotation):
                    continue
                kind = ast.unparse(statement.annotation).strip("'").replace("|", "\\|")
                text = ast.literal_eval(after.value) if _is_string(after) else ""
                yield key, f"`{kind}`" + (": " + " ".join(text.split()).replace("|", "\\|") if text else "")


def _is_string(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )

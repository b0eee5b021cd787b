"""A study as a complete TOML file: the preset spelt out, weights as numbers, paths relative to its new folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from piecework.common.exact import format_exact
from piecework.common.known_tokenizers import is_name
from piecework.common.storage import is_remote
from piecework.common.subset_name import SubsetName
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.recipe import AnyRecipe
from piecework.study.study import Study

__all__ = ["resolved_toml"]


def resolved_toml(study: Study, folder: Path, weights: Mapping[SubsetName, Fraction]) -> str:
    """The text of a study file in `folder`.

    >>> study = Study(folder="data", name="nordic", corpus={"path": "{language}.txt"}, recipe={"preset": "plain"})
    >>> print(resolved_toml(study, Path("out"), {SubsetName("all", "sv"): Fraction(1, 2)}))
    # The settings of a study as they were resolved; to change them, edit the study's own file and run it again.
    name = "nordic"
    seed = 1
    <BLANKLINE>
    [corpus]
    path = ["../data/{language}.txt"]
    text = "text"
    documents = "file"
    <BLANKLINE>
    [weights]
    subset = { "all_sv" = 0.5 }
    <BLANKLINE>
    [sampling]
    train = "0.01"
    eval = "0.002"
    weighting = "documents"
    <BLANKLINE>
    [recipe]
    preset = "plain"
    <BLANKLINE>
    [analysis]
    vocab_sizes = []
    monolingual = true
    <BLANKLINE>
    """
    return "\n".join(_lines(study, folder, weights)) + "\n"


def _lines(study: Study, folder: Path, weights: Mapping[SubsetName, Fraction]) -> Iterator[str]:
    def moved(path: str) -> str:
        whole = study.folder / path
        return path if is_remote(path) or Path(path).is_absolute() else Path(os.path.relpath(whole, folder)).as_posix()

    corpus = study.corpus
    yield "# The settings of a study as they were resolved; to change them, edit the study's own file and run it again."
    described = {"description": study.description} if study.description else {}
    yield from _pairs({"name": study.name, **described, "seed": study.seed})
    yield from ("", "[corpus]")
    paths = [moved(path) for path in corpus.path]
    field = {"language_field": corpus.language_field, "languages": corpus.languages} if corpus.language_field else {}
    yield from _pairs(
        {**({"path": paths} if paths else {}), **field, "text": corpus.text, "documents": corpus.documents}
    )
    for entry in corpus.subset:
        yield from ("", "[[corpus.subset]]")
        given = entry.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        yield from _pairs({**given, "path": [moved(path) for path in entry.path]})
    yield from ("", "[weights]")
    named = (f"{_text(str(name))} = {format_exact(weight)}" for name, weight in weights.items())
    yield f"subset = {{ {', '.join(named)} }}"
    yield from ("", "[sampling]")
    yield from _pairs(study.sampling.model_dump(mode="json"))
    if study.extend is not None:
        yield from ("", "[extend]")
        settings = study.extend.model_dump(exclude_none=True, exclude_defaults=True)
        base = study.extend.base
        yield from _pairs({**settings, "base": base if is_name(base, study.folder) else moved(base)})
    yield from ("", "[recipe]")
    yield from _pairs(_recipe_settings(study.recipe, folder))
    for name, recipe in study.recipes.items():
        yield from ("", f"[recipes.{_text(name)}]")
        yield from _pairs(_recipe_settings(recipe, folder))
    yield from ("", "[analysis]")
    analysis = study.analysis
    parallel = {"parallel": moved(analysis.parallel)} if analysis.parallel else {}
    pivot = {"pivot": analysis.pivot} if analysis.pivot else {}
    sizes = {"vocab_sizes": analysis.vocab_sizes, "monolingual": analysis.monolingual}
    findings = {} if analysis.paper_findings is None else {"paper_findings": analysis.paper_findings}
    findings |= {"alternatives": True} if analysis.alternatives else {}
    model = {} if analysis.model is None else {"model": analysis.model.model_dump(exclude_none=True)}
    yield from _pairs({**sizes, **parallel, **pivot, **findings, **model})
    if study.analysis.tokenizers:
        yield from ("", "[analysis.tokenizers]")
        tokenizers = study.analysis.tokenizers.items()
        yield from _pairs(
            {_text(name): path if is_name(path, study.folder) else moved(path) for name, path in tokenizers}
        )


def _recipe_settings(recipe: AnyRecipe, folder: Path) -> dict[str, Any]:
    # Only what was set: a model holds the settings that were given, and would have other bytes with all of them.
    settings = {name: getattr(recipe, name) for name in type(recipe).model_fields if name in recipe.model_fields_set}
    if isinstance(recipe, ByteLevelRecipe):
        settings |= recipe.cut_settings
        return {"kind": "byte-level", **{name: value for name, value in settings.items() if value is not None}}
    if rules := settings.get("normalization_rule_tsv"):
        settings["normalization_rule_tsv"] = Path(os.path.relpath(rules, folder)).as_posix()
    return {"preset": "plain", **{name: "none" if value is None else value for name, value in settings.items()}}


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name} = {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_pairs(value)) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    """A basic string of TOML. JSON's strings have the same form, except for one character.

    >>> _text('a "b"')
    '"a \\\\"b\\\\""'
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")

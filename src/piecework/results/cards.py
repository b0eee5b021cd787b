"""The model card of each tokenizer: what it is, its training data, its metrics, how to load it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework import __version__
from piecework.common.exact import format_percent
from piecework.common.files import replace_atomically
from piecework.common.terms import MULTILINGUAL
from piecework.corpus.languages import CODE, language_name
from piecework.evaluation.metrics import find_metrics
from piecework.evaluation.tables import Table, format_value
from piecework.results.folder import CARD_FILE, TOKENIZERS_FOLDER, StudyFolder
from piecework.results.sentence import row_name
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.recipe import AnyRecipe
from piecework.study.study import Study

__all__ = ["format_setting", "given_settings", "model_card", "write_cards"]

METRICS = ("fertility", "continued_words", "word_fertility", "bytes_per_token", "byte_rate")

Row = Mapping[str, Any]


def write_cards(results: StudyFolder) -> list[Path]:
    """Writes the card of each tokenizer; returns the files."""
    written = []
    for name in results.tokenizers:
        path = results.folder / TOKENIZERS_FOLDER / name / CARD_FILE
        with replace_atomically(path) as temporary:
            temporary.write_text(model_card(name, results.study, results.tables), encoding="utf-8")
        written.append(path)
    return written


def model_card(name: str, study: Study, tables: Mapping[str, Table]) -> str:
    """The README.md of a tokenizer: Markdown with the header that model hubs read."""
    rows = tables["metrics"].where(tokenizer=name).rows()
    subsets = [row for row in tables["corpus"].rows() if row["train_copies"]]
    if not name.startswith(MULTILINGUAL):
        subsets = [row for row in subsets if row["language"] == name]
    languages = sorted({row["language"] for row in subsets})
    sections = {
        "Data": _data(study, subsets),
        "Settings": _settings(study, rows[0]["vocab_size"]),
        "Metrics": _metrics(rows),
        "Use": _use_bytes() if isinstance(study.recipe, ByteLevelRecipe) else _use(),
    }
    lines = [
        "---",
        # JSON, which is valid YAML: an unquoted "no" for Norwegian would mean false.
        f"language: {json.dumps([language for language in languages if language != CODE])}",
        f"tags: [tokenizer, bpe, {'byte-level' if isinstance(study.recipe, ByteLevelRecipe) else 'sentencepiece'}]",
        "---",
        "",
        f"# {_text(study.name)}: {_text(name)}",
        "",
        *_introduction(name, study, rows[0]["vocab_size"], languages),
    ]
    for title, section in sections.items():
        lines += ["", f"## {title}", "", *section]
    return "\n".join(lines) + "\n"


def _introduction(name: str, study: Study, vocab_size: int, languages: Sequence[str]) -> Iterator[str]:
    named = ", ".join(_text(language_name(language)) for language in languages)
    kind = "byte-level BPE" if isinstance(study.recipe, ByteLevelRecipe) else "BPE"
    yield f"A {kind} tokenizer of {vocab_size:,} pieces for {named}, trained with Piecework {__version__}."
    if name.startswith(f"{MULTILINGUAL}-"):
        yield (
            f"It is the tokenizer `{MULTILINGUAL}` of {study.recipe.vocab_size:,} pieces cut to this size, "
            "byte for byte what training at this size gives."
        )
    elif name != MULTILINGUAL:
        yield f"It was trained on one language only, for comparison with `{MULTILINGUAL}`."
    if study.extend is not None:
        yield (
            f"It extends {_text(study.extend.base)}, whose pieces keep their ids; `extension.json` has the old tokens "
            "of each new piece."
        )


def _data(study: Study, subsets: Sequence[Row]) -> Iterator[str]:
    sampling = study.sampling
    acts = "take more or fewer documents" if sampling.weighting == "documents" else "multiply word counts"
    if study.description:
        yield _text(study.description)
        yield ""
    yield (
        f"A sample of {format_percent(sampling.train)} of the documents with seed {study.seed}; weights "
        f"{acts}. A hash of its text places each document; no training document is in the evaluation sample."
    )
    yield ""
    yield "| subset | weight | documents | bytes |"
    yield "|---|---:|---:|---:|"
    for row in subsets:
        yield f"| {_text(row['subset'])} | {row['weight']} | {row['train_copies']:,} | {row['train_bytes']:,} |"


def _settings(study: Study, vocab_size: int) -> Iterator[str]:
    recipe = study.recipe
    if isinstance(recipe, ByteLevelRecipe):
        yield "Names are those of Hugging Face's BpeTrainer. Text is not normalised."
    else:
        is_identity = recipe.normalization_rule_name == "identity" and not recipe.normalization_rule_tsv
        ending = "; text is not normalised." if is_identity else "."
        yield f"Names are SentencePiece's. Other settings have SentencePiece's defaults{ending}"
    yield ""
    yield "| setting | value |"
    yield "|---|---|"
    for name, value in given_settings(recipe).items():
        yield f"| {name} | {_code(format_setting(vocab_size if name == 'vocab_size' else value))} |"


def given_settings(recipe: AnyRecipe) -> dict[str, object]:
    """The settings of a recipe that are not its defaults, by name."""
    given = {name: getattr(recipe, name) for name in type(recipe).model_fields if name in recipe.model_fields_set}
    if isinstance(recipe, ByteLevelRecipe):
        given |= recipe.cut_settings
    return given


def format_setting(value: object) -> str:
    """A setting of a recipe as text."""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _metrics(rows: Sequence[Row]) -> Iterator[str]:
    metrics = find_metrics(METRICS)
    by_language: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_language.setdefault(row["language"], {})[row["metric"]] = row
    yield "On the evaluation sample; ± is the half-width of the 95 % interval."
    yield ""
    yield f"| language | {' | '.join(metric.title for metric in metrics)} |"
    yield f"|---|{'---:|' * len(metrics)}"
    for language, found in by_language.items():
        cells = (_estimate(found[metric.name]) if metric.name in found else "–" for metric in metrics)
        yield f"| {_text(row_name(language))} | {' | '.join(cells)} |"
    yield ""
    yield from (f"- {metric.title}: {metric.formula}; {metric.direction} is better." for metric in metrics)


def _estimate(row: Row) -> str:
    if row["value"] is None or row["low"] is None:
        return format_value(row["value"])
    reach = max(row["value"] - row["low"], row["high"] - row["value"])
    return f"{format_value(row['value'])} ± {reach:.2g}"


def _use() -> Iterator[str]:
    yield "```python"
    yield "import piecework as pw"
    yield ""
    yield 'tokenizer = pw.Tokenizer.load("tokenizer.model")'
    yield 'ids = tokenizer.encode("Hej världen")'
    yield "tokenizer.decode(ids)"
    yield "```"
    yield ""
    yield "`tokenizer.model` is a SentencePiece model: any program that reads those gives the same ids."
    yield ""
    yield "```python"
    yield "import sentencepiece"
    yield ""
    yield 'sentencepiece.SentencePieceProcessor(model_file="tokenizer.model").encode("Hej världen")'
    yield "```"
    yield ""
    yield "`tokenizer.json` is for `tokenizers` and `transformers`; FOLDER is the folder of this file."
    yield ""
    yield "```python"
    yield "from transformers import AutoTokenizer"
    yield ""
    yield 'AutoTokenizer.from_pretrained("FOLDER").encode("Hej världen")'
    yield "```"


def _use_bytes() -> Iterator[str]:
    yield "```python"
    yield "import piecework as pw"
    yield ""
    yield 'tokenizer = pw.ByteLevelTokenizer.load("tokenizer.json")'
    yield 'ids = tokenizer.encode("Hej världen")'
    yield "tokenizer.decode(ids)"
    yield "```"
    yield ""
    yield "`tokenizer.json` is as `tokenizers` would save it; `transformers` loads FOLDER, the folder of this file."
    yield ""
    yield "```python"
    yield "from transformers import AutoTokenizer"
    yield ""
    yield 'AutoTokenizer.from_pretrained("FOLDER").encode("Hej världen")'
    yield "```"


def _text(text: object) -> str:
    r"""Text of a user as Markdown that shows it unchanged: no HTML, no links, no headings, one line.

    >>> print(_text("<b>a</b> [x](y)\n# z_1 | `c`"))
    &lt;b&gt;a&lt;/b&gt; \[x\](y) \# z\_1 \| \`c\`
    """
    one_line = " ".join(str(text).split())
    escaped = re.sub(r"([\\`*_\[\]#|~!])", r"\\\1", one_line)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: object) -> str:
    """Text as code in a cell of a table."""
    return f"`{text}`".replace("|", "\\|") if text != "" else ""

"""The paper's tables as LaTeX: datasets, parameters, vocabulary, metrics and overlap."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from piecework.common.files import prepare_output, replace_atomically
from piecework.common.terms import MULTILINGUAL
from piecework.corpus.languages import language_name
from piecework.evaluation.tables import Table
from piecework.results.cards import format_setting, given_settings
from piecework.results.latex_table import escape, number, tabular
from piecework.results.sentence import row_name
from piecework.study.recipe import AnyRecipe

__all__ = ["write_latex"]

_MEGABYTE = 1_000_000


def write_latex(tables: Mapping[str, Table], recipe: AnyRecipe, folder: Path) -> list[Path]:
    """Writes a file for each table of the paper; returns the files."""
    prepare_output(folder, [])
    texts = {
        "datasets": _datasets(tables["corpus"]),
        "weights": _weights(tables["corpus"]),
        "parameters": _parameters(recipe),
        "vocabulary": _vocabulary(tables["vocabulary"]),
        "fertility": _by_tokenizer(tables["metrics"], "fertility", "Fertility"),
        "continued_words": _by_tokenizer(tables["metrics"], "continued_words", "Continued words"),
        "fertility_by_size": _by_size(tables["metrics"], "fertility", "Fertility"),
        "continued_words_by_size": _by_size(tables["metrics"], "continued_words", "Continued words"),
        "overlap": _overlap(tables["overlap"]),
        "overlap_by_size": _overlap_by_size(tables["overlap_sizes"], tables["metrics"]),
    }
    written = []
    for name, text in texts.items():
        path = folder / f"{name}.tex"
        with replace_atomically(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _datasets(corpus: Table) -> str:
    """A row for each category, a column for each language, with sums: the text that was read."""
    rows = corpus.rows()
    languages = list(dict.fromkeys(row["language"] for row in rows))
    categories = list(dict.fromkeys(row["category"] for row in rows))
    sizes = {(row["category"], row["language"]): row["read_bytes"] / _MEGABYTE for row in rows}
    body = []
    for category in categories:
        cells = [sizes.get((category, language)) for language in languages]
        body.append([category, *(number(cell, digits=1) for cell in (*cells, _sum(cells)))])
    by_language = [_sum([sizes.get((category, language)) for category in categories]) for language in languages]
    body.append(["all", *(number(cell, digits=1) for cell in (*by_language, _sum(by_language)))])
    titles = ["", *map(language_name, languages), "all"]
    return tabular(titles, body, caption="The datasets by category and language, in megabytes of text.", raw=True)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _weights(corpus: Table) -> str:
    """A row for each category, a column for each language."""
    rows = corpus.rows()
    languages = list(dict.fromkeys(row["language"] for row in rows))
    weights = {(row["category"], row["language"]): row["weight"] for row in rows}
    body = [
        [category, *(escape(weights.get((category, language), "--")) for language in languages)]
        for category in dict.fromkeys(row["category"] for row in rows)
    ]
    return tabular(["", *map(language_name, languages)], body, caption="The weights of the datasets.", raw=True)


def _parameters(recipe: AnyRecipe) -> str:
    """The settings that differ from SentencePiece's defaults, under SentencePiece's names."""
    body = [[name, format_setting(value)] for name, value in given_settings(recipe).items()]
    caption = "The training parameters, by SentencePiece's names. Other parameters have SentencePiece's defaults."
    return tabular(["parameter", "value"], body, caption=caption, columns="ll")


def _vocabulary(table: Table) -> str:
    """The groups of the multilingual vocabulary; pieces are numbered from 1, as in the paper."""
    body = [
        [
            row["group"],
            f"{row['pieces']:,}",
            # Ids start at 0.
            re.sub(r"\d+", lambda match: f"{int(match[0]) + 1:,}", row["ids"]).replace("-", "--"),
            " ".join(rf"\texttt{{{escape(piece)}}}" for piece in row["examples"].split("  ")),
        ]
        for row in table.where(tokenizer=MULTILINGUAL).rows()
    ]
    caption = "The vocabulary of the multilingual tokenizer, by group. Pieces are numbered from 1."
    return tabular(["group", "pieces", "numbers", "examples"], body, caption=caption, columns="lrrl", raw=True)


def _by_tokenizer(metrics: Table, metric: str, title: str) -> str:
    """A row for each language, a column for the multilingual tokenizer and for each monolingual one."""
    names = [name for name in dict.fromkeys(metrics.column("tokenizer")) if not name.startswith(f"{MULTILINGUAL}-")]
    caption = f"{title} of the multilingual tokenizer and of the monolingual ones, by language. The best in bold."
    return _values(metrics.where(metric=metric), names, list(names), caption=caption)


def _by_size(metrics: Table, metric: str, title: str) -> str:
    """A row for each language, a column for each size of the multilingual tokenizer."""
    sizes = _sizes(metrics)
    caption = f"{title} of the multilingual tokenizer by vocabulary size."
    return _values(metrics.where(metric=metric), list(sizes.values()), [f"{size:,}" for size in sizes], caption=caption)


def _sizes(metrics: Table) -> dict[int, str]:
    """The sizes of the multilingual tokenizer, the smallest first, and the name at each size."""
    pairs = zip(metrics.column("vocab_size"), metrics.column("tokenizer"), strict=True)
    return dict(sorted({size: name for size, name in pairs if name.startswith(MULTILINGUAL)}.items()))


def _values(metrics: Table, tokenizers: Sequence[str], titles: Sequence[str], *, caption: str) -> str:
    values = {(row["language"], row["tokenizer"]): row["value"] for row in metrics.rows()}
    body = []
    for language in dict.fromkeys(metrics.column("language")):
        cells = [values.get((language, tokenizer)) for tokenizer in tokenizers]
        best = min((cell for cell in cells if cell is not None), default=None)
        body.append([row_name(language), *(number(cell, bold=cell == best) for cell in cells)])
    return tabular(["", *titles], body, caption=caption, raw=True)


def _overlap(table: Table) -> str:
    """A row and a column for each tokenizer."""
    names = list(dict.fromkeys(table.column("first")))
    shares = {(row["first"], row["second"]): row["relative"] for row in table.rows()}
    body = [[first, *(number(shares.get((first, second)), digits=2) for second in names)] for first in names]
    caption = "Share of the pieces of the row's tokenizer that are also in the column's."
    return tabular(["", *names], body, caption=caption, raw=True)


def _overlap_by_size(table: Table, metrics: Table) -> str:
    """A row for each language, a column for each size of the multilingual tokenizer."""
    sizes = list(_sizes(metrics))
    shares = {
        (row["language"], size): row["relative_to_other"]
        for size in sizes
        for row in table.where(vocab_size=size).rows()
    }
    body = [
        [language_name(language), *(number(shares.get((language, size)), digits=2) for size in sizes)]
        for language in dict.fromkeys(table.column("language"))
    ]
    caption = "Share of each monolingual vocabulary that is in the multilingual one, by the size of the latter."
    return tabular(["", *(f"{size:,}" for size in sizes)], body, caption=caption, raw=True)

"""Texts to train on, from many containers: strings, records, Arrow, pandas, Hugging Face datasets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from piecework.corpus.clean_up import clean_up, clean_up_bytes
from piecework.counting.pre_tokens import PreTokenCounts, count_pre_tokens
from piecework.counting.words import WordCounter, WordCounts, text_batches
from piecework.errors import InputError
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.recipe import Recipe

__all__ = ["count_texts", "count_texts_pre_tokens"]


def count_texts(source: Any, recipe: Recipe, *, text: str = "text", threads: int = 1) -> WordCounts:
    """The word counts of texts: str, bytes, or records whose field `text` has the text.

    The recipe says how texts are cleaned and normalised, and which long lines are dropped. Texts that are None (or NaN,
    as pandas has it) are skipped, with a warning that says how many.

    >>> list(count_texts([{"text": "ha"}, {"text": "ha hade"}], Recipe()).items())
    [('ha', 2), ('▁hade', 1)]
    """
    longest = recipe.max_sentence_length if "max_sentence_length" in recipe.model_fields_set else None
    counter = WordCounter(
        threads=threads,
        max_sentence_length=longest,
        normalization=recipe.normalization(),
        split=recipe.split(),
        clean_up=recipe.clean_up,
    )
    texts = _find_texts(source, text, as_arrow=recipe.clean_up is None)
    if isinstance(texts, _Texts):
        cleaned = iter(texts) if recipe.clean_up is None else map(_cleaned, texts)
        for batch in text_batches(cleaned):
            counter.add(batch)
        _warn(texts.missing, texts.total)
    else:
        counter.add(texts)
    return counter.finish()


def count_texts_pre_tokens(
    source: Any, recipe: ByteLevelRecipe, *, text: str = "text", threads: int = 1
) -> PreTokenCounts:
    """The pre-token counts of texts, as `count_texts` takes them.

    >>> recipe = ByteLevelRecipe(pre_tokenizer="gpt2")
    >>> list(count_texts_pre_tokens([{"text": "ha"}, {"text": "ha hade"}], recipe).items())
    [(' hade', 1), ('ha', 2)]
    """
    texts = _find_texts(source, text, as_arrow=True)
    counts = count_pre_tokens(texts, pre_tokenizer=recipe.pre_tokenizer, threads=threads)
    if isinstance(texts, _Texts):
        _warn(texts.missing, texts.total)
    return counts


def _find_texts(source: Any, field: str, *, as_arrow: bool) -> Any:
    """The texts: an Arrow column without nulls if it is one and `as_arrow`, else `_Texts`."""
    if isinstance(source, str | bytes):
        raise InputError("give an iterable of texts to train on; for a single text write [text]")
    column = _column(source, field)
    is_arrow = hasattr(column, "__arrow_c_array__") or hasattr(column, "iterchunks")
    if is_arrow and as_arrow:
        missing = column.null_count if hasattr(column, "null_count") else 0
        _warn(missing, len(column))
        return column.drop_null() if missing else column
    if not hasattr(column, "__iter__"):
        raise InputError(f"texts to train on are an iterable, or counts, not {type(source).__name__}")
    return _Texts(column.to_pylist() if is_arrow else column, field)


def _column(source: Any, text: str) -> Any:
    """The column of a table: pyarrow and pandas have `column_names` or `columns`; otherwise the source itself."""
    names = getattr(source, "column_names", None)
    if names is None and hasattr(source, "columns") and hasattr(source, "iloc"):
        names = list(source.columns)
    if names is None or isinstance(names, Mapping):
        return source
    if text not in names:
        raise InputError(f'the table has no column "{text}"; it has {", ".join(map(str, names))}; name one with text=')
    return source[text]


def _cleaned(text: str | bytes) -> str | bytes:
    return clean_up(text) if isinstance(text, str) else clean_up_bytes(text)


class _Texts:
    """The texts of an iterable of strings or records; counts those that are missing."""

    def __init__(self, source: Iterable[Any], field: str) -> None:
        self._source = source
        self._field = field
        self.missing = 0
        self.total = 0

    def __iter__(self) -> Iterator[str | bytes]:
        for item in self._source:
            value = item
            if isinstance(item, Mapping):
                if self._field not in item:
                    fields = ", ".join(map(str, item))
                    raise InputError(
                        f'record {self.total:,} has no field "{self._field}"; it has {fields}; name one with text='
                    )
                value = item[self._field]
            self.total += 1
            if value is None or value != value:  # NaN alone is not equal to itself
                self.missing += 1
            elif isinstance(value, str | bytes):
                yield value
            else:
                raise InputError(f"text {self.total - 1:,} is no str but {type(value).__name__}: {str(value)[:60]!r}")


def _warn(missing: int, total: int) -> None:
    if missing:
        warnings.warn(f"{missing:,} of {total:,} texts are missing (None or NaN) and were skipped", stacklevel=5)

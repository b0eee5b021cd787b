"""Guesses the text field of JSONL records, or the text column of Parquet, from the first records."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from piecework.common.storage import arrow_source
from piecework.corpus.inputs import InputFile
from piecework.corpus.languages import is_language
from piecework.corpus.streams import line_blocks

__all__ = ["FieldGuess", "found_languages", "guess_text_field", "language_fields", "needed_field"]

# Usual names of the text field, the most likely first.
USUAL_NAMES = ("text", "content", "raw_content", "body", "document", "article", "code", "sentence", "utterance")

RECORDS_SAMPLED = 20
FILES_SAMPLED = 3
BLOCK_BYTES = 1 << 16

# Usual names of the field with the language, the most likely first.
LANGUAGE_NAMES = ("lang", "language", "lang_code", "language_code", "locale", "lang_id", "iso", "iso_code", "lg")
LANGUAGE_FILES = 20
LANGUAGE_BYTES = 4 << 20

FieldGuess = tuple[str | None, list[str]]


def guess_text_field(files: Sequence[InputFile]) -> FieldGuess:
    """The likely text field, or None, and all fields with strings, those with the longest texts first.

    >>> import tempfile, pathlib
    >>> from piecework.corpus.inputs import find_files
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.jsonl")
    >>> _ = path.write_text('{"id": "1", "content": "Det var en gång", "year": 1900}')
    >>> guess_text_field(find_files([path]))
    ('content', ['content', 'id'])
    """
    lengths: Counter[str] = Counter()
    for file in files[:: max(1, len(files) // FILES_SAMPLED)][:FILES_SAMPLED]:
        lengths.update(_lengths_in_parquet(file) if file.format == "parquet" else _lengths_in_jsonl(file))
    fields = [name for name, _ in sorted(lengths.items(), key=lambda item: (-item[1], item[0]))]
    usual = [name for name in USUAL_NAMES if name in fields]
    return next(iter(usual + fields), None), fields


def needed_field(files: Iterable[InputFile], field: str) -> str:
    """What records need, and the name of the field that they have instead, for a message.

    >>> import tempfile, pathlib
    >>> from piecework.corpus.inputs import find_files
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.jsonl")
    >>> _ = path.write_text('{"id": "1", "content": "Det var en gång"}')
    >>> needed_field(find_files([path]), "text")
    'records need a string in the field "text"; here the text seems to be in "content": --text-field content'
    """
    need = f'records need a string in the field "{field}"'
    guess, fields = guess_text_field([file for file in files if file.format != "text" and file.size_bytes])
    if guess is None or field in fields:
        return f"{need} (--text-field)"
    return f'{need}; here the text seems to be in "{guess}": --text-field {shlex.quote(guess)}'


def language_fields(files: Sequence[InputFile]) -> list[str]:
    """The fields of the first records that have a usual name and hold nothing but languages.

    >>> import tempfile, pathlib
    >>> from piecework.corpus.inputs import find_files
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.jsonl")
    >>> _ = path.write_text('{"text": "hej", "lang": "sv"}\\n{"text": "hello", "lang": "en"}')
    >>> language_fields(find_files([path])), found_languages(find_files([path]), "lang")
    (['lang'], ['en', 'sv'])
    """
    _, fields = guess_text_field(files)
    usual = [name for name in LANGUAGE_NAMES if name in fields]
    return [name for name in usual if (found := found_languages(files, name)) and all(map(is_language, found))]


def found_languages(files: Sequence[InputFile], field: str) -> list[str]:
    """The values of a field in the first megabytes of files that are spread evenly over the list, sorted."""
    found: set[str] = set()
    for file in files[:: -(-len(files) // LANGUAGE_FILES) or 1]:
        records: Iterable[Any]
        if file.format == "parquet":
            records = _parquet_values(file, field)
        else:
            block = next(line_blocks(file.path, file.compression, LANGUAGE_BYTES), None)
            records = (record.get(field) for record in _records(block.data if block else b""))
        found.update(value for value in records if isinstance(value, str) and value)
    return sorted(found)


def _records(block: bytes) -> Iterator[dict[str, Any]]:
    """The objects in lines of JSON; other lines are left out."""
    import orjson

    for line in block.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.strip():
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(record, dict):
                yield record


def _parquet_values(file: InputFile, field: str) -> list[Any]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(arrow_source(file.path)) as parquet:
            if field in parquet.schema_arrow.names:
                for batch in parquet.iter_batches(1 << 16, columns=[field]):
                    return list(batch.column(0).unique().to_pylist())
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
        pass
    return []


def _lengths_in_jsonl(file: InputFile) -> Counter[str]:
    lengths: Counter[str] = Counter()
    block = next(line_blocks(file.path, file.compression, BLOCK_BYTES), None)
    for record in islice(_records(block.data if block else b""), RECORDS_SAMPLED):
        lengths.update({name: len(value) for name, value in record.items() if isinstance(value, str)})
    return lengths


def _lengths_in_parquet(file: InputFile) -> Counter[str]:
    import pyarrow
    import pyarrow.parquet
    from pyarrow import types

    lengths: Counter[str] = Counter()
    try:
        with pyarrow.parquet.ParquetFile(arrow_source(file.path)) as parquet:
            texts = [
                field.name
                for field in parquet.schema_arrow
                if types.is_string(field.type) or types.is_large_string(field.type) or types.is_string_view(field.type)
            ]
            lengths.update(dict.fromkeys(texts, 0))
            for batch in parquet.iter_batches(RECORDS_SAMPLED, columns=texts):
                for name in texts:
                    lengths[name] += sum(len(value or "") for value in batch.column(name).to_pylist())
                break
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
        return Counter()
    return lengths

"""Guesses the text field of JSONL records, or the text column of Parquet, from the first records."""

from collections import Counter
from collections.abc import Sequence

from piecework.common.storage import arrow_source
from piecework.corpus.inputs import InputFile
from piecework.corpus.streams import line_blocks

__all__ = ["FieldGuess", "guess_text_field"]

# Usual names of the text field, the most likely first.
USUAL_NAMES = ("text", "content", "raw_content", "body", "document", "article", "code", "sentence", "utterance")

RECORDS_SAMPLED = 20
FILES_SAMPLED = 3
BLOCK_BYTES = 1 << 16

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


def _lengths_in_jsonl(file: InputFile) -> Counter[str]:
    import orjson

    lengths: Counter[str] = Counter()
    block = next(line_blocks(file.path, file.compression, BLOCK_BYTES), None)
    lines = (block.data if block else b"").removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for line in [line for line in lines if line.strip()][:RECORDS_SAMPLED]:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
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

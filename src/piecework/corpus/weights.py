"""The weight of each subset: from the tables of a study, from a CSV, or from a temperature."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from piecework.corpus.inputs import InputFile
from piecework.corpus.readers import open_batches
from piecework.errors import InputError
from piecework.exact import parse_exact
from piecework.mistakes import Mistake, did_you_mean, listed
from piecework.study import Study

__all__ = ["CsvWeights", "estimate_text_bytes", "read_csv", "resolve_weights", "temperature_weights"]

# Enough to tell what share of a stored file is text: JSON around it, and how far it is compressed.
SAMPLED_FILES = 4
SAMPLED_BYTES = 1 << 20

SMALLEST_WEIGHT = Decimal("0.000001")

_Name = tuple[str, str]  # category and language
_Files = tuple[Sequence[InputFile], str]  # and the text field


def resolve_weights(study: Study, subsets: Mapping[_Name, _Files], mistakes: list[Mistake]) -> dict[_Name, Fraction]:
    """The weight of each subset of the corpus; weights for what the corpus does not have are mistakes."""
    if study.weights.csv is not None:
        return _weights_of_csv(study, list(subsets), mistakes)
    if study.weights.temperature is not None:
        try:
            return _weights_by_temperature(subsets, study.weights.temperature)
        except InputError as error:
            mistakes.append(study.mistake(("weights", "temperature"), f"cannot measure the corpus: {error}"))
            return {}
    tables = study.weights
    names = {
        "language": sorted({language for _, language in subsets}),
        "category": sorted({category for category, _ in subsets}),
        "subset": ["_".join(name) for name in subsets],
    }
    for kind, known in names.items():
        for name in getattr(tables, kind):
            if name not in known:
                mistakes.append(study.mistake(("weights", kind, name), _not_there(kind, name, known)))
    one = Fraction(1)
    return {
        name: tables.category.get(name[0], one)
        * tables.language.get(name[1], one)
        * tables.subset.get("_".join(name), one)
        for name in subsets
    }


def _not_there(kind: str, name: str, known: Iterable[str], where: str = "[weights]") -> str:
    known = list(known)
    plural = {"language": "languages", "category": "categories", "subset": "subsets"}[kind]
    hint = did_you_mean(name, known)
    return f'{where}: the corpus has no {kind} "{name}"{hint or f"; its {plural} are {listed(known)}"}'


@dataclass(frozen=True, slots=True)
class CsvWeights:
    """A table of weights: those that are given, and where its rows and columns stand."""

    weights: dict[_Name, Fraction]
    rows: dict[str, int]
    """Each category and its line."""
    columns: dict[str, int]
    """Each language and its column, from 1; the categories are column 1."""
    header_line: int = 1
    width: int = 0
    """How many columns the header has."""


def read_csv(path: Path, mistakes: list[Mistake], shown: str | None = None) -> CsvWeights:
    """Read a CSV with a row for each category and a column for each language; an empty cell gives no weight.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "weights.csv")
    >>> _ = path.write_text("category,sv,is\\nbooks,1,3\\nlaw,0.5,\\n")
    >>> read_csv(path, []).weights
    {('books', 'sv'): Fraction(1, 1), ('books', 'is'): Fraction(3, 1), ('law', 'sv'): Fraction(1, 2)}
    """
    shown = shown or str(path)
    table = CsvWeights({}, {}, {})
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True, skipinitialspace=True)
            # Spreadsheets end a table with rows of nothing but commas.
            rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except OSError as error:
        mistakes.append(Mistake(f"cannot read the weights: {error.strerror or error}", shown))
        return table
    except UnicodeDecodeError:
        mistakes.append(Mistake("not valid UTF-8; save the table as CSV in UTF-8", shown))
        return table
    except csv.Error as error:
        mistakes.append(Mistake(f"not valid CSV: {error}", shown, reader.line_num))
        return table
    if not rows:
        mistakes.append(Mistake("the table is empty; it should have a column a language and a row a category", shown))
        return table
    (line, header), *body = rows
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        mistakes.append(Mistake("the cells should be separated by commas", shown, line))
        return table
    table = CsvWeights({}, {}, {}, line, len(header))
    _read_header(header, table, mistakes, (shown, line))
    for line, cells in body:
        _read_row(cells, table, mistakes, (shown, line))
    return table


def _read_header(header: list[str], table: CsvWeights, mistakes: list[Mistake], place: tuple[str, int]) -> None:
    for column, language in enumerate(map(str.strip, header[1:]), 2):
        if not language:
            mistakes.append(Mistake(f"column {column} has no language at its top", *place))
        elif language in table.columns:
            mistakes.append(Mistake(f'column {column}: language "{language}" has a column already', *place))
        else:
            table.columns[language] = column
    if len(header) < 2:
        mistakes.append(Mistake("no language: the first row should be category,sv,is for example", *place))


def _read_row(cells: list[str], table: CsvWeights, mistakes: list[Mistake], place: tuple[str, int]) -> None:
    category, *values = map(str.strip, cells)
    if not category:
        mistakes.append(Mistake("column 1 is empty; it should name the category", *place))
        return
    if category in table.rows:
        mistakes.append(
            Mistake(f'column 1: category "{category}" has a row already, line {table.rows[category]}', *place)
        )
        return
    table.rows[category] = place[1]
    languages = {column: language for language, column in table.columns.items()}
    for column, value in enumerate(values, 2):
        language = languages.get(column)
        if language is None:
            if value and column > table.width:
                mistakes.append(Mistake(f'column {column}: "{value}" stands beyond the last language', *place))
            continue
        if not value:
            continue
        try:
            weight = parse_exact(value)
            if weight < 0:
                raise ValueError("a weight should not be negative; 0 leaves documents out")
        except ValueError as error:
            hint = "; the decimal sign is a point" if "," in value else ""
            mistakes.append(Mistake(f'column {column} ({language}): "{value}": {error}{hint}', *place))
            weight = Fraction(1)  # so that it is not reported as missing too
        table.weights[category, language] = weight


def _weights_of_csv(study: Study, subsets: Sequence[_Name], mistakes: list[Mistake]) -> dict[_Name, Fraction]:
    """Every subset of the corpus needs a weight; a cell for one that the corpus lacks does no harm."""
    assert study.weights.csv is not None
    path = study.folder / study.weights.csv
    if not path.is_file():
        key = ("weights", "csv")
        mistakes.append(study.mistake(key, f'csv = "{study.weights.csv}" in [weights]: no such file'))
        return {}
    before = len(mistakes)
    table = read_csv(path, mistakes)
    if len(mistakes) > before and not table.weights:
        return {}
    categories, languages = (sorted({name[index] for name in subsets}) for index in (0, 1))
    for language, column in table.columns.items():
        if language not in languages:
            mistakes.append(
                Mistake(_not_there("language", language, languages, f"column {column}"), str(path), table.header_line)
            )
    for category, line in table.rows.items():
        if category not in categories:
            mistakes.append(Mistake(_not_there("category", category, categories, "column 1"), str(path), line))
    for category in categories:
        if category not in table.rows:
            mistakes.append(Mistake(f'no row for category "{category}" of the corpus', str(path)))
    for language in languages:
        if language not in table.columns:
            mistakes.append(Mistake(f'no column for language "{language}" of the corpus', str(path)))
    for category, language in subsets:
        if category in table.rows and language in table.columns and (category, language) not in table.weights:
            cell = f"column {table.columns[language]} ({language})"
            message = f"{cell} is empty, and the corpus has {category}_{language}; give it a weight, 0 to leave it out"
            mistakes.append(Mistake(message, str(path), table.rows[category]))
    return table.weights


def _weights_by_temperature(subsets: Mapping[_Name, _Files], alpha: Fraction) -> dict[_Name, Fraction]:
    text_bytes: dict[str, int] = {}
    for (_, language), (files, text_field) in subsets.items():
        text_bytes[language] = text_bytes.get(language, 0) + estimate_text_bytes(files, text_field)
    weights = temperature_weights(text_bytes, alpha)
    return {name: weights[name[1]] for name in subsets}


def temperature_weights(text_bytes: Mapping[str, int], alpha: Fraction) -> dict[str, Fraction]:
    """Weights with which language i has the share qᵢ ∝ pᵢ^α of the sample, where pᵢ is its share of the text.

    The weight is qᵢ / pᵢ, so the sample as a whole stays as large as without weights. It is rounded to six decimals,
    and computed in decimal arithmetic, so that it is the same on every machine.

    >>> temperature_weights({"sv": 900, "is": 100}, Fraction(1, 2))
    {'sv': Fraction(833333, 1000000), 'is': Fraction(5, 2)}
    """
    context = Context(prec=50, rounding=ROUND_HALF_EVEN)
    total = Decimal(sum(text_bytes.values()))
    exponent = context.divide(Decimal(alpha.numerator), Decimal(alpha.denominator))
    shares = {name: context.divide(Decimal(size), total) for name, size in text_bytes.items() if size}
    powers = {name: context.power(share, exponent) for name, share in shares.items()}
    sum_of_powers = sum(powers.values(), Decimal(0))
    weights = {}
    for name in text_bytes:
        if name not in shares:
            weights[name] = Fraction(1)  # empty files: any weight will do
            continue
        wanted = context.divide(powers[name], sum_of_powers)
        weight = context.divide(wanted, shares[name]).quantize(SMALLEST_WEIGHT, context=context)
        weights[name] = Fraction(max(weight, SMALLEST_WEIGHT))
    return weights


def estimate_text_bytes(files: Sequence[InputFile], text_field: str) -> int:
    """How many bytes of text files hold: their size, times the share of it that text takes at the start of some.

    Languages can be stored in different ways, and a file of .jsonl.zst holds three times the text of a plain one of the
    same size. Of each format at most four files are looked at, spread evenly, and of each of these one megabyte.
    """
    by_format: dict[tuple[str, str | None], list[InputFile]] = {}
    for file in files:
        by_format.setdefault((file.format, file.compression), []).append(file)
    total = 0
    for (file_format, compression), alike in by_format.items():
        stored = [file for file in sorted(alike, key=lambda file: file.path) if file.size_bytes]
        size_bytes = sum(file.size_bytes for file in stored)
        if not stored or (file_format == "text" and compression is None):
            total += size_bytes
            continue
        text = read = 0
        for index in range(min(SAMPLED_FILES, len(stored))):
            file = stored[index * len(stored) // min(SAMPLED_FILES, len(stored))]
            batch = next(iter(open_batches([file], text_field=text_field, batch_bytes=SAMPLED_BYTES)), None)
            if batch is not None:
                text += _text_bytes(batch.documents)
                read += batch.read_bytes
        total += size_bytes * text // max(1, read)
    return total


def _text_bytes(documents: Any) -> int:
    if hasattr(documents, "to_pylist"):  # an Arrow array
        documents = documents.to_pylist()
    return sum(len(document.encode() if isinstance(document, str) else document) for document in documents)

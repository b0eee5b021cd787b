"""A CSV of weights, with a row for each category and a column for each language; mistakes by line and column."""

import csv
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from piecework.common.exact import parse_exact
from piecework.common.subset_name import SubsetName
from piecework.errors import Mistake

__all__ = ["CsvWeights", "read_csv"]


@dataclass(frozen=True, slots=True)
class CsvWeights:
    """The given weights, with the lines and columns of the table."""

    weights: dict[SubsetName, Fraction]
    rows: dict[str, int]
    """Each category and its line."""
    columns: dict[str, int]
    """Each language and its column, from 1; the categories are column 1."""
    header_line: int = 1


def read_csv(path: Path, mistakes: list[Mistake]) -> CsvWeights:
    """Read a CSV with a row for each category and a column for each language; an empty cell gives no weight.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "weights.csv")
    >>> _ = path.write_text("category,sv,is\\nbooks,1,3\\nlaw,0.5,\\n")
    >>> {str(name): float(weight) for name, weight in read_csv(path, []).weights.items()}
    {'books_sv': 1.0, 'books_is': 3.0, 'law_sv': 0.5}
    """
    name = str(path)
    table = CsvWeights({}, {}, {})
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True, skipinitialspace=True)
            # Spreadsheets may append rows of commas.
            rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except OSError as error:
        mistakes.append(Mistake(f"cannot read the weights: {error.strerror or error}", name))
        return table
    except UnicodeDecodeError:
        mistakes.append(Mistake("not valid UTF-8; save the table as CSV in UTF-8", name))
        return table
    except csv.Error as error:
        mistakes.append(Mistake(f"not valid CSV: {error}", name, reader.line_num))
        return table
    if not rows:
        mistakes.append(
            Mistake("the table is empty; it needs a row for each category and a column for each language", name)
        )
        return table
    (line, header), *body = rows
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        mistakes.append(Mistake("the cells should be separated by commas", name, line))
        return table
    table = CsvWeights({}, {}, {}, line)
    _read_header(header, table, mistakes, (name, line))
    for line, cells in body:
        _read_row(cells, table, mistakes, (name, line))
    return table


def _read_header(header: list[str], table: CsvWeights, mistakes: list[Mistake], location: tuple[str, int]) -> None:
    for column, language in enumerate(map(str.strip, header[1:]), 2):
        if language in table.columns:
            mistakes.append(Mistake(f'column {column}: language "{language}" has a column already', *location))
        elif language:
            table.columns[language] = column
    if not table.columns:
        mistakes.append(Mistake("no language: the first row should be category,sv,is for example", *location))


def _read_row(cells: list[str], table: CsvWeights, mistakes: list[Mistake], location: tuple[str, int]) -> None:
    category, *values = map(str.strip, cells)
    if not category:
        mistakes.append(Mistake("column 1 is empty; it should name the category", *location))
        return
    if category in table.rows:
        mistakes.append(
            Mistake(f'column 1: category "{category}" has a row already, line {table.rows[category]}', *location)
        )
        return
    table.rows[category] = location[1]
    languages = {column: language for language, column in table.columns.items()}
    for column, value in enumerate(values, 2):
        language = languages.get(column)
        if language is None:
            if value:
                mistakes.append(Mistake(f'column {column}: "{value}" has no language above it', *location))
            continue
        if not value:
            continue
        try:
            weight = parse_exact(value)
            if weight < 0:
                raise ValueError("a weight should not be negative; 0 leaves documents out")
        except ValueError as error:
            hint = "; the decimal sign is a point" if "," in value else ""
            mistakes.append(Mistake(f'column {column} ({language}): "{value}": {error}{hint}', *location))
            weight = Fraction(1)  # so that it is not reported as missing too
        table.weights[SubsetName(category, language)] = weight

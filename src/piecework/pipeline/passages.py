"""Passages for the report: a part of one evaluation document for each language, and for each category of code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework.common.files import replace_atomically
from piecework.common.terms import CleanUp
from piecework.corpus.languages import CODE
from piecework.corpus.readers import open_batches
from piecework.corpus.sampling import Sampler
from piecework.counting.plan import Plan
from piecework.results.study_tables import Passage
from piecework.study.subsets import Subset

__all__ = ["find_passages", "load_passages", "save_passages"]

CHARACTERS = 320
CODE_LINES = 14
CODE_CHARACTERS = 560
KINDS_OF_CODE = 4
# At most this much is searched for a long enough evaluation document. With the paper's 0.2 %, one in 500 is one.
MOST_DOCUMENTS = 5000
MOST_BYTES = 4 << 20
BATCH_BYTES = 1 << 18


def find_passages(plan: Plan) -> list[Passage]:
    """Finds a passage for each language, and for code one per category. The same files give the same passages."""
    by_language: dict[str, list[Subset]] = {}
    for subset in plan.subsets:
        if subset.weight:
            by_language.setdefault(subset.language, []).append(subset)
    sampler = plan.sampler()
    found = []
    for language, subsets in by_language.items():
        wanted = KINDS_OF_CODE if language == CODE else 1
        passages = (_passage(subset, sampler, plan.study.recipe.clean_up) for subset in subsets)
        found += [passage for passage in passages if passage is not None][:wanted]
    return found


def save_passages(path: Path, passages: Sequence[Passage]) -> None:
    """Writes the passages as JSON, so that a later run reads no document."""
    content = [{"language": each.language, "category": each.category, "text": each.text} for each in passages]
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load_passages(path: Path) -> list[Passage]:
    """Reads the passages."""
    content: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [Passage(**each) for each in content]


def _passage(subset: Subset, sampler: Sampler, clean_up: CleanUp | None) -> Passage | None:
    """The first evaluation document that is long enough; else the longest one; else any document."""
    cut = _cut_code if subset.language == CODE else _cut_text
    best: tuple[bool, int, str] | None = None
    for number, text in enumerate(_documents(subset, clean_up)):
        evaluates = sampler.place(text.encode("utf-8", "surrogatepass"), subset.name).evaluation
        passage = cut(text)
        if evaluates and len(passage) >= CHARACTERS // 2:
            return Passage(subset.language, subset.category, passage)
        if passage and (best is None or (evaluates, len(passage)) > best[:2]):
            best = evaluates, len(passage), passage
        if number >= MOST_DOCUMENTS:
            break
    return Passage(subset.language, subset.category, best[2]) if best else None


def _documents(subset: Subset, clean_up: CleanUp | None) -> Iterator[str]:
    read = 0
    batches = open_batches(
        subset.files,
        text_field=subset.text_field,
        text_unit=subset.documents,
        batch_bytes=BATCH_BYTES,
        clean_up=clean_up,
    )
    for batch in batches:
        documents = batch.documents if isinstance(batch.documents, list) else batch.documents.to_pylist()  # type: ignore[union-attr]
        for document in documents:
            yield document.decode("utf-8", "replace") if isinstance(document, bytes) else str(document)
        read += batch.read_bytes
        if read > MOST_BYTES:
            return


def _cut_text(text: str) -> str:
    """The start of a text, up to the end of a sentence if possible, else of a word.

    >>> _cut_text("Kort.  \\n")
    'Kort.'
    """
    text = text.strip()
    if len(text) <= CHARACTERS:
        return text
    start = text[: CHARACTERS + 1]
    ends = [match.end() for match in re.finditer(r"[.!?…:]['\"»”)]*(?=\s)|\n", start)]
    if ends and ends[-1] >= CHARACTERS // 2:
        return start[: ends[-1]].strip()
    return start.rsplit(maxsplit=1)[0][:CHARACTERS].strip()


def _cut_code(text: str) -> str:
    """Some lines from the middle of a file, after an empty line: past its licence and imports."""
    lines = text.split("\n")
    starts = [0, *(number for number, line in enumerate(lines, 1) if not line.strip() and number < len(lines))]
    start = next((number for number in starts if number >= len(lines) // 3), starts[-1])
    while start < len(lines) and not lines[start].strip():
        start += 1
    passage = ""
    for line in lines[start : start + CODE_LINES]:
        if len(passage) + len(line) > CODE_CHARACTERS:
            break
        passage += line.rstrip() + "\n"
    return passage.rstrip()

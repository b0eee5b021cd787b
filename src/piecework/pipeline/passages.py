"""Passages for the report: one per language, and for code one per category, chosen while counting."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from piecework.common.files import replace_atomically
from piecework.corpus.languages import CODE
from piecework.results.study_tables import Passage

__all__ = ["choose_passages", "load_passages", "save_passages"]

KINDS_OF_CODE = 4


def choose_passages(passages: Sequence[Mapping[str, str]]) -> list[Passage]:
    """A passage for each language, and for code one per category, in the order of counts.json."""
    chosen: dict[str, list[Passage]] = {}
    for passage in (Passage(**each) for each in passages):
        of_language = chosen.setdefault(passage.language, [])
        if len(of_language) < (KINDS_OF_CODE if passage.language == CODE else 1):
            of_language.append(passage)
    return [passage for of_language in chosen.values() for passage in of_language]


def save_passages(path: Path, passages: Sequence[Passage]) -> None:
    """Writes the passages as JSON."""
    content = [{"language": each.language, "category": each.category, "text": each.text} for each in passages]
    with replace_atomically(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load_passages(path: Path) -> list[Passage]:
    """Reads what `save_passages` wrote. The caller has verified the file."""
    content: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [Passage(**each) for each in content]

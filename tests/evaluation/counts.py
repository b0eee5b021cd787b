"""Small studies, counted."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import orjson

from cli.command import made_up_lines
from piecework.common.subset_name import SubsetName
from piecework.corpus.sampling import Sampler
from piecework.counting.local import count
from piecework.counting.store import Counts
from piecework.study.study import Study

SEED = 3


def made_up_texts() -> dict[str, list[str]]:
    lines = {"sv": made_up_lines(400, seed=1), "da": made_up_lines(400, seed=2)}
    return {language: ["\n".join(found[n : n + 2]) for n in range(0, 400, 2)] for language, found in lines.items()}


def counted_study(folder: Path, texts: Mapping[str, Sequence[str]]) -> Counts:
    """A study of these documents, half of them for training and a third for evaluation."""
    for language, documents in texts.items():
        lines = [orjson.dumps({"text": text}) for text in documents]
        (folder / f"books_{language}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    path = folder / "study.toml"
    path.write_text(
        f'name = "small"\nseed = {SEED}\n[corpus]\npath = "{{category}}_{{language}}.jsonl"\n'
        '[sampling]\ntrain = "50%"\neval = "33%"\n'
    )
    return count(Study.load(path), out=folder, threads=1)


def evaluation_documents(language: str, texts: Sequence[str]) -> list[str]:
    """The documents that such a study evaluates on."""
    name = SubsetName("books", language)
    sampler = Sampler(seed=SEED, train=Fraction(1, 2), evaluation=Fraction(33, 100), weights={name: Fraction(1)})
    return [text for text in texts if sampler.place(text.encode(), name).evaluation]


def without_evaluation(language: str) -> str:
    """A document that such a study does not evaluate on."""
    return next(text for n in range(100) if not evaluation_documents(language, [text := f"setningur {n}"]))

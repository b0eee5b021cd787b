"""Made-up languages with parallel text: a sentence is a list of ideas, and a language has a word for each idea."""

import random
from collections.abc import Mapping
from pathlib import Path

from counting.corpora import write
from piecework.counting.local import count
from piecework.counting.store import Counts
from piecework.study.study import Study

IDEAS = 2000
LETTERS = {"aa": "bdeilnorst", "bb": "afghkmuvyå", "cc": "cjpqwxzæðö"}


def lexicon(language: str, *, length: int) -> list[str]:
    letters = random.Random(language)
    return ["".join(letters.choices(LETTERS[language], k=letters.randint(2, length))) for _ in range(IDEAS)]


LEXICONS = {"aa": lexicon("aa", length=6), "bb": lexicon("bb", length=7), "cc": lexicon("cc", length=8)}


def sentences(number: int, *, seed: int) -> list[list[int]]:
    draw = random.Random(seed)
    return [[int(draw.paretovariate(0.5)) % IDEAS for _ in range(draw.randint(6, 20))] for _ in range(number)]


def spoken(language: str, ideas: list[list[int]]) -> list[str]:
    return [" ".join(LEXICONS[language][idea] for idea in sentence) for sentence in ideas]


def parallel(languages: str = "aa bb cc", *, number: int = 640) -> dict[str, list[str]]:
    ideas = sentences(number, seed=7)
    return {language: spoken(language, ideas) for language in languages.split()}


PLAIN = 'preset = "plain"\nvocab_size = 1500\n'


def write_corpus(
    folder: Path, documents: Mapping[str, int], *, weights: str = "", weighting: str = "counts", recipe: str = PLAIN
) -> Path:
    """A study of `documents` documents per language; returns its file."""
    for number, (language, amount) in enumerate(documents.items()):
        texts = spoken(language, sentences(amount * 5, seed=100 + number))
        write(folder / f"data/{language}.jsonl", ["\n".join(texts[n : n + 5]) for n in range(0, len(texts), 5)])
    study = folder / "study.toml"
    study.write_text(
        f'name = "made-up"\n[corpus]\npath = "data/{{language}}.jsonl"\n{weights}\n[sampling]\ntrain = "60%"\n'
        f'eval = "40%"\nweighting = "{weighting}"\n[recipe]\n{recipe}',
        encoding="utf-8",
    )
    return study


def counted(
    folder: Path, documents: Mapping[str, int], *, weights: str = "", weighting: str = "counts", recipe: str = PLAIN
) -> Counts:
    study = Study.load(write_corpus(folder, documents, weights=weights, weighting=weighting, recipe=recipe))
    return count(study, out=folder / "out")

"""Small studies that are really run, for the tests of the report."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import piecework as pw
from piecework.pipeline.results import StudyResults
from piecework.pipeline.run import run

SYLLABLES = ("för en ska til på ver land og ð het ing ar sæ lø mo ki ti nu ra sk el ba do gi fe hu vi jo py ka").split()  # noqa: SIM905

HOSTILE_NAME = '"><img src=x onerror=alert(1)>'
HOSTILE_LANGUAGE = "<b>&'x"
HOSTILE_TEXT = (
    "</script><script>alert(1)</script> </style> --> <img src=x onerror=alert(2)> {{ 7*7 }} &lt;b&gt; \x07 é漢"
)


def write_study(
    folder: Path,
    languages: Sequence[str],
    *,
    name: str = "small",
    documents: int = 60,
    vocab_size: int = 560,
    texts: Mapping[str, Sequence[str]] | None = None,
    **analysis: Any,
) -> pw.Study:
    """A study of made-up languages. Each has its own syllables and words, or the given texts."""
    subsets = []
    for number, language in enumerate(languages):
        path = folder / f"{number}.jsonl"
        lines = (texts or {}).get(language) or _documents(language, documents)
        content = "".join(json.dumps({"text": text}) + "\n" for text in lines)
        path.write_text("" if language == "empty" else content, encoding="utf-8")
        subsets.append({"path": [path.name], "language": language, "category": "made-up"})
    return pw.Study(
        name=name,
        folder=folder,
        corpus={"subset": subsets},
        sampling={"train": "70%", "eval": "30%"},
        recipe={"vocab_size": vocab_size},
        analysis={"vocab_sizes": [400, 480, vocab_size]} | analysis,
    )


def _documents(language: str, count: int) -> list[str]:
    generator = random.Random(language)
    syllables = generator.sample(SYLLABLES, 14)
    words = ["".join(generator.choices(syllables, k=generator.randint(1, 3))) for _ in range(300)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    indent = "    " if language == "code" else ""
    return [
        "\n".join(
            indent * (line % 3) + " ".join(generator.choices(words, weights, k=generator.randint(3, 12))) + "."
            for line in range(generator.randint(2, 6))
        )
        for _ in range(count)
    ]


def run_study(folder: Path, languages: Sequence[str], **settings: Any) -> StudyResults:
    """The results of such a study."""
    folder.mkdir(parents=True, exist_ok=True)
    study = write_study(folder, languages, **settings)
    return run(study, out=folder / "out", threads=1, warn=lambda _message: None)

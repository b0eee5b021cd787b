"""The folder in which samples of the guides run: made-up text, a finished study, and outside tokenizers.

The names and the sizes are those of the guides: there are enough made-up words for 80,000 pieces. So the samples of a
page run unchanged.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import sentencepiece
import zstandard

import piecework as pw

__all__ = ["make_stage"]

ALPHABETS = {
    "code": "abcdefghijklmnopqrstuvwxyz_=.",
    "da": "abdefghijklmnoprstuvyæøå",
    "en": "abcdefghijklmnoprstuvwy",
    "is": "abdðefghijklmnoprstuvyþæöáéíóú",
    "sv": "abdefghijklmnoprstuvyåäö",
}
WORDS, DOCUMENTS, DOCUMENT_WORDS = 25_000, 600, 100
STUDY = """\
name = "nordic"

[corpus]
path = "corpus/{category}_{language}.jsonl.zst"

[sampling]
train = "80%"
eval = "20%"
weighting = "counts"

[recipe]
preset = "gpt-sw3"
vocab_size = 64000

[analysis]
vocab_sizes = [32000, 51200, 64000]
monolingual = false
"""


def make_stage(folder: Path) -> None:
    """Write everything that samples expect to find."""
    generator = random.Random(1)
    texts = {language: _documents(generator, alphabet) for language, alphabet in ALPHABETS.items()}
    for language, documents in texts.items():
        category = "python" if language == "code" else "news"
        _write(folder / f"corpus/{category}_{language}.jsonl.zst", documents)
        _write(folder / f"eval/{language}/some.jsonl", documents[:20])
        _write(folder / f"eval/news_{language}.jsonl", documents[:20])
    _write(folder / "corpus.jsonl.zst", texts["sv"][:100])
    (folder / "par").mkdir()
    for language in ("da", "en", "is", "sv"):
        lines = [text[:80] for text in texts[language][:400]]
        (folder / f"par/{language}.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "book_sv.txt").write_text("\n".join(texts["sv"]), encoding="utf-8")
    _write(folder / "data/news_sv.jsonl", texts["sv"][:50])
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    byte_level = STUDY.replace("gpt-sw3", "gpt4o").replace("nordic", "bytes")
    (folder / "bytes.toml").write_text(byte_level, encoding="utf-8")
    command = [sys.executable, "-m", "piecework", "run", "study.toml", "--out", "out/nordic", "-q"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    _write_tokenizers(folder, texts["sv"])


def _documents(generator: random.Random, alphabet: str) -> list[str]:
    """Every word at least once, frequent ones often."""
    words = ["".join(generator.choices(alphabet, k=generator.randint(2, 8))) for _ in range(WORDS)]
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    drawn = words + generator.choices(words, weights, k=DOCUMENTS * DOCUMENT_WORDS - WORDS)
    generator.shuffle(drawn)
    return [" ".join(drawn[start : start + DOCUMENT_WORDS]) for start in range(0, len(drawn), DOCUMENT_WORDS)]


def _write(path: Path, documents: list[str]) -> None:
    data = "".join(json.dumps({"text": text}) + "\n" for text in documents).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zstandard.compress(data) if path.suffix == ".zst" else data)


def _write_tokenizers(folder: Path, texts: list[str]) -> None:
    """Tokenizers that the pages expect: an older model, a unigram model, byte-level ones."""
    older = pw.train(texts, vocab_size=2000)
    for name in ("old.model", "m.model", "models/old.model"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(older.model_bytes)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts[:100]), model_prefix=str(folder / "unigram"), vocab_size=300, minloglevel=2
    )
    byte_level = pw.train(
        pw.count_pre_tokens(texts, pre_tokenizer="gpt2"), pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=2048)
    )
    for name in ("models/gpt2", "models/llama", "out/byte-level"):
        byte_level.save(folder / name)
    (folder / "tokenizer.json").write_bytes((folder / "models/gpt2/tokenizer.json").read_bytes())
    for name in ("qwen.tiktoken", "own.tiktoken"):
        byte_level.save_tiktoken(folder / name)
        (folder / f"{name}.json").unlink(missing_ok=True)
    nordic = pw.Tokenizer.load(folder / "out/nordic/tokenizers/multilingual")
    learned = [piece.text for piece in nordic.pieces[50_000:50_003]]
    (folder / "unwanted.txt").write_text("\n".join(learned) + "\n", encoding="utf-8")

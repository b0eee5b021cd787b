"""The contenders of byte-level BPE: each function does one job with one library, in a process of its own.

Usage: python -m benchmarks.byte_level_contenders NAME ARGUMENTS...

All train and encode with the same regular expression, the one that the recipe's preset names.
"""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.contenders import Encode, encode_twice, rate, save_tokens, timed

PRESET, PATTERN = "gpt4o", "o200k"
# A pattern of one's own, which runs in `tokenizers`.
CUSTOM = r"\s?\w+|[^\w\s]+|\s+"


# Training: a text file in, a saved vocabulary out. A line with its newline is a text, as `tokenizers` reads files.


def _lines(text: str) -> Iterator[list[bytes]]:
    with Path(text).open("rb") as file:
        while lines := file.readlines(1 << 22):
            yield lines


def train_piecework(text: str, out: str, vocab_size: str, threads: str) -> dict[str, Any]:
    import piecework

    recipe = piecework.Recipe.byte_level(PRESET, vocab_size=int(vocab_size), special_tokens=[])
    counter = piecework.count_pre_tokens_of_files
    counts = counter(text, pre_tokenizer=recipe.pre_tokenizer, threads=int(threads))
    piecework.train(counts, recipe).save(out, force=True)
    return {"vocabulary": int(vocab_size)}


def train_tokenizers(text: str, out: str, vocab_size: str) -> dict[str, Any]:
    tokenizers = importlib.import_module("tokenizers")
    pre = importlib.import_module("tokenizers.pre_tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = pre.Sequence(
        [pre.Split(tokenizers.Regex(_pattern()), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=int(vocab_size), initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train([text], trainer)
    Path(out).mkdir(parents=True, exist_ok=True)
    tokenizer.save(f"{out}/tokenizer.json")
    return {"vocabulary": tokenizer.get_vocab_size()}


def train_gigatoken(text: str, out: str, vocab_size: str) -> dict[str, Any]:
    # Its own pattern, which cannot be chosen.
    vocabulary, merges = importlib.import_module("gigatoken").train_bpe(text, int(vocab_size), [])
    save_tokens(Path(out), list(vocabulary.values()))
    return {"vocabulary": len(vocabulary), "merges": len(merges)}


def train_rustbpe(text: str, out: str, vocab_size: str) -> dict[str, Any]:
    tokenizer = importlib.import_module("rustbpe").Tokenizer()
    lines = (line.decode() for lines in _lines(text) for line in lines)
    tokenizer.train_from_iterator(lines, int(vocab_size), pattern=_pattern())
    save_tokens(Path(out), [token for token, _ in tokenizer.get_mergeable_ranks()])
    return {"vocabulary": tokenizer.vocab_size}


def compare_vocabularies(first: str, second: str) -> dict[str, Any]:
    """Whether two tokenizer.json files have the same vocabulary and merges."""
    one, other = (json.loads(Path(path, "tokenizer.json").read_bytes())["model"] for path in (first, second))
    equal = one["vocab"] == other["vocab"] and one["merges"] == other["merges"]
    return {"equal": equal, "pieces": len(one["vocab"])}


def _pattern() -> str:
    import piecework

    return "|".join(piecework.PreTokenizer(PATTERN).patterns)


# Counting: text in memory in, a table of pre-tokens out. Only the call is timed.


def count(text: str, pre_tokenizer: str) -> dict[str, Any]:
    import piecework
    from benchmarks.text import read_documents

    pyarrow = importlib.import_module("pyarrow")
    documents = [document.decode() for document in read_documents(Path(text))]
    texts = pyarrow.array(documents, type=pyarrow.large_string())
    size_bytes = Path(text).stat().st_size
    cuts = piecework.PreTokenizer("custom", pattern=CUSTOM) if pre_tokenizer == "custom" else pre_tokenizer
    counts, cpu_s, wall_s = timed(lambda: piecework.count_pre_tokens(texts, pre_tokenizer=cuts, threads=1))
    return rate("", size_bytes, cpu_s, wall_s) | {"distinct": len(counts)}


# Encoding: documents in memory in, ids out, on one thread. Only the calls are timed.


def _piecework(model: str) -> Encode:
    import piecework

    tokenizer = piecework.ByteLevelTokenizer.load(model)
    return lambda documents: tokenizer.encode_batch(documents, threads=1)


def _piecework_arrays(model: str) -> Encode:
    import piecework

    tokenizer = piecework.ByteLevelTokenizer.load(model)
    return lambda documents: tokenizer.encode_batch(documents, threads=1, as_arrays=True)


def _tokenizers(model: str) -> Encode:
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(f"{model}/tokenizer.json")
    return lambda documents: [encoding.ids for encoding in tokenizer.encode_batch_fast(documents)]


def _tiktoken(model: str) -> Encode:
    import piecework

    tokens = piecework.ByteLevelTokenizer.load(model).model.tokens
    ranks = {token: number for number, token in enumerate(tokens)}
    encoding = importlib.import_module("tiktoken").Encoding(
        "own", pat_str=_pattern(), mergeable_ranks=ranks, special_tokens={}
    )
    return lambda documents: encoding.encode_ordinary_batch(documents, num_threads=1)


def _gigatoken(model: str) -> Encode:
    tokenizer = importlib.import_module("gigatoken").Tokenizer(f"{model}/tokenizer.json")
    return lambda documents: tokenizer.encode_batch(documents, parallel=False)


def _gigatoken_lists(model: str) -> Encode:
    tokenizer = importlib.import_module("gigatoken").Tokenizer(f"{model}/tokenizer.json")
    return lambda documents: tokenizer.encode_batch_list(documents, parallel=False)


ENCODERS: dict[str, Callable[[str], Encode]] = {
    "piecework": _piecework,
    "piecework-arrays": _piecework_arrays,
    "tokenizers": _tokenizers,
    "tiktoken": _tiktoken,
    "gigatoken": _gigatoken,
    "gigatoken-lists": _gigatoken_lists,
}


def encode(library: str, *arguments: str) -> dict[str, Any]:
    return encode_twice(ENCODERS[library], *arguments)


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "train-piecework": train_piecework,
    "train-tokenizers": train_tokenizers,
    "train-gigatoken": train_gigatoken,
    "train-rustbpe": train_rustbpe,
    "compare": compare_vocabularies,
    "count": count,
    "encode": encode,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))

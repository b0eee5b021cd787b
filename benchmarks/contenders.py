"""The contenders: each function does one job with one library, in a process of its own that `measure` starts.

Usage: python -m benchmarks.contenders NAME ARGUMENTS...

A library is imported only by the function that uses it. A contender reports one line of JSON, the last line that
it prints. Numbers with a fraction are measurements; all other values are descriptions.
"""

import base64
import hashlib
import importlib
import itertools
import json
import sys
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

CODE_TOKENS = ["<|javascript|>", "<|python|>", "<|sql|>", "<|shell|>"]
SPECIAL_TOKENS = ["<pad>", "<unk>", "<s>", "<|endoftext|>"]


# Training: a text file in, a saved vocabulary out.


def train_sentencepiece(text: str, out: str, vocab_size: str, threads: str) -> dict[str, Any]:
    sentencepiece = importlib.import_module("sentencepiece")
    Path(out).mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        input=text,
        model_prefix=f"{out}/tokenizer",
        model_type="bpe",
        vocab_size=int(vocab_size),
        num_threads=int(threads),
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        split_digits=True,
        byte_fallback=True,
        character_coverage=0.9999,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        eos_piece="<|endoftext|>",
        user_defined_symbols=CODE_TOKENS,
        max_sentence_length=2**30,
        minloglevel=1,
    )
    return {"vocabulary": int(vocab_size)}


def train_tokenizers(text: str, out: str, vocab_size: str) -> dict[str, Any]:
    # The settings that are nearest to the recipe: words at spaces with ▁, single digits, at most 16
    # characters, byte pieces. tokenizers has no character coverage, and its script rule would cut ▁ from the word.
    tokenizers = importlib.import_module("tokenizers")
    pre = importlib.import_module("tokenizers.pre_tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre.Sequence(
        [
            pre.Split("\n", "removed"),
            pre.Metaspace(replacement="▁", prepend_scheme="always", split=True),
            pre.Digits(individual_digits=True),
        ]
    )
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=int(vocab_size),
        special_tokens=SPECIAL_TOKENS + CODE_TOKENS + byte_pieces,
        max_token_length=16,
        show_progress=False,
    )
    tokenizer.train([text], trainer)
    Path(out).mkdir(parents=True, exist_ok=True)
    tokenizer.save(f"{out}/tokenizer.json")
    return {"vocabulary": tokenizer.get_vocab_size()}


def train_gigatoken(text: str, out: str, vocab_size: str) -> dict[str, Any]:
    # Its own pre-tokenizer and a byte-level alphabet: another vocabulary of the same size.
    gigatoken = importlib.import_module("gigatoken")
    vocabulary, merges = gigatoken.train_bpe(text, int(vocab_size), ["<|endoftext|>"])
    save_tokens(Path(out), list(vocabulary.values()))
    return {"vocabulary": len(vocabulary), "merges": len(merges)}


def train_rustbpe(text: str, out: str, vocab_size: str) -> dict[str, Any]:
    # GPT-4's pre-tokenizer and a byte-level alphabet: another vocabulary of the same size.
    rustbpe = importlib.import_module("rustbpe")

    def parts() -> Iterator[str]:
        with Path(text).open(encoding="utf-8", newline="\n") as file:
            while lines := file.readlines(1 << 16):
                yield "".join(lines)

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(parts(), int(vocab_size))
    save_tokens(Path(out), [token for token, _ in tokenizer.get_mergeable_ranks()])
    return {"vocabulary": tokenizer.vocab_size}


def save_tokens(out: Path, tokens: Sequence[bytes]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    lines = (base64.b64encode(bytes(token)).decode() for token in tokens)
    (out / "tokens.txt").write_text("\n".join(lines) + "\n")


def compare_models(first: str, second: str) -> dict[str, Any]:
    """Whether two .model files have the same pieces, scores and types, in the same order."""
    sentencepiece = importlib.import_module("sentencepiece")

    def pieces(path: str) -> list[tuple[Any, ...]]:
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        ids = range(model.get_piece_size())
        types = (model.is_unknown, model.is_control, model.is_byte, model.is_unused)
        return [(model.id_to_piece(i), model.get_score(i), *(is_type(i) for is_type in types)) for i in ids]

    one, other = pieces(first), pieces(second)
    differing = sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
    return {"equal": one == other, "pieces": len(one), "differing": differing}


# Counting: text in memory in, a table of words out. Only the call is timed.


def count_piecework(text: str, layout: str, threads: str) -> dict[str, Any]:
    import piecework

    texts: Any = _documents(Path(text)) if layout != "lines" else Path(text).read_bytes().split(b"\n")
    size_bytes = sum(map(len, texts)) + len(texts)
    if layout == "Arrow":
        pyarrow = importlib.import_module("pyarrow")
        texts = pyarrow.array([document.decode() for document in texts], type=pyarrow.large_string())
    counts, cpu_s, wall_s = timed(lambda: piecework.count_words(texts, threads=int(threads)))
    return rate("", size_bytes, cpu_s, wall_s) | {"distinct": len(counts)}


def count_python(text: str) -> dict[str, Any]:
    data = Path(text).read_bytes()
    decoded = data.decode()

    def count() -> Counter[str]:
        counts: Counter[str] = Counter()
        for line in decoded.split("\n"):
            counts.update(line.split(" "))
        return counts

    counts, cpu_s, wall_s = timed(count)
    return rate("", len(data), cpu_s, wall_s) | {"distinct": len(counts)}


def check_counts(text: str) -> dict[str, Any]:
    """Whether piecework's counts equal those of the definition in plain Python."""
    import piecework

    expected: Counter[str] = Counter()
    for line in Path(text).read_bytes().decode().split("\n"):
        if line and "▅" not in line:
            first, *others = line.replace("▁", " ").split(" ")
            expected[first] += 1
            expected.update("▁" + word for word in others)
    found = dict(piecework.count_words(_documents(Path(text)), threads=2).items())
    expected.pop("", None)  # a line that opens with a space has no first word, only a boundary
    found.pop("", None)
    return {"equal": found == dict(expected), "distinct": len(found), "total": sum(found.values())}


# Encoding: documents in memory in, ids out, on one thread. Only the two calls are timed.

Encode = Callable[[list[str]], Any]


def _piecework(model: str) -> Encode:
    import piecework

    tokenizer = piecework.Tokenizer.load(model)
    return lambda documents: tokenizer.encode_batch(documents, threads=1)


def _piecework_arrays(model: str) -> Encode:
    import piecework

    tokenizer = piecework.Tokenizer.load(model)
    return lambda documents: tokenizer.encode_batch(documents, threads=1, as_arrays=True)


def _sentencepiece(model: str) -> Encode:
    processor = importlib.import_module("sentencepiece").SentencePieceProcessor(model_file=model)
    return lambda documents: processor.encode(documents, num_threads=1)


def _gigatoken(model: str) -> Encode:
    tokenizer = importlib.import_module("gigatoken").Tokenizer.from_sentencepiece(model)
    return lambda documents: tokenizer.encode_batch(documents, parallel=False)


def _gigatoken_lists(model: str) -> Encode:
    tokenizer = importlib.import_module("gigatoken").Tokenizer.from_sentencepiece(model)
    return lambda documents: tokenizer.encode_batch_list(documents, parallel=False)


def _kitoken(model: str) -> Encode:
    tokenizer = importlib.import_module("kitoken").Kitoken.from_file(model)
    return lambda documents: tokenizer.encode_all(documents, True)


ENCODERS: dict[str, Callable[[str], Encode]] = {
    "piecework": _piecework,
    "piecework-arrays": _piecework_arrays,
    "sentencepiece": _sentencepiece,
    "gigatoken": _gigatoken,
    "gigatoken-lists": _gigatoken_lists,
    "kitoken": _kitoken,
}


def encode(library: str, *arguments: str) -> dict[str, Any]:
    return encode_twice(ENCODERS[library], *arguments)


def encode_twice(
    load: Callable[[str], Encode], model: str, text: str, layout: str, sample_mb: str, digests: str
) -> dict[str, Any]:
    """Encode the same documents twice, with cold and with warm caches; write a hash of the ids of each document."""
    from benchmarks.text import cut

    parts = _documents(Path(text))
    if layout == "2 KB":
        parts = cut(parts, size_bytes=2_000)
    step = max(1, round(sum(map(len, parts)) / (float(sample_mb) * 1e6))) if float(sample_mb) else 1
    parts = parts[::step]
    size_bytes = sum(map(len, parts))
    documents = [part.decode() for part in parts]
    encode_all = load(model)
    encode_all(["a"])  # imports and tables that are made at the first call, which are no part of encoding
    time.sleep(0.5)  # a thread that NumPy starts when it is imported spins for up to 0.1 s, which is CPU time
    ids, *first = timed(lambda: encode_all(documents))
    del ids  # otherwise its release would be timed as part of the second pass
    ids, *second = timed(lambda: encode_all(documents))
    tokens, hashes = 0, []
    for document in ids if isinstance(ids, list) else id_lists(ids):
        tokens += len(document)
        hashes.append(hashlib.blake2b(array("I", document).tobytes(), digest_size=8).digest())
    Path(digests).write_bytes(b"".join(hashes))
    rates = rate("first_", size_bytes, *first) | rate("second_", size_bytes, *second)
    return rates | {"size_bytes": size_bytes, "documents": len(documents), "tokens": tokens}


def id_lists(arrays: Any) -> Iterator[list[int]]:
    """Arrays of any library as lists, a few at a time: all lists would take more memory than the encoding."""
    if hasattr(arrays, "offsets"):
        for begin, end in itertools.pairwise(arrays.offsets.tolist()):
            yield arrays.ids[begin:end].tolist()
        return
    for first in range(0, len(arrays), 1000):
        yield from arrays[first : first + 1000].to_list()


def _documents(text: Path) -> list[bytes]:
    from benchmarks.text import read_documents

    return read_documents(text)


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def rate(prefix: str, size_bytes: int, cpu_s: float, wall_s: float) -> dict[str, float]:
    return {
        f"{prefix}mb_per_cpu_s": size_bytes / 1e6 / cpu_s,
        f"{prefix}mb_per_wall_s": size_bytes / 1e6 / wall_s,
    }


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "train-sentencepiece": train_sentencepiece,
    "train-tokenizers": train_tokenizers,
    "train-gigatoken": train_gigatoken,
    "train-rustbpe": train_rustbpe,
    "compare-models": compare_models,
    "count-piecework": count_piecework,
    "count-python": count_python,
    "check-counts": check_counts,
    "encode": encode,
}

if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))

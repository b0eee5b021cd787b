"""The real text that the benchmarks read: files of 20, 100 and 400 MB, made from what the machine has.

The first 100 MB are the development corpus (`../shared/corpus`, where it is present) mixed with the sources
of Python's standard library; beyond that come the sources and documents that are installed on the machine.
Only kinds and shares go into the results, never a path.
"""

import argparse
import hashlib
import importlib
import io
import json
import os
import site
import sys
import sysconfig
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DEFAULT_WORK = Path(tempfile.gettempdir()) / "piecework-benchmarks"
SIZES_MB = (20, 100, 400)

# Prose and program text. JSON, CSV, XML and the like are left out: one table of machine-written data can
# outweigh all else.
# fmt: off
EXTENSIONS = frozenset({
    ".awk", ".c", ".cc", ".cjs", ".cmake", ".cpp", ".css", ".cu", ".cuh", ".cxx", ".el", ".go", ".h", ".hh",
    ".hpp", ".htm", ".html", ".hxx", ".java", ".jl", ".js", ".lua", ".md", ".mjs", ".php", ".pl", ".pm",
    ".po", ".pod", ".pxd", ".py", ".pyi", ".pyx", ".R", ".rb", ".rs", ".rst", ".scala", ".sh", ".sql", ".tcl",
    ".tex", ".ts", ".txt", ".vim",
})
# fmt: on
# SentencePiece aborts the process on a word of more than 65,536 characters: no such word may be in the text.
LONGEST_WORD_BYTES = 65_536


@dataclass(frozen=True)
class Text:
    """One text file of the benchmarks, and what it is made of."""

    name: str
    size_bytes: int
    documents: int
    sha256: str
    shares: dict[str, float]
    left_out: dict[str, int]

    @property
    def size_mb(self) -> float:
        return self.size_bytes / 1e6


def text_path(work: Path, size_mb: int) -> Path:
    return work / f"text_{size_mb}mb.txt"


def load_text(work: Path, size_mb: int) -> Text:
    """The description of a text that `gather` has written."""
    description = text_path(work, size_mb).with_suffix(".json")
    if not description.exists():
        raise SystemExit(f"{description}: not found; first run: python -m benchmarks.text --work {work}")
    return Text(**json.loads(description.read_text()))


def read_documents(path: Path) -> list[bytes]:
    """The documents of a text file, in its order, without the newline that ends each."""
    lengths = array("q")
    lengths.frombytes(path.with_suffix(".lengths").read_bytes())
    data = path.read_bytes()
    documents, start = [], 0
    for length in lengths:
        documents.append(data[start : start + length])
        start += length + 1
    return documents


def read_kinds(path: Path) -> list[str]:
    """The kind of each document of a text file, in the order of the file. `shares` has the names of the kinds."""
    return path.with_suffix(".kinds").read_text().split("\n")


def cut(documents: list[bytes], *, size_bytes: int) -> list[bytes]:
    """Documents cut at line ends into parts of about `size_bytes`."""
    parts: list[bytes] = []
    for document in documents:
        lines: list[bytes] = []
        length = 0
        for line in document.split(b"\n"):
            lines.append(line)
            length += len(line) + 1
            if length >= size_bytes:
                parts.append(b"\n".join(lines))
                lines, length = [], 0
        if lines:
            parts.append(b"\n".join(lines))
    return [part for part in parts if part]


def gather(work: Path, sizes_mb: tuple[int, ...], corpus: Path) -> list[Text]:
    """Write one text file for each size, in one pass: each file starts with the one before it."""
    work.mkdir(parents=True, exist_ok=True)
    sizes = sorted(sizes_mb)
    outputs = {size: text_path(work, size).open("wb") for size in sizes}
    admission = Admission()
    lengths = array("q")
    kinds: list[str] = []
    shares: Counter[str] = Counter()
    digest = hashlib.sha256()
    total = 0
    texts: list[Text] = []

    def close(size_mb: int) -> None:
        path = text_path(work, size_mb)
        outputs.pop(size_mb).close()
        path.with_suffix(".lengths").write_bytes(lengths.tobytes())
        path.with_suffix(".kinds").write_text("\n".join(kinds))
        text = Text(
            name=f"{size_mb} MB",
            size_bytes=total,
            documents=len(lengths),
            sha256=digest.hexdigest(),
            shares={kind: round(size / total, 4) for kind, size in shares.most_common()},
            left_out=dict(admission.left_out),
        )
        path.with_suffix(".json").write_text(json.dumps(asdict(text), indent=1, ensure_ascii=False) + "\n")
        texts.append(text)

    for kind, document in _all_documents(corpus, admission):
        for output in outputs.values():
            output.write(document)
            output.write(b"\n")
        digest.update(document)
        digest.update(b"\n")
        lengths.append(len(document))
        kinds.append(kind)
        shares[kind] += len(document) + 1
        total += len(document) + 1
        while outputs and total >= min(outputs) * 1_000_000:
            close(min(outputs))
        if not outputs:
            break
    for size_mb in list(outputs):  # the machine has less text than asked for; the descriptions say how much
        close(size_mb)
    return texts


class Admission:
    """Decides which documents enter: valid UTF-8 text, each once. Counts what it leaves out, by reason."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._seen: set[bytes] = set()

    def admit(self, document: bytes) -> bytes | None:
        """The document's hash, or None if it is left out."""
        digest = hashlib.blake2b(document, digest_size=16).digest()
        reason = _fault(document) or ("duplicate" if digest in self._seen else "")
        if reason:
            self.left_out[reason] += 1
            return None
        self._seen.add(digest)
        return digest


def _fault(document: bytes) -> str:
    if not document.strip():
        return "empty"
    if b"\0" in document:
        return "binary"
    try:
        document.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    if max(map(len, document.replace(b"\n", b" ").split(b" "))) > LONGEST_WORD_BYTES:
        return "a word too long for SentencePiece"
    return ""


def _all_documents(corpus: Path, admission: Admission) -> Iterator[tuple[str, bytes]]:
    # Documents are in the order of their hashes, so any prefix has the same mix: 20 MB are a small copy of 100 MB.
    base = []
    for pool in (_corpus(corpus), _standard_library()):
        for kind, document in pool:
            if digest := admission.admit(document):
                base.append((digest, kind, document))
    base.sort()
    for _, kind, document in base:
        yield kind, document
    for kind, document in _installed():
        if admission.admit(document):
            yield kind, document


def _corpus(folder: Path) -> Iterator[tuple[str, bytes]]:
    files = sorted(folder.glob("*.jsonl.zst"))
    if not files:
        print("text: no development corpus here; starting from the standard library", file=sys.stderr)
        return
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        print("text: zstandard is not installed; the development corpus is left out", file=sys.stderr)
        return
    for path in files:
        kind = path.name.removesuffix(".jsonl.zst").replace("_", " ")
        with path.open("rb") as compressed:
            for line in io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(compressed)):
                yield kind, json.loads(line)["text"].encode("utf-8", "replace")


def _standard_library() -> Iterator[tuple[str, bytes]]:
    for path in _walk(Path(sysconfig.get_path("stdlib")), without=("site-packages", "dist-packages")):
        if path.suffix == ".py":
            yield "Python standard library", path.read_bytes()


def _installed() -> Iterator[tuple[str, bytes]]:
    """Text that is installed on the machine, by place: Python packages, headers, then the system's files."""
    # A virtual environment's own packages come first, then those of the interpreter that it was made from.
    interpreter = Path(sysconfig.get_path("stdlib")) / "site-packages"
    packages = [
        *map(Path, site.getsitepackages()),
        interpreter,
        Path("/usr/lib/python3"),
        Path("/usr/local/lib"),
    ]
    places = [
        *(("Python packages", root) for root in packages),
        ("C and C++ headers", Path("/usr/include")),
        ("JavaScript packages", Path("/usr/lib/node_modules")),
        ("JavaScript packages", Path("/usr/share/nodejs")),
        ("system documents and scripts", Path("/usr/share")),
        ("system libraries' sources", Path("/usr/lib")),
    ]
    for kind, root in places:
        for path in _walk(root):
            if path.suffix in EXTENSIONS and not path.name.endswith((".min.js", ".min.css")):
                try:
                    yield kind, path.read_bytes()
                except OSError:  # unreadable, or gone since the folder was listed
                    continue


def _walk(root: Path, *, without: tuple[str, ...] = ()) -> Iterator[Path]:
    """The regular files under a folder, in sorted order; links are not followed."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (*without, "__pycache__"))
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder for the text files")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES_MB), metavar="MB")
    parser.add_argument("--corpus", type=Path, default=REPOSITORY.parent / "shared" / "corpus")
    parser.add_argument("--force", action="store_true", help="gather again even where the files are there")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    if arguments.force or not all(text_path(arguments.work, s).with_suffix(".json").exists() for s in arguments.sizes):
        gather(arguments.work, tuple(arguments.sizes), arguments.corpus)
    for size_mb in arguments.sizes:
        text = load_text(arguments.work, size_mb)
        shares = ", ".join(f"{kind} {share:.1%}" for kind, share in text.shares.items())
        print(f"{text.name}: {text.size_mb:.1f} MB, {text.documents:,} documents: {shares}")
        left_out = ", ".join(f"{number:,} {reason}" for reason, number in text.left_out.items())
        print(f"  left out: {left_out or 'nothing'}")


if __name__ == "__main__":
    main()


def texts_by_language(corpus: Path, *, most_characters: int) -> dict[str, list[str]]:
    """The documents of the development corpus by language, up to this many characters of each source."""
    import zstandard

    texts: dict[str, list[str]] = {}
    for path in sorted(corpus.glob("*.jsonl.zst")):
        found = texts.setdefault(path.name.removesuffix(".jsonl.zst").rpartition("_")[2], [])
        size = sum(map(len, found))
        with path.open("rb") as file:
            for line in io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8"):
                if size > most_characters:
                    break
                found.append(json.loads(line)["text"])
                size += len(found[-1])
    return texts

"""Single flipped bits in every file that a later stage reads: each is noticed, or the result is the same.

Each kind of file gets a few flips. With PIECEWORK_FAULTS=all, there are more than a thousand.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import piecework as pw
from counting.corpora import made_up_corpus, make_study, write_corpus
from piecework.common.manifest import checksum_of_file, seal
from piecework.counting.local import count
from piecework.counting.partial import PartialResults
from piecework.counting.plan import Plan
from piecework.counting.store import Counts
from piecework.counting.worker import ShardJob, count_shard
from piecework.errors import DamagedError, InputError, StudyError
from piecework.pipeline.results import StudyResults
from piecework.playground.catalogue import Catalogue
from piecework.results.folder import StudyFolder
from piecework.results.state import State
from piecework.tokenizer.load import load_tokenizer
from pipeline.studies import contents, run_study, write_study

ALL = os.environ.get("PIECEWORK_FAULTS") == "all"
FLIPS = 60 if ALL else 5
"""The number of flips in each file."""


@contextmanager
def flipped(path: Path, generator: random.Random) -> Iterator[None]:
    """The file with one flipped bit."""
    before = path.read_bytes()
    data = bytearray(before)
    bit = generator.randrange(8 * len(data))
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(before)


def noticed_or_same(path: Path, read: Callable[[], Any]) -> int:
    """Flip bits of a file one at a time. Returns how many flips were noticed; the others must change nothing."""
    expected = read()
    generator = random.Random(path.name)
    noticed = 0
    for _ in range(FLIPS):
        with flipped(path, generator):
            try:
                assert read() == expected
            except (InputError, StudyError) as error:
                assert path.name in str(error), "the error names another file"
                noticed += 1
    assert read() == expected
    return noticed


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    done, _ = run_study(write_study(tmp_path_factory.mktemp("damage")))
    return done


def everything(folder: Path) -> dict[str, Any]:
    counts = Counts.load(folder)
    return {
        "description": counts.description,
        "train": dict(counts.training().items()),
        "eval": counts.evaluation().to_pylist(),
        "eval_plain": counts.evaluation(plain=True).to_pylist(),
    }


@pytest.mark.parametrize("name", ["counts.json", "train.parquet", "eval.parquet", "eval_plain.parquet"])
def test_counts(results: StudyResults, name: str) -> None:
    path = results.folder / "counts" / name
    noticed = noticed_or_same(path, lambda: everything(results.folder))
    # Whitespace in JSON has no meaning. In a table, every bit has one.
    assert noticed == FLIPS or name.endswith(".json")
    assert noticed > FLIPS // 2


def test_run_json(results: StudyResults) -> None:
    assert noticed_or_same(results.folder / "run.json", lambda: StudyResults.load(results.folder).run) > FLIPS // 2


def test_the_resolved_study(results: StudyResults) -> None:
    assert noticed_or_same(results.folder / "study.toml", lambda: StudyResults.load(results.folder).study) == FLIPS


def read_table(folder: Path, name: str) -> list[dict[str, Any]]:
    return StudyResults.load(folder).tables[name].rows()


def read_model(folder: Path, name: str) -> bytes:
    return StudyResults.load(folder).tokenizer(name).model_bytes


def test_tables_and_models(results: StudyResults) -> None:
    tables = sorted((results.folder / "results").glob("*.parquet"))
    assert len(tables) > 5
    for path in tables:
        assert noticed_or_same(path, partial(read_table, results.folder, path.stem)) == FLIPS
    for name in ("multilingual", "sv"):
        model = results.folder / "tokenizers" / name / "tokenizer.model"
        assert noticed_or_same(model, partial(read_model, results.folder, name)) == FLIPS


def test_tokenizers_that_are_given_by_their_path(results: StudyResults) -> None:
    folder = results.folder / "tokenizers" / "multilingual"
    loads: list[Callable[[], Any]] = [
        lambda: pw.Tokenizer.load(folder).model_bytes,
        lambda: load_tokenizer(folder / "tokenizer.model").pieces,
    ]
    for load in loads:
        assert noticed_or_same(folder / "tokenizer.model", load) == FLIPS
    study = StudyFolder.load(results.folder)
    assert (
        noticed_or_same(folder / "merges.tsv", lambda: Catalogue.from_study(study).frequencies("multilingual")) == FLIPS
    )


@pytest.mark.parametrize("change", ["missing", "bytes", "nullable", "other"])
def test_tables_that_are_no_counts(results: StudyResults, tmp_path: Path, change: str) -> None:
    """Their checksums are right: another program wrote them."""
    shutil.copytree(results.folder / "counts", tmp_path / "counts")
    path = tmp_path / "counts" / "eval.parquet"
    table = pq.read_table(path)
    unit = table["unit"]
    if change == "missing":
        table = table.drop_columns("category")
    elif change == "other":
        table = pa.table({"rows": [1, 2]})
    else:
        kind = pa.large_binary() if change == "bytes" else pa.large_string()
        field = pa.field("unit", kind, nullable=change == "nullable")
        table = table.set_column(table.column_names.index("unit"), field, unit.cast(kind))
    pq.write_table(table, path)
    manifest = tmp_path / "counts" / "counts.json"
    content = json.loads(manifest.read_bytes())
    content.pop("checksum")
    content["tables"]["eval"] = {
        "checksum": checksum_of_file(path),
        "rows": table.num_rows,
        "size_bytes": path.stat().st_size,
    }
    manifest.write_bytes(seal(content))
    with pytest.raises(InputError, match=r"eval\.parquet: not a table of counts, whose columns are language"):
        Counts.load(tmp_path).evaluation()


def test_passages(results: StudyResults) -> None:
    key = results.run["stages"]["passages"]["key"]
    generator = random.Random(1)
    for _ in range(FLIPS):
        with flipped(results.folder / "passages.json", generator):
            assert not State(results.folder).is_done("passages", key)


def test_shards_of_a_killed_count(tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", made_up_corpus(60))
    plan = Plan.from_study(make_study(tmp_path / "data"))
    stored = PartialResults(tmp_path / "partial")
    job = ShardJob(plan.sampler(), stored.folder, 1 << 30)
    shard = plan.shards[0]
    result = count_shard(job, shard, lambda _: None)
    assert stored.load(shard) == result
    files = sorted((stored.folder / shard.key).iterdir())
    assert {path.suffix for path in files} == {".json", ".spill"}
    generator = random.Random(2)
    for path in files:
        for _ in range(FLIPS):
            with flipped(path, generator):
                assert stored.load(shard) in ((None, result) if path.suffix == ".json" else (None,))


def test_what_is_damaged_is_made_again(tmp_path: Path) -> None:
    study = write_study(tmp_path)
    done, _ = run_study(study)
    expected = contents(done.folder)
    generator = random.Random(3)
    damaged = {
        "counts/train.parquet": "counting again: .*train.parquet: damaged since it was written",
        "counts/counts.json": "counting again: .*counts.json: damaged since it was written",
        "results/metrics.parquet": "",
        "passages.json": "",
        "study.toml": "",
        "tokenizers/sv/tokenizer.model": "",
        "run.json": "running every stage again: .*run.json: damaged since it was written",
    }
    for name, warning in damaged.items():
        path = done.folder / name
        # In a JSON file a digit is changed: a change of whitespace would have no effect.
        data = path.read_bytes()
        path.write_bytes(data.replace(b"1", b"2", 1) if name.endswith(".json") else data)
        if path.read_bytes() == data:
            data = bytearray(data)
            data[generator.randrange(len(data))] ^= 4
            path.write_bytes(data)
        _, warnings = run_study(study)
        assert contents(done.folder) == expected, name
        assert [text for text in warnings if "damaged" in text] or not warning, name


def test_inputs_that_are_not_known_are_counted_again(tmp_path: Path) -> None:
    write_corpus(tmp_path / "data", made_up_corpus(20))
    study = make_study(tmp_path / "data")
    counts = count(study, out=tmp_path / "out")
    path = counts.folder / "inputs.json"
    path.write_bytes(path.read_bytes().replace(b"files", b"Files", 1))
    with pytest.raises(InputError, match="the files that they were counted from are not known"):
        count(study, out=tmp_path / "out")
    assert count(study, out=tmp_path / "out", force=True).description == counts.description


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b'{"format": 2}', b"{" * 100_000, b'{"format": []}'])
def test_manifests_that_are_none(results: StudyResults, tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "out"
    shutil.copytree(results.folder, folder)
    for path, load in ((folder / "run.json", StudyResults.load), (folder / "counts/counts.json", Counts.load)):
        path.write_bytes(content)
        with pytest.raises(InputError, match=path.name):
            load(folder)


def test_changed_fields_with_a_right_checksum(results: StudyResults, tmp_path: Path) -> None:
    """A person or a program may change a field on purpose. Types are checked, so the only result is an error."""
    folder = tmp_path / "out"
    shutil.copytree(results.folder, folder)
    for path, load in ((folder / "run.json", StudyResults.load), (folder / "counts/counts.json", Counts.load)):
        content = json.loads(path.read_bytes())
        content.pop("checksum")
        for key in content:
            for value in (None, 7.5, "x", ["x"], {"x": "y"}, True):
                if type(value) is not type(content[key]) and not (key == "elapsed_s" and value == 7.5):
                    path.write_bytes(seal({**content, key: value}))
                    with pytest.raises(InputError, match=path.name):
                        load(folder)
        path.write_bytes(seal(content))
        load(folder)


@pytest.mark.parametrize("name", ["../precious.txt", "/precious.txt", "results/../../precious.txt", "", "..", "a\\b"])
def test_paths_in_run_json_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    study = write_study(tmp_path)
    done, _ = run_study(study)
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    path = done.folder / "run.json"
    content = json.loads(path.read_bytes())
    content.pop("checksum")
    outputs = content["stages"]["report"]["outputs"]
    outputs[str(precious) if name == "/precious.txt" else name] = "0" * 32
    path.write_bytes(seal(content))
    with pytest.raises(DamagedError, match="leads out of the folder"):
        StudyResults.load(done.folder)
    _, warnings = run_study(study)
    assert ["leads out of the folder" in warning for warning in warnings] == [True]
    assert precious.read_text() == "mine"


def test_a_link_out_of_the_folder_is_not_followed_when_removing(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "precious.txt").write_text("mine")
    (folder / "link").symlink_to(elsewhere)
    state = State(folder)
    with state.doing("one", "1") as outputs:
        (folder / "own.txt").write_text("ours")
        outputs += [folder / "own.txt", folder / "link" / "precious.txt"]
    State(folder).remove_all_but([])
    assert (elsewhere / "precious.txt").read_text() == "mine"
    assert not (folder / "own.txt").exists()

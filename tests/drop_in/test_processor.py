"""Every method of the processor does the same as in the package `sentencepiece`, errors included."""

import pickle
import random
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

from drop_in.models import SETTINGS, model
from piecework.sentencepiece import SentencePieceProcessor

TEXTS = [
    "",
    " ",
    "väntar på något",
    "  två  mellanslag ",
    "<x>ab<y><z>",
    "字 é e\u0301 ﬁ 😀",
    "a\tb\nc\r",
    "▁x▁▁y",
    "\0<s></s>",
    "123 return",
]
IDS: list[Any] = [[], [0], [1, 2, 0], list(range(30)), [5, 5, 0, 0, 7], 3, (4, 5), np.array([4, 5, 6]), [True]]
PIECES: list[Any] = [["▁v", "ä"], ["字", "▁ab", "<unk>"], ["<s>", "▁", "▁"], "▁ab", [b"ab"], [["▁ab"], []], [[], ["x"]]]


def outcome(call: Callable[[], Any]) -> Any:
    """The result of a call in a form that can be compared, or the type of its error."""
    try:
        return comparable(call())
    except Exception as error:  # noqa: BLE001
        return type(error)


def comparable(value: Any) -> Any:
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.tolist()
    return [comparable(each) for each in value] if isinstance(value, list) else value


def both(name: str, **arguments: Any) -> tuple[Any, Any]:
    return (
        SentencePieceProcessor(model_proto=model(name), **arguments),
        sentencepiece.SentencePieceProcessor(model_proto=model(name), **arguments),
    )


def assert_same(name: str, call: Callable[[Any], Any], **arguments: Any) -> None:
    ours, theirs = both(name, **arguments)
    assert outcome(lambda: call(ours)) == outcome(lambda: call(theirs))


@pytest.mark.parametrize("name", SETTINGS)
def test_arguments_by_position(name: str) -> None:
    """The arguments have the order of SentencePiece 0.2.3. There the second argument of `encode` is not a type."""
    calls: list[Callable[[Any], Any]] = [
        lambda processor: processor.encode("väntar på", True, True, True),
        lambda processor: processor.encode("väntar på", str),
        lambda processor: processor.encode(["väntar", "på"], None, None, None, None, None, None, None, 2, None, str),
        lambda processor: processor.decode([5, 6], str),
        lambda processor: processor.decode([5, 6], "offset_mapping"),
        lambda processor: processor.decode_ids([5, 6], bytes),
        lambda processor: processor.normalize(" väntar  på", True),
        lambda processor: type(processor)(None, model(name), str, True, True).encode("väntar på"),
    ]
    for call in calls:
        assert_same(name, call)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", [int, str, bytes, "numpy", "proto", "serialized_proto", "offset_mapping", "other"])
def test_encode(name: str, kind: Any) -> None:
    ours, theirs = both(name)
    for text in TEXTS:
        for given in (text, text.encode()):
            for option in ({}, {"add_bos": True}, {"add_eos": True, "reverse": True}, {"emit_unk_piece": True}):
                results = [
                    outcome(lambda p=p, g=given, o=option: p.encode(g, return_type=kind, **o)) for p in (ours, theirs)
                ]
                assert results[0] == results[1], (text, option)
    assert_same(name, lambda processor: processor.encode(TEXTS, out_type=kind, num_threads=2))
    assert_same(name, lambda processor: processor.encode([text.encode() for text in TEXTS], out_type=kind))
    assert_same(name, lambda processor: processor.encode([], out_type=kind))


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("kind", [None, str, bytes, "proto", "serialized_proto", "offset_mapping", int, "numpy"])
def test_decode(name: str, kind: Any) -> None:
    for given in [*IDS, *PIECES, [[1, 5], [7]], [[], [3]], None, "", [10**6], [-1], [1.5], [5, "a"], 10**6]:
        assert_same(name, lambda processor, given=given: processor.decode(given, return_type=kind))
    rng = random.Random(3)
    size = len(SentencePieceProcessor(model_proto=model(name)))
    ours, theirs = both(name)
    for _ in range(200):
        ids = [rng.randrange(size) for _ in range(rng.randrange(12))]
        assert outcome(lambda ids=ids: ours.decode(ids, out_type=kind)) == outcome(
            lambda ids=ids: theirs.decode(ids, out_type=kind)
        ), ids


@pytest.mark.parametrize("name", SETTINGS)
def test_vocabulary(name: str) -> None:
    methods = (
        "id_to_piece get_score is_unknown is_control is_unused is_byte IdToPiece GetScore IsUnknown IsControl IsByte"
    )
    for method in methods.split():
        for given in (0, 7, [0, 1, 5], range(60), np.array([2, 3]), np.int64(4), -1, 10**6, [10**6], "a", None, 1.0):
            assert_same(name, lambda processor, m=method, g=given: getattr(processor, m)(g))
    for method in ("piece_to_id", "PieceToId", "__getitem__"):
        for given in ("▁", "ab", b"ab", "<unk>", "nowhere", ["▁", "x"], ("a",), 3, None, [3], ""):
            assert_same(name, lambda processor, m=method, g=given: getattr(processor, m)(g))
    for method in [
        "unk_id",
        "bos_id",
        "eos_id",
        "pad_id",
        "get_piece_size",
        "GetPieceSize",
        "piece_size",
        "vocab_size",
        "__len__",
        "serialized_model_proto",
    ]:
        assert_same(name, lambda processor, m=method: getattr(processor, m)())


@pytest.mark.parametrize("name", SETTINGS)
def test_normalize(name: str) -> None:
    for given in [*TEXTS, *(text.encode() for text in TEXTS), TEXTS, 3, None]:
        assert_same(name, lambda processor, given=given: processor.normalize(given))
        assert_same(name, lambda processor, given=given: processor.Normalize(given, with_offsets=True))


def test_names_of_methods() -> None:
    theirs = {name for name in dir(sentencepiece.SentencePieceProcessor) if not name.startswith("_")}
    assert theirs <= set(dir(SentencePieceProcessor))
    for name in [
        "EncodeAsIds",
        "encode_as_ids",
        "EncodeAsPieces",
        "encode_as_pieces",
        "EncodeAsNumpy",
        "encode_as_numpy",
        "EncodeAsProto",
        "encode_as_proto",
        "EncodeAsOffsetMapping",
        "encode_as_offset_mapping",
        "Encode",
        "Tokenize",
        "tokenize",
    ]:
        for given in (TEXTS[2], TEXTS):
            assert_same("bytes", lambda processor, n=name, g=given: getattr(processor, n)(g))
    for name in [
        "Decode",
        "Detokenize",
        "detokenize",
        "DecodeIds",
        "decode_ids",
        "DecodeIdsAsProto",
        "decode_ids_as_proto",
    ]:
        assert_same("bytes", lambda processor, n=name: getattr(processor, n)([5, 300, 301]))
    for name in ["DecodePieces", "decode_pieces", "DecodePiecesAsProto", "decode_pieces_as_proto"]:
        assert_same("bytes", lambda processor, n=name: getattr(processor, n)(["▁ab", "字"]))


def test_what_is_not_here_says_so() -> None:
    processor = SentencePieceProcessor(model_proto=model("plain"))
    for name in dir(processor):
        if name.lower().replace("_", "").startswith(("nbest", "sample")):
            with pytest.raises(NotImplementedError, match="use the package sentencepiece"):
                getattr(processor, name)("ab")
    with pytest.raises(NotImplementedError):
        processor.encode("ab", enable_sampling=True, nbest_size=-1, alpha=0.1)


PARALLEL = [f"ParallelEncode{suffix}" for suffix in ("", "AsIds", "AsPieces", "AsNumpy", "AsProto")]
PARALLEL += [f"parallel_encode{suffix}" for suffix in ("", "_as_ids", "_as_pieces", "_as_numpy", "_as_proto")]


@pytest.mark.parametrize("name", SETTINGS)
def test_parallel_encode(name: str) -> None:
    """Equal for every length of a chunk. Pieces of unknown characters are refused: SentencePiece's chunks cut them."""
    rng = random.Random(name)
    ours, theirs = both(name)
    long = "".join(rng.choice(["a", "b ", "  ", "字", "<x>", "ä", "\n", "1"]) for _ in range(500))
    for method in PARALLEL:
        for given in (*TEXTS, long, long.encode(), TEXTS, [], None):
            for chunk_len in (1, 7, 10**6, 0, "3", None):
                options: dict[str, Any] = {"chunk_len": chunk_len, "num_threads": 2}
                if not method.lower().endswith("proto"):
                    options |= {"add_bos": rng.random() < 0.3, "reverse": rng.random() < 0.3}
                results = [outcome(lambda p=p, o=options: getattr(p, method)(given, **o)) for p in (ours, theirs)]  # noqa: B023
                if results[0] is NotImplementedError:
                    assert method.lower().endswith(("pieces", "proto"))
                    texts = given if isinstance(given, list) else [given]
                    assert any(theirs.unk_id() in theirs.encode(text) for text in texts)
                else:
                    assert results[0] == results[1], (method, options)
    for kind in (str, bytes, "offset_mapping", "other"):
        for more in ({}, {"emit_unk_piece": True}):
            options = {"chunk_len": 3, "num_threads": 2, "return_type": kind, **more}
            for given in ("ab a", []):
                assert_same(name, lambda processor, o=options, g=given: processor.parallel_encode(g, **o))


def test_defaults_of_the_processor() -> None:
    for arguments in (
        {"out_type": str, "add_bos": True},
        {"return_type": "numpy", "add_eos": True},
        {"reverse": True, "num_threads": 3},
        {"out_type": str, "emit_unk_piece": True},
    ):
        assert_same("plain", lambda processor: processor.encode(TEXTS), **arguments)


def test_arguments_that_are_refused() -> None:
    for arguments in (
        {"out_type": int, "return_type": int},
        {"return_bytes": True},
        {"num_threads": "2"},
        {"return_type": "immutable_proto"},
    ):
        assert_same("plain", lambda processor, given=arguments: processor.encode("ab", **given))
    for given in (3, None, ("a", "b"), ["a", 3], [None]):
        assert_same("plain", lambda processor, given=given: processor.encode(given))
    assert_same("bytes", lambda processor: processor.encode("字", return_type="offset_mapping", return_bytes=True))


def test_loading(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(model("plain"))
    for package in (SentencePieceProcessor, sentencepiece.SentencePieceProcessor):
        processor: Any = package()
        assert processor.get_piece_size() == 0
        with pytest.raises(RuntimeError):
            processor.encode("ab")
        assert processor.load(str(path))
        assert processor.Load(model_proto=model("bytes"))
        assert processor.encode("ab") == package(model_proto=model("bytes")).encode("ab")
        assert package.from_file(str(path), out_type=str).encode("ab")[0].startswith("▁")
        assert package.from_proto(model("plain")).serialized_model_proto() == model("plain")
        for call, error in (
            (lambda: package(model_file="nowhere.model"), RuntimeError),  # noqa: B023
            (lambda: package(model_proto=b"damaged"), RuntimeError),  # noqa: B023
            (lambda: package(model_file="a", model_proto=b"b"), ValueError),  # noqa: B023
            (lambda: package().load(), ValueError),  # noqa: B023
            (lambda: package.from_file("a", model_proto=b"b"), ValueError),  # noqa: B023
        ):
            with pytest.raises(error):
                call()


def test_pickle() -> None:
    processor = SentencePieceProcessor(model_proto=model("bytes"), out_type=str, add_bos=True)
    again = pickle.loads(pickle.dumps(processor))
    assert again.encode(TEXTS) == processor.encode(TEXTS)


@pytest.mark.parametrize(
    ("method", "argument"),
    [
        ("id_to_piece", 10**12),
        ("get_score", [10**12]),
        ("decode", [10**12]),
        ("piece_to_id", ["a", ["b"]]),
        ("piece_to_id", np.array(["a", "b"])),
        ("normalize", ["a", ["b"]]),
        ("load", 5),
        ("load_from_file", None),
        ("load_from_file", "a\x00b"),
        ("get_score", {3}),
        ("id_to_piece", {3: 4}.values()),
        ("is_byte", array("i", [3, 4])),
        ("is_unused", {3: 4}),
        ("decode", {3, 4}),
        ("decode", bytearray([3, 4])),
        ("decode", b"\xff\xfe bad"),
        ("decode", ["y", b"\xff"]),
        ("decode", [[b"\xff"], ["y"]]),
        ("encode_as_offset_mapping", b"\xff y"),
        *(
            ("encode_as_offset_mapping", ["a", text])
            for text in (b"\xed\xa0\x80", b"y\xe2\x82", b"\xff y", b"a\xc3z d")
        ),
        ("decode", [-1, 3, 2**31]),
        ("decode", [[], [3, 10**6], ["a"]]),
        ("decode", [[3, -1], [None]]),
        ("decode", [["a"], [3]]),
        ("piece_to_id", bytearray(b"y")),
    ],
)
def test_unusual_arguments(method: str, argument: Any) -> None:
    data = model(next(iter(SETTINGS)))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = SentencePieceProcessor(model_proto=data)
    assert outcome(lambda: getattr(ours, method)(argument)) == outcome(lambda: getattr(theirs, method)(argument))


@pytest.mark.parametrize("method", ["encode", "decode"])
def test_messages_with_bytes_that_are_not_utf8(method: str) -> None:
    data = model(next(iter(SETTINGS)))
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = SentencePieceProcessor(model_proto=data)
    for text in (b"\xff\xfe bad \xe2\x82", b"y\xc3", b"\xed\xa0\x80"):
        expected = getattr(theirs, method)(text, return_type="serialized_proto")
        assert getattr(ours, method)(text, return_type="serialized_proto") == expected
        assert getattr(ours, method)(text, return_type="proto").SerializeToString() == expected


@pytest.mark.parametrize("method", ["bos_id", "eos_id", "pad_id", "unk_id", "serialized_model_proto", "get_piece_size"])
def test_questions_without_a_model(method: str) -> None:
    ours, theirs = SentencePieceProcessor(), sentencepiece.SentencePieceProcessor()
    assert outcome(getattr(ours, method)) == outcome(getattr(theirs, method))


METHODS_WITHOUT_A_MODEL = [
    ("encode", 3),
    ("id_to_piece", 3),
    ("is_byte", "a"),
    ("decode", [3]),
    ("normalize", "a"),
    ("normalize", [b"a", "b"]),
    ("piece_to_id", "a"),
    ("piece_to_id", ["a", b"b"]),
]


@pytest.mark.parametrize(("method", "argument"), METHODS_WITHOUT_A_MODEL)
def test_errors_without_a_model(method: str, argument: Any) -> None:
    ours, theirs = SentencePieceProcessor(), sentencepiece.SentencePieceProcessor()
    assert outcome(lambda: getattr(ours, method)(argument)) == outcome(lambda: getattr(theirs, method)(argument))

"""The `.model` format: SentencePiece's protobuf messages, declared here from their field numbers and types.

The core reads and writes the pieces (`Vocabulary`). Everything else in a model is a message of this file: *the specs*.
The bytes of a model are the bytes of its pieces followed by the bytes of its specs.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from piecework.common.terms import PieceType
from piecework.errors import ModelError

__all__ = [
    "NORMAL",
    "TYPE_NAMES",
    "TYPE_NUMBERS",
    "NotAModelError",
    "check_bpe",
    "model_type",
    "new_specs",
    "parse_specs",
]

TYPE_NUMBERS: dict[PieceType, int] = {
    "normal": 1,
    "unknown": 2,
    "control": 3,
    "user_defined": 4,
    "unused": 5,
    "byte": 6,
}
TYPE_NAMES = {number: name for name, number in TYPE_NUMBERS.items()}
NORMAL = TYPE_NUMBERS["normal"]
_BPE = 2

# name, number, type, default. A "+" before the type marks a repeated field. Serialisation is in the order of numbers,
# so the bytes equal those that SentencePiece writes.
_TRAINER = """
input 1 +string|model_prefix 2 string|model_type 3 enum UNIGRAM|vocab_size 4 int32 8000|accept_language 5 +string
self_test_sample_size 6 int32 0|input_format 7 string|character_coverage 10 float 0.9995
input_sentence_size 11 uint64 0|mining_sentence_size 12 int32|training_sentence_size 13 int32
seed_sentencepiece_size 14 int32 1000000|shrinking_factor 15 float 0.75|num_threads 16 int32 16
num_sub_iterations 17 int32 2|max_sentence_length 18 int32 4192|shuffle_input_sentence 19 bool true
max_sentencepiece_length 20 int32 16|split_by_unicode_script 21 bool true|split_by_whitespace 22 bool true
split_by_number 23 bool true|treat_whitespace_as_suffix 24 bool false|split_digits 25 bool false
allow_whitespace_only_pieces 26 bool false|control_symbols 30 +string|user_defined_symbols 31 +string
vocabulary_output_piece_score 32 bool true|hard_vocab_limit 33 bool true|use_all_vocab 34 bool false
byte_fallback 35 bool false|required_chars 36 string|unk_id 40 int32 0|bos_id 41 int32 1|eos_id 42 int32 2
pad_id 43 int32 -1|unk_surface 44 string|unk_piece 45 string <unk>|bos_piece 46 string <s>|eos_piece 47 string </s>
pad_piece 48 string <pad>|train_extremely_large_corpus 49 bool false|enable_differential_privacy 50 bool false
differential_privacy_noise_level 51 float 0|differential_privacy_clipping_threshold 52 uint64 0
pretokenization_delimiter 53 string|seed_sentencepieces_file 54 string|auto_character_coverage 55 bool false
"""
_NORMALIZER = """
name 1 string|precompiled_charsmap 2 bytes|add_dummy_prefix 3 bool true|remove_extra_whitespaces 4 bool true
escape_whitespaces 5 bool true|normalization_rule_tsv 6 string
"""
_UNK_SURFACE = " ⁇ "


def _declare() -> type[Any]:
    proto = descriptor_pb2.FileDescriptorProto(name="piecework/model.proto", package="piecework", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto

    def message(parent: Any, name: str, table: str) -> Any:
        new = parent.add(name=name)
        for row in table.replace("\n", "|").split("|"):
            if not row:
                continue
            field_name, number, kind, *default = row.split(" ")
            field = new.field.add(name=field_name, number=int(number), label=kinds.LABEL_OPTIONAL)
            if kind.startswith("+"):
                field.label = kinds.LABEL_REPEATED
                kind = kind[1:]
            if "." in kind:
                field.type = kinds.TYPE_MESSAGE
                field.type_name = kind
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
            if kind == "enum":
                field.type_name = f".piecework.{name}.Kind"
            if default:
                field.default_value = default[0]
        return new

    trainer = message(proto.message_type, "TrainerSpec", _TRAINER)
    next(f for f in trainer.field if f.name == "unk_surface").default_value = _UNK_SURFACE
    kind = trainer.enum_type.add(name="Kind")
    for number, name in enumerate(("UNIGRAM", "BPE", "WORD", "CHAR"), start=1):
        kind.value.add(name=name, number=number)
    message(proto.message_type, "NormalizerSpec", _NORMALIZER)
    self_test = message(proto.message_type, "SelfTestData", "samples 1 +.piecework.SelfTestData.Sample")
    message(self_test.nested_type, "Sample", "input 1 string|expected 2 string")
    # Pieces stay bytes here. The core parses them, which takes a tenth of the time.
    message(
        proto.message_type,
        "ModelProto",
        "pieces 1 +bytes|trainer_spec 2 .piecework.TrainerSpec|normalizer_spec 3 .piecework.NormalizerSpec"
        "|self_test_data 4 .piecework.SelfTestData|denormalizer_spec 5 .piecework.NormalizerSpec",
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    cls: type[Any] = message_factory.GetMessageClass(pool.FindMessageTypeByName("piecework.ModelProto"))
    return cls


_ModelProto = _declare()


class NotAModelError(ModelError):
    """The bytes are not a protobuf message."""


def new_specs() -> Any:
    """The specs of an empty BPE model."""
    specs = _ModelProto()
    specs.trainer_spec.model_type = _BPE
    return specs


def parse_specs(data: bytes, *, source: str) -> Any:
    """The specs in the bytes of a model; `source` names the model in errors."""
    specs = _ModelProto()
    try:
        specs.ParseFromString(data)
    except DecodeError as error:
        raise NotAModelError(f"{source}: not a SentencePiece model, or one that was cut short") from error
    if not specs.pieces:
        raise ModelError(f"{source}: not a SentencePiece model: no vocabulary in its {len(data):,} bytes")
    specs.ClearField("pieces")
    return specs


def model_type(specs: Any) -> str:
    """The algorithm of a model: unigram, bpe, word or char."""
    field = specs.trainer_spec.DESCRIPTOR.fields_by_name["model_type"]
    name: str = field.enum_type.values_by_number[specs.trainer_spec.model_type].name
    return name.lower()


def check_bpe(specs: Any, *, source: str) -> None:
    """Raise a ModelError if these are not the specs of a BPE model."""
    for part in ("trainer_spec", "normalizer_spec"):
        if not specs.HasField(part):
            raise ModelError(f"{source}: the model has no {part}; it was cut short, or is of another kind")
    if (kind := model_type(specs)) != "bpe":
        raise ModelError(f"{source}: a {kind} model; only BPE models can be loaded (model_type=bpe)")

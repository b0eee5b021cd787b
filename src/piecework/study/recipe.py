"""How a tokenizer is trained: SentencePiece's settings under their own names, and the paper's presets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from piecework.common.mistakes import did_you_mean
from piecework.common.terms import CleanUp, PieceType, RunOrder, Split
from piecework.errors import RecipeError
from piecework.study.byte_level_recipe import ByteLevelRecipe
from piecework.study.count_settings import CountSettings
from piecework.study.normalization import USER_DEFINED, Normalization, RuleName, normalization_rules

__all__ = ["CODE_TOKENS", "AnyRecipe", "Recipe"]

_BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))

CODE_TOKENS = ("<|javascript|>", "<|python|>", "<|sql|>", "<|shell|>")

_INT32 = (1 << 31) - 1

# Not settings of SentencePiece, so they are not written into the model.
_OURS = {"whitespace_runs", "minimum_frequency", "clean_up", "parity", "sentencepiece_version"}
# SentencePiece 0.2.3 accepts these, but does not write them into the model. 0.2.2 wrote them.
_NOT_WRITTEN = frozenset({"self_test_sample_size", "train_extremely_large_corpus"})
# Settings of SentencePiece that a recipe refuses, with the reason.
_REFUSED = {
    "accept_language": "SentencePiece ignores it; leave it out",
    "denormalization_rule_tsv": "Piecework has no denormalisation; decoding gives the text of the pieces",
    "enable_differential_privacy": "SentencePiece has it for unigram models only",
    "input": "a recipe names no files; give them to pw.count_words, piecework train or piecework spm-train",
    "input_format": "a recipe reads no files; piecework spm-train reads word counts with --input_format=tsv",
    "input_sentence_size": "a recipe reads no files; sample with [sampling] of a study, or use piecework spm-train",
    "model_prefix": "a recipe names no files; use Tokenizer.save, --out, or piecework spm-train",
    "num_sub_iterations": "it is for unigram models",
    "seed_sentencepiece_size": "it is for unigram models",
    "seed_sentencepieces_file": "it is for unigram models",
    "shrinking_factor": "it is for unigram models",
    "shuffle_input_sentence": "a recipe reads no files; word counts do not depend on the order of the text",
    "use_all_vocab": "it is for word and character models",
}


class Recipe(BaseModel):
    """SentencePiece's settings for BPE, without normalisation and with all whitespace kept.

    What is not given has SentencePiece's default. Only what is given is written into the model, as SentencePiece does,
    so that the bytes are the same.

    >>> Recipe(vocab_size=64_000, split_digits=True).sentencepiece_arguments()["split_digits"]
    True
    >>> Recipe(vocab_sise=64_000)
    Traceback (most recent call last):
    piecework.errors.RecipeError: unknown setting "vocab_sise"; did you mean "vocab_size"?
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    vocab_size: int = Field(8000, ge=1, le=_INT32)
    character_coverage: float = Field(0.9995, ge=0.98, le=1.0)
    max_sentencepiece_length: int = Field(16, ge=1, le=512)
    split_by_unicode_script: bool = True
    split_by_number: bool = True
    split_digits: bool = False
    add_dummy_prefix: bool = True
    byte_fallback: bool = False
    control_symbols: tuple[str, ...] = Field((), strict=False)
    user_defined_symbols: tuple[str, ...] = Field((), strict=False)
    required_chars: str = ""
    hard_vocab_limit: bool = True
    unk_id: int = Field(0, ge=0, le=_INT32)
    bos_id: int = Field(1, ge=-_INT32, le=_INT32)
    eos_id: int = Field(2, ge=-_INT32, le=_INT32)
    pad_id: int = Field(-1, ge=-_INT32, le=_INT32)
    unk_piece: str = Field("<unk>", min_length=1)
    bos_piece: str = Field("<s>", min_length=1)
    eos_piece: str = Field("</s>", min_length=1)
    pad_piece: str = Field("<pad>", min_length=1)
    unk_surface: str = " ⁇ "
    max_sentence_length: int = Field(4192, ge=10, le=1 << 30)
    """If given, lines of more bytes are left out when text is counted. By default no line is left out."""
    split_by_whitespace: bool = True
    """If false, pieces may have spaces inside. Counts are then of whole lines, which takes more memory."""
    allow_whitespace_only_pieces: bool = False
    """Learn pieces of several ▁, as the tokenizers of Mistral, Llama and Gemma do."""
    treat_whitespace_as_suffix: bool = False
    """▁ comes at the end of a word instead of its start."""
    pretokenization_delimiter: str = ""
    """Becomes a boundary: nothing merges across it."""
    auto_character_coverage: bool = False
    """Training decides which characters are pieces; `character_coverage` has no effect. Needs `byte_fallback`."""
    model_type: Literal["bpe"] = "bpe"
    num_threads: int = Field(16, ge=1, le=1024)
    """Written into the model, without any other effect."""
    vocabulary_output_piece_score: bool = True
    """Written into the model, without any other effect: the `.vocab` file always has scores."""
    self_test_sample_size: int = Field(0, ge=0, le=1000)
    """Without effect, as in SentencePiece 0.2.3."""
    train_extremely_large_corpus: bool = False
    """Without effect: counts are always of 64 bits."""
    normalization_rule_name: RuleName = "identity"
    """Rules that replace characters before words are counted; `nfc` is ours, the others are SentencePiece's."""
    normalization_rule_tsv: str = ""
    """A file of rules instead: code points in hexadecimal, a tab, those that replace them."""
    remove_extra_whitespaces: bool = False
    escape_whitespaces: bool = True

    whitespace_runs: RunOrder | None = None
    """Pieces of 2 to 24 ▁ in place of the last merges: in the order of the `paper`, or `portable`, or none."""
    minimum_frequency: int = Field(0, ge=0, le=(1 << 63) - 1)
    """Merges must occur at least this often. SentencePiece has no such limit, and takes merges of frequency 0."""
    parity: bool = False
    """Parity-aware BPE: each merge is the best one for the language whose development text has most tokens."""
    clean_up: CleanUp | None = None
    """Documents are cleaned before they are counted, as `GPTSw3Tokenizer` cleans a text before it encodes it."""
    sentencepiece_version: Literal["0.2.3", "0.2.2"] = "0.2.3"
    """The release whose bytes to give. They differ on tabs: 0.2.3 learns them, in 0.2.2 nothing merges across them."""

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise RecipeError(_explain(error)) from None

    @classmethod
    def gpt_sw3(cls, **settings: Any) -> Self:
        """The paper's recipe, features F1 to F7; any setting can be given another value.

        >>> Recipe.gpt_sw3().vocab_size, Recipe.gpt_sw3(whitespace_runs=None).whitespace_runs
        (64000, None)
        """
        paper = {
            "vocab_size": 64_000,
            "pad_id": 0,
            "unk_id": 1,
            "bos_id": 2,
            "eos_id": 3,
            "eos_piece": "<|endoftext|>",
            "split_digits": True,
            "add_dummy_prefix": True,
            "byte_fallback": True,
            "character_coverage": 0.9999,
            "user_defined_symbols": CODE_TOKENS,
            "whitespace_runs": "paper",
        }
        return cls(**{**paper, **settings})

    @staticmethod
    def byte_level(preset: str | None = None, **settings: Any) -> ByteLevelRecipe:
        """A recipe for byte-level BPE: that of a well-known tokenizer (gpt2, gpt4, gpt4o, llama3, qwen2) or your own.

        >>> Recipe.byte_level("gpt4o").vocab_size
        200019
        >>> Recipe.byte_level(pre_tokenizer="llama3", vocab_size=64_000).special_tokens
        ()
        """
        return ByteLevelRecipe(**settings) if preset is None else ByteLevelRecipe.preset(preset, **settings)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems: list[tuple[str | None, str]] = [
            *self._special_piece_problems(),
            *self._character_problems(),
            *self._whitespace_problems(),
        ]
        problems += [(None, text) for text in self._symbol_problems()]
        if problems:
            text = "\n".join(text for _, text in problems)
            raise PydanticCustomError("inconsistent", "{text}", {"text": text, "setting": problems[0][0]})
        return self

    def _whitespace_problems(self) -> Iterator[tuple[str, str]]:
        if self.parity and self.auto_character_coverage:
            yield "parity", "parity and auto_character_coverage cannot be combined; remove one of the two"
        if not self.escape_whitespaces:
            yield "escape_whitespaces", "escape_whitespaces = false: SentencePiece does not train BPE with it either"

    def _special_piece_problems(self) -> Iterator[tuple[str, str]]:
        """Problems, each with its setting."""
        meta: dict[int, str] = {}
        for name in ("unk", "bos", "eos", "pad"):
            number, piece = getattr(self, f"{name}_id"), getattr(self, f"{name}_piece")
            if number < 0:
                continue
            if number in meta:
                yield f"{name}_id", f"{name}_id = {number} is the id of {meta[number]!r} already"
            if piece in meta.values():
                yield f"{name}_piece", f"{name}_piece = {piece!r} is another special piece already"
            if number >= self.vocab_size:
                yield f"{name}_id", f"{name}_id = {number} lies outside a vocabulary of {self.vocab_size}"
            if "\0" in piece:
                yield f"{name}_piece", f"{name}_piece = {piece!r} contains NUL, which a model cannot hold"
            meta.setdefault(number, piece)
        if self.byte_fallback and self.unk_piece in _BYTE_PIECES:
            yield "unk_piece", f"unk_piece = {self.unk_piece!r} is a byte piece already (byte_fallback = true)"

    def _character_problems(self) -> Iterator[tuple[str, str]]:
        if " " in self.required_chars:
            yield "required_chars", "required_chars has a space, which SentencePiece refuses too; write ▁ for it"
        if "▅" in self.required_chars:
            yield "required_chars", "required_chars has ▅, SentencePiece's own mark for unknown characters"
        pieces = {piece for piece, _ in self.meta_pieces().values()}
        if doubled := [character for character in self.required_chars if character in pieces]:
            yield "required_chars", f"required_chars has {doubled[0]!r}, which is a special piece or a symbol already"
        if self.auto_character_coverage:
            name = "auto_character_coverage"
            if not self.byte_fallback:
                yield name, f"{name} = true needs byte_fallback = true: characters that are no pieces become bytes"
            if self.required_chars:
                yield name, f"{name} = true cannot have required_chars: training decides which characters are pieces"
        if self.self_test_sample_size and self.sentencepiece_version == "0.2.2":
            yield (
                "self_test_sample_size",
                "self_test_sample_size > 0 writes sentences into the model in 0.2.2; leave it out",
            )
        for name in ("auto_character_coverage", "pretokenization_delimiter"):
            if getattr(self, name) and self.sentencepiece_version == "0.2.2":
                yield name, f'{name} needs sentencepiece_version = "0.2.3": in 0.2.2 it is missing, or another rule'

    def split(self) -> Split:
        """What a row of the counts has to be, so that no piece or symbol reaches across two rows.

        >>> Recipe().split(), Recipe(allow_whitespace_only_pieces=True).split()
        ('words', 'space_runs')
        >>> Recipe(split_by_whitespace=False).split()
        'lines'
        """
        suffix = self.treat_whitespace_as_suffix
        # Counts record which word opens a line, and the spaces before a word, but not which word ends a line.
        if not self.split_by_whitespace or (
            suffix and (self.allow_whitespace_only_pieces or not self.add_dummy_prefix)
        ):
            return "lines"
        matched = (*(piece for piece, _ in self.meta_pieces().values()), self.pretokenization_delimiter)
        if any("▁" in (text[:-1] if suffix else text[1:]) for text in matched):
            return "lines"
        return "space_runs" if self.allow_whitespace_only_pieces else "words"

    def not_written(self) -> frozenset[str]:
        """The settings that are not in the model even if they are given."""
        return _NOT_WRITTEN if self.sentencepiece_version == "0.2.3" else frozenset()

    @property
    def boundary(self) -> str:
        """The character that stands for a meta piece in training. Nothing merges across it."""
        return "\t" if self.sentencepiece_version == "0.2.2" else "\x1f"

    def _symbol_problems(self) -> Iterator[str]:
        symbols = (*self.control_symbols, *self.user_defined_symbols)
        for symbol, times in Counter(symbols).items():
            if not symbol:
                yield "a symbol is empty"
            if times > 1:
                yield f"symbol {symbol!r} is given twice"
            if symbol == self.unk_piece:
                yield f"symbol {symbol!r} is the unknown piece"
            if "\0" in symbol:
                yield f"symbol {symbol!r} contains NUL, which a model cannot hold"
            if self.byte_fallback and symbol in _BYTE_PIECES:
                yield f"symbol {symbol!r} is a byte piece already (byte_fallback = true)"

    def meta_pieces(self) -> dict[int, tuple[str, PieceType]]:
        """Special pieces, symbols and bytes by id, with their types, placed as SentencePiece places them.

        >>> Recipe(user_defined_symbols=["<x>"]).meta_pieces()
        {0: ('<unk>', 'unknown'), 1: ('<s>', 'control'), 2: ('</s>', 'control'), 3: ('<x>', 'user_defined')}
        """
        meta: dict[int, tuple[str, PieceType]] = {self.unk_id: (self.unk_piece, "unknown")}
        for name in ("bos", "eos", "pad"):
            if (number := getattr(self, f"{name}_id")) >= 0:
                meta[number] = (getattr(self, f"{name}_piece"), "control")
        ids = {piece: number for number, (piece, _) in meta.items()}
        symbols: list[tuple[str, PieceType]] = [(symbol, "control") for symbol in self.control_symbols]
        symbols += [(symbol, "user_defined") for symbol in self.user_defined_symbols]
        if self.byte_fallback:
            symbols += [(piece, "byte") for piece in _BYTE_PIECES]
        free = 0
        for symbol, kind in symbols:
            if symbol in ids:
                meta[ids[symbol]] = (symbol, kind)  # a special piece that is given again takes the symbol's type
                continue
            while free in meta:
                free += 1
            meta[free] = (symbol, kind)
        return dict(sorted(meta.items()))

    def normalization(self) -> Normalization:
        """The normalisation of text before it is counted; the rules come from the installed `sentencepiece`."""
        return Normalization(
            USER_DEFINED if self.normalization_rule_tsv else self.normalization_rule_name,
            normalization_rules(
                self.normalization_rule_name,
                tsv=self.normalization_rule_tsv,
                release=self.sentencepiece_version,
            ),
            self.remove_extra_whitespaces,
        )

    def count_settings(self) -> CountSettings:
        """How documents are counted for this recipe. No line is too long unless `max_sentence_length` is given."""
        given = "max_sentence_length" in self.model_fields_set
        return CountSettings(
            normalization=self.normalization(),
            max_sentence_length=self.max_sentence_length if given else None,
            split=self.split(),
            clean_up=self.clean_up,
        )

    def sentencepiece_arguments(self) -> dict[str, Any]:
        """The keyword arguments with which `SentencePieceTrainer.train` gives the same model.

        Without `whitespace_runs`, `minimum_frequency`, `clean_up`, `parity` and `sentencepiece_version`, which it does
        not have.
        """
        given = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set - _OURS}
        return {
            "model_type": "bpe",
            "vocab_size": self.vocab_size,
            "normalization_rule_name": self.normalization_rule_name,
            "remove_extra_whitespaces": self.remove_extra_whitespaces,
            **{name: list(value) if isinstance(value, tuple) else value for name, value in given.items()},
        }


AnyRecipe = Recipe | ByteLevelRecipe
"""What trains a tokenizer: SentencePiece's BPE or byte-level BPE."""


def _explain(error: ValidationError) -> str:
    """All mistakes of the settings, one a line."""
    return "\n".join(_explain_one(detail) for detail in error.errors())


def _explain_one(detail: Mapping[str, Any]) -> str:
    name = ".".join(map(str, detail["loc"]))
    if name in _REFUSED:
        return f'"{name}" is no setting of a recipe: {_REFUSED[name]}'
    if detail["type"] == "extra_forbidden":
        return f'unknown setting "{name}"{did_you_mean(name, Recipe.model_fields)}'
    message = detail["msg"].removeprefix("Value error, ")
    if not name:
        return str(message)
    return f"{name} = {detail['input']!r}: {message[0].lower()}{message[1:]}"

"""How a byte-level tokenizer is trained: the settings of Hugging Face's BpeTrainer under their own names."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, ValidationError, field_serializer, field_validator

from piecework.common.mistakes import did_you_mean
from piecework.common.pre_tokenizer import PreTokenizer
from piecework.errors import RecipeError
from piecework.study.count_settings import CountSettings

__all__ = ["PRESETS", "REFUSED", "ByteLevelRecipe"]

_BYTES = 256
_UINT32 = (1 << 32) - 1

PRESETS: dict[str, dict[str, Any]] = {
    "gpt2": {"pre_tokenizer": "gpt2", "vocab_size": 50_257, "special_tokens": ("<|endoftext|>",)},
    "gpt4": {
        "pre_tokenizer": "cl100k",
        "vocab_size": 100_277,
        "special_tokens": (
            "<|endoftext|>",
            "<|fim_prefix|>",
            "<|fim_middle|>",
            "<|fim_suffix|>",
            "<|endofprompt|>",
        ),
    },
    "gpt4o": {
        "pre_tokenizer": "o200k",
        "vocab_size": 200_019,
        "special_tokens": ("<|endoftext|>", "<|endofprompt|>"),
    },
    "llama3": {
        "pre_tokenizer": "llama3",
        "vocab_size": 128_256,
        "special_tokens": ("<|begin_of_text|>", "<|end_of_text|>"),
    },
    "qwen2": {
        "pre_tokenizer": "qwen2",
        "vocab_size": 151_646,
        "special_tokens": ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    },
}
"""The settings of well-known tokenizers: how they cut text, their size and their special tokens."""

# Settings of Hugging Face's trainer that are not here, with the reason.
REFUSED = {
    "continuing_subword_prefix": "byte-level pieces have none",
    "end_of_word_suffix": "byte-level pieces have none",
    "limit_alphabet": "the alphabet is always the 256 bytes",
    "initial_alphabet": "the alphabet is always the 256 bytes",
    "show_progress": "give train(progress=...) a function instead",
}


class ByteLevelRecipe(BaseModel):
    """The settings of byte-level BPE. `Recipe.byte_level` makes one.

    >>> ByteLevelRecipe(pre_tokenizer="cl100k", vocab_size=1000).pre_tokenizer.digits is None
    True
    >>> ByteLevelRecipe(limit_alphabet=100)
    Traceback (most recent call last):
    piecework.errors.RecipeError: limit_alphabet is not supported: the alphabet is always the 256 bytes
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    pre_tokenizer: InstanceOf[PreTokenizer] = PreTokenizer("cl100k")
    """What cuts the text: a name, or a `PreTokenizer`."""
    vocab_size: int = Field(32_000, ge=1, le=_UINT32)
    """The number of special tokens, bytes and merges together."""
    special_tokens: tuple[str, ...] = Field((), strict=False)
    """Special tokens take the first ids."""
    min_frequency: int = Field(0, ge=0)
    """Pairs that occur less often are not merged."""
    max_token_length: int | None = Field(None, ge=1, le=_UINT32)
    """As in Hugging Face's trainer: a merge of three bytes and more makes a token of fewer bytes than this."""
    parity: bool = False
    """Parity-aware BPE, as Hugging Face's ParityBpeTrainer: each merge is chosen for the language that is worst off."""
    hard_vocab_limit: bool = True
    """Whether a text that allows fewer pieces is refused. Hugging Face's trainer gives fewer pieces."""

    def __init__(self, **settings: Any) -> None:
        for name, reason in REFUSED.items():
            if name in settings:
                raise RecipeError(f"{name} is not supported: {reason}")
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise RecipeError("\n".join(map(_explain, error.errors()))) from None

    @classmethod
    def preset(cls, name: str, **settings: Any) -> Self:
        """The recipe of a well-known tokenizer; any setting can be given another value.

        >>> ByteLevelRecipe.preset("gpt4o", vocab_size=50_000).special_tokens
        ('<|endoftext|>', '<|endofprompt|>')
        """
        if name not in PRESETS:
            hint = did_you_mean(name, PRESETS) or f"; there are {', '.join(PRESETS)}"
            raise RecipeError(f'unknown preset "{name}"{hint}')
        return cls(**{**PRESETS[name], **settings})

    @field_validator("pre_tokenizer", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        return PreTokenizer(value) if isinstance(value, str) else value

    @field_serializer("pre_tokenizer")
    def _described(self, pre_tokenizer: PreTokenizer) -> str | dict[str, str]:
        given = pre_tokenizer.settings()
        return pre_tokenizer.name if len(given) == 1 else given

    @field_validator("special_tokens")
    @classmethod
    def _distinct(cls, tokens: tuple[str, ...]) -> tuple[str, ...]:
        for token, times in Counter(tokens).items():
            if not token:
                raise ValueError("a special token is empty")
            if times > 1:
                raise ValueError(f"{token!r} is given twice")
        return tokens

    def count_settings(self) -> CountSettings:
        """How documents are counted for this recipe: as pre-tokens."""
        return CountSettings(pre_tokenizer=self.pre_tokenizer)

    @property
    def cut_settings(self) -> dict[str, str]:
        """What cuts the text, in the keys of a study.

        >>> ByteLevelRecipe(pre_tokenizer=PreTokenizer("llama3", digits="ones")).cut_settings
        {'pre_tokenizer': 'llama3', 'digits': 'ones'}
        """
        return {{"name": "pre_tokenizer"}.get(key, key): value for key, value in self.pre_tokenizer.settings().items()}

    @property
    def smallest_size(self) -> int:
        """The size of a vocabulary without any merge."""
        return len(self.special_tokens) + _BYTES


def _explain(detail: Any) -> str:
    name = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        return f'unknown setting "{name}"{did_you_mean(name, ByteLevelRecipe.model_fields)}'
    message = detail["msg"].removeprefix("Value error, ")
    return f"{name} = {detail['input']!r}: {message[0].lower()}{message[1:]}"

"""Models that SentencePiece trained, with settings that change what its processor does."""

from functools import cache

from sentencepiece_oracle import sp_train_with

TEXT = ["den som väntar på något gott väntar aldrig för länge", "def f(x):    return x  # 你好 123", "<x>ab<y> ab  ab"]
PLAIN = {
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "hard_vocab_limit": False,
    "model_type": "bpe",
}

SETTINGS: dict[str, dict[str, object]] = {
    "plain": {"vocab_size": 80, **PLAIN},
    "bytes": {"vocab_size": 340, "byte_fallback": True, "user_defined_symbols": ["<x>", "<y>"], **PLAIN},
    "no specials": {"vocab_size": 80, "bos_id": -1, "eos_id": -1, "unk_surface": "?", **PLAIN},
    "padded": {"vocab_size": 90, "pad_id": 3, "control_symbols": ["<c>"], "add_dummy_prefix": False, **PLAIN},
    "defaults": {"vocab_size": 80, "hard_vocab_limit": False, "model_type": "bpe"},
    "suffix": {"vocab_size": 80, "treat_whitespace_as_suffix": True, **PLAIN},
}


@cache
def model(name: str) -> bytes:
    """The bytes of a model."""
    return sp_train_with(TEXT, **SETTINGS[name])

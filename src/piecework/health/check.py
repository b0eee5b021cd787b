"""Checks the health of a vocabulary: every check in order, with or without text."""

from __future__ import annotations

from collections.abc import Collection

from piecework.common.mistakes import did_you_mean
from piecework.errors import InputError
from piecework.evaluation.units import UnitSource
from piecework.health.behaviour_checks import BEHAVIOUR_CHECKS, sample_texts
from piecework.health.finding import Finding, Health
from piecework.health.text_checks import text_findings
from piecework.health.use import PieceUse, piece_use
from piecework.health.vocabulary_checks import VOCABULARY_CHECKS, Native

__all__ = ["CHECKS", "TEXT_CHECKS", "check", "check_vocabulary"]

TEXT_CHECKS = ("characters", "line-breaks", "never-used", "steps", "one-source")
CHECKS = (
    *("bytes", "ascii", "alphabets", "unreachable", "near-duplicates", "ties", "forgeable", "size"),
    *("round-trip", "determinism"),
    *TEXT_CHECKS,
)
"""The names of all checks, in order."""


def check(
    tokenizer: Native,
    counts: UnitSource | None = None,
    *,
    ignore: Collection[str] = (),
    use: PieceUse | None = None,
    threads: int = 1,
) -> Health:
    """The findings about a vocabulary. With counts, also those about its use in their evaluation text.

    `use` is what `piece_use` returned for these counts, if it was called before.

    >>> import piecework as pw
    >>> recipe = pw.Recipe(vocab_size=64, hard_vocab_limit=False)
    >>> health = check(pw.train(pw.count_words(["en ros är en ros"]), recipe), ignore=["size"])
    >>> [finding.check for finding in health.of_status("warn")]
    ['bytes', 'ascii', 'round-trip']
    """
    for name in ignore:
        if name not in CHECKS:
            raise InputError(f'no check "{name}"{did_you_mean(name, CHECKS)}; the checks are {", ".join(CHECKS)}')
    findings: list[Finding] = [make(tokenizer) for make in VOCABULARY_CHECKS]
    texts = sample_texts(tokenizer)
    findings += [make(tokenizer, texts) for make in BEHAVIOUR_CHECKS]
    if counts is not None:
        use = use or piece_use(tokenizer, counts, threads=threads)
        findings += text_findings(tokenizer, counts, use, threads=threads)
    return Health(tuple(each for each in findings if each.check not in ignore), has_text=counts is not None)


def check_vocabulary(tokenizer: Native) -> Health:
    """The findings about the vocabulary alone: the quick ones."""
    return Health(tuple(make(tokenizer) for make in VOCABULARY_CHECKS), has_text=False)

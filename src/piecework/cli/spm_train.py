"""`piecework spm-train`: the flags and the files of SentencePiece's command `spm_train`, for BPE."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds, verbosity_options
from piecework.errors import InputError, RecipeError

__all__ = ["command", "parse_flags"]

# The flags that spm_train writes into a model, given or not.
WRITTEN = [
    "input_format",
    "model_prefix",
    "vocab_size",
    "character_coverage",
    "input_sentence_size",
    "shuffle_input_sentence",
    "seed_sentencepiece_size",
    "seed_sentencepieces_file",
    "shrinking_factor",
    "num_threads",
    "num_sub_iterations",
    "max_sentencepiece_length",
    "max_sentence_length",
    "split_by_unicode_script",
    "split_by_whitespace",
    "split_by_number",
    "split_digits",
    "pretokenization_delimiter",
    "byte_fallback",
    "auto_character_coverage",
    "treat_whitespace_as_suffix",
    "allow_whitespace_only_pieces",
    "hard_vocab_limit",
    "use_all_vocab",
    "unk_id",
    "bos_id",
    "eos_id",
    "pad_id",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "pad_piece",
    "unk_surface",
    "required_chars",
    "vocabulary_output_piece_score",
    "normalization_rule_tsv",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
]
# Flags of the command that are not settings of the trainer.
FROM_FILES = {"control_symbols_file", "required_chars_file", "user_defined_symbols_file"}
WITHOUT_EFFECT = {"minloglevel", "random_seed"}


@click.command(
    "spm-train",
    short_help="Train with the flags and files of SentencePiece's spm_train.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    options_metavar="--input=FILE,... --model_prefix=PREFIX --model_type=bpe [FLAG]...",
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, flags: tuple[str, ...]) -> None:
    """Train a BPE model with the flags of SentencePiece's spm_train; write the same PREFIX.model and PREFIX.vocab.

    Takes every flag of spm_train. Existing files are overwritten, as spm_train does. A setting that Piecework cannot
    honour is refused with the reason; --model_type must be bpe. Files are read as spm_train reads them: one sentence
    per line; lines longer than --max_sentence_length (4192 bytes) are left out.

    \b
    Examples:
      piecework spm-train --input=corpus.txt --model_prefix=nordic --model_type=bpe --vocab_size=32000
      piecework spm-train --input=a.txt,b.txt --model_prefix=m --model_type=bpe --byte_fallback --split_digits \\
          --normalization_rule_name=identity --remove_extra_whitespaces=false
    """
    from piecework.cli.progress import show_progress
    from piecework.common.recorded_files import update_recorded
    from piecework.sentencepiece.trainer import train_model

    given = parse_flags(flags)
    for name in ("input", "model_prefix"):
        if not given.get(name):
            raise click.UsageError(f"missing flag --{name}")
    prefix = str(given["model_prefix"])
    if not Path(prefix).absolute().parent.is_dir():
        raise InputError(f"{Path(prefix).parent}: no such folder; make it first")
    started = time.monotonic()
    try:
        with show_progress(terminal, "merging", "pieces") as update:
            trained = train_model(_as_spm_train_writes(given), progress=update)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except RuntimeError as error:
        raise RecipeError(str(error)) from error
    update_recorded({Path(f"{prefix}.model"): trained.model, Path(f"{prefix}.vocab"): trained.vocab})
    if trained.long_lines:
        terminal.warn(
            f"{format_count(trained.long_lines, 'line')} longer than max_sentence_length left out, as spm_train does; "
            "raise --max_sentence_length to use them"
        )
    if trained.dropped_lines:
        terminal.warn(f"{format_count(trained.dropped_lines, 'line')} with U+2585, SentencePiece's mark, left out")
    terminal.say(
        f"wrote {prefix}.model ({format_bytes(len(trained.model))}) and {prefix}.vocab "
        f"in {format_seconds(time.monotonic() - started)}"
    )
    terminal.suggest("inspect", f"{prefix}.model")


def parse_flags(arguments: Sequence[str]) -> dict[str, str]:
    """Parse `--name=value`, `--name value`, `--name` and `--noname`; if a flag is repeated, the last one counts.

    >>> parse_flags(["--input=a.txt", "--vocab_size", "500", "--split_digits", "--nohard_vocab_limit"])
    {'input': 'a.txt', 'vocab_size': '500', 'split_digits': 'true', 'hard_vocab_limit': 'false'}
    """
    from piecework.common.mistakes import did_you_mean

    switches, names = _flag_names()
    found: dict[str, str] = {}
    remaining = list(arguments)
    while remaining:
        written = remaining.pop(0)
        name, equals, value = written.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if not written.startswith("-"):
            raise click.UsageError(f'"{written}" is not a flag; write flags as --name=value')
        if not equals and name.removeprefix("no") in switches and name not in names:
            name, value = name.removeprefix("no"), "false"
        elif name not in names:
            raise click.UsageError(f"spm_train has no flag --{name}{did_you_mean(name, sorted(names))}")
        elif not equals and name in switches:
            value = "true"
        elif not equals:
            if not remaining:
                raise click.UsageError(f"the flag --{name} needs a value: --{name}=VALUE")
            value = remaining.pop(0)
        found[name] = value
    return found


def _flag_names() -> tuple[set[str], set[str]]:
    """Return the flags that are true or false, and all flags."""
    from piecework.sentencepiece.arguments import argument_fields

    fields = argument_fields()
    switches = {name for name, field in fields.items() if field.type == field.TYPE_BOOL}
    return switches, {*fields, *FROM_FILES, *WITHOUT_EFFECT, "denormalization_rule_tsv"} - {"escape_whitespaces"}


def _as_spm_train_writes(given: dict[str, str]) -> dict[str, Any]:
    """Add the defaults that spm_train writes into a model, and the contents of files that flags name."""
    from piecework.sentencepiece.arguments import argument_fields

    if given.get("denormalization_rule_tsv"):
        raise RecipeError("--denormalization_rule_tsv is not supported: Piecework has no rules for decoding")
    fields = argument_fields()
    arguments: dict[str, Any] = {name: fields[name].default_value for name in WRITTEN if name in fields}
    arguments["normalization_rule_name"] = "nmt_nfkc"
    arguments |= {name: value for name, value in given.items() if name in fields}
    for name in FROM_FILES & given.keys():
        setting, lines = name.removesuffix("_file"), _lines(given[name])
        if setting == "required_chars":
            arguments[setting] = "".join(lines)
        else:
            arguments[setting] = [*_comma_separated(given.get(setting, "")), *lines]
    return arguments


def _lines(path: str) -> list[str]:
    try:
        lines = Path(path).read_bytes().decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}") from error
    return lines if lines[-1] else lines[:-1]


def _comma_separated(text: str) -> list[str]:
    import csv

    return next(csv.reader([text]), []) if text else []

"""`piecework init`: write a commented study file for a folder of text."""

import json
import os
import re
from collections import Counter
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from piecework.cli.options import LocalPath
from piecework.cli.terminal import Terminal, format_bytes, format_count, verbosity_options
from piecework.errors import InputError, StudyError

if TYPE_CHECKING:
    from piecework.study.survey import Group, Survey

__all__ = ["command"]

# For text from this number of bytes on: the shares to train and evaluate on, and the vocabulary sizes. Counting takes
# seconds per gigabyte, so a small corpus is used whole; the last sample is the paper's.
SAMPLES = ((0, "90%", "10%"), (1_000_000_000, "10%", "2%"), (20_000_000_000, "1%", "0.2%"))
VOCABULARIES = (
    (0, (1024, 2048, 4096, 8192)),
    (10_000_000, (8000, 16000, 24000, 32000)),
    (50_000_000, (10000, 20000, 30000, 40000, 51200, 64000)),
)
LISTED_NAMES = 8
SMALL_TEXT_BYTES = 10_000_000
FITTING_SHARE = 0.8
SMALLEST_VOCABULARY = 512
NO_SYMBOLS = "user_defined_symbols = []   # the corpus has no code, so there are no code tokens\n"


@click.command("init", short_help="Write a commented study file for a folder of text.")
@click.argument("folder", default=".", type=LocalPath())
@click.option(
    "-o",
    "--out",
    default="study.toml",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The study file to write.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing study file.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, folder: Path, out: Path, force: bool) -> None:
    """Write a commented study file for the text in FOLDER (or in the current folder).

    Languages and categories are guessed from names such as books_sv.jsonl.zst, sv/books.jsonl, sv/*.txt or news.sv;
    the text field is guessed from the first records; source code is found by its suffix. Check the file before you
    run it.

    \b
    Examples:
      piecework init data/
      piecework init data/ --out studies/nordic.toml
    """
    from piecework.common.files import check_output, prepare_output, write_together
    from piecework.study.survey import survey_folder

    check_output(out.parent, [out.name], force=force)
    survey = survey_folder(folder)
    if not survey.groups:
        raise InputError(f"{folder}: no text found (.txt, .md, .jsonl or .parquet); {_left_out(survey)}")
    text = _write_study(survey, folder, out)
    prepare_output(out.parent, [out.name], force=force)
    write_together({out: text.encode()})
    _tell(terminal, survey, folder)
    terminal.say(f"wrote {out}")
    _check(terminal, out)
    terminal.suggest("validate", out)


def _left_out(survey: "Survey") -> str:
    if not survey.left_out:
        return "the folder has no readable file"
    kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in survey.left_out.most_common(LISTED_NAMES))
    return f"left out: {kinds}"


def _tell(terminal: Terminal, survey: "Survey", folder: Path) -> None:
    files = sum(len(group.files) for group in survey.groups)
    size_bytes = sum(group.size_bytes for group in survey.groups)
    terminal.say(f"found {format_count(files, 'file')}, {format_bytes(size_bytes)}, in {folder}")
    for group in survey.groups:
        what = f'text in "{group.text}"' if group.text else f"one document per {group.documents}"
        terminal.say(f"  {' '.join(group.patterns)}  {format_count(len(group.files), 'file')}, {_names(group)}, {what}")
    if survey.left_out:
        terminal.say(f"  {_left_out(survey)}")
    for note in survey.notes:
        terminal.warn(note)


def _names(group: "Group") -> str:
    from piecework.common.mistakes import listed
    from piecework.study.schema import DEFAULT_CATEGORY

    languages = listed(group.languages, LISTED_NAMES)
    told = group.categories != [DEFAULT_CATEGORY]
    return f"{languages}: {listed(group.categories, LISTED_NAMES)}" if told else languages


def _check(terminal: Terminal, out: Path) -> None:
    """Warn about parts of the study file that need a correction by hand."""
    from piecework.corpus.languages import UNDETERMINED
    from piecework.study.study import Study

    try:
        study = Study.load(out)
    except StudyError as error:
        terminal.warn(f"the study file needs corrections:\n{error}")
        return
    if any(entry.language == UNDETERMINED for entry in study.corpus.subset):
        terminal.warn(f'some file names have no language; replace "{UNDETERMINED}" in {out} by the language')


def _write_study(survey: "Survey", folder: Path, out: Path) -> str:
    from piecework.study.weights import estimate_text_bytes

    text_bytes = sum(estimate_text_bytes(group.files, group.text or "") for group in survey.groups)
    train, evaluation = next((train, share) for least, train, share in reversed(SAMPLES) if text_bytes >= least)
    has_code = any(group.code_token for group in survey.groups)
    sizes: tuple[int, ...] = next(sizes for least, sizes in reversed(VOCABULARIES) if text_bytes >= least)
    if text_bytes < SMALL_TEXT_BYTES:
        sizes = _sizes_that_fit(survey, sizes, has_code=has_code)
    first = survey.groups[0].subsets[0]
    return _TEMPLATE.format(
        name=_quoted(_study_name(folder)),
        corpus=_corpus(survey.groups, _prefix(folder, out)),
        size=format_bytes(text_bytes),
        train=_quoted(train),
        evaluation=_quoted(evaluation),
        vocab_size=sizes[-1],
        vocab_sizes=", ".join(map(str, sizes)),
        symbols="" if has_code else NO_SYMBOLS,
        category=_key(first.category),
        language=_key(first.language),
        subset=_quoted(str(first)),
    )


def _sizes_that_fit(survey: "Survey", sizes: tuple[int, ...], *, has_code: bool) -> tuple[int, ...]:
    """Return vocabulary sizes that the text can fill and that have room for its characters. Training decides it."""
    from piecework.corpus.readers import open_batches
    from piecework.counting.words import WordCounter
    from piecework.errors import VocabularyTooLargeError
    from piecework.evaluation.curves import Sizes
    from piecework.study.recipe import CODE_TOKENS, Recipe
    from piecework.training.trainer import train

    counter = WordCounter()
    for group in survey.groups:
        for batch in open_batches(group.files, text_field=group.text or "text"):
            counter.add(batch.documents)
    recipe = Recipe.gpt_sw3(vocab_size=sizes[-1], user_defined_symbols=CODE_TOKENS if has_code else ())
    try:
        smallest = Sizes.of(train(counter.finish(), recipe)).smallest
        return tuple(size for size in sizes if size >= smallest)
    except VocabularyTooLargeError as error:
        # A part of the text is held out, so that training has fewer pieces.
        largest = int(error.largest * FITTING_SHARE) // 128 * 128
        if largest >= SMALLEST_VOCABULARY:
            return tuple(sorted({max(SMALLEST_VOCABULARY, largest * part // 4 // 128 * 128) for part in (2, 3, 4)}))
        survey.notes.append(f"the text has {error.largest:,} distinct pieces, which is too few for a tokenizer")
    except InputError:
        pass
    return sizes


_TEMPLATE = """\
# A study: what to read, how to sample it, what to train and what to compare.
# Only [corpus] is required. Relative paths start at the folder of this file.

name = {name}
seed = 1                    # another seed gives another sample

{corpus}
# Weights of the subsets: the default is 1, and 0 leaves a subset out. The three tables multiply.
# Instead of tables: csv = "weights.csv", with a row per category and a column per language; or temperature = 0.3, which
# samples each language in proportion to (its share of the text) ** 0.3.
[weights]
# language = {{ {language} = 3.0 }}
# category = {{ {category} = 0.5 }}
# subset = {{ {subset} = 0.7 }}     # <category>_<language>

# The shares of the documents to train on and to evaluate on. The corpus has about {size} of text.
[sampling]
train = {train}
eval = {evaluation}
weighting = "documents"     # weights change the number of documents; "counts": they multiply word counts (less noise)

# Settings of SentencePiece's BPE trainer, by their names there.
[recipe]
preset = "gpt-sw3"          # or "plain": SentencePiece's defaults
vocab_size = {vocab_size}          # best divisible by 128
{symbols}# clean_up = "gpt-sw3"      # clean each document as GPTSw3Tokenizer cleans a text before it encodes it

[analysis]
vocab_sizes = [{vocab_sizes}]
monolingual = true          # also train a tokenizer for each language, to compare with
# parallel = "par/{{language}}.txt"   # line n says the same in every language: compares what languages cost

# Other tokenizers to compare with: a .model, a tokenizer.json, a folder, or tiktoken:NAME.
# [analysis.tokenizers]
# old = "models/old.model"
"""


def _study_name(folder: Path) -> str:
    from piecework.study.schema import check_name

    try:
        return check_name(folder.resolve().name)
    except ValueError:
        return "study"


def _prefix(folder: Path, out: Path) -> str:
    """Return the path from the study file to the folder, which goes before each pattern."""
    relative = Path(os.path.relpath(folder, out.parent)).as_posix()
    if "{" in relative or "}" in relative:
        raise InputError(
            f"{folder}: a pattern cannot contain the braces of this folder's name; write the study file inside it"
        )
    return "" if relative == "." else f"{escape(relative)}/"


def _corpus(groups: "list[Group]", prefix: str) -> str:
    """Write [corpus] with the patterns that name a language and are read alike; the others are [[corpus.subset]]s."""
    with_language = [group for group in groups if group.language is None and group.language_field is None]
    text = _most_common([group.text for group in with_language] or [group.text for group in groups], "text")
    documents = _most_common([group.documents for group in with_language], "file")
    shared = [group for group in with_language if group.text in (None, text) and group.documents in (None, documents)]
    lines = ["[corpus]"]
    if shared:
        patterns = [pattern for group in shared for pattern in group.patterns]
        lines += [f"# {format_count(sum(len(group.files) for group in shared), 'file')}", _path(patterns, prefix)]
    lines.append(f"text = {_quoted(text)}               # JSONL field or Parquet column")
    if documents != "file" or any(group.documents for group in groups):
        lines.append(f"documents = {_quoted(documents)}          # in text files, a document is a line or a whole file")
    for group in groups:
        if group in shared:
            continue
        lines += ["", "[[corpus.subset]]", f"# {format_count(len(group.files), 'file')}", _path(group.patterns, prefix)]
        for key, value, default in (
            ("language", group.language, None),
            ("language_field", group.language_field, None),
            ("category", group.category, None),
            ("text", group.text, text),
            ("documents", group.documents, documents),
            ("code_token", group.code_token, None),
        ):
            if value is not None and value != default:
                lines.append(f"{key} = {_quoted(value)}")
        if group.language_field:
            lines.append(f"languages = [{', '.join(map(_quoted, group.languages))}]")
    return "\n".join(lines) + "\n"


def _most_common(values: "list[str | None]", default: str) -> str:
    counted = Counter(value for value in values if value is not None)
    return counted.most_common(1)[0][0] if counted else default


def _path(patterns: "list[str] | tuple[str, ...]", prefix: str) -> str:
    quoted = [_quoted(prefix + pattern) for pattern in patterns]
    if len(quoted) == 1:
        return f"path = {quoted[0]}"
    return "path = [\n" + "".join(f"    {pattern},\n" for pattern in quoted) + "]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    # A JSON string is also a TOML string.
    return json.dumps(text, ensure_ascii=False)

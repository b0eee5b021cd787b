"""`piecework tokenize`: turn documents into training shards."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from piecework.cli.cluster_options import cluster_options, resolve_cluster
from piecework.cli.options import (
    LocalPath,
    LocationType,
    ParamType,
    SizeType,
    documents_option,
    parse_count,
    text_field_option,
)
from piecework.cli.output import write_json
from piecework.cli.skipped import warn_about_skipped
from piecework.cli.terminal import Terminal, format_bytes, format_count, format_seconds, verbosity_options
from piecework.common.terms import MOST_THREADS

if TYPE_CHECKING:
    from piecework.common.storage import Location
    from piecework.dataset.formats import FormatName
    from piecework.dataset.plan import Source

__all__ = ["command"]


class _Sizes(ParamType[Any]):
    """Vocabulary sizes with commas between them, as 32000,64k."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        try:
            return [parse_count(part) for part in str(value).split(",")]
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("tokenize", short_help="Turn documents into training shards.")
@click.argument("inputs", metavar="STUDY.toml | INPUT...", nargs=-1, required=True, type=LocationType())
@click.option(
    "-m",
    "--model",
    type=LocalPath(),
    required=True,
    help="A .model, .tiktoken or tokenizer.json file, or the folder of a tokenizer.",
)
@click.option("-o", "--out", required=True, type=LocationType(as_text=True), help="An empty folder, local or s3://.")
@click.option(
    "--to",
    "format_name",
    type=click.Choice(["megatron", "datatrove", "numpy", "arrow", "parquet"]),
    default="megatron",
    show_default=True,
    help="Format of the shards.",
)
@click.option("--append-eos", is_flag=True, help="End each document with the end-of-text piece.")
@click.option("--prepend-bos", is_flag=True, help="Start each document with the beginning-of-text piece.")
@click.option("--eos", metavar="PIECE", help="Append this piece instead of the model's own.")
@click.option("--bos", metavar="PIECE", help="Prepend this piece instead of the model's own.")
@click.option("--sizes", type=_Sizes(), help="A dataset for each of these vocabulary sizes, as 32k,64k; one encoding.")
@click.option("--shard-size", type=SizeType(), help="Input of one shard, as stored [default: 256MB or more].")
@click.option("--shuffle", type=click.IntRange(min=0), metavar="SEED", help="Shuffle the documents of all subsets.")
@text_field_option
@documents_option
@cluster_options
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="Number of cores [default: all].")
@click.option("--memory", type=SizeType(), help="Memory limit, as 2GB [default: half of the free memory].")
@click.option("--strict", is_flag=True, help="Stop at the first record that cannot be used.")
@click.option("--force", is_flag=True, help="Replace a dataset of other settings.")
@click.option("--json", "as_json", is_flag=True, help="Write tokenized.json to stdout too.")
@verbosity_options
@click.pass_obj
def command(
    terminal: Terminal,
    inputs: "tuple[Location, ...]",
    model: Path,
    out: "Location",
    format_name: str,
    append_eos: bool,
    prepend_bos: bool,
    eos: str | None,
    bos: str | None,
    sizes: list[int] | None,
    shard_size: int | None,
    shuffle: int | None,
    text_field: str,
    documents: str,
    engine: str,
    master: str | None,
    conf: tuple[str, ...],
    threads: int | None,
    memory: int | None,
    strict: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Turn the documents of a study, or of INPUT files, into token ids for training.

    All documents of a study are taken, each as often as the weight of its subset says; a code document starts with its
    code token. INPUT is text, JSONL or Parquet (.gz, .zst), a folder or a glob, local or on s3://.

    The files are the same for any number of threads, any memory limit, and on a Spark cluster. A killed run resumes
    with the shards that are left. tokenized.json has counts, checksums and the share of each subset.

    \b
    Examples:
      piecework tokenize corpus.jsonl.zst --model out/nordic --out ids --append-eos
      piecework tokenize study.toml --model out/nordic/tokenizers/multilingual --out ids --to datatrove
      piecework tokenize data/*.parquet --model m.model --out ids --sizes 32k,51.2k,64k
      piecework tokenize s3://bucket/corpus --model m.model --out s3://bucket/ids --to numpy
    """
    from piecework.cli.progress import show_progress
    from piecework.cli.token_mix import show_mix
    from piecework.cli.tokenizer_names import load_native, model_names
    from piecework.dataset.plan import make_plan
    from piecework.dataset.special_ids import ids_around
    from piecework.dataset.tokenize import tokenize_plan

    cluster = resolve_cluster(engine, master, conf, say=terminal.say)
    tokenizer = load_native(model)
    source = _source(inputs, text_field=text_field, documents=documents)
    before, after = ids_around(tokenizer, bos=bos, eos=eos, prepend_bos=prepend_bos, append_eos=append_eos)
    plan = make_plan(
        source,
        tokenizer,
        format_name=cast("FormatName", format_name),
        sizes=sizes or (),
        before=before,
        after=after,
        shard_bytes=shard_size,
        shuffle=shuffle,
    )
    started = time.monotonic()
    read = False
    with show_progress(terminal, "tokenizing", "bytes") as update:

        def progress(done: int, total: int) -> None:
            nonlocal read
            read = True
            update(done, total)

        dataset = tokenize_plan(
            plan,
            tokenizer,
            out=out,
            tokenizer_name=model_names([model])[0],
            threads=threads,
            memory_bytes=memory,
            strict=strict,
            force=force,
            progress=progress,
            warn=terminal.warn,
            cluster=cluster,
        )
    if read:
        text_bytes = sum(row["text_bytes"] for row in dataset.subset_rows)
        elapsed_s = time.monotonic() - started
        terminal.say(
            f"tokenized {format_count(dataset.documents, 'document')}, {format_bytes(text_bytes)} of text, into "
            f"{format_count(dataset.tokens, 'token')} in {format_seconds(elapsed_s)} "
            f"({format_bytes(text_bytes / elapsed_s)}/s); wrote {dataset.folder}"
        )
    else:
        terminal.say(f"{dataset.folder}: this dataset exists already (--force writes it again)")
    if as_json:
        write_json({"folder": str(dataset.folder), **dataset.description})
    elif not terminal.quiet:
        show_mix(dataset, is_study=source.is_study)
    warn_about_skipped(terminal, dataset.description["skipped"])
    terminal.suggest("inspect", str(model))


def _source(inputs: "tuple[Location, ...]", *, text_field: str, documents: str) -> "Source":
    from piecework.dataset.plan import Source
    from piecework.study.study import Study

    studies = [path for path in inputs if path.suffix == ".toml"]
    if studies:
        if len(inputs) > 1:
            raise click.UsageError(f"give one STUDY.toml or INPUT files, not {len(inputs)} of both")
        [study_file] = studies
        if not isinstance(study_file, Path):
            raise click.UsageError(f"{study_file}: a study file is local; its corpus may be on s3://")
        return Source.from_study(Study.load(study_file))
    return Source.from_files(inputs, text_field=text_field, documents="line" if documents == "line" else "file")

"""Options that several commands have."""

import click

__all__ = ["documents_option", "text_field_option", "threads_option"]

documents_option = click.option(
    "--documents", type=click.Choice(["file", "line"]), default="file", help="What a document of text is."
)
text_field_option = click.option(
    "--text-field", default="text", show_default=True, help="Field of JSONL, column of Parquet."
)
threads_option = click.option("--threads", type=click.IntRange(min=1), help="Threads to use [default: all cores].")

"""The training mix on the terminal: tokens of each subset, language and category."""

from __future__ import annotations

from typing import TYPE_CHECKING

from piecework.cli.output import stdout_console
from piecework.cli.terminal import format_bytes
from piecework.cli.wide_table import WideTable
from piecework.common.percent import format_percent

if TYPE_CHECKING:
    from piecework.dataset.dataset import TokenizedDataset

__all__ = ["show_mix"]


def show_mix(dataset: TokenizedDataset, *, is_study: bool) -> None:
    """Write a row for each subset, a row for each vocabulary size, and sentences on the mix."""
    from rich.text import Text

    console = stdout_console()
    sizes = [size["vocab_size"] for size in dataset.description["datasets"]]
    columns = [f"tokens at {size:,}" for size in sizes] if len(sizes) > 1 else ["tokens"]
    table = WideTable("subset", ["weight", "documents", "text", *columns, "share", "skipped"])
    for row in dataset.subset_rows:
        table.add_row(
            Text(f"{row['category']}_{row['language']}" if is_study else "documents"),
            row["weight"],
            f"{row['documents']:,}",
            format_bytes(row["text_bytes"]),
            *(f"{tokens:,}" for tokens in row["tokens"]),
            format_percent(row["share"][0]),
            f"{row['skipped_records']:,}",
        )
    rows = dataset.subset_rows
    table.add_row(
        "all",
        "",
        f"{dataset.documents:,}",
        format_bytes(sum(row["text_bytes"] for row in rows)),
        *(f"{size['tokens']:,}" for size in dataset.description["datasets"]),
        format_percent(1.0),
        f"{sum(row['skipped_records'] for row in rows):,}",
        style="bold",
    )
    console.print(table)
    if is_study:
        for sentence in mix_sentences(dataset):
            console.print(Text(sentence))


def mix_sentences(dataset: TokenizedDataset) -> list[str]:
    """What the weights give each language and each category; nothing where there is only one."""
    from piecework.corpus.languages import language_name

    languages = {language_name(code): share for code, share in dataset.shares("language").items()}
    sentences = []
    for shares in (languages, dataset.shares("category")):
        listed = [f"{name} {format_percent(share)}" for name, share in shares.items()]
        if len(listed) > 1:  # a single language or category has all tokens
            sentences.append(f"your weights give {', '.join(listed[:-1])} and {listed[-1]} of the tokens")
    return sentences

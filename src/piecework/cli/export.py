"""`piecework export`: write a model in the formats of other runtimes."""

import time
from pathlib import Path

import click

from piecework.cli.options import FolderType, LocalPath
from piecework.cli.output import write_json
from piecework.cli.terminal import Terminal, format_bytes, format_seconds, verbosity_options

__all__ = ["command"]

FORMATS = ("hf", "sentencepiece", "llama", "tiktoken", "token-bytes")
RUNTIMES = {
    "hf": "tokenizers and transformers (AutoTokenizer, GPTSw3Tokenizer)",
    "sentencepiece": "SentencePiece",
    "llama": "llama.cpp's convert_hf_to_gguf.py",
    "tiktoken": "tiktoken; its pattern and special tokens are in tokenizer.tiktoken.json",
    "token-bytes": "training code that computes bits per byte",
}


@click.command("export", short_help="Write a model in the formats of other runtimes.")
@click.argument("model", type=LocalPath())
@click.option(
    "--to",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help="hf: tokenizer.json and its configuration, tokenizer.model, spiece.model. "
    "sentencepiece: tokenizer.model, tokenizer.vocab. llama: the files that llama.cpp's converter reads. "
    "tiktoken: tokenizer.tiktoken and its settings, for byte-level tokenizers. "
    "token-bytes: token_bytes.npy, the number of bytes of each id.",
)
@click.option("-o", "--out", required=True, type=FolderType(), help="Folder to write into.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--json", "as_json", is_flag=True, help="Write a summary as a JSON object.")
@verbosity_options
@click.pass_obj
def command(terminal: Terminal, model: Path, form: str, out: Path, force: bool, as_json: bool) -> None:
    """Write MODEL in the formats of other runtimes, with identical ids.

    MODEL is a .model file, a byte-level tokenizer (tokenizer.json, .tiktoken, tekken.json), a folder with one of these,
    or a name that `piecework known` lists. Byte-level tokenizers have the formats hf and tiktoken.

    \b
    Examples:
      piecework export out/nordic --to hf --out out/nordic
      piecework export out/nordic/tokenizer.model --to llama --out models/nordic-llama
      piecework export out/nordic --to sentencepiece --out release --force
      piecework export out/byte-level --to tiktoken --out release
      piecework export gpt-4o --to hf --out models/gpt-4o
    """
    from piecework.cli.tokenizer_names import load_native
    from piecework.tokenizer.export import export

    tokenizer = load_native(model)
    started = time.monotonic()
    done = export(tokenizer, out, to=form, force=force)  # type: ignore[arg-type]
    for caveat in done.caveats:
        terminal.warn(f"{caveat}; `piecework verify` shows where ids differ")
    for path in done.files:
        terminal.detail(f"  {format_bytes(path.stat().st_size):>10}  {path}")
    names = ", ".join(path.name for path in done.files)
    terminal.say(f"wrote {names} into {done.folder} in {format_seconds(time.monotonic() - started)}")
    is_byte_level = form == "hf" and not (out / "tokenizer.model").exists()
    terminal.say(f"for {RUNTIMES[form] if not is_byte_level else 'tokenizers and transformers (AutoTokenizer)'}")
    if as_json:
        content = {
            "model": str(model),
            "to": form,
            "folder": str(done.folder),
            "files": [str(path) for path in done.files],
            "caveats": done.caveats,
        }
        write_json(content)
    terminal.suggest("verify", model if form in ("llama", "token-bytes") else out)

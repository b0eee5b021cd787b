"""The files of an edited tokenizer: those of its kind, and the new id of each old id."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["EDITED_FILES", "MAPPING_FILE", "save_edited"]

MAPPING_FILE = "id_mapping.json"
EDITED_FILES = ("tokenizer.model", "tokenizer.vocab", MAPPING_FILE)
"""The files of a SentencePiece model."""


def save_edited(
    tokenizer: "Tokenizer | ByteLevelTokenizer", mapping: Mapping[str, Any], *, folder: Path, force: bool
) -> list[Path]:
    """Write all files or none. `mapping` is the content of id_mapping.json."""
    import orjson

    from piecework.common.recorded_files import write_recorded
    from piecework.tokenizer.byte_level import ByteLevelTokenizer
    from piecework.tokenizer.byte_level_export import byte_level_files

    if isinstance(tokenizer, ByteLevelTokenizer):
        contents = byte_level_files(tokenizer, "tiktoken" if tokenizer.model.merges is None else "hf")
    else:
        contents = {"tokenizer.model": tokenizer.model_bytes, "tokenizer.vocab": tokenizer.vocab_text.encode()}
    contents[MAPPING_FILE] = orjson.dumps(mapping, option=orjson.OPT_APPEND_NEWLINE)
    write_recorded(folder, contents, force=force)
    return [folder / name for name in contents]

"""The files of an edited tokenizer: the model, its vocabulary, and the new id of each old id."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from piecework.tokenizer.tokenizer import Tokenizer

__all__ = ["EDITED_FILES", "save_edited"]

EDITED_FILES = ("tokenizer.model", "tokenizer.vocab", "id_mapping.json")


def save_edited(tokenizer: "Tokenizer", mapping: Mapping[str, Any], *, folder: Path, force: bool) -> None:
    """Write all files or none. `mapping` is the content of id_mapping.json."""
    import orjson

    from piecework.common.files import prepare_output, write_together

    prepare_output(folder, EDITED_FILES, force=force)
    contents = (
        tokenizer.model_bytes,
        tokenizer.vocab_text.encode(),
        orjson.dumps(mapping, option=orjson.OPT_APPEND_NEWLINE),
    )
    write_together({folder / name: data for name, data in zip(EDITED_FILES, contents, strict=True)})

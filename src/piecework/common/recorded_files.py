"""Files of a study's tokenizers, whose checksums are in its run.json: checked wherever a path to them is given."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from piecework.common.manifest import DIGEST_BYTES
from piecework.common.terms import RUN_FILE, TOKENIZERS_FOLDER
from piecework.errors import DamagedError

__all__ = ["read_recorded"]

_FIX = "piecework run makes it again; to change a tokenizer, write it into another folder"


def read_recorded(path: Path) -> bytes:
    """The content of a file; a DamagedError if a study wrote the file for a tokenizer and it has changed since.

    An OSError is left to the caller.
    """
    data = path.read_bytes()
    checksum = _recorded_checksum(path.absolute())
    if checksum is not None and hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest() != checksum:
        raise DamagedError(path, "its checksum is another", _FIX)
    return data


def _recorded_checksum(path: Path) -> str | None:
    """What run.json says of STUDY/tokenizers/NAME/FILE; None of any other file, and while its stage runs."""
    parents = path.parents
    if len(parents) < 3 or parents[1].name != TOKENIZERS_FOLDER:
        return None
    name = path.relative_to(parents[2]).as_posix()
    try:
        stages = json.loads((parents[2] / RUN_FILE).read_bytes())["stages"].values()
        found = [stage["outputs"][name] for stage in stages if stage["key"] and name in stage["outputs"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # no study, or a damaged one: whoever reads its results reports that
    return str(found[0]) if found else None

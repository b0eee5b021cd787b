"""[extend] of a study: the tokenizer to extend instead of training one from nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["ExtendSettings"]


def _as_float(value: object) -> Any:
    return float(value) if isinstance(value, Decimal) else value  # numbers of a study file


class ExtendSettings(BaseModel):
    """[extend]: such a study continues from the merges of `base`, on its own counts.

    >>> ExtendSettings(base="mistral", add=16_000).minimum_frequency
    1
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    base: str = Field(min_length=1)
    """The old tokenizer: a path, or the name of a well-known one."""
    add: int = Field(ge=1, lt=1 << 31)
    """The number of new pieces."""
    minimum_frequency: int = Field(1, ge=1, le=(1 << 63) - 1)
    """No pair that is rarer is merged."""
    character_coverage: Annotated[float | None, BeforeValidator(_as_float)] = Field(None, ge=0, le=1)
    """The share of the text's characters that become pieces; by default as the old model was trained."""
    pad_to_multiple: int | None = Field(None, ge=1)
    """Further pieces until the size is a multiple."""

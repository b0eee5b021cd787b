"""The dimensions of the language model that a vocabulary is for: `[analysis] model`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ModelShape"]


class ModelShape(BaseModel):
    """A decoder: its width, its depth, and whether input and output share the embeddings.

    >>> shape = ModelShape(d_model=4096, layers=32)
    >>> shape.block_parameters
    6442450944
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    d_model: int = Field(ge=1)
    layers: int = Field(ge=1)
    tied: bool = True
    parameters: int | None = Field(default=None, ge=1)
    """The parameters without embeddings; None: 12 · layers · d_model², as in a plain decoder."""
    bytes_per_parameter: int = Field(default=2, ge=1, le=8)
    """Two for bfloat16."""

    @property
    def block_parameters(self) -> int:
        """The parameters without embeddings."""
        return self.parameters if self.parameters is not None else 12 * self.layers * self.d_model**2

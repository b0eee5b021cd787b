"""The text of all languages as that of one, so that a tokenizer has figures overall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from piecework.evaluation.units import UnitSource
from piecework.terms import OVERALL

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PooledUnits"]


class PooledUnits:
    """Counted units of every language, all called `overall`: each document counts as it was sampled.

    >>> import piecework as pw
    >>> pooled = PooledUnits(pw.count_units({"sv": ["ett två"], "da": ["en"]}))
    >>> pooled.languages, pooled.evaluation().column("unit").to_pylist()
    (['overall'], ['en', ' två', 'ett'])
    """

    def __init__(self, counts: UnitSource) -> None:
        self._counts = counts

    @property
    def languages(self) -> list[str]:
        """The one name that all have."""
        return [OVERALL]

    def evaluation(
        self,
        language: Sequence[str] | None = None,  # noqa: ARG002  # there is one
        category: str | None = None,
        *,
        plain: bool = False,
    ) -> pa.Table:
        """Rows of language, category, bucket, opens, unit and count."""
        import pyarrow as pa

        table = self._counts.evaluation(None, category, plain=plain)
        names = pa.repeat(pa.scalar(OVERALL, pa.string()), table.num_rows)
        return table.set_column(table.column_names.index("language"), "language", names)

    def __repr__(self) -> str:
        return repr(self._counts)

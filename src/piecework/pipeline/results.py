"""What `piecework.run` returns: the results of a study, with a view for notebooks."""

from __future__ import annotations

from piecework.results.folder import StudyFolder

__all__ = ["StudyResults"]


class StudyResults(StudyFolder):
    """The results of a study. `piecework.run` returns them; `load` reads them from the study's folder."""

    def _repr_html_(self) -> str:
        from piecework.report import notebook_html

        return notebook_html(self)

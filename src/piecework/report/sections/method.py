"""Method: formulas, settings, versions, and the command to reproduce the study."""

from __future__ import annotations

from dataclasses import dataclass

from piecework.evaluation.metrics import all_metrics
from piecework.report.blocks import Section, Sheet
from piecework.report.study_data import StudyData
from piecework.results.folder import STUDY_FILE

__all__ = ["Method", "method_section"]


@dataclass(frozen=True, slots=True)
class Method:
    """What the template needs besides its text."""

    metrics: Sheet
    settings: str
    versions: Sheet
    command: str


def method_section(data: StudyData) -> Section:
    """Formulas, settings, versions, the command."""
    metrics = Sheet.build(
        "The formula of each metric, and the text it is computed on.",
        ["metric", "formula", "better", "text"],
        [
            (
                metric.title,
                metric.formula,
                {"lower": "lower", "higher": "higher", "none": ""}[metric.direction],
                "unchanged" if metric.units == "eval" else "without ASCII punctuation",
            )
            for metric in all_metrics()
        ],
        name="formulas",
        sortable=False,
        title="Metrics",
        always_folded=True,
    )
    run = data.results.run
    versions = Sheet.build(
        "Versions", ["part", "version"], [(name, str(each)) for name, each in run["versions"].items()]
    )
    path = data.results.folder / STUDY_FILE
    settings = path.read_text(encoding="utf-8") if path.exists() else ""
    content = Method(metrics, settings, versions, f"piecework run {STUDY_FILE}")
    lead = (
        "The corpus is read once. The words of the training sample are counted, and all tokenizers are trained on "
        "these "
        "counts. The units of the evaluation sample are counted, and all estimates are computed from those."
    )
    return Section("method", "Method", lead, template="method.html.j2", content=content)

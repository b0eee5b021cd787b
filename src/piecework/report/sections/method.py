"""How all of it was measured, with which settings, and how to do it again."""

from __future__ import annotations

from dataclasses import dataclass

from piecework.evaluation.metrics import all_metrics
from piecework.report.blocks import Section, Sheet
from piecework.report.readings import Readings
from piecework.results.folder import STUDY_FILE

__all__ = ["Method", "method_section"]


@dataclass(frozen=True, slots=True)
class Method:
    """What the template shows besides text."""

    metrics: Sheet
    settings: str
    versions: Sheet
    command: str


def method_section(readings: Readings) -> Section:
    """Formulas, settings, versions, the command."""
    metrics = Sheet.of(
        "Every metric, its formula, and the text that it is of.",
        ["metric", "formula", "better", "text"],
        [
            (
                metric.title,
                metric.formula,
                {"lower": "lower", "higher": "higher", "none": ""}[metric.direction],
                "as it is" if metric.units == "eval" else "without ASCII punctuation",
            )
            for metric in all_metrics()
        ],
        name="formulas",
        sortable=False,
        title="Metrics",
    )
    run = readings.results.run
    versions = Sheet.of("Versions", ["part", "version"], [(name, str(each)) for name, each in run["versions"].items()])
    path = readings.results.folder / STUDY_FILE
    settings = path.read_text(encoding="utf-8") if path.exists() else ""
    content = Method(metrics, settings, versions, f"piecework run {STUDY_FILE}")
    lead = (
        "The corpus was read once. Words were counted in the training sample, and the tokenizers made of these counts; "
        "units of text were counted in the evaluation sample, and every figure is made of those."
    )
    return Section("method", "Method", lead, template="method.html.j2", content=content)

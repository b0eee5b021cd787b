"""What a vocabulary size costs the language model of the study: FLOPs per byte of text, parameters and memory."""

from __future__ import annotations

import numpy as np

from piecework.report.blocks import Figure, Heading, Note, Sheet
from piecework.report.charts import Line, LineChart
from piecework.report.palette import Look
from piecework.report.scales import format_share
from piecework.report.study_data import StudyData

__all__ = ["model_costs"]


def model_costs(data: StudyData, marked: list[int]) -> list[Figure | Sheet | Note]:
    """The recommended size in a sentence, and the curve of FLOPs per byte; nothing if the study names no model."""
    advice, table = data.rows("size_advice"), data.table("size_costs")
    if not advice or table is None:
        return []
    found = advice[0]
    arrow = table.to_arrow()
    sizes = arrow.column("vocab_size").to_numpy()
    costs = arrow.column("serving_flops_per_byte").to_numpy()
    start = int(np.searchsorted(sizes, marked[0]))
    relative = Line("FLOPs per byte", Look("var(--bar)", "circle"), sizes[start:], costs[start:] / costs.min() - 1)
    title = f"FLOPs per byte of text are least at {found['least']:,} pieces; {found['vocab_size']:,} are enough"
    dots = sorted({*marked, found["vocab_size"], found["least"]})
    chart = LineChart(
        title,
        f"FLOPs per byte of text, compared with the least. At {marked[0]:,} pieces {format_share(float(relative.y[0]))}"
        f" more, at {int(sizes[-1]):,} pieces {format_share(float(relative.y[-1]))} more.",
        "More FLOPs per byte than at the best size",
        "Vocabulary size",
        (relative,),
        tuple(dots),
        kind="share",
        height=220,
    )
    rows = {row["vocab_size"]: row for size in dots for row in table.where(vocab_size=size).rows()}
    sheet = Sheet.build(
        "What a vocabulary size costs the model",
        [
            Heading("vocabulary size", "count"),
            Heading("multiple of", "count"),
            Heading("embedding parameters", "count"),
            Heading("share of all parameters", "share"),
            Heading("memory", "bytes"),
            Heading("training FLOPs per byte", "count"),
            Heading("serving FLOPs per byte", "count"),
        ],
        [
            (
                size,
                row["multiple_of"],
                row["embedding_parameters"],
                row["embedding_share"],
                row["memory_bytes"],
                round(row["training_flops_per_byte"]),
                round(row["serving_flops_per_byte"]),
            )
            for size, row in rows.items()
        ],
    )
    how_to_read = (
        "Training and serving have the same curve: 6 and 2 FLOPs for each parameter that a token is multiplied with. "
        "More pieces make the text shorter and each token more expensive. The table marks multiples of 64 and 128."
    )
    # The sentence is what a reader needs; the curve is for those who doubt it.
    sentence = Note(f"{found['reason']} {found['certainty']} {found['warning']}")
    return [sentence, Figure("size-costs", title, how_to_read, chart, sheet, folded=True)]

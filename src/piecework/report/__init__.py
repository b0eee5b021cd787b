"""The report of a study: charts, and the page that shows them."""

from piecework.report.page import notebook_html, write_figures, write_report

__all__ = ["notebook_html", "write_figures", "write_report"]

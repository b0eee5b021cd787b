"""Code in tables without the backslashes that GitHub needs before "|", and the site would show."""

import re

__all__ = ["without_backslashes"]


def without_backslashes(markdown: str) -> str:
    """The page with plain "|" in the code of its tables.

    >>> without_backslashes(r"| `[a\\|b]` | \\|A\\| |")
    '| `[a|b]` | \\\\|A\\\\| |'
    """
    return re.sub(r"(?m)^\|.*$", lambda row: _row(row.group()), markdown)


def _row(row: str) -> str:
    parts = row.split("`")
    parts[1::2] = [code.replace("\\|", "|") for code in parts[1::2]]
    return "`".join(parts)

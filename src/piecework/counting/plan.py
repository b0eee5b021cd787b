"""What a study asks to be counted: its subsets, the shards they are cut into, and the settings that matter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from piecework.common.subset_name import SubsetName
from piecework.corpus.sampling import Sampler
from piecework.counting.shards import Shard, file_stamp, plan_shards
from piecework.counting.store import FORMAT
from piecework.study.subsets import Subset, find_subsets

if TYPE_CHECKING:
    from piecework.study.study import Study

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to count."""

    study: Study
    subsets: tuple[Subset, ...]
    shards: tuple[Shard, ...]
    settings: Mapping[str, Any]
    """All that the counts depend on besides the files."""

    @classmethod
    def of(cls, study: Study, *, shard_bytes: int | None = None) -> Self:
        """The plan for a study, from the files as they are now."""
        subsets = find_subsets(study)
        key = study.counting_key(subsets)
        clean_up = study.recipe.clean_up
        shards = plan_shards(subsets, key, folder=study.folder, shard_bytes=shard_bytes, clean_up=clean_up)
        return cls(study, tuple(subsets), tuple(shards), study.counting_settings(subsets))

    @property
    def size_bytes(self) -> int:
        """How much there is to read, as it is stored."""
        return sum(shard.size_bytes for shard in self.shards)

    @property
    def weights(self) -> dict[SubsetName, Fraction]:
        """The weight of each subset."""
        return {subset.name: subset.weight for subset in self.subsets}

    def sampler(self) -> Sampler:
        """What places the documents."""
        sampling = self.study.sampling
        return Sampler(
            seed=self.study.seed,
            train=sampling.train,
            evaluation=sampling.eval,
            weights=self.weights,
            weighting=sampling.weighting,
        )

    def intended(self, subset: Subset) -> tuple[Fraction, Fraction]:
        """The fractions of the subset's documents that should train, and evaluate: above 1 means copies."""
        sampling = self.study.sampling
        weight = subset.weight if sampling.weighting == "documents" else Fraction(subset.weight > 0)
        return weight * sampling.train, weight * sampling.eval

    def files(self) -> list[dict[str, Any]]:
        """Every file that is counted, and what tells whether it has changed."""
        stamps = [
            file_stamp(file, self.study.folder) | {"subset": str(subset.name)}
            for subset in self.subsets
            if subset.weight
            for file in subset.files
        ]
        return sorted(stamps, key=lambda stamp: (stamp["path"], stamp["subset"]))

    def difference(self, description: Mapping[str, Any]) -> str:
        """How counts differ from what this plan would give, in a few words; nothing where they do not."""
        if description["format"] != FORMAT:
            return "of another version"
        if description["settings"] != self.settings:
            made, wanted = description["settings"], self.settings
            changed = [name for name in {**made, **wanted} if made.get(name) != wanted.get(name)]
            return f"settings that differ: {', '.join(changed)}"
        before, now = ({stamp["path"]: stamp for stamp in files} for files in (description["files"], self.files()))
        if before != now:
            changed = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
            more = f" and {len(changed) - 1:,} more" if len(changed) > 1 else ""
            return f"files that changed since: {changed[0]}{more}"
        return ""

// Training with a guess of the frequency of the last merge.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "train/merge_trainer.hpp"

namespace piecework {

// Most pairs are rare, and rare pairs are seldom needed. So pairs below a guessed frequency are forgotten. If the guess
// was too high (the vocabulary is large for the text), training runs again without it. The result is the same.
// Without a limit, SentencePiece merges in the end pairs that no longer occur, and rounds do not find such pairs. So
// the limit 0 allows no rounds, and a large text is first tried with the limit 1.
// `make_text` gives the text and the sum of its counts.
template <class MakeText>
std::vector<Merge> run_with_guess(MakeText&& make_text, const std::vector<InitialSymbol>& alphabet,
                                  const MergeRule& rule, uint64_t wanted, uint64_t minimum_frequency,
                                  const Progress& progress, const Checkpoint& checkpoint) {
  std::vector<Merge> merges;
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto [text, total] = make_text();
    const bool large = text.size() >= rule.large_text;
    if (attempt == 1 && !large) attempt = 2;
    const uint64_t guess = attempt == 0 ? std::max<uint64_t>(total / wanted / 32, large) : attempt == 1;
    Trainer trainer(std::move(text), alphabet, rule, std::max(minimum_frequency, guess), checkpoint);
    merges = trainer.run(wanted, minimum_frequency, progress);
    if (trainer.is_complete() || guess <= minimum_frequency) break;
  }
  return merges;
}

inline Checkpoint checkpoint_of(const Progress& progress) {
  return [&progress] {
    if (progress) progress(0, UINT64_MAX);
  };
}

}  // namespace piecework

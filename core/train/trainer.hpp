// BPE training from word counts, exactly as SentencePiece 0.2.2 does it.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/alphabet.hpp"

namespace piecework {

struct Merge {
  std::string piece;
  uint64_t frequency;  // at the moment of the merge
};

struct TrainingResult {
  std::vector<Merge> merges;          // in order; fewer than wanted only if the text allows no more
  std::vector<Character> characters;  // the characters of the vocabulary, in its order
};

// Called often with the number of merges done and wanted. During long steps it is called with (0, UINT64_MAX), which
// reports no progress. It may throw to stop the training.
using Progress = std::function<void(uint64_t done, uint64_t wanted)>;

// `vocab_size` counts meta pieces, merges and characters. Training stops before the first merge that is rarer than
// `minimum_frequency` (0: no limit).
TrainingResult train_bpe(const WordTable& words, const TrainingOptions& options, uint64_t vocab_size,
                         uint64_t minimum_frequency, const Progress& progress);

}  // namespace piecework

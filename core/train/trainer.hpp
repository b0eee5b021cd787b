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
  std::vector<Merge> merges;          // in order; fewer than wanted only where the text has no more
  std::vector<Character> characters;  // required, in the order of the vocabulary
};

// Called often with the merges done and wanted, and during long steps in between with (0, UINT64_MAX), which tells
// nothing new. It may throw to stop.
using Progress = std::function<void(uint64_t done, uint64_t wanted)>;

// `vocabulary_size` counts meta pieces, merges and characters. `minimum_frequency` stops before rarer merges (0:
// never).
TrainingResult train_bpe(const WordTable& words, const TrainingOptions& options, uint64_t vocabulary_size,
                         uint64_t minimum_frequency, const Progress& progress);

}  // namespace piecework

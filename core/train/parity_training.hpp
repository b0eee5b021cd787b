// Parity-aware BPE: each merge is the best one for the language that is worst off, and applies to all languages.
//
// The language that is worst off has the most tokens in its development text at that moment; if several have the same
// number, it is the first of them. Its best pair is the most frequent pair of its own training text. Ties in word
// training are resolved as in the other kinds of training. In byte-level training the greater pair of strings wins, as
// in Hugging Face's ParityBpeTrainer. A language is left out as soon as it has no pair that is frequent enough.
#pragma once

#include <cstdint>
#include <vector>

#include "train/trainer.hpp"

namespace piecework {

// The tables of one language. `development` decides how well the language is served, and is never counted for pairs.
struct ParityTables {
  const WordTable* training;
  const WordTable* development;
};

// Like train_bpe. The alphabet is that of `all_words`, the training tables of all languages together.
TrainingResult train_parity_bpe(const WordTable& all_words, const std::vector<ParityTables>& languages,
                                const TrainingOptions& options, uint64_t vocab_size, uint64_t minimum_frequency,
                                const Progress& progress);

// Like train_byte_level_bpe, with the merges of ParityBpeTrainer.
ByteLevelTrainingResult train_parity_byte_level_bpe(const std::vector<ParityTables>& languages,
                                                    const ByteLevelTrainingOptions& options, uint64_t vocab_size,
                                                    const Progress& progress);

}  // namespace piecework

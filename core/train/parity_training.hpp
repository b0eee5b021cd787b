// Parity-aware BPE: each merge is the best one for the language that is worst off, and applies to all languages.
//
// Worst off is the language whose development text has most tokens at that moment, of equal ones the first. Its best
// pair is the most frequent one of its own training text; ties as in the other kinds of training for words, and for
// bytes as in Hugging Face's ParityBpeTrainer: the greater pair of strings. A language without a pair that is frequent
// enough is left out from then on.
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

// As train_bpe. The alphabet is that of `all_words`, the training tables of all languages together.
TrainingResult train_parity_bpe(const WordTable& all_words, const std::vector<ParityTables>& languages,
                                const TrainingOptions& options, uint64_t vocab_size, uint64_t minimum_frequency,
                                const Progress& progress);

// As train_byte_level_bpe, with the merges of ParityBpeTrainer.
ByteLevelTrainingResult train_parity_byte_level_bpe(const std::vector<ParityTables>& languages,
                                                    const ByteLevelTrainingOptions& options, uint64_t vocab_size,
                                                    const Progress& progress);

}  // namespace piecework

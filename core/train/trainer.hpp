// BPE training from counts. Training on words does exactly what SentencePiece does, training on pre-tokens exactly what
// Hugging Face tokenizers does.
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
  uint64_t frequency;    // at the moment of the merge
  uint32_t left, right;  // the symbols that it joins: ids, for byte-level training
};

struct TrainingResult {
  std::vector<Merge> merges;          // in order; fewer than wanted only if the text allows no more
  std::vector<Character> characters;  // the characters of the vocabulary, in its order
  uint64_t character_count = 0;       // characters in the text, each as often as it occurs
};

// Called often with the number of merges done and wanted. During long steps it is called with (0, UINT64_MAX), which
// reports no progress. It may throw to stop the training.
using Progress = std::function<void(uint64_t done, uint64_t wanted)>;

// `vocab_size` counts meta pieces, merges and characters. Training stops before the first merge that is rarer than
// `minimum_frequency` (0: no limit).
TrainingResult train_bpe(const WordTables& tables, const TrainingOptions& options, uint64_t vocab_size,
                         uint64_t minimum_frequency, const Progress& progress);
inline TrainingResult train_bpe(const WordTable& words, const TrainingOptions& options, uint64_t vocab_size,
                                uint64_t minimum_frequency, const Progress& progress) {
  return train_bpe(one_table(words), options, vocab_size, minimum_frequency, progress);
}

struct ByteLevelTrainingOptions {
  std::vector<std::string> special_tokens;
  uint64_t min_frequency = 0;
  uint32_t max_token_length = 0;  // 0: no limit
};

// Pieces are written with a character for each byte (byte_characters).
struct ByteLevelTrainingResult {
  // In order. A merge that spells a special token makes this token. Every other merge makes a new piece.
  std::vector<Merge> merges;
  std::vector<std::string> alphabet;  // special tokens and bytes, by id
};

// `vocab_size` counts special tokens, bytes and merged pieces. There are fewer pieces only if the text allows no more.
ByteLevelTrainingResult train_byte_level_bpe(const WordTable& pre_tokens, const ByteLevelTrainingOptions& options,
                                             uint64_t vocab_size, const Progress& progress);

}  // namespace piecework

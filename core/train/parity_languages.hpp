// The languages of parity-aware training. Each has a training text and a development text; all texts share one
// numbering of symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/merge_trainer.hpp"

namespace piecework {

// A text that finds a pair by its two symbols, so that it can apply merges that were chosen in another text.
class ParityText : public Trainer {
 public:
  ParityText(ChunkText text, const std::vector<InitialSymbol>& alphabet, const MergeRule& rule, Checkpoint checkpoint);

  // The best pair by its frequency in this text, taken out of the queue.
  std::optional<Pair> take_best();
  // Adds the symbol that a merge makes, in every text, so that symbols have the same number everywhere.
  uint32_t add_merged(uint32_t left, uint32_t right);
  // Merges the pair everywhere. Returns the number of its occurrences; each counts as often as its chunk occurs.
  uint64_t merge(uint32_t left, uint32_t right, uint32_t symbol);

  std::string spelled(uint32_t left, uint32_t right) const { return std::string(text_of(left)).append(text_of(right)); }
  std::string_view symbol_text(uint32_t symbol) const { return text_of(symbol); }
  uint32_t symbol_count() const { return static_cast<uint32_t>(symbols_.size()); }
};

struct ParityLanguage {
  ParityText training, development;
  uint64_t length;  // tokens of the development text
  bool exhausted = false;
};

// Merges until `wanted` symbols are added, or no language has a pair of at least `minimum_frequency`.
std::vector<Merge> merge_with_parity(std::vector<ParityLanguage>& languages, const MergeRule& rule, uint64_t wanted,
                                     uint64_t minimum_frequency, const Progress& progress);

}  // namespace piecework

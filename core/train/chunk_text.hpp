// All chunks as one array of symbols, which merges rewrite in place, and the count of the chunk at each position.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "system/growing_array.hpp"
#include "train/alphabet.hpp"

namespace piecework {

// A symbol of n characters takes n positions. The first holds the symbol's index; if n > 1, the last holds kBack | n.
// All other positions inside have the top bit set, so no old index is ever taken for a symbol.
// One position before the first chunk and one after each chunk hold kSeparator.
class ChunkText {
 public:
  static constexpr uint32_t kBack = 0x80000000;
  static constexpr uint32_t kInside = kBack;
  static constexpr uint32_t kSeparator = 0xFFFFFFFF;
  static constexpr uint32_t kNoPosition = 0xFFFFFFFF;

  ChunkText() = default;
  ChunkText(const WordTable& chunks, const Alphabet& alphabet);
  // Pre-tokens. Each byte is a symbol.
  ChunkText(const WordTable& pre_tokens, const std::array<uint32_t, 256>& byte_symbols);
  // Rows of symbols of any length. A row has the index of each symbol in two or four bytes; `lengths` has the number of
  // positions of each symbol.
  ChunkText(const WordTable& rows, const std::vector<uint32_t>& lengths, size_t index_bytes = sizeof(uint32_t));

  uint32_t size() const { return static_cast<uint32_t>(symbols_.size()); }
  uint32_t operator[](uint32_t position) const { return symbols_[position]; }

  void prefetch(uint32_t position) const { __builtin_prefetch(&symbols_[position]); }
  void prefetch_count(uint32_t position) const { __builtin_prefetch(&block_counts_[position / kBlock]); }

  // The start of the symbol that ends just before `position`, or kNoPosition at a chunk's start.
  uint32_t before(uint32_t position) const {
    const uint32_t value = symbols_[position - 1];  // position 0 holds kSeparator
    if (value < kBack) return position - 1;
    return value == kSeparator ? kNoPosition : position - (value & ~kBack);
  }

  void merge(uint32_t position, uint32_t left_length, uint32_t length, uint32_t symbol) {
    symbols_[position] = symbol;
    symbols_[position + left_length] = kInside;
    symbols_[position + length - 1] = kBack | length;
  }

  // Chunks are sorted by falling count, so the count is a step function of the position. Most blocks of 64 positions
  // have one count; no count is stored per position.
  uint64_t count_at(uint32_t position) const {
    const uint64_t count = block_counts_[position / kBlock];
    return count ? count : mixed_count_at(position);
  }

 private:
  struct Step {
    uint32_t first;  // the first position with this count
    uint64_t count;
  };
  static constexpr uint32_t kBlock = 64;

  uint64_t mixed_count_at(uint32_t position) const {
    return std::prev(std::upper_bound(steps_.begin(), steps_.end(), position,
                                      [](uint32_t p, const Step& step) { return p < step.first; }))
        ->count;
  }

  // Calls `put(chunk, out)` for each chunk by falling count: it writes the symbols and returns the end of them.
  template <class Put>
  void fill(const WordTable& chunks, size_t positions, Put&& put);

  GrowingArray<uint32_t> symbols_;
  std::vector<uint64_t> block_counts_;  // 0 where a block has several counts
  std::vector<Step> steps_;
};

}  // namespace piecework

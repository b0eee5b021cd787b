// The merges that byte-level BPE performs in a pre-token. Each merge tells how many merges of the vocabulary it needs.
//
// Let r₁, r₂, … be the ranks of the merges of a pre-token in the order in which they happen. With only the first k
// merges of the vocabulary, exactly those before the first rᵢ ≥ k happen: at that moment there is no pair of lower
// rank, because it would have been taken. So a merge happens if k is above the highest rank in its tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/byte_level_merger.hpp"

namespace piecework {

struct ByteTracedMerge {
  uint32_t begin, middle, end;  // in bytes of the pre-token
  uint32_t rank;
  uint32_t from;  // the least number of merges of the vocabulary with which it happens
  uint32_t id;    // of the token that it makes
};

struct ByteTracedToken {
  uint32_t id;
  uint32_t begin, end;
  uint32_t from;  // the least number of merges with which it exists
};

class ByteLevelTracer {
 public:
  explicit ByteLevelTracer(const ByteLevelMerger& merger) : merger_(merger) {}

  // Traces a pre-token; the results stay until the next call. A pre-token that is looked up as a whole has no merges.
  void trace(std::string_view pre_token);
  const std::vector<ByteTracedToken>& tokens() const { return tokens_; }
  // In the order in which they happen.
  const std::vector<ByteTracedMerge>& merges() const { return merges_; }

 private:
  struct Symbol {
    uint32_t id, end;         // `end`: of its bytes, where the next symbol begins
    uint32_t previous, from;  // `previous`: where the previous symbol begins
    uint32_t rank;            // of the pair that starts here, or kNone
  };
  static constexpr uint32_t kNone = ByteLevelMerger::kNoRank;

  void look_up(uint32_t begin);
  void merge(uint32_t begin);

  const ByteLevelMerger& merger_;
  std::vector<Symbol> symbols_;  // by the offset of the first byte
  std::vector<uint64_t> queue_;  // a heap of rank and offset; entries may be out of date
  std::vector<ByteTracedToken> tokens_;
  std::vector<ByteTracedMerge> merges_;
};

}  // namespace piecework

// Merging for byte-level BPE: the bytes of a pre-token become tokens, and rules merge neighbours until no rule applies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "system/huge_array.hpp"
#include "text/hash.hpp"

namespace piecework {

struct ByteMerge {
  uint32_t left, right, merged;  // ids
};

struct ByteLevelModel {
  std::vector<std::string> tokens;  // by id, as bytes; empty if text is never encoded as this id
  // By rank. Without merges a token's id is its rank, and any two neighbours that spell a token are merged to it, as
  // tiktoken does.
  std::optional<std::vector<ByteMerge>> merges;
  bool whole_pre_tokens = false;  // a pre-token that is a token becomes that token without merging
};

class ByteLevelMerger {
 public:
  // Throws ModelError if a byte is no token, or a merge does not spell its token.
  explicit ByteLevelMerger(const ByteLevelModel& model);

  static constexpr uint32_t kNoRank = UINT32_MAX;

  uint32_t byte_id(unsigned char byte) const { return byte_ids_[byte]; }
  // The rank of the merge of two neighbours, or kNoRank.
  uint32_t rank(uint32_t left, uint32_t right) const;
  // The token that a merge of this rank makes.
  uint32_t merged(uint32_t rank) const { return merged_.empty() ? rank : merged_[rank]; }

  // The number of ids.
  size_t size() const { return size_; }
  // The id of a pre-token that becomes a token without merging.
  std::optional<uint32_t> whole_pre_token(std::string_view pre_token) const;

  // Writes the ids of a pre-token, at most one for each byte, and returns their end.
  uint32_t* encode(std::string_view pre_token, uint32_t* out) const;
  // The same by merging alone, also if the pre-token is a token. The pre-token must not be empty.
  uint32_t* merge(std::string_view pre_token, uint32_t* out) const;

 private:
  // A rule is one number: two ids and a rank. The table is small, because merging reads it all the time.
  static constexpr unsigned kBits = 21;
  static constexpr uint64_t kNoRule = UINT64_MAX;
  static uint64_t rule_of(uint64_t left, uint64_t right, uint64_t rank) {
    return (left << kBits | right) << kBits | rank;
  }

  std::vector<uint64_t> rules_of_merges(const ByteLevelModel& model);
  std::vector<uint64_t> rules_of_splits(const ByteLevelModel& model) const;
  void put_rules(const std::vector<uint64_t>& rules);
  uint32_t* merge_few(std::string_view pre_token, uint32_t* out) const;
  uint32_t* merge_many(std::string_view pre_token, uint32_t* out) const;

  std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>> ids_;  // of tokens, if pre-tokens are looked up
  size_t size_;
  std::array<uint32_t, 256> byte_ids_{};
  std::vector<uint32_t> merged_;  // by rank; empty if a rank is an id
  HugeArray<uint64_t> rules_;     // open addressing
  uint64_t mask_ = 0;
  // A bit for the hash of each rule: most pairs have no rule, and this table is smaller than that of the rules.
  std::vector<uint64_t> filter_;
  uint64_t filter_mask_ = 0;
  std::vector<uint32_t> byte_ranks_;  // ranks of merging any two bytes: the first look-ups of each pre-token
};

inline uint32_t ByteLevelMerger::rank(uint32_t left, uint32_t right) const {
  const uint64_t hash = hash_pair(left, right);
  if (!(filter_[hash >> 40 & filter_mask_] >> (hash >> 58) & 1)) return kNoRank;
  const uint64_t pair = static_cast<uint64_t>(left) << kBits | right;
  for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
    const uint64_t rule = rules_[at];
    if (rule >> kBits == pair) return static_cast<uint32_t>(rule & ((1 << kBits) - 1));
    if (rule == kNoRule) return kNoRank;
  }
}

}  // namespace piecework

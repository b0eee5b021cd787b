// Maps a string to its index in a list.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/hash.hpp"

namespace piecework {

// Open addressing. Most look-ups find nothing; the tags in the slots show this without an access to a string.
class TextTable {
 public:
  static constexpr uint32_t kNotFound = UINT32_MAX;

  // Holds the texts for which `keep(index)` is true. If texts are equal, it holds the first. The texts must outlive the
  // table.
  template <class Keep>
  TextTable(const std::vector<std::string>& texts, Keep&& keep)
      : texts_(texts), slots_(std::bit_ceil(texts.size() * 2 + 1)), mask_(slots_.size() - 1) {
    // Hashes are computed first, so that slots can be prefetched.
    std::vector<std::pair<uint64_t, uint32_t>> kept;
    kept.reserve(texts.size());
    for (uint32_t index = 0; index < texts.size(); ++index) {
      if (keep(index)) kept.emplace_back(hash_bytes(texts[index]), index);
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      if (i + kAhead < kept.size()) prefetch(kept[i + kAhead].first);
      const auto [hash, index] = kept[i];
      Slot& slot = slots_[slot_index(texts[index], hash)];
      if (slot.index != kNotFound) continue;
      slot = {tag_of(hash), index};
      ++size_;
    }
  }

  // The number of distinct texts.
  size_t size() const { return size_; }
  uint32_t find(std::string_view text) const { return find(text, hash_bytes(text)); }
  uint32_t find(std::string_view text, uint64_t hash) const { return slots_[slot_index(text, hash)].index; }
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t index = kNotFound;
  };
  static constexpr size_t kAhead = 16;
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // The slot that holds the text, or the empty slot where it would go.
  size_t slot_index(std::string_view text, uint64_t hash) const {
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.index == kNotFound || (slot.tag == tag_of(hash) && texts_[slot.index] == text)) return at;
    }
  }

  const std::vector<std::string>& texts_;
  std::vector<Slot> slots_;
  uint64_t mask_;
  size_t size_ = 0;
};

}  // namespace piecework

// Which of a list of texts a text is.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/hash.hpp"

namespace piecework {

// Open addressing: most texts that are asked for are not there, and the tags say so without reaching for a string.
class TextTable {
 public:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  // Those that `keep(index)` is true for; of equal ones the first. The texts must outlive the table.
  template <class Keep>
  TextTable(const std::vector<std::string>& texts, Keep&& keep)
      : texts_(texts), slots_(std::bit_ceil(texts.size() * 2 + 1)), mask_(slots_.size() - 1) {
    // With their hashes, so that places can be asked for ahead of time.
    std::vector<std::pair<uint64_t, uint32_t>> kept;
    kept.reserve(texts.size());
    for (uint32_t index = 0; index < texts.size(); ++index) {
      if (keep(index)) kept.emplace_back(hash_bytes(texts[index]), index);
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      if (i + kAhead < kept.size()) fetch(kept[i + kAhead].first);
      const auto [hash, index] = kept[i];
      Slot& slot = slots_[place_of(texts[index], hash)];
      if (slot.index != kNowhere) continue;
      slot = {tag_of(hash), index};
      ++size_;
    }
  }

  // How many different texts there are.
  size_t size() const { return size_; }
  uint32_t find(std::string_view text) const { return find(text, hash_bytes(text)); }
  uint32_t find(std::string_view text, uint64_t hash) const { return slots_[place_of(text, hash)].index; }
  void fetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }

 private:
  struct Slot {
    uint32_t tag = 0;
    uint32_t index = kNowhere;
  };
  static constexpr size_t kAhead = 16;
  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // Where the text is, or would be.
  size_t place_of(std::string_view text, uint64_t hash) const {
    for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.index == kNowhere || (slot.tag == tag_of(hash) && texts_[slot.index] == text)) return at;
    }
  }

  const std::vector<std::string>& texts_;
  std::vector<Slot> slots_;
  uint64_t mask_;
  size_t size_ = 0;
};

}  // namespace piecework

// Maps a pair of symbols to its index among the pairs of a text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "system/huge_array.hpp"
#include "text/hash.hpp"

namespace piecework {

// Pairs of the most frequent characters need no hash.
class PairIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The entry of a pair. If the pair is new, the entry is kNone, and the caller must set it. The reference is valid
  // until the next call.
  uint32_t& entry(uint32_t left, uint32_t right) {
    if (left < kDense && right < kDense) return dense_[left * kDense + right];
    if (2 * (used_ + 1) > slots_.size()) grow();
    const uint64_t key = key_of(left, right);
    for (uint64_t at = first_slot(left, right);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].index;
      if (slots_[at].key != kEmpty) continue;
      slots_[at].key = key;
      ++used_;
      return slots_[at].index;
    }
  }

  // The index of a pair, or kNone.
  uint32_t find(uint32_t left, uint32_t right) const {
    if (left < kDense && right < kDense) return dense_[left * kDense + right];
    const uint64_t key = key_of(left, right);
    for (uint64_t at = first_slot(left, right);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].index;
      if (slots_[at].key == kEmpty) return kNone;
    }
  }

  void prefetch(uint32_t left, uint32_t right) const {
    if (left >= kDense || right >= kDense) __builtin_prefetch(&slots_[first_slot(left, right)]);
  }

 private:
  struct Slot {
    uint64_t key = kEmpty;
    uint32_t index = kNone;
  };
  static constexpr uint32_t kDense = 512;
  static constexpr uint64_t kEmpty = UINT64_MAX;
  static constexpr size_t kSmallest = 1 << 12;

  static uint64_t key_of(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }
  uint64_t first_slot(uint32_t left, uint32_t right) const { return hash_pair(left, right) >> 7 & mask_; }

  void grow() {
    const auto before = std::exchange(slots_, {2 * slots_.size(), Slot{}});
    mask_ = slots_.size() - 1;
    for (const Slot& slot : before) {
      if (slot.key == kEmpty) continue;
      uint64_t at = first_slot(static_cast<uint32_t>(slot.key >> 32), static_cast<uint32_t>(slot.key));
      while (slots_[at].key != kEmpty) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<uint32_t> dense_ = std::vector<uint32_t>(size_t{kDense} * kDense, kNone);
  HugeArray<Slot> slots_{kSmallest, Slot{}};
  uint64_t mask_ = kSmallest - 1;
  size_t used_ = 0;
};

}  // namespace piecework

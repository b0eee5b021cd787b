// The slots of a cache: a hash table that grows in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "system/huge_array.hpp"

namespace piecework {

// A hash gives the index of a slot; the slot beside it, index ^ 1, is its neighbour. The memory for 2^kMostBits slots
// is reserved, and the system gives it when it is used. When a quarter of it or less is in use, it grows fourfold, else
// to the end. Each part of the memory is new only once: new memory took a tenth of the time of encoding 100 MB for the
// first time, when the slots moved to larger memory.
template <class Slot, unsigned kFirstBits, unsigned kMostBits>
class GrowingSlots {
 public:
  GrowingSlots() { std::fill_n(&slots_[0], size(), Slot{}); }

  Slot& operator[](size_t index) { return slots_[index]; }
  const Slot& operator[](size_t index) const { return slots_[index]; }
  size_t index_of(uint64_t hash) const { return static_cast<size_t>(hash >> shift_); }
  size_t size() const { return size_t{1} << (64 - shift_); }
  bool can_grow() const { return shift_ > 64 - kMostBits; }

  // Calls `put` with each slot of the smaller table, to put it into the larger one.
  template <class Put>
  void grow(Put&& put) {
    const size_t before = size();
    if (before == size_t{1} << kFirstBits) slots_.ask_for_huge_pages();
    shift_ = std::max(shift_ - kGrowthBits, 64 - kMostBits);
    const size_t times = size() / before;
    // A slot and its neighbour come together to a place at or after theirs, so the last ones go first.
    for (size_t first = before; first > 0;) {
      first -= 2;
      const std::array<Slot, 2> pair{slots_[first], slots_[first + 1]};
      std::fill_n(&slots_[first * times], 2 * times, Slot{});
      for (const Slot& slot : pair) put(slot);
    }
  }

 private:
  static constexpr unsigned kGrowthBits = 2;
  unsigned shift_ = 64 - kFirstBits;
  HugeArray<Slot> slots_{size_t{1} << kMostBits};
};

}  // namespace piecework

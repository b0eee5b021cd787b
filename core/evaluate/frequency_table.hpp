// Counts how often each piece is a token, by group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "system/huge_array.hpp"

namespace piecework {

// Most of these numbers are small, and access to them is random. In 16 bits, four times as many of them fit into the
// processor's cache as in 64 bits. The part of a number above 16 bits is in a side table, so nothing is lost.
class FrequencyTable {
 public:
  FrequencyTable() = default;
  FrequencyTable(size_t groups, size_t pieces) : groups_(groups), pieces_(pieces), low_(groups * pieces, 0) {}

  size_t groups() const { return groups_; }
  size_t size() const { return groups_ * pieces_; }

  void prefetch(size_t piece, size_t group) const { __builtin_prefetch(&low_[piece * groups_ + group], 1); }

  void add(size_t piece, size_t group, uint64_t count) {
    const size_t cell = piece * groups_ + group;
    const uint64_t sum = low_[cell] + count;
    low_[cell] = static_cast<uint16_t>(sum);
    if (sum >> 16) high_[cell] += sum >> 16;
  }

  void add(const FrequencyTable& other) {
    for (size_t piece = 0; piece < pieces_; ++piece) {
      for (size_t group = 0; group < groups_; ++group) {
        if (const uint64_t count = other.low_[piece * groups_ + group]) add(piece, group, count);
      }
    }
    for (const auto& [cell, count] : other.high_) high_[cell] += count;
  }

  // Whether every number fits into 32 bits.
  bool is_small() const {
    return std::all_of(high_.begin(), high_.end(), [](const auto& each) { return each.second < (1 << 16); });
  }

  // Writes [group][piece], one square at a time: so neither reads nor writes jump through memory.
  template <class Number>
  void write_by_group(Number* out) const {
    constexpr size_t kSquare = 32;
    for (size_t piece = 0; piece < pieces_; piece += kSquare) {
      const size_t end = std::min(piece + kSquare, pieces_);
      for (size_t group = 0; group < groups_; ++group) {
        for (size_t p = piece; p < end; ++p) out[group * pieces_ + p] = low_[p * groups_ + group];
      }
    }
    for (const auto& [cell, count] : high_) {
      out[cell % groups_ * pieces_ + cell / groups_] += static_cast<Number>(count << 16);
    }
  }

 private:
  size_t groups_ = 0, pieces_ = 0;
  HugeArray<uint16_t> low_;  // by piece and then by group, so that the groups of a unit lie side by side
  std::unordered_map<size_t, uint64_t> high_;  // by index in `low_`, in multiples of 2¹⁶
};

}  // namespace piecework

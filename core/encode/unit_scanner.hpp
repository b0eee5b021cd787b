// Cuts normalised text into units: user symbols, and text between two places that no piece reaches across.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/merger.hpp"
#include "text/prefix_matcher.hpp"

namespace piecework {

class UnitScanner {
 public:
  UnitScanner() = default;
  // `user_symbols` as they are in normalised text.
  UnitScanner(const Merger& merger, PrefixMatcher user_symbols);

  const PrefixMatcher& user_symbols() const { return user_symbols_; }

  static constexpr size_t kBlock = 128;  // units

  // Calls `use(begin, ends, count)` for up to kBlock units at a time, in order. The first starts at `begin`, each other
  // one at the end of the previous one. Together they are the text.
  template <class Use>
  void for_each_block(std::string_view text, Use&& use) const {
    std::array<size_t, kBlock> ends;
    for (size_t at = 0; at < text.size();) {
      const size_t found = find_ends(text, at, ends.data());
      use(at, ends.data(), found);
      at = ends[found - 1];
    }
  }

  // Calls `use(begin, end)` for each unit in order.
  template <class Use>
  void for_each(std::string_view text, Use&& use) const {
    for_each_block(text, [&](size_t begin, const size_t* ends, size_t count) {
      for (size_t i = 0; i < count; begin = ends[i++]) use(begin, ends[i]);
    });
  }

 private:
  // By two adjacent bytes. kMayStart: the second may start a user symbol. kEnd: no piece has them side by side.
  // kStop: one of the two.
  static constexpr uint8_t kStop = 1, kMayStart = 2, kEnd = 4;
  uint8_t pair_at(const char* second) const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(second);
    return pairs_[bytes[-1] | static_cast<size_t>(bytes[0]) << 8];
  }

  // Writes the ends of up to kBlock units from `at` on, and returns their number.
  size_t find_ends(std::string_view text, size_t at, size_t* ends) const;

  PrefixMatcher user_symbols_;
  std::vector<uint8_t> pairs_;
};

}  // namespace piecework

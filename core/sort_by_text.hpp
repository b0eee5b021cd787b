// Sorts indices by strings that are costly to reach, comparing their first eight bytes before anything else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace piecework {

// The first eight bytes of a string, the first highest, so that numbers compare as the strings do.
inline uint64_t leading_bytes(std::string_view text) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < 8; ++i) bytes = bytes << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  return bytes;
}

// `prefix(i)` must not contradict `less(i, j)`.
template <class Prefix, class Less>
std::vector<uint32_t> sorted_indices(size_t size, Prefix&& prefix, Less&& less) {
  struct Keyed {
    uint64_t prefix;
    uint32_t index;
  };
  std::vector<Keyed> keyed(size);
  for (uint32_t i = 0; i < size; ++i) keyed[i] = {prefix(i), i};
  std::sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : less(a.index, b.index);
  });
  std::vector<uint32_t> order(size);
  for (size_t i = 0; i < size; ++i) order[i] = keyed[i].index;
  return order;
}

}  // namespace piecework

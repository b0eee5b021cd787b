// Small things that several files do with bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace piecework {

// How many bytes two texts have in common at their starts.
inline size_t shared_bytes(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= most; at += sizeof(uint64_t)) {
    uint64_t x, y;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    if (x != y) return at + static_cast<size_t>(std::countr_zero(x ^ y)) / 8;
  }
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

// A number with seven bits a byte, the lowest first; the top bit of all but the last is set.
inline void append_number(std::string& out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}

}  // namespace piecework

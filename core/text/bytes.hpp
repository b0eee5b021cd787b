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

// Up to seven bytes, the first lowest, and zeros. Loads that overlap: a copy of a length that is not known beforehand
// is a call, and its loop a branch that is often mispredicted.
inline uint64_t load_up_to_7(const char* bytes, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i); };
  if (length >= 4) {
    uint32_t first, last;
    std::memcpy(&first, bytes, sizeof first);
    std::memcpy(&last, bytes + length - sizeof last, sizeof last);
    return first | static_cast<uint64_t>(last) << (8 * (length - sizeof last));
  }
  return length ? byte(0) | byte(length / 2) | byte(length - 1) : 0;
}

// A number with seven bits a byte, the lowest first; the top bit of all but the last is set. Returns where it ends.
inline constexpr size_t kMostNumberBytes = 10;
inline char* write_number(char* at, uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<char>(number | 0x80);
  *at++ = static_cast<char>(number);
  return at;
}

inline void append_number(std::string& out, uint64_t number) {
  char bytes[kMostNumberBytes];
  out.append(bytes, static_cast<size_t>(write_number(bytes, number) - bytes));
}

}  // namespace piecework

// Operations on byte strings: common prefix, short loads, variable-length integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace piecework {

// The length of the common prefix of two strings, in bytes.
inline size_t shared_bytes(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= limit; at += sizeof(uint64_t)) {
    uint64_t x, y;
    std::memcpy(&x, a.data() + at, sizeof x);
    std::memcpy(&y, b.data() + at, sizeof y);
    if (x != y) return at + static_cast<size_t>(std::countr_zero(x ^ y)) / 8;
  }
  while (at < limit && a[at] == b[at]) ++at;
  return at;
}

// Loads up to seven bytes, the first byte lowest, padded with zeros. It uses loads that overlap, because memcpy with a
// length that is unknown at compile time is a call, and a loop has a branch that is often mispredicted.
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

// A variable-length integer (varint): seven bits per byte, lowest first; every byte but the last has its top bit set.
// Returns the end of what was written.
inline constexpr size_t kMaxVarintBytes = 10;
inline char* write_varint(char* out, uint64_t number) {
  for (; number >= 0x80; number >>= 7) *out++ = static_cast<char>(number | 0x80);
  *out++ = static_cast<char>(number);
  return out;
}

inline void append_varint(std::string& out, uint64_t number) {
  char bytes[kMaxVarintBytes];
  out.append(bytes, static_cast<size_t>(write_varint(bytes, number) - bytes));
}

}  // namespace piecework

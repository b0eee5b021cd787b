#include "text/utf8.hpp"

#include <bit>
#include <cstring>

namespace piecework {

size_t find_invalid_utf8(std::string_view text) {
  const char* const first = text.data();
  const char* const last = first + text.size();
  const char* p = first;
  while (p < last) {
    // Real text is mostly ASCII, also in languages with many accents: skip it 16 bytes at a time, then eight.
    while (last - p >= 16) {
      uint64_t blocks[2];
      std::memcpy(blocks, p, 16);
      if ((blocks[0] | blocks[1]) & 0x8080808080808080ULL) break;
      p += 16;
    }
    while (last - p >= 8) {
      uint64_t block;
      std::memcpy(&block, p, 8);
      block &= 0x8080808080808080ULL;
      if (block) {
        p += std::countr_zero(block) / 8;
        break;
      }
      p += 8;
    }
    if (p == last) break;
    const Decoded c = decode_utf8(p, last);
    if (!c.valid) return static_cast<size_t>(p - first);
    p += c.length;
  }
  return text.size();
}

std::string replace_invalid_utf8(std::string_view text, uint64_t& replaced) {
  std::string out;
  out.reserve(text.size() + 64);
  while (!text.empty()) {
    const size_t good = find_invalid_utf8(text);
    out.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty()) break;
    out.append(kReplacementUtf8);
    text.remove_prefix(1);
    ++replaced;
  }
  return out;
}

}  // namespace piecework

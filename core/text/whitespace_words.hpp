// Splits a text into whitespace words.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/utf8.hpp"

namespace piecework {

// The whitespace of Python's str.split().
inline bool is_whitespace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// A range of bytes in a text.
struct Range {
  uint32_t begin, end;
};

// ASCII whitespace, and the first bytes of all other whitespace in UTF-8.
inline constexpr std::array<bool, 256> kMayBeWhitespace = [] {
  std::array<bool, 256> found{};
  for (const unsigned byte :
       {0x09U, 0x0AU, 0x0BU, 0x0CU, 0x0DU, 0x1CU, 0x1DU, 0x1EU, 0x1FU, 0x20U, 0xC2U, 0xE1U, 0xE2U, 0xE3U}) {
    found[byte] = true;
  }
  return found;
}();

// Finds the maximal ranges without whitespace.
inline void find_words(std::string_view text, std::vector<Range>& words) {
  words.clear();
  // Most units are spaces and then one word.
  const size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  if (std::none_of(text.begin() + static_cast<ptrdiff_t>(spaces), text.end(),
                   [](char c) { return kMayBeWhitespace[static_cast<unsigned char>(c)]; })) {
    if (spaces < text.size()) words.push_back({static_cast<uint32_t>(spaces), static_cast<uint32_t>(text.size())});
    return;
  }
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Decoded c = decode_utf8(text.data() + at, text.data() + text.size());
    if (is_whitespace(c.code)) {
      inside = false;
    } else {
      if (!inside) words.push_back({static_cast<uint32_t>(at), 0});
      inside = true;
      words.back().end = static_cast<uint32_t>(at + c.length);
    }
    at += c.length;
  }
}

}  // namespace piecework

// The lines of a block of text that are not blank. Each is a document, without a final carriage return.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "text/whitespace_words.hpp"

namespace piecework {

// The columns of an Arrow large_utf8 array, and the number of newlines of the block.
struct LineDocuments {
  std::vector<int64_t> offsets{0};
  std::string data;
  size_t newlines = 0;
};

inline bool is_blank(std::string_view text) {
  while (!text.empty()) {
    if (!kMayBeWhitespace[static_cast<unsigned char>(text[0])]) return false;  // nearly always at the first byte
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (!is_whitespace(c.code)) return false;
    text.remove_prefix(c.length);
  }
  return true;
}

// `block` is valid UTF-8.
inline LineDocuments find_line_documents(std::string_view block) {
  LineDocuments lines;
  lines.data.reserve(block.size());
  while (!block.empty()) {
    const size_t newline = block.find('\n'), end = std::min(newline, block.size());
    std::string_view line = block.substr(0, end);
    block.remove_prefix(std::min(end + 1, block.size()));
    lines.newlines += newline != block.npos;
    if (is_blank(line)) continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.data += line;
    lines.offsets.push_back(static_cast<int64_t>(lines.data.size()));
  }
  return lines;
}

}  // namespace piecework

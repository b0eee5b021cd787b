// Strings as JSON.
#pragma once

#include <string>
#include <string_view>

namespace piecework {

inline void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  out += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\') {
      out += c;
    } else if (const size_t at = kEscaped.find(c); at != kEscaped.npos) {
      out.append(1, '\\').append(1, kLetters[at]);
    } else {
      out.append("\\u00").append(1, c < 0x10 ? '0' : '1').append(1, "0123456789abcdef"[c & 15]);
    }
  }
  out += '"';
}

}  // namespace piecework

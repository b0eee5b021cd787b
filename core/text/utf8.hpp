// UTF-8 decoding as in SentencePiece: strict, and each invalid byte counts as one character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace piecework {

inline constexpr char32_t kSpaceMark = 0x2581;    // ▁ stands for a space
inline constexpr char32_t kUnknownMark = 0x2585;  // ▅ is SentencePiece's own mark for a rare character
inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr std::string_view kSpaceMarkUtf8 = "\xE2\x96\x81";
inline constexpr std::string_view kUnknownMarkUtf8 = "\xE2\x96\x85";
inline constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// A decoded character. `valid` is false for a byte that starts no character; then `length` is 1.
struct Decoded {
  char32_t code;
  uint8_t length;
  bool valid;
};

inline bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Surrogates, overlong forms and anything above U+10FFFF are invalid. `first` < `last` is required.
inline Decoded decode_utf8(const char* first, const char* last) {
  const auto* p = reinterpret_cast<const unsigned char*>(first);
  const size_t left = static_cast<size_t>(last - first);
  const unsigned char lead = p[0];
  if (lead < 0x80) return {lead, 1, true};
  if (lead >= 0xC2 && lead < 0xE0) {
    if (left >= 2 && is_continuation(p[1])) {
      return {static_cast<char32_t>((lead & 0x1F) << 6 | (p[1] & 0x3F)), 2, true};
    }
  } else if (lead >= 0xE0 && lead < 0xF0) {
    if (left >= 3 && is_continuation(p[1]) && is_continuation(p[2])) {
      const char32_t code = static_cast<char32_t>((lead & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F));
      if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {code, 3, true};
    }
  } else if (lead >= 0xF0 && lead < 0xF5) {
    if (left >= 4 && is_continuation(p[1]) && is_continuation(p[2]) && is_continuation(p[3])) {
      const char32_t code =
          static_cast<char32_t>((lead & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F));
      if (code >= 0x10000 && code <= 0x10FFFF) return {code, 4, true};
    }
  }
  return {kReplacement, 1, false};
}

// `text` is valid UTF-8.
inline uint64_t count_characters(std::string_view text) {
  uint64_t count = 0;
  for (const char byte : text) count += !is_continuation(static_cast<unsigned char>(byte));
  return count;
}

inline void append_utf8(std::string& out, char32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// The offset of the first byte that is not valid UTF-8, or text.size().
size_t find_invalid_utf8(std::string_view text);

// Returns a copy of `text` with one U+FFFD for each invalid byte, and adds their number to `replaced`.
std::string replace_invalid_utf8(std::string_view text, uint64_t& replaced);

}  // namespace piecework

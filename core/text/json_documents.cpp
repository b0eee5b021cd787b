#include "text/json_documents.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "text/utf8.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace piecework {
namespace {

constexpr int kMaxDepth = 100;
constexpr size_t kStep = 16;

// What a letter after a backslash stands for; zero for other letters. `u` is read by Reader::escape().
constexpr std::array<char, 256> kEscapes = [] {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  std::array<char, 256> meanings{};
  for (size_t i = 0; i < kLetters.size(); ++i) meanings[static_cast<unsigned char>(kLetters[i])] = kMeanings[i];
  return meanings;
}();

bool is_plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; }

// How many of 16 bytes come before the first control character, quote or backslash.
size_t leading_plain(const char* bytes) {
#if defined(__x86_64__)
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
  const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"')), escape = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
  const int special = _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, escape)));
  return static_cast<size_t>(std::countr_zero(static_cast<unsigned>(special) | 1u << kStep));
#else
  size_t n = 0;
  while (n < kStep && is_plain(bytes[n])) ++n;
  return n;
#endif
}

// Reads the objects of a block. Every function returns false if the line needs a closer look.
class Reader {
 public:
  Reader(std::string_view block, std::string_view field, size_t longest, LineDocuments& documents)
      : at_(block.data()),
        last_(block.data() + block.size()),
        field_(field),
        longest_(longest),
        documents_(documents),
        out_(documents.data.data()) {}

  bool read_lines() {
    while (at_ < last_) {
      if (!skip_blank_lines()) return true;
      if (!object()) return false;
      skip_spaces();
      if (at_ < last_ && *at_ != '\n') return false;
    }
    return true;
  }
  size_t size() const { return size_; }

 private:
  // False at the end of the block. Other characters that Python's strip() removes are not skipped: a line with them
  // needs a closer look.
  bool skip_blank_lines() {
    for (; at_ < last_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n'); ++at_) {
      documents_.newlines += *at_ == '\n';  // there is none inside of an object
    }
    return at_ < last_;
  }
  void skip_spaces() {
    while (at_ < last_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool skip(char c) {
    skip_spaces();
    if (at_ == last_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  // Reads the object of a line, and keeps its field as a document.
  bool object() {
    if (!skip('{')) return false;
    const size_t start = size_;
    size_t end = start;  // of the document
    do {
      skip_spaces();
      if (!string()) return false;
      const bool is_field = std::string_view(out_ + end, size_ - end) == field_;
      size_ = end;
      if (!skip(':')) return false;
      skip_spaces();
      if (!is_field) {
        if (!value(0)) return false;
        continue;
      }
      if (end > start || !string() || size_ == start) return false;
      end = size_;
    } while (skip(','));
    if (!skip('}') || end == start || end - start > longest_) return false;
    documents_.offsets.push_back(static_cast<int64_t>(end));
    return true;
  }

  // Skips a value that is not needed.
  bool value(int depth) {
    skip_spaces();
    if (at_ == last_ || depth > kMaxDepth) return false;
    switch (*at_) {
      case '"': {
        const size_t start = size_;
        const bool valid = string();
        size_ = start;
        return valid;
      }
      case '{':
        ++at_;
        if (skip('}')) return true;
        do {
          skip_spaces();
          const size_t start = size_;
          if (!string() || !skip(':')) return false;
          size_ = start;
          if (!value(depth + 1)) return false;
        } while (skip(','));
        return skip('}');
      case '[':
        ++at_;
        if (skip(']')) return true;
        do {
          if (!value(depth + 1)) return false;
        } while (skip(','));
        return skip(']');
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return number();
    }
  }

  bool literal(std::string_view word) {
    if (static_cast<size_t>(last_ - at_) < word.size() || std::memcmp(at_, word.data(), word.size()) != 0) return false;
    at_ += word.size();
    return true;
  }

  bool digits() {
    const char* const first = at_;
    while (at_ < last_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ > first;
  }
  bool number() {
    if (*at_ == '-') ++at_;
    if (at_ < last_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (at_ < last_ && *at_ == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (at_ < last_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      if (at_ < last_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  // Reads a string and appends its text. The text is never longer than the string, so the output always has room for 16
  // more bytes.
  bool string() {
    if (at_ == last_ || *at_ != '"') return false;
    ++at_;
    for (;;) {
      copy_plain();
      if (at_ == last_) return false;
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (*at_ != '\\' || !escape()) return false;
    }
  }

  // Copies up to the first character that is not plain. Steps of a fixed length, in local variables, so that the
  // processor need not wait for one step to begin the next: with `at += plain` alone, reading took a third longer.
  void copy_plain() {
    const char* at = at_;
    char* out = out_ + size_;
    for (; static_cast<size_t>(last_ - at) >= kStep; at += kStep, out += kStep) {
      std::memcpy(out, at, kStep);
      const size_t plain = leading_plain(at);
      if (plain < kStep) {
        at += plain;
        out += plain;
        break;
      }
    }
    while (at < last_ && is_plain(*at)) *out++ = *at++;
    at_ = at;
    size_ = static_cast<size_t>(out - out_);
  }

  bool escape() {
    if (last_ - at_ < 2) return false;
    const char letter = at_[1];
    at_ += 2;
    if (const char meaning = kEscapes[static_cast<unsigned char>(letter)]) {
      out_[size_++] = meaning;
      return true;
    }
    char32_t code = 0;
    if (letter != 'u' || !four_digits(code)) return false;
    if (code >= 0xD800 && code < 0xE000) {
      char32_t second = 0;
      if (code >= 0xDC00 || last_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return false;
      at_ += 2;
      if (!four_digits(second) || second < 0xDC00 || second >= 0xE000) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
    }
    std::string utf8;
    append_utf8(utf8, code);
    std::memcpy(out_ + size_, utf8.data(), utf8.size());
    size_ += utf8.size();
    return true;
  }
  bool four_digits(char32_t& code) {
    if (last_ - at_ < 4) return false;
    for (int i = 0; i < 4; ++i) {
      const char c = *at_++;
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        code = code << 4 | static_cast<char32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code << 4 | static_cast<char32_t>(lower - 'a' + 10);
      } else {
        return false;
      }
    }
    return true;
  }

  const char* at_;
  const char* const last_;
  std::string_view field_;
  size_t longest_;
  LineDocuments& documents_;
  char* out_;
  size_t size_ = 0;  // of the output
};

}  // namespace

std::optional<LineDocuments> find_json_documents(std::string_view block, std::string_view field, size_t longest) {
  LineDocuments documents;
  documents.data.resize(block.size() + kStep);
  Reader reader(block, field, longest, documents);
  if (!reader.read_lines()) return std::nullopt;
  documents.data.resize(reader.size());
  return documents;
}

}  // namespace piecework

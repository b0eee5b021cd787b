// Helpers for the tests of counting and training: tables from maps and back, and random texts.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "count/word_table.hpp"
#include "text/utf8.hpp"

namespace piecework::tests {

using Counts = std::map<std::string, uint64_t>;

// Words as in WordCounts: with ▁ in front unless they open a line.
inline Counts counts_of(const WordTable& table) {
  Counts counts;
  for (size_t i = 0; i < table.size(); ++i) {
    const Word word = table.at(i);
    counts[(word.opens_line ? "" : std::string(kSpaceMarkUtf8)) + std::string(word.bytes)] += word.count;
  }
  return counts;
}

inline WordTable table_of(const Counts& counts) {
  WordTable table;
  for (const auto& [marked, count] : counts) {
    std::string_view word = marked;
    const bool opens_line = !word.starts_with(kSpaceMarkUtf8);
    if (!opens_line) word.remove_prefix(kSpaceMarkUtf8.size());
    table.add(word, opens_line, count);
  }
  return table;
}

// Random choices: from a generator, or from the bytes of an input, and from a generator once these are used up.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  explicit Random(std::string_view input) : engine_(1), input_(input) {}
  uint64_t below(uint64_t limit) { return draw(limit) % limit; }  // slightly biased, which does not matter here
  bool chance(uint64_t one_in) { return below(one_in) == 0; }
  template <class Container>
  const auto& pick(const Container& items) {
    return items[below(std::size(items))];
  }

  // Bytes that are mostly invalid UTF-8, with many word separators.
  std::string bytes(size_t length) {
    std::string out;
    while (out.size() < length) {
      static constexpr std::string_view kBits[] = {" ",    "\n",   "\xE2",         "\x96",
                                                   "\x81", "\x85", "\xE2\x96\x81", "\xE2\x96\x85",
                                                   "a",    "b",    "\xC3\xA5",     "\xF0\x9F\x98\x80"};
      if (chance(4)) {
        out += static_cast<char>(below(256));
      } else {
        out += pick(kBits);
      }
    }
    return out;
  }

  // Valid UTF-8 from a small alphabet, so that words repeat and pairs have equal frequencies.
  std::string text(size_t characters) {
    static constexpr std::string_view kAlphabets[] = {"ab ",
                                                      "abc  \n",
                                                      "a\xE2\x96\x81 b",
                                                      "a1 2b",
                                                      "aaab",
                                                      "\xC3\xA5\xC3\xA4 a",
                                                      "\xD0\xB6 a\xCE\xB1",
                                                      "\xE5\xAD\x97\xE3\x81\x8B\xE3\x83\xBC a",
                                                      "a\xCC\x81 e",
                                                      "\xF0\x9F\x98\x80 \xF0\x9F\x91\x8D",
                                                      "<s>|",
                                                      "\ta \n"};
    const std::string_view alphabet = pick(kAlphabets);
    std::vector<std::string_view> letters;
    for (size_t at = 0; at < alphabet.size();) {
      const size_t length = decode_utf8(alphabet.data() + at, alphabet.data() + alphabet.size()).length;
      letters.push_back(alphabet.substr(at, length));
      at += length;
    }
    std::string out;
    for (size_t i = 0; i < characters; ++i) {
      if (chance(64)) {
        // Large code points are rare, because tables by code point are as long as the largest one.
        const uint64_t code = chance(2) ? below(0x800) : chance(16) ? below(0x10F000) : below(0x3000);
        append_utf8(out, static_cast<char32_t>(code >= 0xD800 && code < 0xE000 ? 'x' : code));
      } else {
        out += pick(letters);
      }
    }
    return out;
  }

 private:
  uint64_t draw(uint64_t limit) {
    const size_t size = limit <= 256 ? 1 : limit <= 65536 ? 2 : 8;
    if (input_.size() < size) return engine_();
    uint64_t value = 0;
    for (const char c : input_.substr(0, size)) value = value << 8 | static_cast<unsigned char>(c);
    input_.remove_prefix(size);
    return value;
  }

  std::mt19937_64 engine_;
  std::string_view input_;
};

}  // namespace piecework::tests

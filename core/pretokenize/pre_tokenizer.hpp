// Cuts text into pre-tokens as the regular expressions of byte-level tokenizers do, without a regular expression
// engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace piecework {

// The parameters of a pattern. The patterns stand beside their names in src/piecework/common/pre_tokenizer.py.
struct PreTokenizerRules {
  // gpt2: a space goes with the word, the number or the signs after it.
  // cl100k: any one sign goes with the word after it; newlines go with the signs or the spaces before them.
  // o200k: like cl100k, but a word is cut where lower case turns to upper case.
  // deepseek: numbers are cut out first, then Han and kana; the rest is cut after them.
  enum class Family : uint8_t { gpt2, cl100k, o200k, deepseek };
  // 's, 't, 're, 've, 'm, 'll, 'd. any_case means the cases of Unicode: ſ is an s.
  enum class Contractions : uint8_t { none, lower_case, ascii_case, any_case };
  // whole: the whole number, with a space before it. right: in threes from the right end of the number.
  enum class Digits : uint8_t { whole, threes, ones, right };

  Family family = Family::gpt2;
  Contractions contractions = Contractions::lower_case;
  Digits digits = Digits::whole;
  bool marks_in_words = false;  // cl100k only: a combining mark is part of a word
  bool whole_end = false;       // cl100k only: whitespace at the end of the text is one pre-token
};

class PreTokenizer {
 public:
  explicit PreTokenizer(const PreTokenizerRules& rules) : rules_(rules) {}

  static constexpr size_t kBlock = 128;  // pre-tokens

  // What is a text of its own: the whole text, or each of its lines with its newline.
  enum class Unit : uint8_t { text, line };

  // Calls `use(begin, ends, count)` for up to kBlock pre-tokens at a time, in order. The first starts at `begin`, each
  // other one at the end of the previous one. Together they are the text, which must be valid UTF-8.
  template <class Use>
  void for_each_block(std::string_view text, Use&& use, Unit unit = Unit::text) const {
    std::array<size_t, kBlock> ends;
    for (size_t at = 0; at < text.size();) {
      const size_t found = find_ends(text, at, unit, ends.data());
      use(at, ends.data(), found);
      at = ends[found - 1];
    }
  }

  // Calls `use(pre_token)` for each in order.
  template <class Use>
  void for_each(std::string_view text, Use&& use) const {
    for_each_block(text, [&](size_t begin, const size_t* ends, size_t count) {
      for (size_t i = 0; i < count; begin = ends[i++]) use(text.substr(begin, ends[i] - begin));
    });
  }

  // The end of the pre-token that starts at `at`, found without looking at many bytes together.
  size_t next_end(std::string_view text, size_t at) const;

  const PreTokenizerRules& rules() const { return rules_; }

 private:
  // Writes the ends of up to kBlock pre-tokens from `at` on, and returns their number.
  size_t find_ends(std::string_view text, size_t at, Unit unit, size_t* ends) const;

  PreTokenizerRules rules_;
};

}  // namespace piecework

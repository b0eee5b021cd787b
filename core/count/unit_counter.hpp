// Counts the units of documents, with and without their ASCII punctuation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "count/word_table.hpp"

namespace piecework {

// Python's string.punctuation.
inline constexpr std::array<bool, 256> kAsciiPunctuation = [] {
  std::array<bool, 256> is{};
  for (const char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) is[static_cast<unsigned char>(c)] = true;
  return is;
}();

inline bool is_ascii_punctuation(char c) { return kAsciiPunctuation[static_cast<unsigned char>(c)]; }

// A unit is a run of spaces and the text up to the next space: a tokenizer can encode it on its own. Its key in a table
// is its bucket (one byte) and its bytes. The flag of the key is set for the first unit of a document.
//
// A literal ▁ is a space that normalisation keeps, unless only spaces follow it to the end of the text. What rules make
// spaces of is not known yet, so a unit with ▁ ends before the first space after an ASCII letter or digit.
//
// Most units without punctuation are not counted separately. When a unit still has text after its punctuation is
// removed, the result is a unit of the text without punctuation, whatever its neighbours are; it is derived once for
// all occurrences, at the end. When only spaces remain, they belong to the next unit; such joined units are counted
// while the document is read.
class UnitCounter {
 public:
  // `prefix` is put before the document. It is a token, so its punctuation is kept.
  void add(std::string_view document, uint8_t bucket, std::string_view prefix);

  // Includes the memory that derive() will need.
  size_t memory_bytes() const { return 2 * apart_.memory_bytes() + joined_.memory_bytes() + plain_.memory_bytes(); }
  // Returns the units with their punctuation, or without it (`plain`). The other table stays until it is taken too.
  WordTable take(bool plain);

 private:
  void count(size_t first, size_t last);
  void count_joined(size_t first, size_t last);
  void end_joined();
  void derive();

  WordTable apart_;   // units that still have text without their punctuation, and that no spaces join
  WordTable joined_;  // all other units, with punctuation
  WordTable plain_;   // the units of joined_ without punctuation; after derive(), all units without punctuation
  // State of the current document.
  std::string text_;       // a byte, the prefix, the document, and zeros, so that it can be read in blocks
  std::string pending_;    // the key of a unit without punctuation that may be incomplete
  size_t prefix_end_ = 0;  // in text_
  bool joining_ = false;
  bool pending_opens_ = false;
};

}  // namespace piecework

// Documents to units: as they are, and as they would be if the text had no ASCII punctuation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "count/word_table.hpp"

namespace piecework {

// A unit is a run of spaces with the text up to the next space: what a tokenizer can encode on its own. Its key in a
// table is its bucket, one byte, and its bytes; the flag is set for the unit that opens a document.
//
// The text without punctuation is not counted a second time. A unit of which something is left is one of that text as
// well, whatever its neighbours are, so it is derived once for all its occurrences. Where nothing but spaces is left,
// they join what follows: a unit of several is counted as it is met.
class UnitCounter {
 public:
  // `prefix` stands before the document, also where punctuation is removed: it is a token, not text.
  void add(std::string_view document, uint8_t bucket, std::string_view prefix);

  // With room for what is derived.
  size_t memory_bytes() const { return 2 * apart_.memory_bytes() + joined_.memory_bytes() + plain_.memory_bytes(); }
  // Gives the units as they are, or without punctuation; the other table stays until it is asked for as well.
  WordTable take(bool plain);

 private:
  void count(size_t first, size_t last);
  void count_joined(size_t first, size_t last);
  void end_joined();
  void derive();

  WordTable apart_;   // units of which something is left, and that nothing joins
  WordTable joined_;  // all others, as they are
  WordTable plain_;   // those others without punctuation; and after derive() all
  // Of the document at hand.
  std::string text_;       // a byte, the prefix, the document, and zeros, so that it can be read in blocks
  std::string pending_;    // the key of a unit without punctuation that may not be complete
  size_t prefix_end_ = 0;  // in text_
  bool joining_ = false;
  bool pending_opens_ = false;
};

}  // namespace piecework

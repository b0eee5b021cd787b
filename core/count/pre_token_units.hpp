// Counts the pre-tokens of evaluation documents, with the information on their neighbours that metrics need.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "count/word_table.hpp"

namespace piecework {

// Information on a unit and its neighbours, as bits. A unit of SentencePiece may have the first bit, a pre-token the
// others.
struct UnitContext {
  static constexpr uint8_t kOpens = 1;        // the first unit of its document
  static constexpr uint8_t kFollowed = 2;     // the next pre-token starts without a space, and this one has a space
  static constexpr uint8_t kJoinedLeft = 4;   // its first word starts in the previous pre-token
  static constexpr uint8_t kJoinedRight = 8;  // its last word goes on in the next pre-token
  static constexpr uint8_t kAll = 15;
};

// Appends the ends of the pre-tokens of a text, in bytes. The text is valid UTF-8, and the last end is its size.
using CutText = std::function<void(std::string_view text, std::vector<size_t>& ends)>;

// Where a text is cut depends on the text after the cut, so pre-tokens are counted as they are in the document. The key
// of a pre-token in a table is a byte and its text; the byte is its bucket (5 bits) and UnitContext without kOpens (3
// bits).
class PreTokenUnitCounter {
 public:
  explicit PreTokenUnitCounter(CutText cut) : cut_(std::move(cut)) {}

  // Counts the document as it is, and without its ASCII punctuation, which is cut separately.
  void add(std::string_view document, uint8_t bucket);
  size_t memory_bytes() const { return table_.memory_bytes() + plain_.memory_bytes(); }
  WordTable take(bool plain);

  static uint8_t key_byte(uint8_t bucket, uint8_t context) { return static_cast<uint8_t>(bucket | context >> 1 << 5); }

 private:
  // Counts text_, which has one byte before the document.
  void count(uint8_t bucket, WordTable& table);

  CutText cut_;
  WordTable table_, plain_;
  std::string text_;
  std::vector<size_t> ends_;  // of the pre-tokens in text_
};

}  // namespace piecework

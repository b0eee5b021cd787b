// The tables of one subset: words of its training documents, units of its evaluation documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "word_counter.hpp"
#include "word_table.hpp"

namespace piecework {

// A unit is a run of spaces with the text up to the next space: what a tokenizer can encode on its own. Its key in the
// table is its bucket, one byte, and its bytes; the flag is set for the unit that opens a document.
struct Unit {
  uint8_t bucket;
  bool opens_document;
  std::string_view bytes;
  uint64_t count;
};

class DocumentCounter {
 public:
  // Counts each document `copies` times.
  void add_training(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies);

  // Counts units as they are, and again without ASCII punctuation. `prefix` stands before each text, also where
  // punctuation is removed: it is a token, not text.
  void add_evaluation(const std::vector<std::string_view>& documents, const std::vector<uint8_t>& buckets,
                      std::string_view prefix);

  size_t memory_bytes() const;
  const CountStatistics& statistics() const { return statistics_; }
  WordTable take_training();
  WordTable take_evaluation(bool plain);

  // Writes a table as a run (runs.hpp), unless it has no rows, and empties it; how many rows it had. The keys are words
  // with their ▁, or units after two bytes, their bucket and whether they open a document.
  size_t write_training(const std::string& path);
  size_t write_evaluation(bool plain, const std::string& path);
  static Unit unit_of_key(std::string_view key, uint64_t count);

  static Unit unit_at(const WordTable& table, size_t index);
  // Indices by bucket, then units that do not open a document first, then bytes.
  static std::vector<uint32_t> sorted_units(const WordTable& table);

 private:
  void count_units(std::string_view text, uint8_t bucket, WordTable& table);

  WordTable training_, evaluation_, plain_;
  CountStatistics statistics_;
  std::string text_, key_;
};

}  // namespace piecework

// The tables of one subset: words of its training documents, units of its evaluation documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "count/unit_counter.hpp"
#include "count/word_counter.hpp"
#include "count/word_table.hpp"

namespace piecework {

// A row of a table of units.
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

  // Counts units as they are, and as they are without ASCII punctuation. `prefix` stands before each text.
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

  static Unit unit_at(const WordTable& table, size_t index) {
    const Word word = table.at(index);
    return {static_cast<uint8_t>(word.bytes[0]), word.opens_line, word.bytes.substr(1), word.count};
  }
  // Indices by bucket, then units that do not open a document first, then bytes.
  static std::vector<uint32_t> sorted_units(const WordTable& table);

 private:
  WordTable training_;
  UnitCounter units_;
  CountStatistics statistics_;
};

}  // namespace piecework

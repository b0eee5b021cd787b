// Counts one subset: the words of its training documents and the units of its evaluation documents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "count/unit_counter.hpp"
#include "count/word_counter.hpp"
#include "count/word_table.hpp"

namespace piecework {

// A row of a table of units.
struct CountedUnit {
  uint8_t bucket;
  bool opens_document;
  std::string_view bytes;
  uint64_t count;
};

class DocumentCounter {
 public:
  // The settings are those of training documents; evaluation documents are counted as they are.
  explicit DocumentCounter(CountSettings settings = {}) : settings_(std::move(settings)) {}

  // Counts each document `copies` times.
  void add_training(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies);

  // Counts the units of each document, with and without its ASCII punctuation. `prefix` is put before each document.
  void add_evaluation(const std::vector<std::string_view>& documents, const std::vector<uint8_t>& buckets,
                      std::string_view prefix);

  size_t memory_bytes() const;
  const CountStatistics& statistics() const { return statistics_; }
  WordTable take_training();
  WordTable take_evaluation(bool plain);

  // Writes a table to a spill file and empties it; returns its number of rows. An empty table makes no file. The key of
  // a word is its bytes with ▁; the key of a unit is its bucket (a byte), opens_document (a byte) and its bytes.
  size_t write_training(const std::string& path);
  size_t write_evaluation(bool plain, const std::string& path);
  static CountedUnit unit_from_key(std::string_view key, uint64_t count);

  static CountedUnit unit_at(const WordTable& table, size_t index) {
    const Word word = table.at(index);
    return {static_cast<uint8_t>(word.bytes[0]), word.opens_line, word.bytes.substr(1), word.count};
  }
  // Indices sorted by bucket, then by opens_document (false first), then by bytes.
  static std::vector<uint32_t> sorted_units(const WordTable& table);

 private:
  CountSettings settings_;
  WordTable training_;
  UnitCounter units_;
  CountStatistics statistics_;
};

}  // namespace piecework

// Counts one subset: the words or pre-tokens of its training documents, and the units of its evaluation documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "count/placer.hpp"
#include "count/pre_token_counter.hpp"
#include "count/pre_token_units.hpp"
#include "count/unit_counter.hpp"
#include "count/word_counter.hpp"
#include "count/word_table.hpp"

namespace piecework {

// A row of a table of units.
struct CountedUnit {
  uint8_t bucket;
  uint8_t context;  // UnitContext
  std::string_view bytes;
  uint64_t count;
};

class DocumentCounter {
 public:
  // The settings are those of training documents; evaluation documents are counted as they are.
  explicit DocumentCounter(CountSettings settings = {}) : settings_(std::move(settings)) {}
  // Counts pre-tokens: in training documents as they are, in evaluation documents as units with their context.
  explicit DocumentCounter(const PreTokenizer& pre_tokenizer);
  // The same for a pre-tokenizer outside the core.
  explicit DocumentCounter(CutText cut) : cut_(cut), pre_token_units_(std::move(cut)) {}

  // Counts each document `copies` times.
  void add_training(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies);

  // Counts the units of each document, with and without its ASCII punctuation. `prefix` is put before each document,
  // unless pre-tokens are counted: it is a special token, which is no part of the text there. A bucket is less than 32.
  void add_evaluation(const std::vector<std::string_view>& documents, const std::vector<uint8_t>& buckets,
                      std::string_view prefix);

  // Places each document, and counts it for training or for evaluation. `prefix` is put before each document, as above.
  // Passages of `long_enough` characters are not short.
  PlacedBatch add_placed(const std::vector<std::string_view>& documents, bool known_valid, const Placer& placer,
                         std::string_view prefix, const BestPassage& best, uint64_t long_enough);

  size_t memory_bytes() const;
  const CountStatistics& statistics() const { return statistics_; }
  WordTable take_training();
  WordTable take_evaluation(bool plain);

  // Writes a table to a spill file and empties it; returns its number of rows. An empty table makes no file. The key of
  // a word is its bytes with ▁; the key of a unit is its bucket (a byte), its context (a byte) and its bytes.
  size_t write_training(const std::string& path);
  size_t write_evaluation(bool plain, const std::string& path);
  static CountedUnit unit_from_key(std::string_view key, uint64_t count);

  static CountedUnit unit_at(const WordTable& table, size_t index) {
    const Word word = table.at(index);
    const auto first = static_cast<uint8_t>(word.bytes[0]);
    const auto context = static_cast<uint8_t>(first >> 5 << 1 | word.opens_line);
    return {static_cast<uint8_t>(first % kBuckets), context, word.bytes.substr(1), word.count};
  }
  // Indices sorted by bucket, then by context, then by bytes.
  static std::vector<uint32_t> sorted_units(const WordTable& table);

 private:
  static constexpr uint8_t kBuckets = Placer::kBuckets;

  void add_training_document(std::string_view document, bool known_valid, uint64_t copies);
  void add_cut_document(std::string_view document, bool known_valid, uint64_t copies);
  void add_evaluation_document(std::string_view document, uint8_t bucket, std::string_view prefix);

  CountSettings settings_;
  std::optional<PreTokenizer> pre_tokenizer_;
  CutText cut_;
  std::optional<PreTokenUnitCounter> pre_token_units_;
  CachedWords training_;
  PreTokenTable pre_tokens_;  // instead of training_, with a pre-tokenizer of the core
  std::vector<size_t> ends_;  // of the pre-tokens of a document
  UnitCounter units_;
  CountStatistics statistics_;
};

}  // namespace piecework

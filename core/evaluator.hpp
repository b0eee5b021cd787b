// Figures of a tokenizer from counted units: each distinct unit is encoded once, for all groups and all vocabulary
// sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "encoder.hpp"
#include "word_table.hpp"

namespace piecework {

// Distinct units, and how often each occurs in which group (a language, say) and bucket.
class UnitSet {
 public:
  static constexpr uint32_t kBuckets = 32;

  explicit UnitSet(uint32_t groups) : groups_(groups) {}

  // Rows of one group. `opens`: the unit opens a document, so that it may get a dummy prefix.
  struct Columns {
    const std::vector<std::string_view>& units;
    const uint8_t *buckets, *opens;
    const uint64_t* counts;
  };
  void add(uint32_t group, const Columns& columns);

  struct Row {
    uint32_t unit;
    uint16_t group;
    uint8_t bucket;
    uint64_t count;
  };
  struct TextTotals {  // of a group and bucket
    uint64_t words = 0, characters = 0, bytes = 0;
  };

  uint32_t groups() const { return groups_; }
  size_t size() const { return table_.size(); }
  Word unit(size_t index) const { return table_.at(index); }
  // Rows in the order of their units; call it when all are added.
  const std::vector<Row>& rows();
  std::vector<TextTotals> text_totals();
  // The same text with units cut before and after newlines, so that fewer are distinct. What is left of a unit's start
  // ends with one newline if a newline came after it and it has spaces or opens a document.
  UnitSet& lines();

 private:
  uint32_t groups_;
  WordTable table_;  // the flag is `opens`; its counts mean nothing
  std::vector<Row> rows_;
  bool sorted_ = true;
  std::unique_ptr<UnitSet> lines_;
  std::mutex sorting_, cutting_;  // several threads may evaluate on one set
};

// What is counted of each group and bucket, in this order.
struct TokenTotals {
  uint64_t tokens = 0;
  uint64_t starts = 0;       // tokens that start with ▁
  uint64_t continued = 0;    // of those, followed by a token that does not
  uint64_t split_words = 0;  // whitespace words of two or more tokens
  uint64_t unknown = 0;
  uint64_t bytes = 0;  // tokens that are byte pieces
};

// The figures that depend on the vocabulary size.
struct SizeTotals {
  int64_t tokens = 0, starts = 0, continued = 0, split_words = 0;
  SizeTotals& operator+=(const SizeTotals& other) {
    tokens += other.tokens;
    starts += other.starts;
    continued += other.continued;
    split_words += other.split_words;
    return *this;
  }
};

struct Evaluation {
  std::vector<TokenTotals> totals;    // [group][bucket]
  std::vector<uint64_t> frequencies;  // [the first groups, as many as asked for][piece]
  std::vector<SizeTotals> sizes;      // [group][bucket][size]
  std::vector<SizeTotals> curve;      // [group][number of merges, from 0 to all]
};

struct EvaluationRequest {
  // The piece of each merge in order, for models whose smaller sizes are wanted: then `curve` is filled, and `sizes`
  // for these numbers of merges. Whitespace runs are in every size. Empty: only the model as it is.
  std::vector<uint32_t> merges;
  std::vector<uint32_t> sizes;
  uint32_t frequency_groups = 0;  // for the first so many, how often each piece is used
  unsigned threads = 1;
};

// Throws ModelError where units cannot be encoded one by one with this model: it normalises text, or has pieces that
// reach across a space.
Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request);

}  // namespace piecework

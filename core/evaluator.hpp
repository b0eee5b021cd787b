// Figures of a tokenizer from counted units: each distinct unit is encoded once, for all groups and all vocabulary
// sizes.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "encoder.hpp"
#include "word_table.hpp"

namespace piecework {

// Distinct units in the order of their bytes, and how often each occurs in which group (a language, say) and bucket.
class UnitSet {
 public:
  static constexpr uint32_t kBuckets = 32;

  // `cut_lines`: units are cut before and after newlines, so that fewer are distinct. It takes an encoder for which
  // newlines stand alone.
  UnitSet(uint32_t groups, bool cut_lines) : groups_(groups), cut_lines_(cut_lines) {}

  // Rows of one group. `opens`: the unit opens a document, so that it may get a dummy prefix.
  struct Columns {
    const std::vector<std::string_view>& units;
    const uint8_t *buckets, *opens;
    const uint64_t* counts;
  };
  void add(uint32_t group, const Columns& columns);

  struct Unit {
    std::string_view text;
    bool opens;
    bool followed;  // by a newline that was cut off, where the text has spaces or opens a document
    bool one_word;  // after its spaces, if any
  };
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
  bool cuts_lines() const { return cut_lines_; }
  // From here on all are added; several threads may ask.
  void arrange();
  const Unit& unit(size_t number) const { return units_[number]; }
  const std::vector<Row>& rows() const { return rows_; }  // in the order of their units
  size_t size() {
    arrange();
    return units_.size();
  }
  std::vector<TextTotals> text_totals();

 private:
  void number_units();
  void sort_rows();

  uint32_t groups_;
  bool cut_lines_;
  WordTable table_;  // until units are arranged. The flag is `opens`; its counts mean nothing
  std::vector<Row> rows_;
  std::once_flag arranged_;
  std::string text_;  // of all units, one after the other
  std::vector<Unit> units_;
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

// So many units of a group with several spaces and text have a token that starts with the last space from `from` merges
// on, and not before: then it is part of the run.
struct Detached {
  uint64_t group, spaces, from, count;
};

struct Evaluation {
  std::vector<TokenTotals> totals;    // [group][bucket]
  std::vector<uint64_t> frequencies;  // [the first groups, as many as asked for][piece]
  std::vector<SizeTotals> sizes;      // [group][bucket][size]
  std::vector<SizeTotals> curve;      // [group of curves][number of merges, from 0 to all]
  std::vector<Detached> detached;     // of the groups that have frequencies
};

struct EvaluationRequest {
  // The piece of each merge in order, for models whose smaller sizes are wanted: then `curve` is filled, and `sizes`
  // for these numbers of merges. Whitespace runs are in every size. Empty: only the model as it is.
  std::vector<uint32_t> merges;
  std::vector<uint32_t> sizes;
  std::vector<uint32_t> curve_groups;  // to which curve a group belongs; empty: each has its own
  uint32_t frequency_groups = 0;       // for the first so many, how often each piece is used
  unsigned threads = 1;
};

// Throws ModelError where units cannot be encoded one by one with this model: it normalises text, or has pieces that
// reach across a space.
Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request);

// How often each piece is used with only the first `kept` of the merges, from the frequencies with all of them:
// [group][piece], as `evaluate_units` gives them with `detached`.
std::vector<uint64_t> smaller_frequencies(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                                          std::vector<uint64_t> frequencies, const std::vector<Detached>& detached);

}  // namespace piecework

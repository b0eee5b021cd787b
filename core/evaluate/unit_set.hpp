// The text for evaluation: distinct units, and how often each occurs in each part of the text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "count/pre_token_units.hpp"
#include "count/word_table.hpp"
#include "text/whitespace_words.hpp"

namespace piecework {

// Distinct units in the order of their bytes, and how often each occurs in each group (such as a language) and bucket.
class UnitSet {
 public:
  static constexpr uint32_t kBuckets = 32;

  // `cut_lines`: units are cut before and after newlines, so that fewer are distinct. It needs an encoder for which
  // newlines stand alone.
  UnitSet(uint32_t groups, bool cut_lines) : groups_(groups), cut_lines_(cut_lines) {}
  // A set of pre-tokens, for byte-level encoders.
  static constexpr struct OfPreTokens {
  } kOfPreTokens{};
  UnitSet(uint32_t groups, OfPreTokens) : groups_(groups), cut_lines_(false), pre_tokens_(true) {}
  // The same units in fewer groups: `new_groups` has the new group of each group. Both sets share the texts.
  UnitSet(UnitSet& finer, uint32_t groups, const std::vector<uint32_t>& new_groups);

  // Rows of one group. `contexts`: UnitContext; a unit that opens a document may get a dummy prefix.
  struct Columns {
    const std::vector<std::string_view>& units;
    const uint8_t *buckets, *contexts;
    const uint64_t* counts;
  };
  void add(uint32_t group, const Columns& columns);

  struct Unit {
    std::string_view text;
    bool opens;
    // For a unit that starts with a space or opens a document: whether a newline came after it and was cut off. For a
    // pre-token: whether the next pre-token starts without a space.
    bool followed;
    bool one_word;        // after its spaces, if any
    bool marked;          // has a literal ▁, so it may be several units once ▁ is a space
    uint32_t words;       // that start in it
    uint8_t context = 0;  // of a pre-token: UnitContext
  };
  // Each tokenizer reads millions of rows, so they are small. Few counts need more than 32 bits; those are in a list.
  struct Row {
    uint32_t count;  // or its index in the list
    uint16_t group;
    uint8_t bucket;
    bool large;
  };
  struct TextTotals {  // of a group and bucket
    uint64_t words = 0, characters = 0, bytes = 0;
    static constexpr std::array kNames{"words", "characters", "bytes"};
  };
  static_assert(sizeof(TextTotals) == TextTotals::kNames.size() * sizeof(uint64_t));

  uint32_t groups() const { return groups_; }
  bool cuts_lines() const { return cut_lines_; }
  bool has_pre_tokens() const { return pre_tokens_; }
  // Sorts the units, after all were added. Several threads may call it.
  void arrange();
  const Unit& unit(size_t number) const { return texts_->units[number]; }
  // In the order of groups and buckets.
  std::span<const Row> rows(size_t unit) const {
    const size_t begin = unit ? ends_[unit - 1] : 0;
    return {rows_.data() + begin, ends_[unit] - begin};
  }
  uint64_t count(const Row& row) const { return row.large ? large_counts_[row.count] : row.count; }
  size_t size() {
    arrange();
    return texts_->units.size();
  }
  // ▁ counts as a space if the set cuts lines.
  std::vector<TextTotals> text_totals();

 private:
  struct Added {
    uint32_t index;  // in the table
    Row row;
  };
  // Throws std::invalid_argument if a row of a table is damaged, CountOverflow if totals could overflow.
  void check(std::string_view text, uint8_t bucket, uint8_t context, uint64_t count);
  Unit unit_of(std::string_view text, bool opens, std::vector<Range>& words) const;
  std::vector<uint32_t> number_units();
  void place_rows(const std::vector<uint32_t>& numbers);
  void sort_rows();
  void set_count(Row& row, uint64_t count);

  uint32_t groups_;
  bool cut_lines_;
  bool pre_tokens_ = false;
  uint64_t most_tokens_ = 0;
  // Used until units are arranged. The flag of the table is `opens`, its counts are numbers of rows, and the rows refer
  // to its indices. The key of a pre-token is its context (a byte) and its text.
  WordTable table_;
  std::vector<std::vector<Added>> added_;
  std::vector<Row> rows_;     // unit after unit
  std::vector<size_t> ends_;  // of the rows of each unit
  std::vector<uint64_t> large_counts_;
  std::once_flag arranged_;
  struct Texts {
    std::string bytes;  // of all units, one after the other
    std::vector<Unit> units;
  };
  std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();
};

}  // namespace piecework

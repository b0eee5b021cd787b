// Totals of a tokenizer from counted units: each distinct unit is encoded once, for all groups and all vocabulary
// sizes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "encode/encoder.hpp"
#include "evaluate/frequency_table.hpp"
#include "evaluate/unit_set.hpp"

namespace piecework {

// The totals of a group and bucket. Python reads them as an array with these names.
struct TokenTotals {
  uint64_t tokens = 0;
  uint64_t starts = 0;       // tokens that start with ▁
  uint64_t continued = 0;    // of those, followed by a token that does not
  uint64_t split_words = 0;  // whitespace words of two or more tokens
  uint64_t unknown = 0;
  uint64_t byte_tokens = 0;  // tokens that are byte pieces
  uint64_t partial = 0;      // tokens that are not whole characters
  static constexpr std::array kNames{"tokens",  "starts",      "continued", "split_words",
                                     "unknown", "byte_tokens", "partial"};
};
static_assert(sizeof(TokenTotals) == TokenTotals::kNames.size() * sizeof(uint64_t));

// The totals that depend on the vocabulary size.
struct SizeTotals {
  int64_t tokens = 0, starts = 0, continued = 0, split_words = 0;
  SizeTotals& operator+=(const SizeTotals& other) {
    tokens += other.tokens;
    starts += other.starts;
    continued += other.continued;
    split_words += other.split_words;
    return *this;
  }
  static constexpr std::array kNames{"tokens", "starts", "continued", "split_words"};
};
static_assert(sizeof(SizeTotals) == SizeTotals::kNames.size() * sizeof(int64_t));

// `count` units of a group have several spaces and text. From `from` merges on, a token of the text starts with the
// last space; with fewer merges, that space belongs to the spaces before it.
struct Detached {
  uint64_t group, spaces, from, count;
};

// How many distinct words a set of groups has, by the block of those that are in one block alone; the last number is of
// those that are in several. Words here have one space before them, and nothing after them but the next unit.
using WordTypes = std::vector<uint64_t>;

struct Evaluation {
  std::vector<TokenTotals> totals;  // [group][bucket]
  FrequencyTable frequencies;       // of the first groups, as many as asked for
  std::vector<SizeTotals> sizes;    // [group][bucket][size]
  std::vector<SizeTotals> curve;    // [table][group][number of merges, from 0 to all]
  // [table][group, and then all of them][blocks + 1]; and of those that are one token, with all merges and at each
  // size.
  WordTypes types, single_types;
  std::vector<Detached> detached;  // of the groups that have frequencies
};

struct EvaluationRequest {
  // The piece of each merge in order, for models whose smaller sizes are wanted: then `curve` is filled, and `sizes`
  // for these numbers of merges. Whitespace runs are in every size. Empty: only the model as it is.
  std::vector<uint32_t> merges;
  std::vector<uint32_t> sizes;
  // Groups may be those of several tables, and of blocks of documents: first all of the first table, in each of its
  // groups a block after the other. This is how many blocks the groups of each table have.
  std::vector<uint32_t> blocks = {1};
  uint32_t frequency_groups = 0;  // number of leading groups that have per-piece counts
  unsigned threads = 1;
};

// Throws ModelError if units cannot be encoded one by one with this model (Encoder::require_independent_units).
Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request);

// How often each piece is used with only the first `kept` of the merges, from the frequencies with all of them:
// [group][piece], as `evaluate_units` gives them with `detached`. Of the pieces, those in `ids`, in that order, are
// written to `out`. False if a number does not fit there.
template <class Given, class Number>
bool smaller_frequencies(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                         const std::vector<uint32_t>& ids, std::span<const Given> frequencies,
                         std::span<const Detached> detached, Number* out);

}  // namespace piecework

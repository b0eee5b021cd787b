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
  uint64_t continued = 0;    // such tokens before a token that does not start with ▁
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

// Numbers of distinct words in a set of groups: for each block, the words that are only in this block; at the end, the
// words that are in several blocks. Words here have one space before them, and the next unit directly after them.
using WordTypes = std::vector<uint64_t>;

struct Evaluation {
  std::vector<TokenTotals> totals;  // [group][bucket]
  FrequencyTable frequencies;       // of the first `frequency_groups` groups
  std::vector<SizeTotals> sizes;    // [group][bucket][size]
  std::vector<SizeTotals> curve;    // [table][group][number of merges, from 0 to all]
  // [table][group, and at the end all groups together][blocks + 1]. `single_types` counts only words of one token: with
  // all merges, then at each size.
  WordTypes types, single_types;
  std::vector<Detached> detached;  // of the groups that have frequencies
};

struct EvaluationRequest {
  // The piece of each merge in order, if smaller sizes are wanted; empty otherwise. With merges, the result has a
  // `curve`, and `sizes` for the numbers of merges in `sizes` below. Whitespace runs are in every size.
  std::vector<uint32_t> merges;
  std::vector<uint32_t> sizes;
  // The number of blocks of documents in each group, by table. Groups are in the order of tables; within a table, the
  // blocks of a group are side by side.
  std::vector<uint32_t> blocks = {1};
  uint32_t frequency_groups = 0;  // number of leading groups that have per-piece counts
  unsigned threads = 1;
};

// Throws ModelError if units cannot be encoded one by one with this model (Encoder::require_independent_units).
Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request);

// Computes how often each piece is used with only the first `kept` merges. `frequencies` are those with all merges,
// [group][piece], as `evaluate_units` returns them together with `detached`. The numbers of the pieces in `ids` are
// written to `out`, in that order. Returns false if a number does not fit there.
template <class Given, class Number>
bool smaller_frequencies(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                         const std::vector<uint32_t>& ids, std::span<const Given> frequencies,
                         std::span<const Detached> detached, Number* out);

}  // namespace piecework

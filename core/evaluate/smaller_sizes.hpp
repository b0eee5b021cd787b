// The tokens that a token is split into in smaller vocabularies.
//
// Let r₁, r₂, … be the numbers of the merges that encoding performs, in order. With only the first k merges, encoding
// performs exactly those before the first rᵢ ≥ k: at that moment there is no pair with a lower number, because encoding
// would have taken it. So a symbol exists if k is above the highest number in its tree; else its two halves exist.
// Whitespace runs merge after all others, in every size.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/encoder.hpp"
#include "encode/merge_trees.hpp"

namespace piecework {

class SmallerSizes {
 public:
  // `merges`: the piece of each merge in order; `sizes`: the requested numbers of merges.
  SmallerSizes(const Encoder& encoder, const std::vector<uint32_t>& merges, const std::vector<uint32_t>& sizes);

  // The number of requested sizes.
  size_t sizes() const { return sizes_; }
  // The least number of merges with which a symbol exists.
  uint32_t from(SymbolId symbol) const { return from_[symbol]; }
  // The number of tokens of a symbol at each requested size.
  const uint32_t* tokens(SymbolId symbol) const { return &tokens_[symbol * sizes_]; }
  // The least number of merges with which one token holds the part of a symbol from `begin` to `end`.
  uint32_t from(SymbolId symbol, uint32_t begin, uint32_t end) const;

  // Changes the frequencies of tokens with all merges into those with the first `kept` merges. Calls
  // `split(from, count)` for tokens that are split into two: they are two tokens with fewer than `from` merges.
  template <class Count, class Split>
  void take_apart(Count* frequencies, uint32_t kept, Split&& split) const {
    for (auto symbol = trees_.by_length().rbegin(); symbol != trees_.by_length().rend(); ++symbol) {
      const Count count = frequencies[*symbol];
      if (!count || from_[*symbol] <= kept) continue;
      frequencies[*symbol] = 0;
      frequencies[trees_[*symbol].left] += count;
      frequencies[trees_[*symbol].right] += count;
      split(from_[*symbol], count);
    }
  }

 private:
  const MergeTrees& trees_;
  const size_t sizes_;
  std::vector<uint32_t> from_, tokens_;
};

}  // namespace piecework

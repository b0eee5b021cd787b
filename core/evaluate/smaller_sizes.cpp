#include "evaluate/smaller_sizes.hpp"

#include <algorithm>

namespace piecework {

SmallerSizes::SmallerSizes(const Encoder& encoder, const std::vector<uint32_t>& merges,
                           const std::vector<uint32_t>& sizes)
    : trees_(encoder.trees()), sizes_(sizes.size()), from_(trees_.size(), 0), tokens_(trees_.size() * sizes.size(), 1) {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> numbers(trees_.size(), kNone);
  for (uint32_t i = 0; i < merges.size(); ++i) numbers[merges[i]] = i;
  for (const SymbolId symbol : trees_.by_length()) {
    if (numbers[symbol] == kNone) continue;
    const auto [left, right, time, length] = trees_[symbol];
    if (std::max(left, right) >= encoder.model().size()) {
      throw ModelError("\"" + encoder.model().pieces[symbol] +
                       "\" has a character that is no piece, so smaller sizes do not follow from it");
    }
    from_[symbol] = std::max({numbers[symbol] + 1, from_[left], from_[right]});
    for (size_t s = 0; s < sizes_; ++s) {
      if (from_[symbol] <= sizes[s]) continue;
      tokens_[symbol * sizes_ + s] = tokens_[left * sizes_ + s] + tokens_[right * sizes_ + s];
    }
  }
}

uint32_t SmallerSizes::from(SymbolId symbol, uint32_t begin, uint32_t end) const {
  while (trees_[symbol].left != kNoSymbol) {
    const uint32_t middle = trees_[trees_[symbol].left].length;
    if (end <= middle) {
      symbol = trees_[symbol].left;
    } else if (begin >= middle) {
      symbol = trees_[symbol].right;
      begin -= middle;
      end -= middle;
    } else {
      break;
    }
  }
  return from_[symbol];
}

}  // namespace piecework

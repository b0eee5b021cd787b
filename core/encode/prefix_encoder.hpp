// The tokens of many sorted texts: the start that a text shares with the one before it is encoded once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/merge_trees.hpp"
#include "encode/merger.hpp"
#include "encode/suffix_index.hpp"

namespace piecework {

// For one thread. Any order of texts gives the right tokens; sorted texts are fast.
//
// The tokens of a text without the last one are the encoding of the text before the last token. So it is enough to
// know, for each offset, the last token of the text up to it: the symbol that ends there and stays apart from the last
// token of the text before the symbol.
class PrefixEncoder {
 public:
  PrefixEncoder(const Merger& merger, const MergeTrees& trees, const SuffixIndex& suffixes)
      : merger_(merger), trees_(trees), suffixes_(suffixes), last_tokens_(1) {}

  // Calls `put` with each token of `text`. `offset` is added to the ranges of the tokens.
  template <class Put>
  void encode(std::string_view text, uint32_t offset, Put&& put) {
    find_tokens(text);
    for (size_t i = ends_.size(); i-- > 0;) {
      const auto [symbol, begin] = last_tokens_[ends_[i]];
      put(Segment{symbol, offset + begin, ends_[i] - begin});
    }
  }

 private:
  // The last token of the text up to an offset; `begin` is kUnknown until it is computed.
  struct Last {
    SymbolId symbol;
    uint32_t begin;
  };
  static constexpr uint32_t kUnknown = UINT32_MAX;
  void find_tokens(std::string_view text);
  SymbolId last_token(uint32_t end);

  const Merger& merger_;
  const MergeTrees& trees_;
  const SuffixIndex& suffixes_;
  std::string text_;
  std::vector<Last> last_tokens_;  // by offset
  std::vector<uint32_t> ends_;     // of the tokens, the last one first
};

}  // namespace piecework

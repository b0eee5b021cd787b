// The tokens of many texts in the order of their bytes: what a text shares with the one before it is encoded once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/merge_trees.hpp"
#include "encode/merger.hpp"
#include "encode/suffix_index.hpp"

namespace piecework {

// For one thread. Any order of texts is right; only sorted ones are quick.
//
// The tokens of a text without its last token are the encoding of what stands before that token. So it is enough to
// know for each place the last token of the text up to there: the one symbol that ends there and can stand behind the
// last token of what is before it.
class PrefixEncoder {
 public:
  PrefixEncoder(const Merger& merger, const MergeTrees& trees, const SuffixIndex& suffixes)
      : merger_(merger), trees_(trees), suffixes_(suffixes), lasts_(1) {}

  // Calls `put` with each token of `text`, which lies at `offset` in what the segments' places are of.
  template <class Put>
  void encode(std::string_view text, uint32_t offset, Put&& put) {
    find_tokens(text);
    for (size_t i = ends_.size(); i-- > 0;) {
      const auto [symbol, begin] = lasts_[ends_[i]];
      put(Segment{symbol, offset + begin, ends_[i] - begin});
    }
  }

 private:
  // The last token of the text up to a place; kUnasked until somebody wants to know.
  struct Last {
    SymbolId symbol;
    uint32_t begin;
  };
  static constexpr uint32_t kUnasked = UINT32_MAX;
  void find_tokens(std::string_view text);
  SymbolId last_of(uint32_t end);

  const Merger& merger_;
  const MergeTrees& trees_;
  const SuffixIndex& suffixes_;
  std::string text_;
  std::vector<Last> lasts_;     // by place
  std::vector<uint32_t> ends_;  // of the tokens, the last one first
};

}  // namespace piecework

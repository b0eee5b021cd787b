// Finds the symbols at the end of a text, among the symbols that encoding can make.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/merge_trees.hpp"

namespace piecework {

class SuffixIndex {
 public:
  explicit SuffixIndex(const MergeTrees& trees);

  // The longest symbol at the end of a text that has more than one character, or kNoSymbol. `next` gives the next
  // shorter one.
  SymbolId longest(std::string_view text) const;
  SymbolId next(SymbolId symbol) const { return shorter_[symbol]; }

 private:
  // A trie of the symbols' texts, read backwards, stored level by level: the children of a node are adjacent, and end
  // where the children of the next node start, so the trie is small.
  struct TrieNode {
    uint32_t first_child;
    SymbolId longest;  // the longest symbol that the text of the node ends with
  };
  std::vector<TrieNode> trie_;
  std::vector<unsigned char> labels_;  // by node: the byte that leads there
  std::vector<uint32_t> starts_;       // by the last two bytes: the node, or 0
  std::vector<SymbolId> shorter_;      // by symbol
};

}  // namespace piecework

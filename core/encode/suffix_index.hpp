// Which of the symbols that encoding makes a text ends with.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/merge_trees.hpp"

namespace piecework {

class SuffixIndex {
 public:
  explicit SuffixIndex(const MergeTrees& trees);

  // Of the symbols that a text ends with, and that are longer than a character: the longest; and after that, the next.
  SymbolId longest(std::string_view text) const;
  SymbolId next(SymbolId symbol) const { return shorter_[symbol]; }

 private:
  // A trie of the symbols' texts, read backwards, laid out by levels: the children of a node stand side by side, and
  // end where those of the next one start, so that all of it is small.
  struct TrieNode {
    uint32_t first_child;
    SymbolId longest;  // that ends the text that leads here
  };
  std::vector<TrieNode> trie_;
  std::vector<unsigned char> labels_;  // by node: the byte that leads there
  std::vector<uint32_t> starts_;       // by the last two bytes: the node, or 0
  std::vector<SymbolId> shorter_;      // by symbol
};

}  // namespace piecework

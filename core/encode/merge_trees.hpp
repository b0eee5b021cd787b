// How each piece comes about when it is encoded by itself, and what follows from that for text: a text's tokens without
// merging it, and what becomes of a token in a smaller vocabulary.
//
// Encoding merges the best pair of all, so what happens inside a stretch of text that becomes one token is what would
// happen to that stretch alone. Hence each token is the root of a tree of merges that is the same wherever it occurs,
// and a row of such tokens is the encoding of its text if and only if each two neighbours are (docs/exactness.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/merger.hpp"
#include "model/model.hpp"

namespace piecework {

class MergeTrees {
 public:
  MergeTrees(const Merger& merger, const Model& model);

  // What a symbol was merged from.
  struct Node {
    SymbolId left = kNoSymbol, right = kNoSymbol;  // none for a character
    uint32_t time = 0;  // the highest rank in the tree, plus 1; 0 for a character, kNever for what encoding never makes
    uint32_t length = 0;  // of the text, in bytes
  };
  static constexpr uint32_t kNever = UINT32_MAX;

  const Node& operator[](SymbolId symbol) const { return nodes_[symbol]; }
  size_t size() const { return nodes_.size(); }
  // The symbols that have a tree, shorter ones first.
  const std::vector<SymbolId>& by_length() const { return by_length_; }

  // Whether two symbols that stand side by side are the encoding of their text. kNoSymbol is a character that is in no
  // piece.
  bool stay_apart(SymbolId left, SymbolId right) const;

  std::string_view text(SymbolId symbol) const { return {text_.data() + begins_[symbol], nodes_[symbol].length}; }

 private:
  void grow(const Model& model);
  template <bool kInOrder>
  bool no_merge_across(SymbolId left, SymbolId right, bool as_they_are) const;
  bool try_merging(SymbolId left, SymbolId right, bool as_they_are) const;

  const Merger& merger_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> begins_;  // in text_
  std::string text_;
  bool in_order_ = true;  // no symbol merges before one that it is made of
  std::vector<SymbolId> by_length_;
};

}  // namespace piecework

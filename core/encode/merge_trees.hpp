// The merges of each piece when it is encoded alone. They give the tokens of a text without merging the text, and the
// tokens of a piece in a smaller vocabulary.
//
// Encoding always merges the best pair of the whole text. So inside a part of the text that becomes one token, the
// merges are the same as for this part alone. Therefore each token is the root of a tree of merges that is the same
// everywhere. A row of such tokens is the encoding of its text if and only if each two neighbours are the encoding of
// theirs (docs/exactness.md).
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
    uint32_t time = 0;    // the highest rank in the tree, plus 1; 0 for a character, kNever if it is never made
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

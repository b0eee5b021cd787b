// Strings that an extended vocabulary must not have, because encoding would then make an old piece from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/hash.hpp"

namespace piecework {

// Strings that are symbols, with the symbol.
using KnownStrings = std::unordered_map<std::string, uint32_t, HashBytes, std::equal_to<>>;

// SentencePiece and tiktoken merge every two neighbours that spell a piece. So an old piece that merging never made
// could be made from a new piece and its neighbour, before the merges that training saw. A new piece is therefore
// forbidden if it and another piece spell such an old piece.
class ForbiddenPieces {
 public:
  // Adds an old piece that merging never makes, cut after `left_bytes`.
  void add_split(std::string_view unreachable, size_t left_bytes) {
    const std::string left(unreachable.substr(0, left_bytes)), right(unreachable.substr(left_bytes));
    others_[left].push_back(right);
    others_[right].push_back(left);
  }
  void forbid(std::string_view piece) { always_.emplace(piece); }
  bool contains(const std::string& piece, const KnownStrings& known) const {
    if (always_.contains(piece)) return true;
    if (others_.empty()) return false;
    const auto found = others_.find(piece);
    return found != others_.end() && std::any_of(found->second.begin(), found->second.end(), [&](const auto& other) {
             return other == piece || known.contains(other);
           });
  }

 private:
  std::unordered_map<std::string, std::vector<std::string>, HashBytes, std::equal_to<>> others_;
  std::unordered_set<std::string, HashBytes, std::equal_to<>> always_;
};

}  // namespace piecework

#include "encode/merge_trees.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "text/utf8.hpp"

namespace piecework {
MergeTrees::MergeTrees(const Merger& merger, const Model& model)
    : merger_(merger), nodes_(merger.symbol_count()), begins_(merger.symbol_count()) {
  SymbolId symbol = 0;
  const auto add = [&](std::string_view text) {
    begins_[symbol] = static_cast<uint32_t>(text_.size());
    nodes_[symbol++].length = static_cast<uint32_t>(text.size());
    text_ += text;
  };
  while (symbol < model.size()) add(normalized_piece(model, symbol));
  for (const char32_t code : merger.characters()) {
    std::string character;
    append_utf8(character, code);
    add(character);
  }
  grow(model);
}

// Builds the trees of shorter pieces first. The children of a piece are the two symbols that its text would become if
// it were no piece.
void MergeTrees::grow(const Model& model) {
  std::vector<uint32_t> ends(model.size() + 1);
  merger_.for_each_merge([&](SymbolId, SymbolId, SymbolId piece) { ++ends[piece + 1]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::pair<SymbolId, SymbolId>> pairs(ends.back());
  merger_.for_each_merge([&](SymbolId left, SymbolId right, SymbolId piece) { pairs[ends[piece]++] = {left, right}; });
  std::vector<std::pair<uint32_t, SymbolId>> pieces;  // of several characters, with their lengths
  for (SymbolId piece = 0; piece < model.size(); ++piece) {
    const std::string_view whole = text(piece);
    if (whole.empty() || decode_utf8(whole.data(), whole.data() + whole.size()).length == whole.size()) continue;
    pieces.emplace_back(nodes_[piece].length, piece);
    nodes_[piece].time = kNever;
  }
  std::sort(pieces.begin(), pieces.end());
  // The pairs of a piece start where those of the previous piece end.
  for (const auto& [length, piece] : pieces) {
    for (uint32_t i = piece ? ends[piece - 1] : 0; i < ends[piece]; ++i) {
      const auto [left, right] = pairs[i];
      const Node &l = nodes_[left], &r = nodes_[right];
      if (l.time == kNever || r.time == kNever || !no_merge_across<false>(left, right, false)) continue;
      Node& node = nodes_[piece];
      node.left = left;
      node.right = right;
      const uint32_t own = merger_.rank(piece) + 1;
      node.time = std::max({own, l.time, r.time});
      in_order_ = in_order_ && node.time == own;
      by_length_.push_back(piece);
      break;
    }
  }
}

// Whether the texts of two symbols, side by side, become these two symbols. At no time may a merge across their border
// be the best merge.
//
// The loop goes back from the end, and undoes the last merge of the two sides. x is the last symbol of the left side, y
// the first of the right side, and c is the rank of their merge, which is the merge across. It is taken if it is the
// best merge at some moment before x or y becomes part of a larger symbol. The larger symbol gives two bounds. If c is
// below its `rank`, the merge across is taken. All merges up to that moment have ranks below its `time`: if c is not
// below it, the merge across is not taken. The two bounds are equal in most trees. If they differ and c is between
// them, try_merging() decides. Of two merges with equal ranks, the left one comes first.
// `as_they_are`: a merge of the two symbols themselves also counts as a merge across.
template <bool kInOrder>
bool MergeTrees::no_merge_across(SymbolId left, SymbolId right, bool as_they_are) const {
  const Node *x = &nodes_[left], *y = &nodes_[right];
  SymbolId last = left, first = right;
  uint32_t taken = as_they_are ? kNever : 0, not_taken = taken;
  for (;;) {
    if (const SymbolId piece = merger_.merged(last, first); piece != kNoSymbol && merger_.rank(piece) < not_taken) {
      return !kInOrder && merger_.rank(piece) >= taken && try_merging(left, right, as_they_are);
    }
    if (x->time > y->time) {
      not_taken = x->time - 1;
      taken = kInOrder ? not_taken : merger_.rank(last);
      x = &nodes_[last = x->right];
    } else if (y->time > 0) {
      not_taken = y->time;
      taken = kInOrder ? not_taken : merger_.rank(first) + 1;
      y = &nodes_[first = y->left];
    } else {
      return true;
    }
  }
}

bool MergeTrees::stay_apart(SymbolId left, SymbolId right) const {
  if (left == kNoSymbol || right == kNoSymbol) return true;
  return in_order_ ? no_merge_across<true>(left, right, true) : no_merge_across<false>(left, right, true);
}

bool MergeTrees::try_merging(SymbolId left, SymbolId right, bool as_they_are) const {
  const uint32_t middle = nodes_[left].length;
  const std::string both = std::string(text(left)).append(text(right));
  Merger::Workspace workspace;
  std::vector<MergeEvent> events;
  merger_.segment(both, workspace, &events);
  if (as_they_are) return workspace.segments.size() == 2 && workspace.segments[0].length == middle;
  if (workspace.segments.size() != 1) return false;
  // The end of the first symbol before the last merge.
  uint32_t end = decode_utf8(both.data(), both.data() + both.size()).length;
  events.pop_back();
  for (const MergeEvent& event : events) {
    if (event.begin == 0) end = event.end;
  }
  return end == middle;
}

}  // namespace piecework

#include "merge_trees.hpp"

#include <algorithm>
#include <numeric>

#include "sort_by_text.hpp"
#include "utf8.hpp"

namespace piecework {
MergeTrees::MergeTrees(const Merger& merger, const Model& model)
    : merger_(merger),
      nodes_(merger.symbol_count()),
      begins_(merger.symbol_count()),
      shorter_(merger.symbol_count(), kNoSymbol) {
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
  index_suffixes();
}

// Trees of shorter pieces first. A piece is made of the two symbols that the text would end as if it were no piece.
void MergeTrees::grow(const Model& model) {
  std::vector<uint32_t> ends(model.size() + 1);
  merger_.for_each_merge([&](SymbolId, SymbolId, SymbolId piece) { ++ends[piece + 1]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::pair<SymbolId, SymbolId>> pairs(ends.back());
  merger_.for_each_merge([&](SymbolId left, SymbolId right, SymbolId piece) { pairs[ends[piece]++] = {left, right}; });
  std::vector<SymbolId> pieces;  // of several characters
  for (SymbolId piece = 0; piece < model.size(); ++piece) {
    const std::string_view whole = text(piece);
    if (whole.empty() || decode_utf8(whole.data(), whole.data() + whole.size()).length == whole.size()) continue;
    pieces.push_back(piece);
    nodes_[piece].time = kNever;
  }
  std::sort(pieces.begin(), pieces.end(), [&](SymbolId a, SymbolId b) {
    return nodes_[a].length != nodes_[b].length ? nodes_[a].length < nodes_[b].length : a < b;
  });
  // The pairs of a piece start where those of the one before end.
  for (const SymbolId piece : pieces) {
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

// Two symbols are merged to their ends side by side, and at no time may a merge across be the best.
//
// We go back from the end, undoing what happened last. While x is the last symbol of the left side and y the first of
// the right one, the best merge across has rank c; it is taken if it is the best at some moment before x or y is merged
// away. At the last of these moments, what is merged away has its `rank`, so a smaller c is taken; and all that is
// merged up to then has ranks below its `time`, so a larger c is not. These are the same in all but few trees; where
// they are not and c lies between, merging itself must tell. Of equal ranks the left one is merged first.
// `as_they_are`: a merge of the two symbols themselves counts as one across.
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
  // What stood at the start before the last merge.
  uint32_t end = decode_utf8(both.data(), both.data() + both.size()).length;
  events.pop_back();
  for (const MergeEvent& event : events) {
    if (event.begin == 0) end = event.end;
  }
  return end == middle;
}

void MergeTrees::index_suffixes() {
  std::vector<std::string> reversed;
  for (const SymbolId symbol : by_length_) reversed.emplace_back(text(symbol).rbegin(), text(symbol).rend());
  std::vector<uint32_t> order(reversed.size());
  std::iota(order.begin(), order.end(), 0);
  sort_by_text(order, [&](uint32_t i) { return std::string_view(reversed[i]); });
  // A node is a range of symbols that end alike; those that a node waits to be divided into come behind all others.
  struct Range {
    uint32_t begin, end, depth;
  };
  std::vector<Range> children, ranges{{0, static_cast<uint32_t>(order.size()), 0}};
  labels_.push_back(0);
  trie_.push_back({0, kNoSymbol});
  starts_.assign(1 << 16, 0);
  for (uint32_t node = 0; node < ranges.size(); ++node) {
    const auto [first, end, depth] = ranges[node];
    trie_[node].first_child = static_cast<uint32_t>(ranges.size());
    uint32_t begin = first;
    if (begin < end && reversed[order[begin]].size() == depth) {
      const SymbolId symbol = by_length_[order[begin++]];
      shorter_[symbol] = trie_[node].longest;
      trie_[node].longest = symbol;
    }
    children.clear();
    while (begin < end) {
      uint32_t stop = begin + 1;
      while (stop < end && reversed[order[stop]][depth] == reversed[order[begin]][depth]) ++stop;
      children.push_back({begin, stop, depth + 1});
      begin = stop;
    }
    // Where more symbols lie comes first, as it is looked for more often.
    std::stable_sort(children.begin(), children.end(),
                     [](const Range& a, const Range& b) { return a.end - a.begin > b.end - b.begin; });
    for (const Range& child : children) {
      const auto label = static_cast<unsigned char>(reversed[order[child.begin]][depth]);
      if (depth == 1) starts_[static_cast<size_t>(label << 8 | labels_[node])] = static_cast<uint32_t>(ranges.size());
      ranges.push_back(child);
      labels_.push_back(label);
      trie_.push_back({0, trie_[node].longest});
    }
  }
  trie_.push_back({static_cast<uint32_t>(ranges.size()), kNoSymbol});
}

SymbolId MergeTrees::longest_suffix(std::string_view text) const {
  if (text.size() < 2) return kNoSymbol;
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  size_t at = text.size() - 2;
  uint32_t node = starts_[static_cast<size_t>(data[at] << 8 | data[at + 1])];
  while (node && at > 0) {
    const unsigned char label = data[--at];
    uint32_t child = trie_[node].first_child;
    const uint32_t end = trie_[node + 1].first_child;
    while (child < end && labels_[child] != label) ++child;
    if (child == end) break;
    node = child;
  }
  return trie_[node].longest;
}

}  // namespace piecework

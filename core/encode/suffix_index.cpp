#include "encode/suffix_index.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "text/sort_by_text.hpp"

namespace piecework {

SuffixIndex::SuffixIndex(const MergeTrees& trees) : shorter_(trees.size(), kNoSymbol) {
  const std::vector<SymbolId>& symbols = trees.by_length();
  std::vector<std::string> reversed;
  for (const SymbolId symbol : symbols) reversed.emplace_back(trees.text(symbol).rbegin(), trees.text(symbol).rend());
  std::vector<uint32_t> order(reversed.size());
  std::iota(order.begin(), order.end(), 0);
  sort_by_text(order, [&](uint32_t i) { return std::string_view(reversed[i]); });
  // A node is a range of symbols with the same end. Nodes are divided in the order in which they are added.
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
      const SymbolId symbol = symbols[order[begin++]];
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
    // The child with the most symbols comes first, because it is searched for most often.
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

SymbolId SuffixIndex::longest(std::string_view text) const {
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

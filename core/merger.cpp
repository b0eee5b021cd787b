#include "merger.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "hash.hpp"
#include "utf8.hpp"

namespace piecework {
namespace {

constexpr uint32_t kNoNode = UINT32_MAX;
constexpr size_t kFew = 40;  // bytes; up to here a scan for the best pair beats a heap

// Orders scores as SentencePiece's comparison of bit patterns does: -0.0 below +0.0.
int64_t score_key(float score) {
  const auto bits = std::bit_cast<int32_t>(score);
  return bits < 0 ? -static_cast<int64_t>(bits & 0x7FFFFFFF) - 1 : bits;
}
}  // namespace

Merger::Merger(const Model& model)
    : unused_(model.size(), false), joined_(1 << 16, false), filter_(kFilterMask + 1, 0) {
  ascii_symbols_.fill(kNoSymbol);
  std::vector<std::string> texts(model.size());
  for (uint32_t id = 0; id < model.size(); ++id) {
    if (model.types[id] == PieceType::unused) unused_[id] = has_unused_ = true;
    std::string text = normalized_piece(model, id);
    if (text.empty()) continue;
    // Any piece of one character stands for it, also a special one.
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (c.length == text.size()) (c.code < 128 ? ascii_symbols_[c.code] : other_symbols_[c.code]) = id;
    if (model.is_mergeable(id)) texts[id] = std::move(text);
  }
  make_rules(model, texts);
  ascii_merges_.resize(1 << 14);
  for (uint32_t left = 0; left < 128; ++left) {
    for (uint32_t right = 0; right < 128; ++right) {
      const Rule* rule = find_rule(ascii_symbols_[left], ascii_symbols_[right]);
      if (rule) ascii_merges_[left << 7 | right] = {rule->rank, rule->merged};
    }
  }
}

// SentencePiece looks up the concatenation of two neighbours as a string. The same, with numbers: a rule for each way
// to cut a piece into two symbols.
void Merger::make_rules(const Model& model, const std::vector<std::string>& texts) {
  std::unordered_map<std::string_view, SymbolId, HashBytes, std::equal_to<>> by_text;
  by_text.reserve(texts.size() * 2);
  std::vector<int64_t> keys;
  for (uint32_t id = 0; id < texts.size(); ++id) {
    if (texts[id].empty()) continue;
    by_text.emplace(texts[id], id);
    keys.push_back(score_key(model.scores[id]));
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());

  // Characters that are no piece themselves can still be half of one.
  auto next_symbol = static_cast<SymbolId>(model.size());
  auto half = [&](std::string_view text) -> SymbolId {
    if (const auto found = by_text.find(text); found != by_text.end()) return found->second;
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (c.length != text.size()) return kNoSymbol;
    SymbolId& symbol =
        c.code < 128 ? ascii_symbols_[c.code] : other_symbols_.try_emplace(c.code, kNoSymbol).first->second;
    if (symbol == kNoSymbol) symbol = next_symbol++;
    return symbol;
  };
  for (uint32_t id = 0; id < texts.size(); ++id) {
    const std::string& text = texts[id];
    if (text.empty()) continue;
    const int64_t key = score_key(model.scores[id]);
    const auto rank =
        static_cast<uint32_t>(std::lower_bound(keys.begin(), keys.end(), key, std::greater<>()) - keys.begin());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (is_continuation(static_cast<unsigned char>(text[cut]))) continue;
      joined_[static_cast<size_t>(static_cast<unsigned char>(text[cut - 1]) << 8 |
                                  static_cast<unsigned char>(text[cut]))] = true;
      const SymbolId left = half(std::string_view(text).substr(0, cut));
      if (left == kNoSymbol) continue;
      const SymbolId right = half(std::string_view(text).substr(cut));
      if (right != kNoSymbol) add_rule(left, right, rank, id);
    }
  }
}

const Merger::Rule* Merger::find_rule(SymbolId left, SymbolId right) const {
  if (left == kNoSymbol || rules_.empty()) return nullptr;  // two of kNoSymbol would look like an empty place
  const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
  const uint64_t hash = hash_pair(left, right);
  // Most pairs have no rule, and this says so from memory that is near.
  if (!(filter_[hash >> 40 & kFilterMask] >> (hash >> 60) & 1)) return nullptr;
  for (uint64_t at = hash & rule_mask_;; at = (at + 1) & rule_mask_) {
    const Rule& rule = rules_[at];
    if (rule.pair == pair) return &rule;
    if (rule.pair == kEmptyPair) return nullptr;
  }
}

void Merger::add_rule(SymbolId left, SymbolId right, uint32_t rank, SymbolId merged) {
  if (rule_count_ * 3 >= rules_.size() * 2) grow_rules();
  uint64_t at = hash_pair(left, right) & rule_mask_;
  while (rules_[at].pair != kEmptyPair) at = (at + 1) & rule_mask_;
  rules_[at] = {static_cast<uint64_t>(left) << 32 | right, rank, merged};
  const uint64_t hash = hash_pair(left, right);
  filter_[hash >> 40 & kFilterMask] |= static_cast<uint16_t>(1U << (hash >> 60));
  ++rule_count_;
}

void Merger::grow_rules() {
  const HugeArray<Rule> old = std::exchange(rules_, {std::max<size_t>(1024, rules_.size() * 2), Rule{}});
  rule_mask_ = rules_.size() - 1;
  for (const Rule& rule : old) {
    if (rule.pair == kEmptyPair) continue;
    uint64_t at = hash_pair(rule.pair >> 32, rule.pair & UINT32_MAX) & rule_mask_;
    while (rules_[at].pair != kEmptyPair) at = (at + 1) & rule_mask_;
    rules_[at] = rule;
  }
}

// Cuts one unit into tokens: characters first, then always the best pair, the leftmost of equals.
void Merger::segment(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const {
  workspace.segments.clear();
  if (unit.size() <= kFew && !has_unused_) {
    merge_few(unit, workspace, events);
    return;
  }
  workspace.nodes.clear();
  workspace.parts.clear();
  for (size_t at = 0; at < unit.size();) {
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    const auto index = static_cast<uint32_t>(workspace.nodes.size());
    workspace.nodes.push_back({symbol_of(c.code), static_cast<uint32_t>(at), c.length, index - 1, index + 1});
    at += c.length;
  }
  workspace.nodes.front().previous = kNoNode;
  workspace.nodes.back().next = kNoNode;
  merge_many(workspace, events);
  for (uint32_t i = 0; i != kNoNode; i = workspace.nodes[i].next) put_segment(workspace.nodes[i], workspace);
}

// For short units: plain arrays, a scan for the best pair, and the arrays close up after each merge.
void Merger::merge_few(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const {
  SymbolId symbols[kFew + 1], merged[kFew + 1];
  uint32_t begins[kFew + 1], ranks[kFew + 1];
  const auto look_up = [&](size_t i) {
    const Rule* rule = find_rule(symbols[i], symbols[i + 1]);
    ranks[i] = rule ? rule->rank : kNoRank;
    if (rule) merged[i] = rule->merged;
  };
  size_t n = 0;
  char32_t previous = 0;
  for (size_t at = 0; at < unit.size(); ++n) {
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    symbols[n] = symbol_of(c.code);
    begins[n] = static_cast<uint32_t>(at);
    at += c.length;
    if (n > 0) {
      if ((previous | c.code) < 128) {
        const Merged& pair = ascii_merges_[previous << 7 | c.code];
        ranks[n - 1] = pair.rank;
        merged[n - 1] = pair.symbol;
      } else {
        look_up(n - 1);
      }
    }
    previous = c.code;
  }
  begins[n] = static_cast<uint32_t>(unit.size());
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) best = ranks[i] < ranks[best] ? i : best;
    if (ranks[best] == kNoRank) break;
    symbols[best] = merged[best];
    if (events) events->push_back({merged[best], begins[best], begins[best + 2]});
    --n;
    for (size_t i = best + 1; i < n; ++i) {
      symbols[i] = symbols[i + 1];
      merged[i] = merged[i + 1];
      ranks[i] = ranks[i + 1];
      begins[i] = begins[i + 1];
    }
    begins[n] = static_cast<uint32_t>(unit.size());
    if (best + 1 < n) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  for (size_t i = 0; i < n; ++i) workspace.segments.push_back({symbols[i], begins[i], begins[i + 1] - begins[i]});
}

void Merger::merge_many(Workspace& workspace, std::vector<MergeEvent>* events) const {
  std::vector<Node>& nodes = workspace.nodes;
  auto& heap = workspace.heap;
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto candidate = [&](uint32_t left, uint32_t right) {
    const Rule* rule = find_rule(nodes[left].symbol, nodes[right].symbol);
    if (!rule) return false;
    heap.push_back({rule->rank, left, right, nodes[left].symbol, nodes[right].symbol});
    return true;
  };
  heap.clear();
  for (uint32_t i = 0; i + 1 < nodes.size(); ++i) candidate(i, i + 1);
  std::make_heap(heap.begin(), heap.end(), later);
  while (!heap.empty()) {
    const Candidate top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    Node &left = nodes[top.left], &right = nodes[top.right];
    if (left.length == 0 || right.length == 0 || left.next != top.right || left.symbol != top.left_symbol ||
        right.symbol != top.right_symbol) {
      continue;
    }
    if (has_unused_) {
      const auto parts = static_cast<uint32_t>(workspace.parts.size());
      workspace.parts.push_back(left);
      workspace.parts.push_back(right);
      left.left = parts;
      left.right = parts + 1;
    }
    left.symbol = find_rule(left.symbol, right.symbol)->merged;
    left.length += right.length;
    if (events) events->push_back({left.symbol, left.begin, left.begin + left.length});
    left.next = right.next;
    right.length = 0;
    if (left.next != kNoNode) nodes[left.next].previous = top.left;
    if (left.previous != kNoNode && candidate(left.previous, top.left)) std::push_heap(heap.begin(), heap.end(), later);
    if (left.next != kNoNode && candidate(top.left, left.next)) std::push_heap(heap.begin(), heap.end(), later);
  }
}

// A piece that may not be used takes part in merging and is taken apart again at the end.
void Merger::put_segment(const Node& node, Workspace& workspace) const {
  std::vector<Node> stack{node};
  while (!stack.empty()) {
    const Node top = stack.back();
    stack.pop_back();
    if (top.symbol < unused_.size() && unused_[top.symbol] && top.left != UINT32_MAX) {
      stack.push_back(workspace.parts[top.right]);
      stack.push_back(workspace.parts[top.left]);
    } else {
      workspace.segments.push_back({top.symbol, top.begin, top.length});
    }
  }
}

}  // namespace piecework

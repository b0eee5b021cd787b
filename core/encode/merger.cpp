#include "encode/merger.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

#include "encode/splits.hpp"
#include "text/hash.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr uint32_t kNoNode = UINT32_MAX;
constexpr size_t kFew = 40;  // bytes; up to this length a scan for the best pair is faster than a heap
constexpr unsigned kIndexBits = 6;
static_assert(kFew < 1 << kIndexBits);

// The smallest of `count` numbers, four at a time. After them, `values` must have three numbers that are not smaller.
using Four = int32_t __attribute__((vector_size(16)));
inline int32_t smallest(const int32_t* values, size_t count) {
  Four best;
  std::memcpy(&best, values, sizeof best);
  for (size_t i = 4; i < count; i += 4) {
    Four next;
    std::memcpy(&next, values + i, sizeof next);
    best = next < best ? next : best;
  }
  return std::min(std::min(best[0], best[1]), std::min(best[2], best[3]));
}

// Orders scores as SentencePiece's comparison of bit patterns does: -0.0 below +0.0.
int64_t score_key(float score) {
  const auto bits = std::bit_cast<int32_t>(score);
  return bits < 0 ? -static_cast<int64_t>(bits & 0x7FFFFFFF) - 1 : bits;
}

}  // namespace

Merger::Merger(const Model& model)
    : unused_(model.size(), false),
      near_symbols_(kNear, kNoSymbol),
      joined_(1 << 16, false),
      letters_(kNear, kNoLetter),
      filter_(kFilterMask + 1, 0) {
  std::vector<std::string> texts(model.size());
  for (uint32_t id = 0; id < model.size(); ++id) {
    if (model.types[id] == PieceType::unused) unused_[id] = has_unused_ = true;
    std::string text = normalized_piece(model, id);
    if (text.empty()) continue;
    // A piece of one character is the symbol of this character, also if it is a special piece.
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (c.length == text.size()) character_symbol(c.code) = id;
    if (model.is_mergeable(id)) texts[id] = std::move(text);
  }
  make_rules(model, texts);
  choose_letters(texts);
}

SymbolId& Merger::character_symbol(char32_t code) {
  return code < kNear ? near_symbols_[code] : far_symbols_.try_emplace(code, kNoSymbol).first->second;
}

void Merger::choose_letters(const std::vector<std::string>& texts) {
  std::vector<uint32_t> uses(kNear, 0);
  for (const std::string& text : texts) {
    for (size_t at = 0; at < text.size();) {
      const Decoded c = decode_utf8(text.data() + at, text.data() + text.size());
      if (c.code < kNear) ++uses[c.code];
      at += c.length;
    }
  }
  std::vector<char32_t> codes(kNear);
  std::iota(codes.begin(), codes.end(), 0);
  std::stable_sort(codes.begin() + 128, codes.end(), [&](char32_t a, char32_t b) { return uses[a] > uses[b]; });
  codes.resize(kLetters);
  first_merges_.resize(kLetters * kLetters);
  for (size_t i = 0; i < kLetters; ++i) letters_[codes[i]] = static_cast<uint8_t>(i);
  for (size_t left = 0; left < kLetters; ++left) {
    for (size_t right = 0; right < kLetters; ++right) {
      const SymbolId piece = merged(near_symbols_[codes[left]], near_symbols_[codes[right]]);
      if (piece != kNoSymbol) first_merges_[left * kLetters + right] = {rank(piece), piece};
    }
  }
}

// SentencePiece looks up the concatenation of two neighbours as a string. Here it is a rule on two numbers, one rule
// for each way to cut a piece into two symbols.
void Merger::make_rules(const Model& model, const std::vector<std::string>& texts) {
  std::vector<std::pair<int64_t, uint32_t>> by_score;
  for (uint32_t id = 0; id < texts.size(); ++id) {
    if (!texts[id].empty()) by_score.emplace_back(-score_key(model.scores[id]), id);
  }
  std::sort(by_score.begin(), by_score.end());
  ranks_.assign(texts.size(), 0);
  for (size_t i = 0; i < by_score.size(); ++i) {
    rank_count_ += i == 0 || by_score[i].first != by_score[i - 1].first;
    ranks_[by_score[i].second] = rank_count_ - 1;
  }

  for (const std::string& text : texts) {
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (is_continuation(static_cast<unsigned char>(text[cut]))) continue;
      joined_[static_cast<size_t>(static_cast<unsigned char>(text[cut - 1]) << 8 |
                                  static_cast<unsigned char>(text[cut]))] = true;
    }
  }
  // A character that is no piece can still be one half of a piece.
  const auto character = [&](const char* first, const char* last) {
    SymbolId& symbol = character_symbol(decode_utf8(first, last).code);
    if (symbol == kNoSymbol) {
      symbol = static_cast<SymbolId>(model.size() + characters_.size());
      characters_.push_back(decode_utf8(first, last).code);
    }
    return symbol;
  };
  std::vector<uint64_t> rules;
  for_each_split(texts, [&](const Split& split) {
    const std::string& text = texts[split.text];
    const char *first = text.data(), *middle = first + split.left_bytes, *last = first + text.size();
    const SymbolId left = split.left == TextTable::kNotFound ? character(first, middle) : split.left;
    const SymbolId right = split.right == TextTable::kNotFound ? character(middle, last) : split.right;
    rules.push_back((static_cast<uint64_t>(left) << kSymbolBits | right) << kSymbolBits | split.text);
  });
  if (symbol_count() >= 1 << kSymbolBits) throw ModelError("more than 2 million pieces and characters");
  rules_ = {rules.size() * 4 / 3 + 1, kNoRule};
  const auto hash_of = [](uint64_t rule) { return hash_pair(symbol_at(rule, 2), symbol_at(rule, 1)); };
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (i + kAhead < rules.size()) __builtin_prefetch(&rules_[slot_of(hash_of(rules[i + kAhead]))]);
    const uint64_t hash = hash_of(rules[i]);
    size_t at = slot_of(hash);
    while (rules_[at] != kNoRule) at = next_slot(at);
    rules_[at] = rules[i];
    filter_[hash & kFilterMask] |= filter_bit(hash);
  }
}

bool Merger::is_short(std::string_view unit) const {
  return unit.size() <= kFew && !has_unused_ && rank_count_ < INT32_MAX >> kIndexBits;
}

// Arrays are indexed by the number of a symbol's first character. A key is the rank of the pair that starts there, then
// the index. It is kNone if there is no rule, and if the symbol was merged into the one before it.
void Merger::merge_few(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const {
  constexpr int32_t kNone = INT32_MAX;
  SymbolId symbols[kFew + 1], pieces[kFew + 1];
  int32_t keys[kFew + 4];
  uint8_t begins[kFew + 1], next[kFew + 1], previous[kFew + 2];
  const auto set = [&](size_t index, uint32_t rank, SymbolId piece) {
    keys[index] = rank == kNoRank ? kNone : static_cast<int32_t>(rank << kIndexBits | index);
    pieces[index] = piece;
  };
  const auto look_up = [&](size_t left, size_t right) {
    const SymbolId piece = merged(symbols[left], symbols[right]);
    set(left, piece == kNoSymbol ? kNoRank : rank(piece), piece);
  };
  size_t n = 0;
  uint8_t letter_before = kNoLetter;
  for (size_t at = 0; at < unit.size(); ++n) {
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    symbols[n] = symbol_of(c.code);
    begins[n] = static_cast<uint8_t>(at);
    next[n] = static_cast<uint8_t>(n + 1);
    previous[n + 1] = static_cast<uint8_t>(n);
    at += c.length;
    const uint8_t letter = c.code < kNear ? letters_[c.code] : kNoLetter;
    if (n > 0) {
      if (std::max(letter_before, letter) < kLetters) {
        const FirstMerge& pair = first_merges_[letter_before * kLetters + letter];
        set(n - 1, pair.rank, pair.merged);
      } else {
        look_up(n - 1, n);
      }
    }
    letter_before = letter;
  }
  begins[n] = static_cast<uint8_t>(unit.size());
  std::fill(keys + n - 1, keys + n + 3, kNone);
  for (int32_t best; (best = smallest(keys, n)) != kNone;) {
    const size_t left = best & ((1 << kIndexBits) - 1), right = next[left], after = next[right];
    symbols[left] = pieces[left];
    if (events) events->push_back({symbols[left], begins[left], begins[after]});
    keys[left] = keys[right] = kNone;
    next[left] = static_cast<uint8_t>(after);
    previous[after] = static_cast<uint8_t>(left);
    if (after < n) look_up(left, after);
    if (left > 0) look_up(previous[left], left);
  }
  for (size_t i = 0; i < n; i = next[i]) {
    workspace.segments.push_back({symbols[i], begins[i], static_cast<uint32_t>(begins[next[i]] - begins[i])});
  }
}

// Starts with the characters, then merges the best pair again and again. If pairs are equal, the leftmost comes first.
void Merger::segment(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const {
  workspace.segments.clear();
  if (is_short(unit)) return merge_few(unit, workspace, events);
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

void Merger::merge_many(Workspace& workspace, std::vector<MergeEvent>* events) const {
  std::vector<Node>& nodes = workspace.nodes;
  auto& heap = workspace.heap;
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  const auto candidate = [&](uint32_t left, uint32_t right) {
    const SymbolId piece = merged(nodes[left].symbol, nodes[right].symbol);
    if (piece == kNoSymbol) return false;
    heap.push_back({rank(piece), left, right, nodes[left].symbol, nodes[right].symbol});
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
    left.symbol = merged(left.symbol, right.symbol);
    left.length += right.length;
    if (events) events->push_back({left.symbol, left.begin, left.begin + left.length});
    left.next = right.next;
    right.length = 0;
    if (left.next != kNoNode) nodes[left.next].previous = top.left;
    if (left.previous != kNoNode && candidate(left.previous, top.left)) std::push_heap(heap.begin(), heap.end(), later);
    if (left.next != kNoNode && candidate(top.left, left.next)) std::push_heap(heap.begin(), heap.end(), later);
  }
}

// An unused piece takes part in merging, and is split again at the end.
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

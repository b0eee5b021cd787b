#include "merger.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "hash.hpp"
#include "utf8.hpp"

namespace piecework {
namespace {

constexpr uint32_t kNoNode = UINT32_MAX;
constexpr size_t kFew = 40;  // bytes; up to here a scan for the best pair beats a heap
constexpr size_t kLanes = 8;
constexpr unsigned kPlaceBits = 6;
static_assert(kFew < 1 << kPlaceBits);

// The smallest of `count` numbers, four at a time: `values` goes on with numbers that are not smaller.
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

// Which piece has a text: open addressing, as nothing else here takes as long.
class TextTable {
 public:
  explicit TextTable(const std::vector<std::string>& texts)
      : texts_(texts), slots_(std::bit_ceil(texts.size() * 2 + 1)), mask_(slots_.size() - 1) {
    for (uint32_t id = 0; id < texts.size(); ++id) {
      if (texts[id].empty() || find(texts[id]) != kNoSymbol) continue;
      const uint64_t hash = hash_bytes(texts[id]);
      uint64_t at = hash & mask_;
      while (slots_[at].id != kNoSymbol) at = (at + 1) & mask_;
      slots_[at] = {static_cast<uint32_t>(hash >> 32), id};
    }
  }

  SymbolId find(std::string_view text) const {
    const uint64_t hash = hash_bytes(text);
    for (uint64_t at = hash & mask_; slots_[at].id != kNoSymbol; at = (at + 1) & mask_) {
      if (slots_[at].tag == hash >> 32 && texts_[slots_[at].id] == text) return slots_[at].id;
    }
    return kNoSymbol;
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    SymbolId id = kNoSymbol;
  };
  const std::vector<std::string>& texts_;
  std::vector<Slot> slots_;
  uint64_t mask_;
};
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
    // Any piece of one character stands for it, also a special one.
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (c.length == text.size()) place_of_character(c.code) = id;
    if (model.is_mergeable(id)) texts[id] = std::move(text);
  }
  make_rules(model, texts);
  choose_letters(texts);
}

SymbolId& Merger::place_of_character(char32_t code) {
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
      const Rule* rule = find_rule(near_symbols_[codes[left]], near_symbols_[codes[right]]);
      if (rule) first_merges_[left * kLetters + right] = {rule->rank, rule->merged};
    }
  }
}

// SentencePiece looks up the concatenation of two neighbours as a string. The same, with numbers: a rule for each way
// to cut a piece into two symbols.
void Merger::make_rules(const Model& model, const std::vector<std::string>& texts) {
  TextTable by_text(texts);
  std::vector<int64_t> keys;
  for (uint32_t id = 0; id < texts.size(); ++id) {
    if (!texts[id].empty()) keys.push_back(score_key(model.scores[id]));
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  rank_count_ = static_cast<uint32_t>(keys.size());

  // Characters that are no piece themselves can still be half of one.
  auto next_symbol = static_cast<SymbolId>(model.size());
  auto half = [&](std::string_view text) -> SymbolId {
    if (const SymbolId found = by_text.find(text); found != kNoSymbol) return found;
    const Decoded c = decode_utf8(text.data(), text.data() + text.size());
    if (c.length != text.size()) return kNoSymbol;
    SymbolId& symbol = place_of_character(c.code);
    if (symbol == kNoSymbol) symbol = next_symbol++;
    return symbol;
  };
  std::vector<Rule> rules;
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
      if (right != kNoSymbol) rules.push_back({static_cast<uint64_t>(left) << 32 | right, rank, id});
    }
  }
  rules_ = {std::bit_ceil(rules.size() * 3 / 2 + 1), Rule{}};
  rule_mask_ = rules_.size() - 1;
  for (const Rule& rule : rules) {
    const uint64_t hash = hash_pair(rule.pair >> 32, rule.pair & UINT32_MAX);
    uint64_t at = hash & rule_mask_;
    while (rules_[at].pair != kEmptyPair) at = (at + 1) & rule_mask_;
    rules_[at] = rule;
    filter_[hash >> 40 & kFilterMask] |= static_cast<uint16_t>(1U << (hash >> 60));
  }
}

inline const Merger::Rule* Merger::find_rule(SymbolId left, SymbolId right) const {
  return find_rule(left, right, hash_pair(left, right));
}

[[gnu::always_inline]] inline const Merger::Rule* Merger::find_rule(SymbolId left, SymbolId right,
                                                                    uint64_t hash) const {
  // Most pairs have no rule, and this says so from memory that is near.
  if (!(filter_[hash >> 40 & kFilterMask] >> (hash >> 60) & 1)) return nullptr;
  if (left == kNoSymbol) return nullptr;  // two of kNoSymbol would look like an empty place
  const uint64_t pair = static_cast<uint64_t>(left) << 32 | right;
  for (uint64_t at = hash & rule_mask_;; at = (at + 1) & rule_mask_) {
    const Rule& rule = rules_[at];
    if (rule.pair == pair) return &rule;
    if (rule.pair == kEmptyPair) return nullptr;
  }
}

inline void Merger::fetch_rule(uint64_t hash) const {
  __builtin_prefetch(&filter_[hash >> 40 & kFilterMask]);
  __builtin_prefetch(rules_.data() + (hash & rule_mask_));
}

// A short unit while it is merged. Arrays are by the place of a symbol's first character. A key is the rank of the pair
// that starts at a place, and the place; kNone where there is no rule, and where the symbol is merged into the one
// before it.
struct Merger::Lane {
  static constexpr int32_t kNone = INT32_MAX;
  SymbolId symbols[kFew + 1], merged[kFew + 1];
  int32_t keys[kFew + 4];
  uint8_t begins[kFew + 1], next[kFew + 1], previous[kFew + 2];
  size_t n;     // characters
  size_t left;  // the place of the last merge, whose new pairs are still to be looked up; n before any
  uint64_t hash_before, hash_after;
  size_t unit;
  MergeEvent* events;  // where the next one goes, or null

  void set(size_t place, uint32_t rank, SymbolId symbol) {
    keys[place] = rank == kNoRank ? kNone : static_cast<int32_t>(rank << kPlaceBits | place);
    merged[place] = symbol;
  }
  void set(size_t place, const Rule* rule) {
    if (rule) {
      set(place, rule->rank, rule->merged);
    } else {
      keys[place] = kNone;
    }
  }
  Segment* put_segments(Segment* out) const {
    for (size_t i = 0; i < n; i = next[i]) {
      *out++ = {symbols[i], begins[i], static_cast<uint32_t>(begins[next[i]] - begins[i])};
    }
    return out;
  }
};

bool Merger::is_short(std::string_view unit) const {
  return unit.size() <= kFew && !has_unused_ && rank_count_ < INT32_MAX >> kPlaceBits;
}

void Merger::start(Lane& lane, std::string_view unit) const {
  size_t n = 0;
  uint8_t letter_before = kNoLetter;
  for (size_t at = 0; at < unit.size(); ++n) {
    const Decoded c = decode_utf8(unit.data() + at, unit.data() + unit.size());
    lane.symbols[n] = symbol_of(c.code);
    lane.begins[n] = static_cast<uint8_t>(at);
    lane.next[n] = static_cast<uint8_t>(n + 1);
    lane.previous[n + 1] = static_cast<uint8_t>(n);
    at += c.length;
    const uint8_t letter = c.code < kNear ? letters_[c.code] : kNoLetter;
    if (n > 0) {
      if (std::max(letter_before, letter) < kLetters) {
        const FirstMerge& pair = first_merges_[letter_before * kLetters + letter];
        lane.set(n - 1, pair.rank, pair.merged);
      } else {
        lane.set(n - 1, find_rule(lane.symbols[n - 1], lane.symbols[n]));
      }
    }
    letter_before = letter;
  }
  lane.begins[n] = static_cast<uint8_t>(unit.size());
  std::fill(lane.keys + n - 1, lane.keys + n + 3, Lane::kNone);
  lane.n = lane.left = n;
}

// Looks up the pairs that the last merge made, and performs the best merge; false where there is none.
[[gnu::always_inline]] inline bool Merger::advance(Lane& lane) const {
  size_t left = lane.left;
  if (left < lane.n) {
    const size_t after = lane.next[left], before = lane.previous[left];
    lane.set(left, after < lane.n ? find_rule(lane.symbols[left], lane.symbols[after], lane.hash_after) : nullptr);
    if (left > 0) lane.set(before, find_rule(lane.symbols[before], lane.symbols[left], lane.hash_before));
  }
  const int32_t best = smallest(lane.keys, lane.n);
  if (best == Lane::kNone) return false;
  left = lane.left = best & ((1 << kPlaceBits) - 1);
  const size_t right = lane.next[left], after = lane.next[right];
  lane.symbols[left] = lane.merged[left];
  if (lane.events) *lane.events++ = {lane.symbols[left], lane.begins[left], lane.begins[after]};
  lane.keys[right] = Lane::kNone;
  lane.next[left] = static_cast<uint8_t>(after);
  lane.previous[after] = static_cast<uint8_t>(left);
  if (after < lane.n) fetch_rule(lane.hash_after = hash_pair(lane.symbols[left], lane.symbols[after]));
  if (left > 0) fetch_rule(lane.hash_before = hash_pair(lane.symbols[lane.previous[left]], lane.symbols[left]));
  return true;
}

void Merger::segment_all(MergeBatch& batch, Workspace& workspace, bool with_events) const {
  size_t bytes = 0;
  for (const std::string_view unit : batch.units) bytes += unit.size();
  // A unit has no more segments, and no more merges, than bytes.
  batch.segments.resize(bytes);
  batch.events.resize(with_events ? bytes : 0);
  batch.results.resize(batch.units.size());
  std::array<Lane, kLanes> lanes;
  size_t taken = 0;
  uint32_t place = 0;
  // Puts the next short unit into a lane; others are done at once.
  const auto refill = [&](Lane& lane) {
    while (taken < batch.units.size()) {
      const size_t index = taken++;
      const std::string_view unit = batch.units[index];
      MergeBatch::Result& result = batch.results[index] = {place, place, place, place};
      place += static_cast<uint32_t>(unit.size());
      if (is_short(unit)) {
        start(lane, unit);
        lane.unit = index;
        lane.events = with_events ? &batch.events[result.event] : nullptr;
        return true;
      }
      workspace.events.clear();
      segment(unit, workspace, with_events ? &workspace.events : nullptr);
      std::copy(workspace.segments.begin(), workspace.segments.end(), batch.segments.begin() + result.segment);
      std::copy(workspace.events.begin(), workspace.events.end(), batch.events.begin() + result.event);
      result.segment_end += static_cast<uint32_t>(workspace.segments.size());
      result.event_end += static_cast<uint32_t>(workspace.events.size());
    }
    return false;
  };
  size_t active = 0;
  while (active < kLanes && refill(lanes[active])) ++active;
  while (active > 0) {
    for (size_t i = 0; i < active;) {
      Lane& lane = lanes[i];
      if (advance(lane)) {
        ++i;
        continue;
      }
      MergeBatch::Result& result = batch.results[lane.unit];
      Segment* const begin = &batch.segments[result.segment];
      result.segment_end += static_cast<uint32_t>(lane.put_segments(begin) - begin);
      if (with_events) result.event_end = static_cast<uint32_t>(lane.events - batch.events.data());
      if (refill(lane)) {
        ++i;
      } else if (--active > i) {
        lane = lanes[active];
      }
    }
  }
}

// Cuts one unit into tokens: characters first, then always the best pair, the leftmost of equals.
void Merger::segment(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const {
  workspace.segments.clear();
  if (is_short(unit)) {
    Lane lane;
    MergeEvent made[kFew];
    start(lane, unit);
    lane.events = events ? made : nullptr;
    while (advance(lane)) {
    }
    if (events) events->insert(events->end(), made, lane.events);
    workspace.segments.resize(lane.n);
    workspace.segments.resize(
        static_cast<size_t>(lane.put_segments(workspace.segments.data()) - workspace.segments.data()));
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

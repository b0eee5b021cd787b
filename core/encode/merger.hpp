// Merging, the core of encoding: characters become symbols, and rules merge neighbours until no rule applies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/model.hpp"
#include "system/huge_array.hpp"
#include "text/hash.hpp"

namespace piecework {

// The id of a piece, or a higher number for a character that is part of a piece, but is no piece itself.
using SymbolId = uint32_t;
inline constexpr SymbolId kNoSymbol = UINT32_MAX;

// A token of a unit, with its range in bytes. `symbol` is the id of a piece, or a number after the ids of the pieces.
struct Segment {
  SymbolId symbol;
  uint32_t begin, length;
};

// One merge of a unit: the piece that it made, and the bytes that the piece covers.
struct MergeEvent {
  uint32_t piece;
  uint32_t begin, end;
};

class Merger {
 public:
  explicit Merger(const Model& model);

  // Memory that one thread keeps between calls.
  struct Workspace;

  // Writes the tokens of `unit` to workspace.segments, and the merges in their order to `events` if it is given.
  void segment(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events = nullptr) const;

  SymbolId symbol_of(char32_t code) const {
    if (code < kNear) return near_symbols_[code];
    const auto found = far_symbols_.find(code);
    return found == far_symbols_.end() ? kNoSymbol : found->second;
  }
  // The symbol that two adjacent symbols merge to, or kNoSymbol.
  SymbolId merged(SymbolId left, SymbolId right) const;
  // If two merges are possible, the one whose piece has the smaller rank comes first. Equal scores have equal ranks.
  uint32_t rank(SymbolId piece) const { return ranks_[piece]; }
  // Calls `use(left, right, merged)` for each rule.
  template <class Use>
  void for_each_merge(Use&& use) const {
    for (const uint64_t rule : rules_) {
      if (rule != kNoRule) use(symbol_at(rule, 2), symbol_at(rule, 1), symbol_at(rule, 0));
    }
  }
  size_t symbol_count() const { return ranks_.size() + characters_.size(); }
  // The characters that are symbols, but no pieces.
  const std::vector<char32_t>& characters() const { return characters_; }
  // Whether some piece has these two bytes side by side: the last byte of a character and the first of the next one.
  bool joins(unsigned char left, unsigned char right) const { return joined_[static_cast<size_t>(left) << 8 | right]; }

 private:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  // A symbol during merging; `next` and `previous` are indices, kNoNode at the ends.
  struct Node {
    SymbolId symbol;
    uint32_t begin, length;
    uint32_t previous, next;
    uint32_t left = UINT32_MAX,
             right = UINT32_MAX;  // what an unused piece was merged from, as indices in Workspace::parts
  };
  struct Candidate {
    uint32_t rank, left, right;
    SymbolId left_symbol, right_symbol;
  };

  void make_rules(const Model& model, const std::vector<std::string>& texts);
  void choose_letters(const std::vector<std::string>& texts);
  SymbolId& character_symbol(char32_t code);
  bool is_short(std::string_view unit) const;
  void merge_few(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const;
  void merge_many(Workspace& workspace, std::vector<MergeEvent>* events) const;
  void put_segment(const Node& node, Workspace& workspace) const;

  std::vector<bool> unused_;  // by piece: it takes part in merging, but is split again at the end
  bool has_unused_ = false;
  static constexpr char32_t kNear = 0x800;  // code points of one or two bytes in UTF-8
  std::vector<SymbolId> near_symbols_;      // by code point
  std::unordered_map<char32_t, SymbolId> far_symbols_;
  std::vector<bool> joined_;
  // The first look-ups of each unit are of two characters. Pairs of ASCII characters and of the letters that most
  // pieces have need no hash: a table of 200 KB.
  static constexpr size_t kLetters = 160;
  static constexpr uint8_t kNoLetter = UINT8_MAX;
  struct FirstMerge {
    uint32_t rank = kNoRank;
    SymbolId merged = kNoSymbol;
  };
  std::vector<uint8_t> letters_;  // by code point, up to kNear
  std::vector<FirstMerge> first_merges_;
  // A rule is one number: two symbols, and the symbol that they merge to. The table uses open addressing. It is small,
  // because merging reads it all the time.
  static constexpr unsigned kSymbolBits = 21;
  static constexpr uint64_t kNoRule = UINT64_MAX;
  static SymbolId symbol_at(uint64_t rule, unsigned position) {
    return static_cast<SymbolId>(rule >> kSymbolBits * position & ((1 << kSymbolBits) - 1));
  }
  size_t slot_of(uint64_t hash) const {
    return static_cast<size_t>(static_cast<unsigned __int128>(hash) * rules_.size() >> 64);
  }
  size_t next_slot(size_t at) const { return at + 1 == rules_.size() ? 0 : at + 1; }
  uint16_t filter_bit(uint64_t hash) const { return static_cast<uint16_t>(1U << (hash >> 20 & 15)); }
  HugeArray<uint64_t> rules_;
  std::vector<uint32_t> ranks_;  // by piece
  uint32_t rank_count_ = 0;
  std::vector<char32_t> characters_;
  // Has a bit set for the hash of each rule, so that most pairs without a rule are rejected: 256 KB.
  static constexpr uint64_t kFilterMask = (1 << 17) - 1;
  std::vector<uint16_t> filter_;
};

[[gnu::always_inline]] inline SymbolId Merger::merged(SymbolId left, SymbolId right) const {
  const uint64_t hash = hash_pair(left, right);
  // Most pairs have no rule. The filter rejects them, and it fits in the cache.
  if (!(filter_[hash & kFilterMask] & filter_bit(hash))) return kNoSymbol;
  if (left == kNoSymbol || right == kNoSymbol) return kNoSymbol;
  const uint64_t pair = static_cast<uint64_t>(left) << kSymbolBits | right;
  for (size_t at = slot_of(hash);; at = next_slot(at)) {
    const uint64_t rule = rules_[at];
    if (rule >> kSymbolBits == pair) return symbol_at(rule, 0);
    if (rule == kNoRule) return kNoSymbol;
  }
}

struct Merger::Workspace {
  std::vector<Segment> segments;
  std::vector<Node> nodes, parts;
  std::vector<Candidate> heap;
  std::vector<MergeEvent> events;
};

}  // namespace piecework

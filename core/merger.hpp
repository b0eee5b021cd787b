// The heart of encoding: characters become symbols, and rules merge neighbours until none applies.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "huge_array.hpp"
#include "model.hpp"

namespace piecework {

// Pieces by id, then characters that are no piece but part of one.
using SymbolId = uint32_t;
inline constexpr SymbolId kNoSymbol = UINT32_MAX;

// A token of a unit, in bytes. `symbol` is a piece's id, or no piece.
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

  // What one thread needs, kept between calls.
  struct Workspace;

  // The tokens of `unit` into workspace.segments, and the merges in their order into `events` if it is given.
  void segment(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events = nullptr) const;

  SymbolId symbol_of(char32_t code) const {
    if (code < 128) return ascii_symbols_[code];
    const auto found = other_symbols_.find(code);
    return found == other_symbols_.end() ? kNoSymbol : found->second;
  }
  // Whether some piece has these two bytes, of two characters, side by side.
  bool joins(unsigned char left, unsigned char right) const { return joined_[static_cast<size_t>(left) << 8 | right]; }

 private:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  static constexpr uint64_t kEmptyPair = UINT64_MAX;
  struct Rule {
    uint64_t pair = kEmptyPair;
    uint32_t rank = 0;  // 0 merges first; equal scores have equal ranks
    SymbolId merged = 0;
  };
  // A symbol during merging; `next` and `previous` are indices, kNoNode at the ends.
  struct Node {
    SymbolId symbol;
    uint32_t begin, length;
    uint32_t previous, next;
    uint32_t left = UINT32_MAX, right = UINT32_MAX;  // what an unused piece was merged from, in Workspace::parts
  };
  struct Merged {
    uint32_t rank = kNoRank;
    SymbolId symbol = kNoSymbol;
  };
  struct Candidate {
    uint32_t rank, left, right;
    SymbolId left_symbol, right_symbol;
  };

  void make_rules(const Model& model, const std::vector<std::string>& texts);
  const Rule* find_rule(SymbolId left, SymbolId right) const;
  void add_rule(SymbolId left, SymbolId right, uint32_t rank, SymbolId merged);
  void grow_rules();
  void merge_few(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events) const;
  void merge_many(Workspace& workspace, std::vector<MergeEvent>* events) const;
  void put_segment(const Node& node, Workspace& workspace) const;

  std::vector<bool> unused_;  // by piece: takes part in merging, but is taken apart again at the end
  bool has_unused_ = false;
  std::array<SymbolId, 128> ascii_symbols_;
  std::unordered_map<char32_t, SymbolId> other_symbols_;
  std::vector<bool> joined_;
  std::vector<Merged> ascii_merges_;  // of two ASCII characters: the first look-ups of every unit, without hashing
  HugeArray<Rule> rules_;             // open addressing
  size_t rule_count_ = 0;
  uint64_t rule_mask_ = 0;
  // A bit for each rule at a place that its hash gives, to turn away pairs without one: 256 KB.
  static constexpr uint64_t kFilterMask = (1 << 17) - 1;
  std::vector<uint16_t> filter_;
};

struct Merger::Workspace {
  std::vector<Segment> segments;
  std::vector<Node> nodes, parts;
  std::vector<Candidate> heap;
};

}  // namespace piecework

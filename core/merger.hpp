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

// Units to merge together, and what became of them.
struct MergeBatch {
  struct Result {
    uint32_t segment, segment_end;  // in `segments`
    uint32_t event, event_end;      // in `events`
  };
  std::vector<std::string_view> units;
  std::vector<Result> results;
  std::vector<Segment> segments;
  std::vector<MergeEvent> events;

  void clear() {
    units.clear();
    results.clear();
    segments.clear();
    events.clear();
  }
};

class Merger {
 public:
  explicit Merger(const Model& model);

  // What one thread needs, kept between calls.
  struct Workspace;

  // The tokens of `unit` into workspace.segments, and the merges in their order into `events` if it is given.
  void segment(std::string_view unit, Workspace& workspace, std::vector<MergeEvent>* events = nullptr) const;

  // The same for many units, and quicker: while the rules for one are fetched from memory, others go on.
  void segment_all(MergeBatch& batch, Workspace& workspace, bool with_events) const;

  SymbolId symbol_of(char32_t code) const {
    if (code < kNear) return near_symbols_[code];
    const auto found = far_symbols_.find(code);
    return found == far_symbols_.end() ? kNoSymbol : found->second;
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
  struct Candidate {
    uint32_t rank, left, right;
    SymbolId left_symbol, right_symbol;
  };

  void make_rules(const Model& model, const std::vector<std::string>& texts);
  void choose_letters(const std::vector<std::string>& texts);
  SymbolId& place_of_character(char32_t code);
  const Rule* find_rule(SymbolId left, SymbolId right) const;
  const Rule* find_rule(SymbolId left, SymbolId right, uint64_t hash) const;
  void fetch_rule(uint64_t hash) const;
  // For short units.
  struct Lane;
  bool is_short(std::string_view unit) const;
  void start(Lane& lane, std::string_view unit) const;
  bool advance(Lane& lane) const;
  void merge_many(Workspace& workspace, std::vector<MergeEvent>* events) const;
  void put_segment(const Node& node, Workspace& workspace) const;

  std::vector<bool> unused_;  // by piece: takes part in merging, but is taken apart again at the end
  bool has_unused_ = false;
  static constexpr char32_t kNear = 0x800;  // what UTF-8 writes in one or two bytes
  std::vector<SymbolId> near_symbols_;      // by code point
  std::unordered_map<char32_t, SymbolId> far_symbols_;
  std::vector<bool> joined_;
  // The first look-ups of every unit are of two characters, and need no hashing where both are among the ASCII ones and
  // the other letters that most pieces have: 200 KB.
  static constexpr size_t kLetters = 160;
  static constexpr uint8_t kNoLetter = UINT8_MAX;
  struct FirstMerge {
    uint32_t rank = kNoRank;
    SymbolId merged = kNoSymbol;
  };
  std::vector<uint8_t> letters_;  // by code point, up to kNear
  std::vector<FirstMerge> first_merges_;
  HugeArray<Rule> rules_;  // open addressing
  uint32_t rank_count_ = 0;
  uint64_t rule_mask_ = 0;
  // A bit for each rule at a place that its hash gives, to turn away pairs without one: 256 KB.
  static constexpr uint64_t kFilterMask = (1 << 17) - 1;
  std::vector<uint16_t> filter_;
};

struct Merger::Workspace {
  std::vector<Segment> segments;
  std::vector<Node> nodes, parts;
  std::vector<Candidate> heap;
  std::vector<MergeEvent> events;
};

}  // namespace piecework

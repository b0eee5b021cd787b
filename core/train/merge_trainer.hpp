// Merges pairs of symbols, the most frequent first: what all kinds of training share.
//
// pair_positions.cpp finds and merges pairs, pair_queue.cpp has their order, rounds.cpp makes a large text smaller.
//
// Once both symbols of a pair exist, its frequency can only fall. A merge knows the difference: it reads the neighbours
// of the merged symbols in any case, and few of them are distinct. So all frequencies are exact. A pair waits in the
// queue under a frequency that it once had. At the top of the queue it is taken, or it goes back if its frequency has
// fallen.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "system/growing_array.hpp"
#include "train/chunk_text.hpp"
#include "train/forbidden_pieces.hpp"
#include "train/pair_index.hpp"
#include "train/trainer.hpp"

namespace piecework {

// A character or a merged piece.
struct Symbol {
  uint64_t text_offset;  // of its UTF-8 in Trainer::texts_
  uint32_t text_bytes;
  uint32_t length;  // in characters
  uint32_t span;    // in positions of the text: its length, or 1 if it was a symbol when the text was folded
  ScriptSpan script;
  bool has_mark, all_marks;  // whether some character is ▁, whether all are
};

// Two symbols that are, or were, next to each other.
struct Pair {
  uint32_t left, right;
  uint64_t first;        // index of its first position in Trainer::positions_
  uint32_t positions;    // length of its list
  uint32_t occurrences;  // positions of the list that still have the pair; other merges changed the rest
  uint64_t frequency;    // the sum of the chunk counts at all occurrences; always exact
};

// What a symbol is before any merge.
struct InitialSymbol {
  std::string text;
  uint32_t length;  // in characters
  ScriptSpan script;
  bool has_mark = false, all_marks = false;  // whether some character is ▁, whether all are
};

// The rules in which byte-level training differs from SentencePiece's.
struct MergeRule {
  // If frequencies are equal, SentencePiece takes the pair with fewer characters, then the smaller string. Byte-level
  // training takes the pair with the smaller ids.
  bool ties_by_ids = false;
  // Parity-aware training of bytes takes the greater pair of strings. It compares left strings first, then right ones.
  bool ties_by_greater_strings = false;
  // A longer pair is never merged. The exception is a pair of two bytes in byte-level training: it has no limit.
  uint32_t max_length = UINT32_MAX;
  bool limits_first_pairs = true;
  // For a pair that spells an existing symbol: SentencePiece does not merge it, byte-level training merges it into that
  // symbol. docs/exactness.md shows that the symbol is then a special token that has not occurred before, so the
  // frequency of a pair still only falls.
  bool merges_known_strings = false;
  // The initial symbols are the pieces of a vocabulary that is to be extended: a pair that spells one is not merged,
  // and neither is a pair that `forbidden` has.
  bool extends = false;
  ForbiddenPieces forbidden;
  // A text with at least this many positions is trained in rounds (rounds.cpp).
  uint32_t large_text = kLargeText;
  // Where a piece of SentencePiece may have ▁.
  bool split_by_whitespace = true;
  bool allow_whitespace_only_pieces = false;
  bool treat_whitespace_as_suffix = false;
};

// A pair with the values that decide the order of merges: the frequency, then the values of the rule.
struct Candidate {
  uint64_t frequency;
  // The first sixteen bytes of the string, the first byte highest; or the two ids.
  std::array<uint64_t, 2> prefix;
  uint32_t length;
  uint32_t pair;
};

class Trainer {
 public:
  Trainer(ChunkText text, const std::vector<InitialSymbol>& alphabet, const MergeRule& rule, uint64_t least_frequency,
          Checkpoint checkpoint);
  // Pairs below `least_frequency` are forgotten at once, so the caller must make sure that they are not needed.
  std::vector<Merge> run(uint64_t wanted, uint64_t minimum_frequency, const Progress& progress);
  // Whether the last run made as many symbols as wanted.
  bool is_complete() const { return complete_; }

 protected:
  static constexpr uint32_t kAhead = 32;             // positions to prefetch ahead of the current one
  static constexpr size_t kManyPositions = 1 << 18;  // of one merge
  static constexpr uint32_t kCheckpoint = 1 << 18;   // positions between two checkpoints
  static constexpr uint64_t kLevels = 1 << 16;       // each frequency below this has its own unsorted list

  std::string_view text_of(uint32_t symbol) const {
    return {&texts_[symbols_[symbol].text_offset], symbols_[symbol].text_bytes};
  }
  std::string text_of(const Pair& pair) const { return std::string(text_of(pair.left)).append(text_of(pair.right)); }
  uint32_t length_of(const Pair& pair) const { return symbols_[pair.left].length + symbols_[pair.right].length; }
  // The length that decides the order of merges; 0 if ids or greater strings decide.
  uint32_t ordering_length(const Pair& pair) const {
    return rule_.ties_by_ids || rule_.ties_by_greater_strings ? 0 : length_of(pair);
  }
  uint32_t add_symbol(std::string_view text, uint32_t length, ScriptSpan script, bool has_mark, bool all_marks);
  bool mergeable(uint32_t left, uint32_t right) const;
  bool marks_allow(const Symbol& left, const Symbol& right) const;
  // Rounds: rounds.cpp.
  void start_round();
  void fold_text();
  template <class Index, class IsCut>
  void fold_rows(IsCut&& is_cut);
  uint64_t choose_floor() const;
  bool next_of_all_rounds(Candidate& best);

  // Calls `visit(position, left, right)` for each two neighbours of the text.
  template <class Visit>
  void visit_pairs(Visit&& visit) const;
  void find_pairs();
  // Returns the number of merged occurrences; each counts as often as its chunk occurs.
  uint64_t apply(const Pair& pair, uint32_t symbol);
  void lower_frequencies(const Pair& pair, uint32_t symbol);
  // Whether the lists of positions have many gaps and many positions that are out of date. They had to fit into memory
  // at the start of the round, so there is no reason to tidy up before they need more than that. Measured on 400 MB of
  // text: with a compaction whenever a quarter is out of date, all merges took a fifth longer.
  bool is_sparse() const {
    const uint64_t most = std::max(listed_positions_ + listed_positions_ / 8, live_positions_ + live_positions_ / 4);
    return positions_.size() > most + (1 << 20);
  }
  void compact();
  // Drops the list of a pair that is not needed any more, or not in this round.
  void forget(Pair& pair) {
    live_positions_ -= pair.occurrences;
    pair.positions = pair.occurrences = 0;
  }

  // The queue of pairs: pair_queue.cpp.
  void wait(uint32_t pair);
  void push(uint32_t pair);
  bool refill();
  bool next(Candidate& best);
  bool before(const Candidate& a, const Candidate& b) const;

  ChunkText text_;
  const uint32_t first_size_;  // positions of the text before the first round
  uint32_t used_positions_;    // positions of the text that are not inside a merged symbol
  const MergeRule rule_;
  const uint64_t least_frequency_;
  uint64_t floor_ = UINT64_MAX;  // pairs below it are forgotten until the next round
  const Checkpoint checkpoint_;
  std::vector<Symbol> symbols_;
  std::string texts_;
  GrowingArray<Pair> pairs_;
  PairIndex index_;                   // of the pairs that are or were listed in this round
  GrowingArray<uint32_t> positions_;  // the positions of all pairs: one rising list per pair, one after another
  uint64_t live_positions_ = 0;       // the sum of all occurrences
  uint64_t listed_positions_ = 0;     // at the start of the round
  uint32_t merges_ = 0;
  bool complete_ = false;

  std::vector<Candidate> heap_;
  std::vector<std::vector<uint32_t>> waiting_;  // pairs by frequency, up to `level_`
  int64_t level_ = kLevels - 1;
  // Pairs of frequency `level_` + 1 and of at least `next_length_` characters, by length. All other pairs of that
  // frequency are in the heap. A merge makes only longer pairs, so all pairs of a length are known when it is taken,
  // and the heap stays small.
  std::vector<std::vector<uint32_t>> by_length_;
  size_t next_length_ = 0;

  // State of the current merge: the new pairs by their other symbol, and their occurrences.
  struct NewPair {
    uint32_t other;
    bool other_is_left, mergeable;
    uint32_t positions = 0;
    uint64_t frequency = 0;
    uint64_t first = 0;
    uint32_t lowered = PairIndex::kNone;  // the pair that was there before the merge
  };
  struct PairSlot {
    uint32_t merge = 0;  // `index` is valid for this merge only
    uint32_t index = 0;
  };
  struct NewPosition {
    uint32_t index;  // of the new pair
    uint32_t position;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t new_pair(uint32_t other, bool other_is_left, uint32_t symbol);
  std::vector<PairSlot> left_slots_, right_slots_;
  std::vector<NewPair> new_pairs_;
  GrowingArray<NewPosition> new_positions_;
};

template <class Visit>
void Trainer::visit_pairs(Visit&& visit) const {
  for (uint32_t p = 1, n = 0; p + 1 < text_.size(); ++n) {
    if (n % kCheckpoint == 0) checkpoint_();
    const uint32_t left = text_[p];
    if (left >= ChunkText::kBack) {
      ++p;
      continue;
    }
    const uint32_t next = p + symbols_[left].span;
    const uint32_t right = text_[next];
    if (right < ChunkText::kBack) visit(p, left, right);
    p = next;
  }
}

}  // namespace piecework

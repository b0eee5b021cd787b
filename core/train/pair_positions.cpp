// Where each pair is: finding pairs in the text, counting them again, and merging them.
#include <algorithm>
#include <cstring>

#include "text/hash.hpp"
#include "train/merge_trainer.hpp"

namespace piecework {

namespace {

// Maps a pair of symbols to its index. Pairs of the most frequent characters need no hash.
class PairIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  PairIndex() : dense_(size_t{kDense} * kDense, kNone) { grow(); }

  // The entry of a pair; kNone where it is new. It is valid until the next call.
  uint32_t& entry(uint32_t left, uint32_t right) {
    if (left < kDense && right < kDense) return dense_[left * kDense + right];
    if (2 * (used_ + 1) > slots_.size()) grow();
    const uint64_t key = static_cast<uint64_t>(left) << 32 | right;
    for (uint64_t at = hash_pair(left, right) >> 7 & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].index;
      if (slots_[at].key != kEmpty) continue;
      slots_[at].key = key;
      ++used_;
      return slots_[at].index;
    }
  }

 private:
  struct Slot {
    uint64_t key = kEmpty;
    uint32_t index = kNone;
  };
  static constexpr uint32_t kDense = 512;
  static constexpr uint64_t kEmpty = UINT64_MAX;

  void grow() {
    std::vector<Slot> before(std::max<size_t>(1 << 12, 2 * slots_.size()));
    before.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : before) {
      if (slot.key == kEmpty) continue;
      uint64_t at = hash_pair(slot.key >> 32, slot.key & UINT32_MAX) >> 7 & mask_;
      while (slots_[at].key != kEmpty) at = (at + 1) & mask_;
      slots_[at] = slot;
    }
  }

  std::vector<uint32_t> dense_;
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace

// Finds the pairs of the text and their positions. Pairs below the round's floor get no positions.
void Trainer::find_pairs() {
  PairIndex index;
  visit_pairs([&](uint32_t p, uint32_t left, uint32_t right) {
    uint32_t& i = index.entry(left, right);
    if (i == PairIndex::kNone) {
      i = static_cast<uint32_t>(pairs_.size());
      pairs_.push_back({left, right, 0, 0, merges_, 0});
    }
    pairs_[i].frequency += text_.count_at(p);
    ++pairs_[i].positions;
  });
  floor_ = choose_floor();
  uint64_t total = 0;
  for (Pair& pair : pairs_) {
    if (pair.frequency < floor_ || !mergeable(pair.left, pair.right)) pair.positions = 0;
    pair.first = total;
    total += pair.positions;
  }
  positions_.resize(total);
  live_positions_ = total;
  std::vector<uint64_t> next(pairs_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) next[i] = pairs_[i].first;
  visit_pairs([&](uint32_t p, uint32_t left, uint32_t right) {
    const uint32_t i = index.entry(left, right);
    if (pairs_[i].positions) positions_[next[i]++] = p;
  });
  for (uint32_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].positions) wait(i);
  }
}

// Removes the positions where the pair no longer is, and adds up the counts of the others. Overlapping occurrences all
// count.
void Trainer::count_again(Pair& pair) {
  const uint32_t offset = symbols_[pair.left].span;
  uint32_t* const first = &positions_[pair.first];
  uint32_t* kept = first;
  uint64_t frequency = 0;
  for (const uint32_t *p = first, *last = first + pair.positions; p < last; ++p) {
    if (p + kAhead < last) text_.prefetch(p[kAhead]);
    if (text_[*p] == pair.left && text_[*p + offset] == pair.right) {
      frequency += text_.count_at(*p);
      *kept++ = *p;
    }
  }
  const auto n = static_cast<uint32_t>(kept - first);
  live_positions_ -= pair.positions - n;
  pair.positions = n;
  pair.frequency = frequency;
  pair.counted = merges_;
}

uint32_t Trainer::new_pair(uint32_t other, bool other_is_left, uint32_t symbol) {
  PairSlot& slot = (other_is_left ? left_slots_ : right_slots_)[other];
  if (slot.merge != merges_) {
    slot.merge = merges_;
    const bool good = other_is_left ? mergeable(other, symbol) : mergeable(symbol, other);
    slot.index = good ? static_cast<uint32_t>(new_pairs_.size()) : kNotMergeable;
    if (good) new_pairs_.push_back({other, other_is_left});
  }
  return slot.index;
}

// Merges from left to right. Each occurrence makes a new pair on its left and on its right. The next occurrence may
// remove one of them again. Such pairs are kept with a frequency of 0, as in SentencePiece.
uint64_t Trainer::apply(const Pair& pair, uint32_t symbol) {
  const uint32_t left = pair.left, right = pair.right;
  const uint32_t left_span = symbols_[left].span, span = symbols_[symbol].span;
  new_pairs_.clear();
  occurrences_.clear();
  // The new pair (symbol, left): the only one that this merge may remove again.
  uint32_t removable = kNotMergeable;
  uint64_t merged = 0;
  for (uint64_t i = pair.first; i < pair.first + pair.positions; ++i) {
    if (i % kCheckpoint == 0) checkpoint_();
    if (i + kAhead < positions_.size()) text_.prefetch(positions_[i + kAhead]);
    const uint32_t p = positions_[i];
    if (text_[p] != left || text_[p + left_span] != right) continue;
    const uint64_t count = text_.count_at(p);
    const uint32_t start = text_.before(p);
    const uint32_t after = text_[p + span];
    text_.merge(p, left_span, span, symbol);
    --used_positions_;
    merged += count;
    if (start != ChunkText::kNoPosition) {
      const uint32_t index = new_pair(text_[start], true, symbol);
      if (index != kNotMergeable) {
        new_pairs_[index].frequency += count;
        ++new_pairs_[index].positions;
        occurrences_.push_back({index, start});
      }
    }
    if (after != ChunkText::kSeparator) {
      const uint32_t index = new_pair(after, false, symbol);
      if (index != kNotMergeable) {
        if (after == left) removable = index;
        new_pairs_[index].frequency += count;
        ++new_pairs_[index].positions;
        occurrences_.push_back({index, p});
      }
    }
  }
  if (removable != kNotMergeable) {
    for (Occurrence& o : occurrences_) {
      if (o.index == removable && text_[o.position + span] != left) {
        new_pairs_[removable].frequency -= text_.count_at(o.position);
        --new_pairs_[removable].positions;
        o.index = kNotMergeable;
      }
    }
  }
  uint64_t total = positions_.size();
  for (NewPair& n : new_pairs_) {
    n.first = total;
    if (n.frequency >= floor_) total += n.positions;
  }
  live_positions_ += total - positions_.size();
  positions_.resize(total);
  for (NewPair& n : new_pairs_) {
    if (n.frequency < floor_) continue;
    const uint32_t l = n.other_is_left ? n.other : symbol, r = n.other_is_left ? symbol : n.other;
    pairs_.push_back({l, r, n.first, n.positions, merges_, n.frequency});
    wait(static_cast<uint32_t>(pairs_.size() - 1));
  }
  for (const Occurrence& o : occurrences_) {
    if (o.index != kNotMergeable && new_pairs_[o.index].frequency >= floor_) {
      positions_[new_pairs_[o.index].first++] = o.position;
    }
  }
  return merged;
}

// Removes the gaps between the lists of positions. The lists are in the order of their pairs, so one pass is enough.
void Trainer::compact() {
  uint64_t to = 0;
  for (Pair& pair : pairs_) {
    if (pair.positions) std::memmove(&positions_[to], &positions_[pair.first], pair.positions * sizeof(uint32_t));
    pair.first = to;
    to += pair.positions;
  }
  positions_.resize(to);
  positions_.shrink_to_fit();
}

}  // namespace piecework

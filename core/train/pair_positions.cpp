// The positions of pairs: finds pairs in the text, and merges them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "train/merge_trainer.hpp"

namespace piecework {

// Finds the pairs of the text, and the positions of those that are listed in this round.
void Trainer::find_pairs() {
  index_ = PairIndex();
  visit_pairs([&](uint32_t p, uint32_t left, uint32_t right) {
    uint32_t& i = index_.entry(left, right);
    if (i == PairIndex::kNone) {
      i = static_cast<uint32_t>(pairs_.size());
      pairs_.push_back({left, right, 0, 0, 0, 0});
    }
    pairs_[i].frequency += text_.count_at(p);
    ++pairs_[i].positions;
  });
  floor_ = choose_floor();
  size_t listed = 0;
  for (const Pair& pair : pairs_) {
    if (pair.frequency >= floor_ && mergeable(pair.left, pair.right)) pairs_[listed++] = pair;
  }
  pairs_.resize(listed);
  index_ = PairIndex();
  uint64_t total = 0;
  for (uint32_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    index_.entry(pair.left, pair.right) = i;
    pair.first = total;
    pair.occurrences = pair.positions;
    total += std::exchange(pair.positions, 0);
  }
  positions_.resize(total);
  live_positions_ = listed_positions_ = total;
  visit_pairs([&](uint32_t p, uint32_t left, uint32_t right) {
    const uint32_t i = index_.find(left, right);
    if (i != PairIndex::kNone) positions_[pairs_[i].first + pairs_[i].positions++] = p;
  });
  for (uint32_t i = 0; i < pairs_.size(); ++i) wait(i);
}

uint32_t Trainer::new_pair(uint32_t other, bool other_is_left, uint32_t symbol) {
  PairSlot& slot = (other_is_left ? left_slots_ : right_slots_)[other];
  if (slot.merge != merges_) {
    slot.merge = merges_;
    slot.index = static_cast<uint32_t>(new_pairs_.size());
    new_pairs_.push_back({other, other_is_left, other_is_left ? mergeable(other, symbol) : mergeable(symbol, other)});
  }
  return slot.index;
}

// Merges from left to right. Each occurrence makes a new pair on its left and on its right. The next occurrence may
// remove one of them again. Such pairs are kept with a frequency of 0, as in SentencePiece.
uint64_t Trainer::apply(const Pair& pair, uint32_t symbol) {
  const uint32_t left = pair.left, right = pair.right;
  const uint32_t left_span = symbols_[left].span, span = symbols_[symbol].span;
  new_pairs_.clear();
  // The large memory that the most frequent pairs need is freed, but seldom: new memory costs time, as the system sets
  // it to zero.
  if (new_positions_.capacity() > std::max<size_t>(kManyPositions, 16 * size_t{pair.positions})) new_positions_.clear();
  new_positions_.resize(0);
  // The new pair (symbol, left): the only one that this merge may remove again.
  uint32_t removable = kNone;
  uint64_t merged = 0;
  const auto add = [&](uint32_t index, uint32_t position, uint64_t count) {
    NewPair& added = new_pairs_[index];
    added.frequency += count;
    ++added.positions;
    if (added.mergeable) new_positions_.push_back({index, position});
  };
  const auto fetch = [&](uint32_t p) {
    text_.prefetch(p - 1);
    text_.prefetch(p + span);
    text_.prefetch_count(p);
  };
  // Most lists are short, so the first positions are prefetched too.
  const uint64_t end = pair.first + pair.positions;
  for (uint64_t i = pair.first; i < std::min(pair.first + kAhead, end); ++i) fetch(positions_[i]);
  for (uint64_t i = pair.first; i < end; ++i) {
    if (i % kCheckpoint == 0) checkpoint_();
    if (i + kAhead < end) fetch(positions_[i + kAhead]);
    const uint32_t p = positions_[i];
    if (text_[p] != left || text_[p + left_span] != right) continue;
    const uint64_t count = text_.count_at(p);
    const uint32_t start = text_.before(p);
    const uint32_t after = text_[p + span];
    text_.merge(p, left_span, span, symbol);
    --used_positions_;
    merged += count;
    if (start != ChunkText::kNoPosition) add(new_pair(text_[start], true, symbol), start, count);
    if (after != ChunkText::kSeparator) {
      const uint32_t index = new_pair(after, false, symbol);
      if (after == left) removable = index;
      add(index, p, count);
    }
  }
  lower_frequencies(pair, symbol);
  if (removable != kNone && new_pairs_[removable].mergeable) {
    for (NewPosition& n : new_positions_) {
      if (n.index == removable && text_[n.position + span] != left) {
        new_pairs_[removable].frequency -= text_.count_at(n.position);
        --new_pairs_[removable].positions;
        n.index = kNone;
      }
    }
  }
  uint64_t total = positions_.size();
  for (NewPair& n : new_pairs_) {
    n.first = total;
    n.mergeable = n.mergeable && n.frequency >= floor_;
    if (n.mergeable) total += n.positions;
  }
  live_positions_ += total - positions_.size();
  positions_.resize(total);
  for (const NewPair& n : new_pairs_) {
    if (!n.mergeable) continue;
    const uint32_t l = n.other_is_left ? n.other : symbol, r = n.other_is_left ? symbol : n.other;
    const auto index = static_cast<uint32_t>(pairs_.size());
    pairs_.push_back({l, r, n.first, n.positions, n.positions, n.frequency});
    index_.entry(l, r) = index;
    wait(index);
  }
  for (const NewPosition& n : new_positions_) {
    if (n.index != kNone && new_pairs_[n.index].mergeable) positions_[new_pairs_[n.index].first++] = n.position;
  }
  return merged;
}

// Each new (x, symbol) was (x, left) before the merge, and each new (symbol, x) was (right, x). The frequencies of
// these old pairs fall by the same number. Their lists do not change until compact(): apply() skips outdated positions.
void Trainer::lower_frequencies(const Pair& pair, uint32_t symbol) {
  const auto before = [&](const NewPair& n) {
    return n.other_is_left ? std::pair(n.other, pair.left) : std::pair(pair.right, n.other);
  };
  for (size_t i = 0; i < new_pairs_.size(); ++i) {
    if (i + kAhead < new_pairs_.size()) {
      const auto [l, r] = before(new_pairs_[i + kAhead]);
      index_.prefetch(l, r);
    }
    NewPair& n = new_pairs_[i];
    // Two occurrences side by side: the pair between them is lowered already, with (symbol, left) of the first one.
    if (n.other_is_left && n.other == symbol) continue;
    const auto [l, r] = before(n);
    n.lowered = index_.find(l, r);
    if (n.lowered != PairIndex::kNone) __builtin_prefetch(&pairs_[n.lowered]);
  }
  for (const NewPair& n : new_pairs_) {
    if (n.lowered == PairIndex::kNone) continue;
    Pair& lowered = pairs_[n.lowered];
    lowered.frequency -= n.frequency;
    if (!lowered.positions) continue;
    lowered.occurrences -= n.positions;
    live_positions_ -= n.positions;
  }
}

// Removes the gaps between the lists of positions. If more than an eighth of a list is outdated, removes its outdated
// positions too. The lists are in the order of their pairs, so one pass is enough.
void Trainer::compact() {
  uint64_t to = 0;
  for (Pair& pair : pairs_) {
    uint32_t* const list = &positions_[pair.first];
    if (pair.occurrences < pair.positions - pair.positions / 8) {
      const uint32_t offset = symbols_[pair.left].span;
      uint32_t kept = 0;
      for (uint32_t i = 0; i < pair.positions; ++i) {
        // Beyond a list is the next one; most lists are shorter than this distance.
        if (&list[i + kAhead] < positions_.end()) text_.prefetch(list[i + kAhead]);
        if (text_[list[i]] == pair.left && text_[list[i] + offset] == pair.right) list[kept++] = list[i];
      }
      pair.positions = pair.occurrences = kept;
    }
    if (pair.positions) std::memmove(&positions_[to], list, pair.positions * sizeof(uint32_t));
    pair.first = to;
    to += pair.positions;
  }
  positions_.resize(to);
  positions_.shrink_to_fit();
}

}  // namespace piecework

// Training on a large text goes in rounds, so that the lists of positions need little memory.
//
// A round lists only the most frequent pairs: those above a floor. While the best pair is above the floor, pairs below
// it are not needed. When none is left, the next round starts with a smaller text and a lower floor.
//
// The text becomes smaller in three ways. A symbol takes one position, whatever its length. The text is cut between two
// neighbours whose pair is too rare for training: a later pair across the cut cannot be more frequent, so no merge
// crosses it. The cuts turn many words into equal rows, and equal rows are folded into one. A row of one symbol has no
// pair and is dropped.
#include <algorithm>
#include <bit>
#include <utility>

#include "system/memory.hpp"
#include "text/hash.hpp"
#include "train/merge_trainer.hpp"

namespace piecework {

void Trainer::start_round() {
  heap_.clear();
  by_length_.clear();
  next_length_ = 0;
  level_ = kLevels - 1;
  pairs_.clear();
  positions_.clear();
  if (used_positions_ < text_.size() / 10 * 7) fold_text();
  find_pairs();
}

bool Trainer::next_of_all_rounds(Candidate& best) {
  while (!next(best)) {
    if (floor_ <= least_frequency_) return false;
    start_round();
  }
  return true;
}

void Trainer::fold_text() {
  // Several pairs may share a bucket. Its sum is at least the frequency of each, so a pair in a small bucket is rare.
  const uint64_t buckets = std::bit_ceil(std::clamp<uint64_t>(used_positions_ / 8, 1 << 10, 1 << 22));
  std::vector<uint64_t> sums(buckets, 0);
  const auto bucket = [&](uint32_t left, uint32_t right) -> uint64_t& {
    return sums[hash_pair(left, right) >> 20 & (buckets - 1)];
  };
  visit_pairs([&](uint32_t p, uint32_t left, uint32_t right) { bucket(left, right) += text_.count_at(p); });

  if (symbols_.size() <= UINT16_MAX) {
    fold_rows<uint16_t>([&](uint32_t left, uint32_t right) { return bucket(left, right) < least_frequency_; });
  } else {
    fold_rows<uint32_t>([&](uint32_t left, uint32_t right) { return bucket(left, right) < least_frequency_; });
  }
}

// Narrow indices make short rows, and the table of rows stores short rows inline.
template <class Index, class IsCut>
void Trainer::fold_rows(IsCut&& is_cut) {
  WordTable rows;
  std::string row;
  row.reserve(256);
  for (uint32_t p = 1, n = 0; p < text_.size(); ++n) {
    if (n % kCheckpoint == 0) checkpoint_();
    const uint32_t symbol = text_[p];
    if (symbol >= ChunkText::kBack) {
      ++p;
      continue;
    }
    const auto index = static_cast<Index>(symbol);
    row.append(reinterpret_cast<const char*>(&index), sizeof index);
    const uint32_t next = p + symbols_[symbol].span;
    if (text_[next] >= ChunkText::kBack || is_cut(symbol, text_[next])) {
      if (row.size() > sizeof index) rows.queue(row, false, text_.count_at(p), row.data() + row.capacity());
      row.clear();
    }
    p = next;
  }
  rows.flush();
  text_ = ChunkText();
  text_ = ChunkText(rows, std::vector<uint32_t>(symbols_.size(), 1), sizeof(Index));
  for (Symbol& symbol : symbols_) symbol.span = 1;
  used_positions_ = text_.size();
  rows = WordTable();
  return_freed_memory();
}

// Returns the lowest frequency of the pairs that this round lists. The most frequent pair is always listed. All lists
// together have at most a third as many positions as the text had at first, unless the first list alone has more.
uint64_t Trainer::choose_floor() const {
  // A new round does not find pairs that no longer occur. If training needs these pairs, there are no rounds.
  if (first_size_ < rule_.large_text || least_frequency_ == 0) return least_frequency_;
  const uint64_t most = first_size_ / 3;
  std::vector<std::pair<uint64_t, uint32_t>> sizes;  // frequency, positions
  uint64_t all = 0;
  for (const Pair& pair : pairs_) {
    if (pair.frequency < least_frequency_ || !mergeable(pair.left, pair.right)) continue;
    sizes.emplace_back(pair.frequency, pair.positions);
    all += pair.positions;
  }
  if (all <= most) return least_frequency_;
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  uint64_t floor = sizes.front().first;
  uint64_t sum = 0;
  for (const auto& [frequency, positions] : sizes) {
    if ((sum += positions) > most) break;
    floor = frequency;
  }
  return std::min(floor, floor_ - 1);
}

}  // namespace piecework

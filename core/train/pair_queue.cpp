// The queue of pairs, in the order of merges.
#include <utility>

#include "train/merge_trainer.hpp"

namespace piecework {

void Trainer::wait(uint32_t pair) {
  const uint64_t frequency = pairs_[pair].frequency;
  const size_t length = ordering_length(pairs_[pair]);
  if (frequency < floor_) {
    forget(pairs_[pair]);
  } else if (frequency <= static_cast<uint64_t>(level_) && level_ >= 0) {
    waiting_[frequency].push_back(pair);
  } else if (frequency == static_cast<uint64_t>(level_ + 1) && length >= next_length_) {
    if (length >= by_length_.size()) by_length_.resize(length + 1);
    by_length_[length].push_back(pair);
  } else {
    push(pair);
  }
}

bool Trainer::before(const Candidate& a, const Candidate& b) const {
  if (a.frequency != b.frequency) return a.frequency > b.frequency;
  if (a.length != b.length) return a.length < b.length;
  if (a.prefix != b.prefix) return rule_.ties_by_greater_strings ? a.prefix > b.prefix : a.prefix < b.prefix;
  if (a.pair == b.pair) return false;
  const Pair &x = pairs_[a.pair], &y = pairs_[b.pair];
  if (rule_.ties_by_greater_strings) {
    return std::pair(text_of(x.left), text_of(x.right)) > std::pair(text_of(y.left), text_of(y.right));
  }
  const int order = text_of(x).compare(text_of(y));
  return order ? order < 0 : std::pair(x.left, x.right) < std::pair(y.left, y.right);
}

void Trainer::push(uint32_t pair) {
  const Pair& p = pairs_[pair];
  std::array<uint64_t, 2> prefix{p.left, p.right};
  if (!rule_.ties_by_ids) {
    unsigned char bytes[16] = {};
    const std::string_view left = text_of(p.left), right = text_of(p.right);
    const size_t left_bytes = left.copy(reinterpret_cast<char*>(bytes), sizeof bytes);
    if (!rule_.ties_by_greater_strings)
      right.copy(reinterpret_cast<char*>(bytes) + left_bytes, sizeof bytes - left_bytes);
    for (size_t i = 0; i < sizeof bytes; ++i) prefix[i / 8] = prefix[i / 8] << 8 | bytes[i];
  }
  heap_.push_back({p.frequency, prefix, ordering_length(p), pair});
  std::push_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return before(b, a); });
}

// Fills the empty heap with the pairs of the next frequency and length; false if there are none.
bool Trainer::refill() {
  const auto take = [&](std::vector<uint32_t> pairs, int64_t frequency, auto&& keep) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (i % (kCheckpoint / 64) == 0) checkpoint_();
      if (pairs_[pairs[i]].frequency == static_cast<uint64_t>(frequency)) {
        keep(pairs[i]);
      } else {
        wait(pairs[i]);
      }
    }
  };
  while (heap_.empty()) {
    if (next_length_ < by_length_.size()) {
      take(std::exchange(by_length_[next_length_++], {}), level_ + 1, [&](uint32_t pair) { push(pair); });
    } else if (level_ >= 0) {
      const int64_t frequency = level_--;
      if (waiting_[static_cast<size_t>(frequency)].empty()) continue;
      next_length_ = 0;
      take(std::exchange(waiting_[static_cast<size_t>(frequency)], {}), frequency, [&](uint32_t pair) { wait(pair); });
    } else {
      return false;
    }
  }
  return true;
}

// Finds the best candidate; false if there is none. A pair whose frequency has fallen since it was pushed goes back.
bool Trainer::next(Candidate& best) {
  while (!heap_.empty() || refill()) {
    best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), [this](const auto& a, const auto& b) { return before(b, a); });
    heap_.pop_back();
    if (pairs_[best.pair].frequency == best.frequency) return true;
    wait(best.pair);
  }
  return false;
}

}  // namespace piecework

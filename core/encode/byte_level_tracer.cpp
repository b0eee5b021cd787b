#include "encode/byte_level_tracer.hpp"

#include <algorithm>
#include <functional>

namespace piecework {

void ByteLevelTracer::trace(std::string_view pre_token) {
  tokens_.clear();
  merges_.clear();
  const auto size = static_cast<uint32_t>(pre_token.size());
  if (const auto whole = merger_.whole_pre_token(pre_token)) {
    tokens_.push_back({*whole, 0, size, 0});
    return;
  }
  symbols_.resize(size);
  queue_.clear();
  for (uint32_t i = 0; i < size; ++i) {
    symbols_[i] = {merger_.byte_id(static_cast<unsigned char>(pre_token[i])), i + 1, i ? i - 1 : kNone, 0, kNone};
  }
  for (uint32_t i = 0; i < size; ++i) look_up(i);
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const auto begin = static_cast<uint32_t>(queue_.back());
    const auto rank = static_cast<uint32_t>(queue_.back() >> 32);
    queue_.pop_back();
    // An entry is out of date if its symbol or the next symbol has changed since it was added.
    if (symbols_[begin].rank == rank) merge(begin);
  }
  for (uint32_t i = 0; i < size; i = symbols_[i].end) {
    tokens_.push_back({symbols_[i].id, i, symbols_[i].end, symbols_[i].from});
  }
}

void ByteLevelTracer::look_up(uint32_t begin) {
  Symbol& left = symbols_[begin];
  left.rank = left.end < symbols_.size() ? merger_.rank(left.id, symbols_[left.end].id) : kNone;
  if (left.rank == kNone) return;
  queue_.push_back(static_cast<uint64_t>(left.rank) << 32 | begin);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void ByteLevelTracer::merge(uint32_t begin) {
  Symbol& left = symbols_[begin];
  Symbol& right = symbols_[left.end];
  const uint32_t middle = left.end;
  left.from = std::max({left.from, right.from, left.rank + 1});
  left.id = merger_.merged(left.rank);
  merges_.push_back({begin, middle, right.end, left.rank, left.from, left.id});
  left.end = right.end;
  right.rank = kNone;
  if (left.end < symbols_.size()) symbols_[left.end].previous = begin;
  look_up(begin);
  if (left.previous != kNone) look_up(left.previous);
}

}  // namespace piecework

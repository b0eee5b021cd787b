#include "encode/smaller_ids.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace piecework {

namespace {
constexpr uint32_t kShortRun = 256;
constexpr size_t kChunk = 1 << 12;  // number of tokens for which memory is made ready at once
}  // namespace

SmallerIds::SmallerIds(const std::vector<std::vector<uint32_t>>& ids, std::vector<uint32_t> spaces,
                       std::shared_ptr<const Encoder> runs)
    : begins_{0}, spaces_(std::move(spaces)), opens_(ids.size(), 0), runs_(std::move(runs)) {
  if (spaces_.empty()) spaces_.resize(ids.size(), 0);
  if (spaces_.size() != ids.size()) throw std::invalid_argument("there must be as many lengths as tokens");
  for (const std::vector<uint32_t>& of_token : ids) {
    ids_.insert(ids_.end(), of_token.begin(), of_token.end());
    begins_.push_back(static_cast<uint32_t>(ids_.size()));
  }
  if (runs_) {
    short_runs_.resize(kShortRun);
    for (uint32_t n = 1; n < kShortRun; ++n) runs_->encode(std::string(n, ' '), short_runs_[n]);
    for (size_t token = 0; token < ids.size(); ++token) {
      opens_[token] = !spaces_[token] && !ids[token].empty() && short_runs_[1] == std::vector{ids[token][0]};
    }
  }
  for (const uint32_t id : ids_) largest_ = std::max(largest_, id);
  for (const auto& run : short_runs_) {
    for (const uint32_t id : run) largest_ = std::max(largest_, id);
  }
}

const uint32_t* SmallerIds::take_run(const uint32_t* first, const uint32_t* last, std::vector<uint32_t>& out) const {
  uint32_t spaces = 0;
  for (; first < last && spaces_[*first]; ++first) spaces += spaces_[*first];
  std::span<const uint32_t> next;
  if (first < last) {
    next = ids(*first);
    if (opens_[*first]) {
      ++spaces;
      next = next.subspan(1);
    }
    ++first;
  }
  out.clear();
  if (spaces < kShortRun) {
    out = short_runs_[spaces];
  } else {
    runs_->encode(std::string(spaces, ' '), out);
  }
  out.insert(out.end(), next.begin(), next.end());
  return first;
}

template <class Id>
SmallerTable<Id>::SmallerTable(std::shared_ptr<const SmallerIds> smaller)
    : entries_(smaller->tokens()), smaller_(std::move(smaller)) {
  if (smaller_->largest_id() > std::numeric_limits<Id>::max()) {
    throw std::overflow_error("an id does not fit into 2 bytes");
  }
  for (size_t token = 0; token < entries_.size(); ++token) {
    const std::span<const uint32_t> ids = smaller_->ids(token);
    if (ids.empty() || ids.size() > kShort) continue;
    Entry& entry = entries_[token];
    for (size_t i = 0; i < ids.size(); ++i) entry.ids[i] = static_cast<Id>(ids[i]);
    entry.count = static_cast<Id>(ids.size() + (smaller_->is_run(token) ? kRun : 0));
  }
}

template <class Id>
void SmallerTable<Id>::put(const uint32_t* first, const uint32_t* last, PackedBuffer& out) const {
  uint32_t largest = 0;
  for (const uint32_t* token = first; token < last; ++token) largest = std::max(largest, *token);
  if (largest >= entries_.size()) throw std::out_of_range("a token is not in the larger vocabulary");
  std::vector<uint32_t> taken;
  while (first < last) {
    const uint32_t* const stop = first + std::min<size_t>(kChunk, static_cast<size_t>(last - first));
    Id* to = out.room<Id>(kShort * kChunk);
    while (first < stop) {
      const Entry& entry = entries_[*first];
      const bool alone = entry.count > kRun && first + 1 < last && !smaller_->joins_run(first[1]);
      if (alone || (entry.count && entry.count < kRun)) {
        std::memcpy(to, entry.ids, sizeof entry.ids);
        to += entry.count % kRun;
        ++first;
        continue;
      }
      if (smaller_->is_run(*first)) {
        first = smaller_->take_run(first, last, taken);
      } else {
        const std::span<const uint32_t> ids = smaller_->ids(*first++);
        taken.assign(ids.begin(), ids.end());
      }
      out.end_at(to);
      to = out.room<Id>(taken.size() + kShort * kChunk);
      for (const uint32_t id : taken) {
        // A run of more than kShortRun spaces may have a piece that was not seen before.
        if (id > std::numeric_limits<Id>::max()) throw std::overflow_error("an id does not fit into 2 bytes");
        *to++ = static_cast<Id>(id);
      }
    }
    out.end_at(to);
  }
}

template class SmallerTable<uint16_t>;
template class SmallerTable<uint32_t>;

}  // namespace piecework

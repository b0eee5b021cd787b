#include "count/word_table.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "text/sort_by_text.hpp"
#include "text/utf8.hpp"

namespace piecework {

static_assert(std::endian::native == std::endian::little, "keys are packed for little-endian machines");

template <class Found>
void WordTable::flush_each(Found&& found) {
  const size_t n = queued_;
  queued_ = 0;
  if (n == 0) return;
  if (slots_.empty() || (size_ + n) * 3 > slots_.size() * 2) grow();
  for (size_t i = 0; i < n; ++i) {
    const uint64_t slot = slots_[first_slot(queue_[i].hash)];
    if (slot) __builtin_prefetch(&entry(static_cast<uint32_t>(slot) - 1));
  }
  for (size_t i = 0; i < n; ++i) {
    const Queued& q = queue_[i];
    const uint64_t tag = q.hash >> 32;
    for (uint64_t at = first_slot(q.hash);; at = (at + 1) & mask_) {
      const uint64_t slot = slots_[at];
      if (slot == 0) {
        insert(q.key, q.hash, q.count);
        found(i, size_ - 1, true);
        break;
      }
      const size_t index = static_cast<uint32_t>(slot) - 1;
      if (slot >> 32 == tag && entry(index).key == q.key) {
        found(i, index, false);
        break;
      }
    }
  }
}

void WordTable::flush() {
  flush_each([&](size_t i, size_t index, bool is_new) {
    if (!is_new) entry(index).count = add_counts(entry(index).count, queue_[i].count);
  });
}

void WordTable::find_indices(const std::vector<std::string_view>& words, const uint8_t* opens_line, uint32_t* indices) {
  flush();
  uint32_t* targets[kQueue];
  const auto record = [&](size_t i, size_t index, bool is_new) {
    *targets[i] = static_cast<uint32_t>(index);
    entry(index).count += !is_new;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.size() > ShortKey::kMaxLength) {
      indices[i] = static_cast<uint32_t>(add_long(word, opens_line[i], 1));
      continue;
    }
    targets[queued_] = &indices[i];
    put(ShortKey::from_exact(word.data(), word.size(), opens_line[i]), 1);
    if (queued_ == kQueue) flush_each(record);
  }
  flush_each(record);
}

void WordTable::flush_long() {
  const size_t n = std::exchange(long_queued_, 0);
  for (size_t i = 0; i < n && !slots_.empty(); ++i) {
    const uint64_t slot = slots_[first_slot(long_queue_[i].hash)];
    if (slot) __builtin_prefetch(&entry(static_cast<uint32_t>(slot) - 1));
  }
  for (size_t i = 0; i < n; ++i) add_long(long_queue_[i]);
}

// Returns the index of the word.
size_t WordTable::add_long(const LongWord& long_word) {
  if (slots_.empty() || (size_ + kQueue + 1) * 3 > slots_.size() * 2) grow();
  const auto& [word, hash, count, opens_line] = long_word;
  const uint64_t tail = (opens_line ? ShortKey::kFlag : 0) | ShortKey::kLongLength << ShortKey::kLengthShift |
                        static_cast<uint64_t>(word.size());
  for (uint64_t at = first_slot(hash);; at = (at + 1) & mask_) {
    const uint64_t slot = slots_[at];
    if (slot == 0) break;
    if (slot >> 32 != hash >> 32) continue;
    const size_t index = static_cast<uint32_t>(slot) - 1;
    Entry& e = entry(index);
    if (e.key.words[1] == hash && e.key.words[2] == tail && long_bytes(e.key) == word) {
      e.count = add_counts(e.count, count);
      return index;
    }
  }
  insert({{reinterpret_cast<uint64_t>(keep(word)), hash, tail}}, hash, count);
  return size_ - 1;
}

void WordTable::insert(const ShortKey& key, uint64_t hash, uint64_t count) {
  if (size_ >= UINT32_MAX - 1) throw std::length_error("more than 4 billion distinct words in one table");
  if (size_ % kBlock == 0 && size_ / kBlock == blocks_.size()) add_block();
  uint64_t at = first_slot(hash);
  while (slots_[at]) at = (at + 1) & mask_;
  entry(size_) = {count, key};
  slots_[at] = (hash >> 32) << 32 | (size_ + 1);
  ++size_;
}

void WordTable::grow() {
  const auto before = std::exchange(slots_, {std::max<size_t>(1 << 12, slots_.size() * 2), 0});
  mask_ = slots_.size() - 1;
  for (const uint64_t slot : before) {
    if (!slot) continue;
    uint64_t at = first_slot(slot);
    while (slots_[at]) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

// At the end, entries are read in the order of their texts, so they are far apart in memory. Large blocks are on huge
// pages for that. Measured: the gain is little or none above the noise.
void WordTable::add_block() {
  constexpr size_t kTogether = HugePages::kPageBytes / (kBlock * sizeof(Entry));
  const size_t index = blocks_.size();
  if (index < kSmallBlocks) {
    small_blocks_.push_back(std::make_unique_for_overwrite<Entry[]>(kBlock));
    blocks_.push_back(small_blocks_.back().get());
    return;
  }
  const size_t part = (index - kSmallBlocks) % kTogether;
  if (part == 0) large_blocks_.emplace_back(1);
  blocks_.push_back(static_cast<Entry*>(large_blocks_.back().data()) + part * kBlock);
}

const char* WordTable::keep(std::string_view word) {
  if (word.size() > arena_left_) {
    const size_t size = std::max(word.size(), kArenaBlock);
    arena_.push_back(std::make_unique_for_overwrite<char[]>(size));
    arena_bytes_ += size;
    arena_next_ = arena_.back().get();
    arena_left_ = size;
  }
  char* at = arena_next_;
  std::memcpy(at, word.data(), word.size());
  arena_next_ += word.size();
  arena_left_ -= word.size();
  return at;
}

uint64_t WordTable::total() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < size_; ++i) sum = add_counts(sum, entry(i).count);
  return sum;
}

size_t WordTable::memory_bytes() const {
  return slots_.size() * sizeof(uint64_t) + blocks_.size() * kBlock * sizeof(Entry) + arena_bytes_;
}

void WordTable::merge(const WordTable& other) {
  for (size_t i = 0; i < other.size_; ++i) {
    const Entry& e = other.entry(i);
    if (e.key.length() == ShortKey::kLongLength) {
      add_long(long_bytes(e.key), e.key.flag(), e.count);
      continue;
    }
    queue_[queued_] = {e.key, e.key.hash(), e.count};
    if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(queue_[queued_].hash)]);
    if (++queued_ == kQueue) flush();
  }
  flush();
}

void WordTable::scale(uint64_t factor) {
  for (size_t i = 0; i < size_; ++i) multiply_counts(entry(i).count, factor);  // throws before any change
  for (size_t i = 0; i < size_; ++i) entry(i).count *= factor;
}

std::vector<uint32_t> WordTable::sorted() const {
  std::vector<uint32_t> bare, marked;  // words that open a line have no ▁
  for (uint32_t i = 0; i < size_; ++i) (at(i).opens_line ? bare : marked).push_back(i);
  const auto text = [this](uint32_t i) { return at(i).bytes; };
  sort_by_text(bare, text);
  sort_by_text(marked, text);
  // No word has a ▁ inside, so all marked words stand together between two bare words.
  const auto first_after =
      std::partition_point(bare.begin(), bare.end(), [&](uint32_t i) { return text(i) < kSpaceMarkUtf8; });
  bare.insert(first_after, marked.begin(), marked.end());
  return bare;
}

}  // namespace piecework

// The ids of units or pre-tokens that were encoded before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "system/huge_array.hpp"
#include "text/hash.hpp"
#include "text/small_key.hpp"

namespace piecework {

// Two tables. The first holds short texts, which are nearly all: a line of 64 bytes has two texts with their ids, the
// newer one first. A text that must leave its line moves to the neighbouring line. Most look-ups read one line of
// memory. The second table holds texts of more bytes or ids, in 128 bytes each. Both tables grow fourfold while new
// texts come, up to 32 MB and 16 MB. Measured on 100 MB of text with one table of 8 MB: half of the units that were
// merged had been merged before.
class IdCache {
 public:
  using Key = SmallKey;
  static constexpr size_t kMaxBytes = Key::kMaxBytes;
  static constexpr size_t kMaxIds = 4;

  void prefetch(uint64_t hash) const { __builtin_prefetch(&lines_[hash >> shift_]); }

  // Writes the ids to `out`, which has room for kMaxIds, and returns their end; nullptr if the text is not there.
  uint32_t* find(const Key& key, uint64_t hash, uint32_t* out) {
    Line& line = lines_[hash >> shift_];
    // Which of the two it is cannot be predicted, so there is no branch for it: a sixth of the time of encoding.
    const bool first = line.entries[0].key == key, second = line.entries[1].key == key;
    Entry* entry = &line.entries[second];
    if (!(first | second)) [[unlikely]] {
      entry = find_in_neighbour(key, hash >> shift_);
      if (!entry) return nullptr;
    }
    std::memcpy(out, entry->ids, sizeof entry->ids);  // all of them, without a branch
    out[0] &= kIdMask;
    return out + (entry->ids[0] >> kIdBits) + 1;
  }

  // The same for a text that `find` does not know or that is too long for it. If no table has its ids, `encode(out)`
  // writes them and returns their end; a table keeps them if they fit.
  template <class Encode>
  uint32_t* find_or_encode(std::string_view text, const char* limit, uint32_t* out, Encode&& encode) {
    if (text.size() > Long::kMaxBytes) return encode(out);
    Long wanted(text);
    // Two slots for each text, the newer first.
    const size_t index = wanted.hash() >> long_shift_;
    const Long &slot = longs_[index], &older = longs_[index ^ 1];
    if (const Long* hit = slot.has_text_of(wanted) ? &slot : older.has_text_of(wanted) ? &older : nullptr) {
      return std::copy_n(hit->ids, hit->count, out);
    }
    uint32_t* const end = encode(out);
    const auto count = static_cast<size_t>(end - out);
    if (text.size() <= kMaxBytes && count <= kMaxIds) {
      add(Key::from(text.data(), text.size(), limit), out, count);
    } else if (count <= Long::kMaxIds) {
      add_long(wanted, out, count);
    }
    return end;
  }

 private:
  static constexpr unsigned kFirstBits = 12, kMostBits = 19, kFirstLongBits = 10, kMostLongBits = 17, kGrowthBits = 2;
  static constexpr unsigned kIdBits = 30;  // the two bits above these hold the number of ids minus 1
  static constexpr uint32_t kIdMask = (uint32_t{1} << kIdBits) - 1;
  struct Entry {
    Key key{{0, 0}};  // the empty key is no text
    uint32_t ids[kMaxIds] = {};
    bool is_used() const { return key.is_used(); }
  };
  struct alignas(64) Line {
    Entry entries[2];
  };
  static_assert(sizeof(Line) == 64);
  struct alignas(64) Long {
    static constexpr size_t kMaxBytes = 63, kMaxIds = 15;
    char bytes[kMaxBytes + 1] = {};  // the last one is the length
    uint32_t count = 0;              // 0 if unused: each text has an id
    uint32_t ids[kMaxIds] = {};

    Long() = default;
    explicit Long(std::string_view text) {
      text.copy(bytes, text.size());
      bytes[kMaxBytes] = static_cast<char>(text.size());
    }
    uint64_t hash() const { return hash_bytes({bytes, static_cast<size_t>(bytes[kMaxBytes])}); }
    bool has_text_of(const Long& other) const { return std::memcmp(bytes, other.bytes, sizeof bytes) == 0; }
  };
  static_assert(sizeof(Long) == 128);

  // Adds a text that has 1 to kMaxIds ids.
  void add(const Key& key, const uint32_t* ids, size_t count) {
    if (++added_ > lines_.size() / 2 && shift_ > 64 - kMostBits) grow();
    Entry entry{key, {}};
    std::copy_n(ids, count, entry.ids);
    entry.ids[0] |= static_cast<uint32_t>(count - 1) << kIdBits;
    put(entry);
  }
  void add_long(Long& added, const uint32_t* ids, size_t count) {
    if (++long_added_ > longs_.size() / 4 && long_shift_ > 64 - kMostLongBits) grow_long();
    added.count = static_cast<uint32_t>(count);
    std::copy_n(ids, count, added.ids);
    put_long(added);
  }

  // Moves the entry to its own line: a tenth of the look-ups went to the neighbour, mostly for the same texts.
  Entry* find_in_neighbour(const Key& key, size_t index) {
    Entry& older = lines_[index].entries[1];
    for (Entry& entry : lines_[index ^ 1].entries) {
      if (!(entry.key == key)) continue;
      std::swap(entry, older);
      return &older;
    }
    return nullptr;
  }

  void put(const Entry& entry) {
    const size_t index = entry.key.hash() >> shift_;
    Line &line = lines_[index], &neighbour = lines_[index ^ 1];
    // An unused entry replaces no other: without these two conditions a sixth of the entries was lost at half load.
    if (line.entries[0].is_used()) {
      if (line.entries[1].is_used()) neighbour.entries[1] = line.entries[1];
      line.entries[1] = line.entries[0];
    }
    line.entries[0] = entry;
  }
  void grow() {
    shift_ = std::max(shift_ - kGrowthBits, 64 - kMostBits);
    added_ = 0;
    const HugeArray<Line> old = std::exchange(lines_, {size_t{1} << (64 - shift_), Line{}});
    for (const Line& line : old) {
      for (const Entry& entry : {line.entries[1], line.entries[0]}) {
        if (entry.is_used()) put(entry);
      }
    }
  }

  void put_long(const Long& added) {
    const size_t index = added.hash() >> long_shift_;
    if (longs_[index].count) longs_[index ^ 1] = longs_[index];
    longs_[index] = added;
  }
  void grow_long() {
    long_shift_ = std::max(long_shift_ - kGrowthBits, 64 - kMostLongBits);
    long_added_ = 0;
    const HugeArray<Long> old = std::exchange(longs_, {size_t{1} << (64 - long_shift_), Long{}});
    for (const Long& each : old) {
      if (each.count) put_long(each);
    }
  }

  unsigned shift_ = 64 - kFirstBits;
  unsigned long_shift_ = 64 - kFirstLongBits;
  size_t added_ = 0, long_added_ = 0;
  HugeArray<Line> lines_{size_t{1} << kFirstBits, Line{}};
  HugeArray<Long> longs_{size_t{1} << kFirstLongBits, Long{}};
};

}  // namespace piecework

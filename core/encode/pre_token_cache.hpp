// The ids of pre-tokens that were merged before.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "system/huge_array.hpp"
#include "text/bytes.hpp"
#include "text/hash.hpp"

namespace piecework {

// A line of 64 bytes holds two pre-tokens, the newer one first. An older one moves to the line beside it. Most look-ups
// read one line of memory. The cache doubles, up to 32 MB, while the text has new pre-tokens.
class PreTokenCache {
 public:
  static constexpr size_t kMaxBytes = 15;
  static constexpr size_t kMaxIds = 4;

  // A pre-token of at most kMaxBytes bytes. Byte 15 is its length.
  struct Key {
    uint64_t words[2];
    uint64_t hash() const { return multiply_mix(words[0] ^ kMix0, words[1] ^ kMix1); }
    bool operator==(const Key& other) const { return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1])) == 0; }
  };
  // `limit` is the end of the readable memory.
  static Key key_of(const char* bytes, size_t length, const char* limit) {
    Key key;
    if (limit - bytes >= 16) {
      std::memcpy(key.words, bytes, 16);
      key.words[0] &= kMasks[length][0];
      key.words[1] &= kMasks[length][1];
    } else if (length < 8) {
      key = {{load_up_to_7(bytes, length), 0}};
    } else {
      std::memcpy(&key.words[0], bytes, 8);
      key.words[1] = load_up_to_7(bytes + 8, length - 8);
    }
    key.words[1] |= static_cast<uint64_t>(length) << 56;
    return key;
  }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&lines_[hash >> shift_]); }

  // Writes the ids to `out`, which has room for kMaxIds, and returns their end; nullptr if the pre-token is not there.
  uint32_t* find(const Key& key, uint64_t hash, uint32_t* out) const {
    const Line* line = &lines_[hash >> shift_];
    bool first = line->entries[0].key == key;
    if (!first && !(line->entries[1].key == key)) [[unlikely]] {
      line = &lines_[(hash >> shift_) ^ 1];
      first = line->entries[0].key == key;
      if (!first && !(line->entries[1].key == key)) return nullptr;
    }
    const Entry& entry = line->entries[first ? 0 : 1];
    std::memcpy(out, entry.ids, sizeof entry.ids);  // all of them, without a branch
    out[0] &= kIdMask;
    return out + (entry.ids[0] >> kIdBits) + 1;
  }

  // Remembers `count` ids, from 1 to kMaxIds.
  void add(const Key& key, const uint32_t* ids, size_t count) {
    if (++added_ > lines_.size() && shift_ > 64 - kMostBits) grow();
    Entry entry{key, {}};
    std::copy_n(ids, count, entry.ids);
    entry.ids[0] |= static_cast<uint32_t>(count - 1) << kIdBits;
    put(entry);
  }

 private:
  static constexpr unsigned kFirstBits = 12, kMostBits = 19;
  static constexpr unsigned kIdBits = 30;  // the two bits above these hold the number of ids minus 1
  static constexpr uint32_t kIdMask = (uint32_t{1} << kIdBits) - 1;
  struct Entry {
    Key key{{0, 0}};  // the empty key is no pre-token
    uint32_t ids[kMaxIds] = {};
  };
  struct alignas(64) Line {
    Entry entries[2];
  };
  static_assert(sizeof(Line) == 64);

  void put(const Entry& entry) {
    const size_t index = entry.key.hash() >> shift_;
    Line &line = lines_[index], &neighbour = lines_[index ^ 1];
    neighbour.entries[1] = line.entries[1];
    line.entries[1] = line.entries[0];
    line.entries[0] = entry;
  }
  void grow() {
    --shift_;
    added_ = 0;
    const HugeArray<Line> old = std::exchange(lines_, {size_t{1} << (64 - shift_), Line{}});
    for (const Line& line : old) {
      for (const Entry& entry : {line.entries[1], line.entries[0]}) {
        if (entry.key.words[1]) put(entry);
      }
    }
  }

  static constexpr std::array<std::array<uint64_t, 2>, kMaxBytes + 1> kMasks = [] {
    std::array<std::array<uint64_t, 2>, kMaxBytes + 1> masks{};
    for (size_t length = 0; length <= kMaxBytes; ++length) {
      for (size_t byte = 0; byte < length; ++byte) masks[length][byte / 8] |= uint64_t{0xFF} << (byte % 8 * 8);
    }
    return masks;
  }();

  unsigned shift_ = 64 - kFirstBits;
  size_t added_ = 0;
  HugeArray<Line> lines_{size_t{1} << kFirstBits, Line{}};
};

}  // namespace piecework

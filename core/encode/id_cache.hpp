// The ids of units or pre-tokens that were encoded before.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "encode/growing_slots.hpp"
#include "text/hash.hpp"
#include "text/small_key.hpp"

namespace piecework {

// Two tables. The first holds short texts, which are nearly all: a line of 64 bytes has two texts with their ids, the
// newer one first. A text that must leave its line moves to the neighbouring line. Most look-ups read one line of
// memory. The second table holds texts of more bytes or ids, in 128 bytes each; a short text with many ids is in both
// tables. Both tables grow fourfold while new texts come, up to 32 MB and 16 MB. Measured on 100 MB of text with one
// table of 8 MB: half of the units that were merged had been merged before.
class IdCache {
 public:
  static constexpr size_t kBlock = 128;  // texts
  // For each text at least so many ids are written; those after its own are overwritten by the next text.
  static constexpr size_t kMaxIds = 4;

  // Writes the ids of up to kBlock texts to `out`, and returns their end. The texts lie side by side in `all`: the
  // first starts at `begin`, each other one at the end of the previous one. `limit` is the end of the readable memory.
  // If no table has the ids of a text, `encode(text, out)` writes them and returns their end.
  template <class Encode>
  uint32_t* encode_block(std::string_view all, size_t begin, const size_t* ends, size_t count, const char* limit,
                         uint32_t* out, Encode&& encode) {
    // Makes all keys first, so that the processor fetches the slots of many texts from memory at the same time.
    std::array<Wanted, kBlock> block;
    for (size_t i = 0, at = begin; i < count; at = ends[i++]) {
      const char* const text = all.data() + at;
      const size_t length = ends[i] - at;
      Wanted& wanted = block[i];
      if (length <= Key::kMaxBytes) [[likely]] {
        wanted.key = Key::from(text, length, limit);
        wanted.hash = wanted.key.hash();
        __builtin_prefetch(&lines_[lines_.index_of(wanted.hash)]);
      } else if (length <= Long::kMaxBytes) {
        wanted.hash = hash_bytes({text, length});
        prefetch_long(wanted.hash);
      }
    }
    for (size_t i = 0, at = begin; i < count; at = ends[i++]) {
      const Wanted& wanted = block[i];
      const std::string_view text = all.substr(at, ends[i] - at);
      if (text.size() <= Key::kMaxBytes) [[likely]] {
        const Line& line = lines_[lines_.index_of(wanted.hash)];
        // Which of the two it is cannot be predicted, so there is no branch for it.
        const Entry& entry = line.entries[line.entries[1].key == wanted.key];
        if (entry.key == wanted.key) [[likely]] {
          const size_t known = entry.copy_ids(out);
          if (known <= kMaxIds) [[likely]] {
            out += known;
            continue;
          }
        }
        out = encode_short(wanted, text, out, encode);
      } else if (text.size() <= Long::kMaxBytes) {
        out = encode_long(wanted.hash, text, out, encode);
      } else {
        out = encode(text, out);
      }
    }
    return out;
  }

 private:
  using Key = SmallKey;
  struct Wanted {
    Key key;
    uint64_t hash;
  };

  struct Entry {
    static constexpr unsigned kIdBits = 29;  // the three bits above these hold the number of ids minus 1
    static constexpr uint32_t kIdMask = (uint32_t{1} << kIdBits) - 1;
    Key key{{0, 0}};  // the empty key is no text
    uint32_t ids[kMaxIds] = {};

    Entry() = default;
    // `count` is kMaxIds + 1 if there are more ids: the table of long texts has them.
    Entry(const Key& text, const uint32_t* first, size_t count) : key(text) {
      std::copy_n(first, std::min(count, kMaxIds), ids);
      ids[0] |= static_cast<uint32_t>(count - 1) << kIdBits;
    }
    // Writes all ids, without a branch, and returns how many of them count.
    size_t copy_ids(uint32_t* out) const {
      std::memcpy(out, ids, sizeof ids);
      out[0] &= kIdMask;
      return (ids[0] >> kIdBits) + 1;
    }
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

  // For a text that is not in its line of the first table.
  template <class Encode>
  [[gnu::noinline]] uint32_t* encode_short(const Wanted& wanted, std::string_view text, uint32_t* out, Encode& encode) {
    const Entry* const entry = find_short(wanted);
    if (!entry) {
      uint32_t* const end = encode(text, out);
      const auto count = static_cast<size_t>(end - out);
      add({wanted.key, out, std::min(count, kMaxIds + 1)});
      if (count > kMaxIds) add_long(Long(text), out, count);
      return end;
    }
    const size_t known = entry->copy_ids(out);
    return known <= kMaxIds ? out + known : encode_long(hash_bytes(text), text, out, encode);
  }
  // For a text that has a slot in the second table.
  template <class Encode>
  [[gnu::noinline]] uint32_t* encode_long(uint64_t hash, std::string_view text, uint32_t* out, Encode& encode) {
    // Two slots for each text, the newer first.
    const Long wanted(text);
    const size_t index = longs_.index_of(hash);
    const Long &slot = longs_[index], &older = longs_[index ^ 1];
    if (const Long* hit = slot.has_text_of(wanted) ? &slot : older.has_text_of(wanted) ? &older : nullptr) {
      return std::copy_n(hit->ids, hit->count, out);
    }
    uint32_t* const end = encode(text, out);
    add_long(wanted, out, static_cast<size_t>(end - out));
    return end;
  }

  // Looks into both lines of a text. An entry of the neighbour moves to the text's own line: a tenth of the look-ups
  // went to the neighbour, mostly for the same texts.
  const Entry* find_short(const Wanted& wanted) {
    const size_t index = lines_.index_of(wanted.hash);
    for (Entry& entry : lines_[index].entries) {
      if (entry.key == wanted.key) return &entry;
    }
    Entry& older = lines_[index].entries[1];
    for (Entry& entry : lines_[index ^ 1].entries) {
      if (!(entry.key == wanted.key)) continue;
      std::swap(entry, older);
      return &older;
    }
    return nullptr;
  }
  void add(const Entry& added) {
    if (++added_ > lines_.size() / 2 && lines_.can_grow()) grow();
    put(added);
  }
  void put(const Entry& added) {
    const size_t index = lines_.index_of(added.key.hash());
    Line &line = lines_[index], &neighbour = lines_[index ^ 1];
    // An unused entry replaces no other: without these two conditions a sixth of the entries was lost at half load.
    if (line.entries[0].is_used()) {
      if (line.entries[1].is_used()) neighbour.entries[neighbour.entries[0].is_used()] = line.entries[1];
      line.entries[1] = line.entries[0];
    }
    line.entries[0] = added;
  }
  void grow() {
    added_ = 0;
    lines_.grow([&](const Line& line) {
      for (const Entry& entry : {line.entries[1], line.entries[0]}) {
        if (entry.is_used()) put(entry);
      }
    });
  }

  void prefetch_long(uint64_t hash) const {
    const size_t index = longs_.index_of(hash);
    for (const Long* slot : {&longs_[index], &longs_[index ^ 1]}) {
      __builtin_prefetch(slot->bytes);
      __builtin_prefetch(&slot->count);
    }
  }
  // Does nothing if there are too many ids.
  void add_long(const Long& text, const uint32_t* ids, size_t count) {
    if (count > Long::kMaxIds) return;
    if (++long_added_ > longs_.size() / 4 && longs_.can_grow()) grow_long();
    Long added = text;
    added.count = static_cast<uint32_t>(count);
    std::copy_n(ids, count, added.ids);
    put_long(added);
  }
  void put_long(const Long& added) {
    const size_t index = longs_.index_of(added.hash());
    if (longs_[index].count) longs_[index ^ 1] = longs_[index];
    longs_[index] = added;
  }
  void grow_long() {
    long_added_ = 0;
    longs_.grow([&](const Long& each) {
      if (each.count) put_long(each);
    });
  }

  GrowingSlots<Line, 12, 19> lines_;
  GrowingSlots<Long, 10, 17> longs_;
  size_t added_ = 0, long_added_ = 0;
};

}  // namespace piecework

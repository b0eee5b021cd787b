// A byte string of up to 15 bytes and a flag packed into two words. Most words and pre-tokens are that short.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "text/bytes.hpp"
#include "text/hash.hpp"
#include "text/short_key.hpp"

namespace piecework {

struct SmallKey {
  // Bytes 0 to 14 hold the string, zero-padded; byte 15 holds its length and, in the top bit, the flag.
  uint64_t words[2];

  static constexpr size_t kMaxBytes = 15;

  // Keys of all zeros stand for no string.
  bool is_used() const { return words[1] != 0; }
  bool operator==(const SmallKey& other) const {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1])) == 0;
  }
  uint64_t hash() const { return multiply_mix(words[0] ^ kMix0, words[1] ^ kMix1); }

  // `length` is 1 to kMaxBytes; `readable_end` is the end of the readable memory.
  static SmallKey from(const char* bytes, size_t length, const char* readable_end, bool flag = false) {
    SmallKey key;
    if (readable_end - bytes >= 16) {
      std::memcpy(key.words, bytes, 16);
      key.words[0] &= kMasks[length][0];
      key.words[1] &= kMasks[length][1];
    } else if (length < 8) {
      key = {{load_up_to_7(bytes, length), 0}};
    } else {
      std::memcpy(&key.words[0], bytes, 8);
      key.words[1] = load_up_to_7(bytes + 8, length - 8);
    }
    key.words[1] |= static_cast<uint64_t>(length) << kLengthShift | (flag ? ShortKey::kFlag : 0);
    return key;
  }

  ShortKey short_key() const {
    static_assert(kLengthShift == ShortKey::kLengthShift);
    const uint64_t last_byte = words[1] >> kLengthShift << kLengthShift;
    return {{words[0], words[1] ^ last_byte, last_byte}};
  }

 private:
  static constexpr int kLengthShift = 56;
  static constexpr std::array<std::array<uint64_t, 2>, kMaxBytes + 1> kMasks = [] {
    std::array<std::array<uint64_t, 2>, kMaxBytes + 1> masks{};
    for (size_t length = 0; length <= kMaxBytes; ++length) {
      for (size_t byte = 0; byte < length; ++byte) masks[length][byte / 8] |= uint64_t{0xFF} << (byte % 8 * 8);
    }
    return masks;
  }();
};

}  // namespace piecework

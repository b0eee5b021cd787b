// A byte string of up to 23 bytes and a flag packed into three words, so that equality is three comparisons.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "text/bytes.hpp"
#include "text/hash.hpp"

namespace piecework {

struct ShortKey {
  // Bytes 0 to 22 hold the string, zero-padded; byte 23 holds its length and, in the top bit, the flag.
  uint64_t words[3];

  static constexpr size_t kMaxLength = 23;
  static constexpr uint64_t kFlag = uint64_t{1} << 63;
  static constexpr int kLengthShift = 56;
  static constexpr uint64_t kLongLength = 0x7F;  // marks a key whose bytes are stored outside the key

  bool operator==(const ShortKey& other) const {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1]) | (words[2] ^ other.words[2])) == 0;
  }
  uint64_t hash() const { return hash_words(words[0], words[1], words[2]); }
  bool flag() const { return words[2] & kFlag; }
  uint64_t length() const { return words[2] >> kLengthShift & 0x7F; }
  const char* data() const { return reinterpret_cast<const char*>(words); }

  // Requires that 24 bytes can be read at `bytes`, whatever `length` is.
  static ShortKey from_readable(const char* bytes, size_t length, bool flag) {
    ShortKey key;
    std::memcpy(key.words, bytes, 24);
    const auto& mask = kMasks[length];
    key.words[0] &= mask[0];
    key.words[1] &= mask[1];
    key.words[2] = (key.words[2] & mask[2]) | static_cast<uint64_t>(length) << kLengthShift | (flag ? kFlag : 0);
    return key;
  }

  static ShortKey from_exact(const char* bytes, size_t length, bool flag) {
    ShortKey key{{0, 0, 0}};
    const size_t whole = length / 8;
    for (size_t i = 0; i < whole; ++i) std::memcpy(&key.words[i], bytes + 8 * i, 8);
    key.words[whole] = load_up_to_7(bytes + 8 * whole, length % 8);
    key.words[2] |= static_cast<uint64_t>(length) << kLengthShift | (flag ? kFlag : 0);
    return key;
  }

 private:
  static constexpr std::array<std::array<uint64_t, 3>, kMaxLength + 1> kMasks = [] {
    std::array<std::array<uint64_t, 3>, kMaxLength + 1> masks{};
    for (size_t length = 0; length <= kMaxLength; ++length) {
      for (size_t byte = 0; byte < length; ++byte) masks[length][byte / 8] |= uint64_t{0xFF} << (byte % 8 * 8);
    }
    return masks;
  }();
};

static_assert(sizeof(ShortKey) == 24);

}  // namespace piecework

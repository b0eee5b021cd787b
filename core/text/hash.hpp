// The hash function for short byte strings: two or three 64-bit multiplications, no table, no special instructions.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace piecework {

inline uint64_t multiply_mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline constexpr uint64_t kMix0 = 0x9E3779B97F4A7C15ULL;
inline constexpr uint64_t kMix1 = 0xD1B54A32D192ED03ULL;
inline constexpr uint64_t kMix2 = 0x8CB92BA72F3D8DD7ULL;
inline constexpr uint64_t kMix3 = 0xAEF17502108EF2D9ULL;

inline uint64_t hash_words(uint64_t a, uint64_t b, uint64_t c) {
  return multiply_mix(multiply_mix(a ^ kMix0, b ^ kMix1) ^ c, kMix2) ^ a;
}

inline uint64_t hash_pair(uint64_t left, uint64_t right) { return multiply_mix(left << 32 ^ right ^ kMix0, kMix3); }

inline uint64_t hash_bytes(std::string_view bytes) {
  uint64_t state = kMix3 ^ bytes.size();
  while (bytes.size() >= 16) {
    uint64_t a, b;
    std::memcpy(&a, bytes.data(), 8);
    std::memcpy(&b, bytes.data() + 8, 8);
    state = hash_words(a, b, state);
    bytes.remove_prefix(16);
  }
  uint64_t tail[2] = {0, 0};
  std::memcpy(tail, bytes.data(), bytes.size());
  return hash_words(tail[0], tail[1], state);
}

struct HashBytes {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const { return hash_bytes(bytes); }
};

}  // namespace piecework

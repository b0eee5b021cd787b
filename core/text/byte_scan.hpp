// Finds given bytes in a block of 64, as a bit mask, and ASCII letters. Uses SSE2 or NEON, and AVX2 where the processor
// has it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace piecework {

// Bit i is set where block[i] is one of these bytes.
template <char... kBytes>
inline uint64_t find_bytes(const char* block) {
  uint64_t mask = 0;
#if defined(__x86_64__)
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
    __m128i hit = _mm_setzero_si128();
    ((hit = _mm_or_si128(hit, _mm_cmpeq_epi8(v, _mm_set1_epi8(kBytes)))), ...);
    mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit))) << (16 * i);
  }
#elif defined(__aarch64__)
  static constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(kBits);
  for (int i = 0; i < 4; ++i) {
    const uint8x16_t v = vld1q_u8(reinterpret_cast<const uint8_t*>(block) + 16 * i);
    uint8x16_t hit = vdupq_n_u8(0);
    ((hit = vorrq_u8(hit, vceqq_u8(v, vdupq_n_u8(static_cast<uint8_t>(kBytes))))), ...);
    hit = vandq_u8(hit, bits);
    const uint64_t low = vaddv_u8(vget_low_u8(hit)), high = vaddv_u8(vget_high_u8(hit));
    mask |= (low | high << 8) << (16 * i);
  }
#else
  for (int i = 0; i < 64; ++i) mask |= static_cast<uint64_t>(((block[i] == kBytes) || ...)) << i;
#endif
  return mask;
}

// Bit i is set where block[i] is a byte from kFirst to kLast.
template <char kFirst, char kLast>
inline uint64_t find_byte_range(const char* block) {
  constexpr auto kBelow = static_cast<unsigned char>(kFirst);
  constexpr auto kSize = static_cast<unsigned char>(static_cast<unsigned char>(kLast) - kBelow);
  uint64_t mask = 0;
#if defined(__x86_64__)
  for (int i = 0; i < 4; ++i) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i);
    v = _mm_sub_epi8(v, _mm_set1_epi8(static_cast<char>(kBelow)));
    const __m128i hit = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(static_cast<char>(kSize))), v);
    mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(hit))) << (16 * i);
  }
#else
  for (int i = 0; i < 64; ++i) {
    mask |= static_cast<uint64_t>(static_cast<unsigned char>(static_cast<unsigned char>(block[i]) - kBelow) <= kSize)
            << i;
  }
#endif
  return mask;
}

template <char kByte>
inline uint64_t count_byte(std::string_view text) {
  const char *at = text.data(), *end = at + text.size();
  uint64_t found = 0;
  for (; end - at >= 64; at += 64) found += static_cast<uint64_t>(std::popcount(find_bytes<kByte>(at)));
  return found + static_cast<uint64_t>(std::count(at, end, kByte));
}

// Bit i is set where block[i] is a space, a newline, or 0xE2, the first byte of ▁ and ▅.
inline uint64_t separators_baseline(const char* block) { return find_bytes<' ', '\n', '\xE2'>(block); }

// The number of ASCII letters at the start of 16 bytes; with `kLowerOnly`, of lower case letters.
template <bool kLowerOnly>
inline unsigned leading_letters(const char* bytes) {
#if defined(__x86_64__)
  __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  if constexpr (!kLowerOnly) v = _mm_or_si128(v, _mm_set1_epi8(0x20));
  // SSE2 compares signed bytes: 'a' is moved to the lowest of them.
  v = _mm_add_epi8(v, _mm_set1_epi8(static_cast<char>(-('a' + 128))));
  const auto letters = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmplt_epi8(v, _mm_set1_epi8(26 - 128))));
  return static_cast<unsigned>(std::countr_one(letters));
#else
  unsigned n = 0;
  for (; n < 16; ++n) {
    const auto byte = static_cast<unsigned char>(bytes[n]);
    if (static_cast<unsigned char>((kLowerOnly ? byte : byte | 0x20) - 'a') >= 26) break;
  }
  return n;
#endif
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) inline uint64_t separators_avx2(const char* block) {
  uint64_t mask = 0;
  for (int i = 0; i < 2; ++i) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block) + i);
    const __m256i hit = _mm256_or_si256(
        _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(' ')), _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n'))),
        _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\xE2')));
    mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(hit))) << (32 * i);
  }
  return mask;
}
inline bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

}  // namespace piecework

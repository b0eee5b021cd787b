// The classes of 64 bytes, a bit for each byte: the classes of ASCII characters, and which bytes are not ASCII.
#pragma once

#include <cstdint>

#include "text/byte_scan.hpp"

namespace piecework {

struct ByteClasses {
  uint64_t lower, upper, digit;
  uint64_t space, line_feed, newline, blank;  // ' '; \n; \n and \r; all whitespace that is no newline
  uint64_t quote, slash;
  uint64_t high, continuation;  // not ASCII; of these, the bytes after the first one of a character
};

inline ByteClasses byte_classes_baseline(const char* block) {
  const uint64_t space = find_bytes<' '>(block), line_feed = find_bytes<'\n'>(block);
  return {find_byte_range<'a', 'z'>(block),
          find_byte_range<'A', 'Z'>(block),
          find_byte_range<'0', '9'>(block),
          space,
          line_feed,
          line_feed | find_bytes<'\r'>(block),
          space | find_bytes<'\t', '\v', '\f'>(block),
          find_bytes<'\''>(block),
          find_bytes<'/'>(block),
          find_byte_range<'\x80', '\xFF'>(block),
          find_byte_range<'\x80', '\xBF'>(block)};
}

#if defined(__x86_64__)
// AVX-512 needs a third of these instructions; measured, the scan was no faster.
__attribute__((target("avx2"))) inline ByteClasses byte_classes_avx2(const char* block) {
  ByteClasses classes{};
  for (int i = 0; i < 2; ++i) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block) + i);
    const auto bits = [i](__m256i hit) __attribute__((target("avx2"))) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(hit))) << (32 * i);
    };
    // Compares signed bytes: those that are not ASCII are negative.
    const auto range = [v](char first, char last) __attribute__((target("avx2"))) {
      return _mm256_and_si256(_mm256_cmpgt_epi8(v, _mm256_set1_epi8(static_cast<char>(first - 1))),
                              _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(last + 1)), v));
    };
    const auto equal = [v](char byte)
                           __attribute__((target("avx2"))) { return _mm256_cmpeq_epi8(v, _mm256_set1_epi8(byte)); };
    const __m256i space = equal(' '), line_feed = equal('\n'), newline = _mm256_or_si256(line_feed, equal('\r'));
    classes.lower |= bits(range('a', 'z'));
    classes.upper |= bits(range('A', 'Z'));
    classes.digit |= bits(range('0', '9'));
    classes.space |= bits(space);
    classes.line_feed |= bits(line_feed);
    classes.newline |= bits(newline);
    classes.blank |= bits(_mm256_or_si256(space, _mm256_andnot_si256(newline, range('\t', '\r'))));
    classes.quote |= bits(equal('\''));
    classes.slash |= bits(equal('/'));
    classes.high |= bits(v);
    classes.continuation |= bits(_mm256_cmpgt_epi8(_mm256_set1_epi8('\xC0'), v));
  }
  return classes;
}
#endif

inline ByteClasses byte_classes(const char* block) {
#if defined(__x86_64__)
  if (has_avx2()) return byte_classes_avx2(block);
#endif
  return byte_classes_baseline(block);
}

}  // namespace piecework

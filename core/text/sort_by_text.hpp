// Sorts indices by the strings they stand for, with few accesses to the strings, which lie far apart in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "text/bytes.hpp"

namespace piecework {

// The first eight bytes of a string as a number that compares as the string does: the first byte is the highest.
inline uint64_t leading_bytes(std::string_view text) {
  uint64_t bytes;
  if (text.size() < sizeof bytes) return __builtin_bswap64(load_up_to_7(text.data(), text.size()));
  std::memcpy(&bytes, text.data(), sizeof bytes);
  return __builtin_bswap64(bytes);
}

// An index and the first sixteen bytes of its string. Most words are no longer than that.
struct TextIndex {
  uint64_t high, low;
  uint32_t index;

  TextIndex() = default;
  TextIndex(uint32_t i, std::string_view text)
      : high(leading_bytes(text)), low(text.size() > 8 ? leading_bytes(text.substr(8)) : 0), index(i) {}
  bool operator<(const TextIndex& other) const { return high != other.high ? high < other.high : low < other.low; }
};

// Sorts by the first sixteen bytes. Many indices are first distributed by the byte of `high` at bit `shift`, then each
// part by the next byte. `scratch` has room for all indices. Measured on 1.5 million words: half the time of std::sort.
inline void sort_leading_bytes(std::span<TextIndex> indices, TextIndex* scratch, int shift = 56) {
  constexpr size_t kFew = 512;
  if (indices.size() <= kFew || shift < 0) {
    std::sort(indices.begin(), indices.end());
    return;
  }
  const auto byte_of = [shift](const TextIndex& index) { return index.high >> shift & 0xFF; };
  std::array<size_t, 257> starts{};
  for (const TextIndex& index : indices) ++starts[byte_of(index) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  auto next = starts;
  for (const TextIndex& index : indices) scratch[next[byte_of(index)]++] = index;
  std::copy_n(scratch, indices.size(), indices.begin());
  for (size_t byte = 0; byte < 256; ++byte) {
    const size_t count = starts[byte + 1] - starts[byte];
    if (count > 1) sort_leading_bytes(indices.subspan(starts[byte], count), scratch, shift - 8);
  }
}

// `text(i)` returns the string of index i. All strings have the same first `depth` bytes, and `indices` holds the next
// sixteen. Only strings with equal bytes so far are accessed again.
template <class Text>
void sort_by_text(std::span<TextIndex> indices, const Text& text, size_t depth = 0) {
  constexpr size_t kFew = 8;
  const std::unique_ptr<TextIndex[]> scratch = std::make_unique_for_overwrite<TextIndex[]>(indices.size());
  sort_leading_bytes(indices, scratch.get());
  const size_t next = depth + 2 * sizeof(uint64_t);
  const auto less = [&](const TextIndex& a, const TextIndex& b) { return text(a.index) < text(b.index); };
  for (size_t first = 0, last; first < indices.size(); first = last) {
    for (last = first + 1; last < indices.size() && !(indices[first] < indices[last]);) ++last;
    if (last - first == 1) continue;
    const auto alike = indices.subspan(first, last - first);
    if (alike.size() <= kFew) {
      std::sort(alike.begin(), alike.end(), less);
      continue;
    }
    // Strings that end here differ at most in trailing zeros. They come before all longer strings.
    const auto longer =
        std::partition(alike.begin(), alike.end(), [&](const TextIndex& i) { return text(i.index).size() <= next; });
    std::sort(alike.begin(), longer, less);
    for (auto i = longer; i != alike.end(); ++i) *i = {i->index, text(i->index).substr(next)};
    sort_by_text(std::span(longer, alike.end()), text, next);
  }
}

template <class Text>
void sort_by_text(std::span<uint32_t> indices, const Text& text) {
  std::vector<TextIndex> keyed;
  keyed.reserve(indices.size());
  for (const uint32_t i : indices) keyed.emplace_back(i, text(i));
  sort_by_text(std::span(keyed), text);
  for (size_t i = 0; i < keyed.size(); ++i) indices[i] = keyed[i].index;
}

}  // namespace piecework

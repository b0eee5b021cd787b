// Sorts indices by the strings they stand for, with few accesses to the strings, which lie far apart in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string_view>

#include "system/growing_array.hpp"
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
  bool operator<(const TextIndex& other) const { return leading() < other.leading(); }
  unsigned __int128 leading() const { return static_cast<unsigned __int128>(high) << 64 | low; }
};

// Sorts by the first sixteen bytes. Many indices are first distributed by the byte of `high` at bit `shift`, then each
// part by the next byte. `other` has room for all indices; with `into_other` the result is there. Measured on 450,000
// words: with parts of up to 512 left to std::sort, and copied back after each byte, sorting took a fifth longer.
inline void sort_leading_bytes(std::span<TextIndex> indices, TextIndex* other, int shift, bool into_other = false) {
  constexpr size_t kFew = 64;
  if (indices.size() <= kFew || shift < 0) {
    std::sort(indices.begin(), indices.end());
    if (into_other) std::copy_n(indices.begin(), indices.size(), other);
    return;
  }
  const auto byte_of = [shift](const TextIndex& index) { return index.high >> shift & 0xFF; };
  std::array<size_t, 257> starts{};
  for (const TextIndex& index : indices) ++starts[byte_of(index) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  auto next = starts;
  for (const TextIndex& index : indices) other[next[byte_of(index)]++] = index;
  for (size_t byte = 0; byte < 256; ++byte) {
    const size_t start = starts[byte], count = starts[byte + 1] - start;
    if (count) sort_leading_bytes({other + start, count}, indices.data() + start, shift - 8, !into_other);
  }
}

// `text(i)` returns the string of index i. All strings have the same first `depth` bytes, and `indices` holds the next
// sixteen, which are the same above bit `shift` + 8 of `high`. `other` has room for all indices. Only strings with
// equal bytes so far are accessed again.
template <class Text>
void sort_by_text(std::span<TextIndex> indices, TextIndex* other, const Text& text, int shift = 56, size_t depth = 0) {
  constexpr size_t kFew = 8;
  sort_leading_bytes(indices, other, shift);
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
    sort_by_text(std::span(longer, alike.end()), other, text, 56, next);
  }
}

// The indices are distributed by the first byte of their strings while they are read, so that `other` has to hold only
// one part at a time. New memory costs time, because the system sets it to zero.
template <class Text>
void sort_by_text(std::span<uint32_t> indices, const Text& text) {
  const auto byte_of = [](std::string_view bytes) { return bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]); };
  std::array<size_t, 257> starts{};
  for (const uint32_t i : indices) ++starts[byte_of(text(i)) + 1];
  const size_t most = *std::max_element(starts.begin(), starts.end());
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  GrowingArray<TextIndex> keyed, other;
  keyed.resize(indices.size());
  other.reserve(most);
  auto next = starts;
  for (const uint32_t i : indices) {
    const std::string_view bytes = text(i);
    keyed[next[byte_of(bytes)]++] = {i, bytes};
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::span part(keyed.begin() + starts[byte], starts[byte + 1] - starts[byte]);
    sort_by_text(part, other.begin(), text, 48);
  }
  for (size_t i = 0; i < keyed.size(); ++i) indices[i] = keyed[i].index;
}

}  // namespace piecework

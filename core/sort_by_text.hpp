// Sorts indices by strings that are costly to reach.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace piecework {

// The first eight bytes of a string, the first highest, so that numbers compare as the strings do.
inline uint64_t leading_bytes(std::string_view text) {
  uint64_t bytes = 0;
  if (text.size() >= sizeof bytes) {
    std::memcpy(&bytes, text.data(), sizeof bytes);
    return __builtin_bswap64(bytes);
  }
  for (size_t i = 0; i < text.size(); ++i)
    bytes |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (56 - 8 * i);
  return bytes;
}

// `text(i)` is the string of an index; all are alike up to `depth`. Eight bytes of each string
// are fetched and compared as a number; only strings that are alike so far are reached for again.
template <class Text>
void sort_by_text(std::span<uint32_t> indices, const Text& text, size_t depth = 0) {
  constexpr size_t kFew = 8;
  const auto less = [&](uint32_t a, uint32_t b) { return text(a) < text(b); };
  if (indices.size() <= kFew) {
    std::sort(indices.begin(), indices.end(), less);
    return;
  }
  struct Keyed {
    uint64_t bytes;
    uint32_t index;
  };
  std::vector<Keyed> keyed(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) keyed[i] = {leading_bytes(text(indices[i]).substr(depth)), indices[i]};
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) { return a.bytes < b.bytes; });
  for (size_t i = 0; i < keyed.size(); ++i) indices[i] = keyed[i].index;
  const size_t next = depth + sizeof(Keyed::bytes);
  for (size_t first = 0, last; first < keyed.size(); first = last) {
    for (last = first + 1; last < keyed.size() && keyed[last].bytes == keyed[first].bytes;) ++last;
    if (last - first == 1) continue;
    const auto alike = indices.subspan(first, last - first);
    // Strings that end here are alike but for zeros at their ends, and come before those that go on.
    const auto longer = std::partition(alike.begin(), alike.end(), [&](uint32_t i) { return text(i).size() <= next; });
    std::sort(alike.begin(), longer, less);
    sort_by_text(std::span(longer, alike.end()), text, next);
  }
}

}  // namespace piecework

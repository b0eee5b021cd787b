// Every way to cut a text of a list into two texts of the list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/sort_by_text.hpp"
#include "text/text_table.hpp"
#include "text/utf8.hpp"

namespace piecework {

// A cut: indices of the text and of its two parts. A part of one character may be missing in the list: kNotFound.
struct Split {
  uint32_t text, left, right;
  uint32_t left_bytes;
};

// Calls `use` with each split. Empty texts of the list are ignored. If texts are equal, the first is used.
//
// The texts are visited in the order of their bytes, so a text comes after the texts that it starts with. These are on
// a stack, and only the rest of the text after each of them is looked up. Many look-ups are done at a time, so that the
// processor fetches their slots from memory together.
template <class Use>
void for_each_split(const std::vector<std::string>& texts, Use&& use) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty()) order.push_back(i);
  }
  sort_by_text(order, [&](uint32_t i) { return std::string_view(texts[i]); });
  const TextTable table(texts, [&](uint32_t i) { return !texts[i].empty(); });
  struct Cut {
    Split split;
    uint64_t right_hash;
  };
  std::vector<Cut> cuts;
  const auto add_cut = [&](const Split& split) {
    cuts.push_back({split, hash_bytes(std::string_view(texts[split.text]).substr(split.left_bytes))});
    table.prefetch(cuts.back().right_hash);
  };
  const auto flush = [&] {
    for (auto& [split, hash] : cuts) {
      const std::string_view right = std::string_view(texts[split.text]).substr(split.left_bytes);
      split.right = table.find(right, hash);
      const bool found = split.right != TextTable::kNotFound;
      if (found || decode_utf8(right.data(), right.data() + right.size()).length == right.size()) use(split);
    }
    cuts.clear();
  };
  struct Start {
    uint32_t text, bytes;
  };
  std::vector<Start> starts;  // of the current text; each is a start of the next one
  for (const uint32_t index : order) {
    const std::string_view text = texts[index];
    while (!starts.empty() && !text.starts_with(texts[starts.back().text])) starts.pop_back();
    const uint32_t first = decode_utf8(text.data(), text.data() + text.size()).length;
    if (first < text.size() && (starts.empty() || starts.front().bytes > first)) {
      add_cut({index, TextTable::kNotFound, TextTable::kNotFound, first});
    }
    for (const Start& start : starts) {
      if (start.bytes < text.size()) add_cut({index, start.text, TextTable::kNotFound, start.bytes});
    }
    if (starts.empty() || starts.back().bytes < text.size()) {
      starts.push_back({index, static_cast<uint32_t>(text.size())});
    } else {
      starts.back().text = std::min(starts.back().text, index);  // an equal text
    }
    if (cuts.size() > 64) flush();
  }
  flush();
}

}  // namespace piecework

// Byte-level encoding as its definition says, slow and obvious: before each merge all rules are tried on all pairs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/byte_level_merger.hpp"

namespace piecework::tests {

// The ids of a pre-token. If a token or a rule is listed twice, the last one counts.
inline std::vector<uint32_t> slow_byte_level_encode(const ByteLevelModel& model, std::string_view pre_token) {
  const auto id_of = [&](std::string_view token) {
    const auto found = std::find(model.tokens.rbegin(), model.tokens.rend(), token);
    return static_cast<uint32_t>(model.tokens.rend() - found) - 1;
  };
  if (model.whole_pre_tokens && id_of(pre_token) != UINT32_MAX) return {id_of(pre_token)};
  std::vector<uint32_t> row;
  for (size_t i = 0; i < pre_token.size(); ++i) row.push_back(id_of(pre_token.substr(i, 1)));
  const auto rank = [&](uint32_t left, uint32_t right, uint32_t& merged) {
    if (!model.merges) {
      const uint32_t id = id_of(model.tokens[left] + model.tokens[right]);
      return merged = id, id == UINT32_MAX ? SIZE_MAX : id;
    }
    for (size_t i = model.merges->size(); i-- > 0;) {
      const ByteMerge& merge = (*model.merges)[i];
      if (merge.left == left && merge.right == right) return merged = merge.merged, i;
    }
    return SIZE_MAX;
  };
  for (;;) {
    size_t best = SIZE_MAX, best_at = 0;
    uint32_t best_merged = 0;
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      uint32_t merged = 0;
      const size_t found = rank(row[i], row[i + 1], merged);
      if (found < best) best = found, best_at = i, best_merged = merged;
    }
    if (best == SIZE_MAX) return row;
    row[best_at] = best_merged;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

}  // namespace piecework::tests

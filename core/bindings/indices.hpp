// All rows of a table, unsorted, for columns that need no order.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "count/word_table.hpp"

namespace piecework {

inline std::vector<uint32_t> all_indices(const WordTable& table) {
  std::vector<uint32_t> indices(table.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

}  // namespace piecework

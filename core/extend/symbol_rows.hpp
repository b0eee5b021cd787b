// Rows of symbols with their counts, kept in a table of words: four bytes for each symbol.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "count/word_table.hpp"

namespace piecework {

class SymbolRows {
 public:
  void add(uint32_t symbol) { row_.push_back(symbol); }
  // Nothing merges across this point. A single symbol cannot merge, so it makes no row.
  void end_row(uint64_t count) {
    if (row_.size() > 1) {
      const std::string_view bytes(reinterpret_cast<const char*>(row_.data()), row_.size() * sizeof(uint32_t));
      table_.queue(bytes, false, count, bytes.data() + bytes.size());
    }
    row_.clear();
  }
  const WordTable& finish() {
    table_.flush();
    return table_;
  }

 private:
  WordTable table_;
  std::vector<uint32_t> row_;
};

}  // namespace piecework

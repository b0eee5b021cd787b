#include "count/pre_token_counter.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "system/memory.hpp"
#include "system/threads.hpp"
#include "text/utf8.hpp"

namespace piecework {

void PreTokenTable::add(const PreTokenizer& pre_tokenizer, std::string_view document, bool known_valid,
                        uint64_t& invalid_bytes, uint64_t copies) {
  std::string repaired;
  if (!known_valid && find_invalid_utf8(document) != document.size()) {
    repaired = replace_invalid_utf8(document, invalid_bytes);
    document = repaired;
  }
  const char* const last = document.data() + document.size();
  pre_tokenizer.for_each(document,
                         [&](std::string_view pre_token) { recent_.add(pre_token, true, copies, last, table_); });
}

WordTable PreTokenTable::take() {
  recent_.drain(table_);
  return std::exchange(table_, {});
}

void PreTokenCounter::add(const std::vector<std::string_view>& documents, bool known_valid) {
  std::atomic<size_t> next{0};
  run_on_threads(std::min(lanes_.size(), documents.size()), [&](size_t lane) {
    for (size_t i; (i = next.fetch_add(1)) < documents.size();) {
      lanes_[lane].table.add(pre_tokenizer_, documents[i], known_valid, lanes_[lane].invalid_bytes);
    }
  });
}

void PreTokenCounter::add_lines(std::string_view block) {
  // The block is validated as a whole, and cut into one part per thread.
  const bool valid = find_invalid_utf8(block) == block.size();
  const auto end_of_line = [&](size_t at) {
    const size_t newline = at < block.size() ? block.find('\n', at) : block.npos;
    return newline == block.npos ? block.size() : newline + 1;
  };
  std::vector<size_t> bounds{0};
  for (size_t part = 1; part <= lanes_.size(); ++part) {
    bounds.push_back(std::max(bounds.back(), end_of_line(block.size() * part / lanes_.size())));
  }
  std::atomic<size_t> next{0};
  run_on_threads(lanes_.size(), [&](size_t lane) {
    for (size_t part; (part = next.fetch_add(1)) < lanes_.size();) {
      for (size_t begin = bounds[part], end; begin < bounds[part + 1]; begin = end) {
        end = end_of_line(begin);
        lanes_[lane].table.add(pre_tokenizer_, block.substr(begin, end - begin), valid, lanes_[lane].invalid_bytes);
      }
    }
  });
}

size_t PreTokenCounter::memory_bytes() const {
  size_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.table.memory_bytes();
  return sum;
}

uint64_t PreTokenCounter::invalid_bytes() const {
  uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.invalid_bytes;
  return sum;
}

WordTable PreTokenCounter::finish() {
  WordTable all = lanes_[0].table.take();
  for (size_t t = 1; t < lanes_.size(); ++t) all.merge(lanes_[t].table.take());
  return_freed_memory();
  return all;
}

}  // namespace piecework

#include "count/pre_token_counter.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "system/memory.hpp"
#include "system/threads.hpp"
#include "text/utf8.hpp"

namespace piecework {

void count_pre_tokens(const PreTokenizer& pre_tokenizer, std::string_view document, bool known_valid, WordTable& table,
                      uint64_t& invalid_bytes, uint64_t copies) {
  std::string repaired;
  if (!known_valid && find_invalid_utf8(document) != document.size()) {
    repaired = replace_invalid_utf8(document, invalid_bytes);
    document = repaired;
  }
  const char* const last = document.data() + document.size();
  pre_tokenizer.for_each(document, [&](std::string_view pre_token) { table.queue(pre_token, true, copies, last); });
  table.flush();
}

void PreTokenCounter::add(const std::vector<std::string_view>& documents, bool known_valid) {
  std::atomic<size_t> next{0};
  run_on_threads(std::min(lanes_.size(), documents.size()), [&](size_t lane) {
    for (size_t i; (i = next.fetch_add(1)) < documents.size();) {
      count_pre_tokens(pre_tokenizer_, documents[i], known_valid, lanes_[lane].table, lanes_[lane].invalid_bytes);
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
  WordTable all = std::exchange(lanes_[0].table, {});
  for (size_t t = 1; t < lanes_.size(); ++t) {
    all.merge(lanes_[t].table);
    lanes_[t].table = {};
  }
  return_freed_memory();
  return all;
}

}  // namespace piecework

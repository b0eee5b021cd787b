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
  add(pre_tokenizer, document, PreTokenizer::Unit::text, copies);
}

void PreTokenTable::add_lines(const PreTokenizer& pre_tokenizer, std::string_view text) {
  add(pre_tokenizer, text, PreTokenizer::Unit::line, 1);
}

void PreTokenTable::add(const PreTokenizer& pre_tokenizer, std::string_view text, PreTokenizer::Unit unit,
                        uint64_t copies) {
  const char* const limit = text.data() + text.size();
  pre_tokenizer.for_each_block(
      text,
      [&](size_t begin, const size_t* ends, size_t size) {
        for (size_t i = 0; i < size; begin = ends[i++]) {
          words_.add(text.substr(begin, ends[i] - begin), true, copies, limit);
        }
      },
      unit);
  words_.flush_long();
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
  uint64_t replaced = 0;
  std::string repaired;
  if (find_invalid_utf8(block) != block.size()) {
    repaired = replace_invalid_utf8(block, replaced);
    block = repaired;
    lanes_[0].invalid_bytes += replaced;
  }
  // One part for each thread.
  std::vector<size_t> bounds{0};
  for (size_t part = 1; part <= lanes_.size(); ++part) {
    const size_t newline = block.find('\n', std::max(bounds.back(), block.size() * part / lanes_.size()));
    bounds.push_back(newline == block.npos ? block.size() : newline + 1);
  }
  std::atomic<size_t> next{0};
  run_on_threads(lanes_.size(), [&](size_t lane) {
    for (size_t part; (part = next.fetch_add(1)) < lanes_.size();) {
      lanes_[lane].table.add_lines(pre_tokenizer_, block.substr(bounds[part], bounds[part + 1] - bounds[part]));
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

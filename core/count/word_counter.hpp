// Documents to word counts, on many threads: lines at "\n", words at " " and ▁, as SentencePiece splits them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "count/word_table.hpp"

namespace piecework {

struct CountStatistics {
  uint64_t bytes = 0;
  uint64_t lines = 0;          // that were counted
  uint64_t marked_lines = 0;   // dropped: they contain ▅
  uint64_t long_lines = 0;     // dropped: longer than the limit
  uint64_t invalid_bytes = 0;  // each counted as U+FFFD

  void operator+=(const CountStatistics& other) {
    bytes += other.bytes;
    lines += other.lines;
    marked_lines += other.marked_lines;
    long_lines += other.long_lines;
    invalid_bytes += other.invalid_bytes;
  }
};

// Counts the words of `document` into `table`, `copies` times each. A line of more than `max_line_bytes` is dropped
// (0: no limit). The statistics are of one copy.
void count_document(std::string_view document, bool known_valid, size_t max_line_bytes, WordTable& table,
                    CountStatistics& statistics, uint64_t copies = 1);

// One table a thread, merged at the end: the result is the same for any number of threads and any split into batches.
class WordCounter {
 public:
  WordCounter(unsigned threads, size_t max_line_bytes)
      : lanes_(threads ? threads : 1), max_line_bytes_(max_line_bytes) {}
  WordCounter(const WordCounter&) = delete;
  WordCounter& operator=(const WordCounter&) = delete;

  // Documents stay where they are during the call; long ones are cut at newlines so that threads share them.
  void add(const std::vector<std::string_view>& documents, bool known_valid);
  size_t memory_bytes() const;
  const CountStatistics& statistics() const { return statistics_; }
  WordTable finish();

 private:
  struct alignas(64) Lane {
    WordTable table;
    CountStatistics statistics;
  };
  std::vector<Lane> lanes_;
  size_t max_line_bytes_;
  CountStatistics statistics_;
};

}  // namespace piecework

// Counts the words of documents on several threads. Lines end at "\n", words at " " and ▁, as in SentencePiece.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "count/cached_words.hpp"
#include "count/word_table.hpp"
#include "text/normalizer.hpp"

namespace piecework {

struct CountStatistics {
  uint64_t bytes = 0;
  uint64_t lines = 0;          // counted lines
  uint64_t marked_lines = 0;   // dropped lines that contain ▅
  uint64_t long_lines = 0;     // dropped lines that are longer than the limit
  uint64_t invalid_bytes = 0;  // each is counted as U+FFFD

  void operator+=(const CountStatistics& other) {
    bytes += other.bytes;
    lines += other.lines;
    marked_lines += other.marked_lines;
    long_lines += other.long_lines;
    invalid_bytes += other.invalid_bytes;
  }
};

// What a row of the table is. Training needs longer texts where a piece may reach across spaces.
enum class Split : uint8_t {
  words,       // the text between two spaces
  space_runs,  // a whitespace run and the text after it; the key has no first ▁, and spaces for the other ▁
  lines,       // a whole line, with its spaces
};

// How documents are counted.
struct CountSettings {
  size_t max_line_bytes = 0;  // longer lines are dropped; 0: no limit
  // Normalises each line, if given. It must not add a dummy prefix, and its rules must not produce a newline.
  std::shared_ptr<const Normalizer> normalizer = nullptr;
  Split split = Split::words;
};

// Adds the words of `document`, each with the count `copies`. The statistics count the document once.
void count_document(std::string_view document, bool known_valid, const CountSettings& settings, CachedWords& words,
                    CountStatistics& statistics, uint64_t copies = 1);

// Has one table per thread and merges them at the end. The result is the same for any number of threads and any
// batches.
class WordCounter {
 public:
  explicit WordCounter(unsigned threads, CountSettings settings = {})
      : lanes_(threads ? threads : 1), settings_(std::move(settings)) {}
  WordCounter(const WordCounter&) = delete;
  WordCounter& operator=(const WordCounter&) = delete;

  // Long documents are split at newlines, so that several threads share one. Each document counts `copies` times.
  void add(const std::vector<std::string_view>& documents, bool known_valid, uint64_t copies = 1);
  size_t memory_bytes() const;
  const CountStatistics& statistics() const { return statistics_; }
  WordTable finish();

 private:
  struct alignas(64) Lane {
    CachedWords words;
    CountStatistics statistics;
  };
  std::vector<Lane> lanes_;
  CountSettings settings_;
  CountStatistics statistics_;
};

}  // namespace piecework

// Documents to counts of pre-tokens, on many threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "count/cached_words.hpp"
#include "count/word_table.hpp"
#include "pretokenize/pre_tokenizer.hpp"

namespace piecework {

// Pre-tokens and their counts. A pre-token is stored like a word that opens a line: it gets no ▁, and its spaces stay
// spaces.
class PreTokenTable {
 public:
  // Adds the pre-tokens of a document, each with the count `copies`. Invalid UTF-8 becomes one U+FFFD for each bad
  // byte, and is counted in `invalid_bytes`.
  void add(const PreTokenizer& pre_tokenizer, std::string_view document, bool known_valid, uint64_t& invalid_bytes,
           uint64_t copies = 1);
  // Adds each line of a valid text, with its newline, as a document.
  void add_lines(const PreTokenizer& pre_tokenizer, std::string_view text);
  size_t memory_bytes() const { return words_.memory_bytes(); }
  WordTable take() { return words_.take(); }

 private:
  void add(const PreTokenizer& pre_tokenizer, std::string_view text, PreTokenizer::Unit unit, uint64_t copies);

  CachedWords words_;
};

// One table a thread, merged at the end: the result is the same for any number of threads and any split into batches.
class PreTokenCounter {
 public:
  PreTokenCounter(const PreTokenizer& pre_tokenizer, unsigned threads)
      : pre_tokenizer_(pre_tokenizer), lanes_(threads ? threads : 1) {}
  PreTokenCounter(const PreTokenCounter&) = delete;
  PreTokenCounter& operator=(const PreTokenCounter&) = delete;

  // Documents stay where they are during the call. Invalid UTF-8 becomes one U+FFFD for each bad byte.
  void add(const std::vector<std::string_view>& documents, bool known_valid);
  // Each line of the block, with its newline, is a document.
  void add_lines(std::string_view block);
  size_t memory_bytes() const;
  uint64_t invalid_bytes() const;
  WordTable finish();

 private:
  struct alignas(64) Lane {
    PreTokenTable table;
    uint64_t invalid_bytes = 0;
  };

  PreTokenizer pre_tokenizer_;
  std::vector<Lane> lanes_;
};

}  // namespace piecework

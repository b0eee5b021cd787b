// Adds up tables of words on disk, and brings the two forms of a word together: at the start of a line, and elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "count/spill_file.hpp"
#include "count/word_table.hpp"

namespace piecework {

// Writes a table to two spill files, whose keys are words without ▁: words that open a line, and all other words.
void write_word_forms(const WordTable& table, const std::string& opening_path, const std::string& other_path);

// Merges such files. Each word comes once, with the counts of its two forms.
class WordFormMerger {
 public:
  WordFormMerger(const std::vector<std::string>& opening_paths, const std::vector<std::string>& other_paths)
      : opening_(opening_paths), other_(other_paths), has_opening_(opening_.next()), has_other_(other_.next()) {}

  // Moves to the next word; false at the end. The word is valid until the next call.
  bool next();
  std::string_view word() const { return word_; }
  uint64_t opening_count() const { return opening_count_; }
  uint64_t other_count() const { return other_count_; }

 private:
  SpillMerger opening_, other_;
  bool has_opening_, has_other_;
  std::string word_;
  uint64_t opening_count_ = 0, other_count_ = 0;
};

}  // namespace piecework

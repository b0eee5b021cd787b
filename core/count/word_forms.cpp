#include "count/word_forms.hpp"

namespace piecework {

void write_word_forms(const WordTable& table, const std::string& opening_path, const std::string& other_path) {
  SpillWriter opening(opening_path), other(other_path);
  // Within each form, the canonical order is that of the words without ▁.
  table.visit_each(table.sorted(), [&](uint32_t index) {
    const Word word = table.at(index);
    (word.opens_line ? opening : other).add(word.bytes, {}, word.count);
  });
  opening.finish();
  other.finish();
}

bool WordFormMerger::next() {
  if (!has_opening_ && !has_other_) return false;
  const bool take_opening = has_opening_ && (!has_other_ || opening_.key() <= other_.key());
  const bool take_other = has_other_ && (!has_opening_ || other_.key() <= opening_.key());
  word_ = take_opening ? opening_.key() : other_.key();
  opening_count_ = take_opening ? opening_.count() : 0;
  other_count_ = take_other ? other_.count() : 0;
  if (take_opening) has_opening_ = opening_.next();
  if (take_other) has_other_ = other_.next();
  return true;
}

}  // namespace piecework

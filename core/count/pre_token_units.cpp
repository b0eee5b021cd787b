#include "count/pre_token_units.hpp"

#include <utility>

#include "count/unit_counter.hpp"
#include "text/utf8.hpp"
#include "text/whitespace_words.hpp"

namespace piecework {
namespace {

constexpr size_t kReadable = 32;  // bytes after the document, so that each short key is read in one step

bool starts_with_whitespace(std::string_view text) {
  if (!kMayBeWhitespace[static_cast<unsigned char>(text[0])]) return false;
  return is_whitespace(decode_utf8(text.data(), text.data() + text.size()).code);
}

bool ends_with_whitespace(std::string_view text) {
  size_t last = text.size() - 1;
  while (last > 0 && is_continuation(static_cast<unsigned char>(text[last]))) --last;
  return starts_with_whitespace(text.substr(last));
}

}  // namespace

void PreTokenUnitCounter::add(std::string_view document, uint8_t bucket) {
  std::string repaired;
  if (find_invalid_utf8(document) != document.size()) {
    uint64_t replaced = 0;
    repaired = replace_invalid_utf8(document, replaced);
    document = repaired;
  }
  text_.assign(1, '\0').append(document);
  count(bucket, table_);
  text_.assign(1, '\0');
  for (const char c : document) {
    if (!is_ascii_punctuation(c)) text_ += c;
  }
  count(bucket, plain_);
}

void PreTokenUnitCounter::count(uint8_t bucket, WordTable& table) {
  ends_.clear();
  cut_(std::string_view(text_).substr(1), ends_);
  for (size_t& end : ends_) ++end;
  text_.append(kReadable, '\0');
  const std::string_view text = text_;
  bool open_word = false;  // the previous pre-token ends within a word
  for (size_t i = 0, begin = 1; i < ends_.size(); begin = ends_[i++]) {
    const std::string_view pre_token = text.substr(begin, ends_[i] - begin);
    const bool has_next = i + 1 < ends_.size();
    const bool goes_on = !ends_with_whitespace(pre_token);
    uint8_t context = 0;
    if (open_word && !starts_with_whitespace(pre_token)) context |= UnitContext::kJoinedLeft;
    if (has_next) {
      const std::string_view next = text.substr(ends_[i], ends_[i + 1] - ends_[i]);
      if (goes_on && !starts_with_whitespace(next)) context |= UnitContext::kJoinedRight;
      if (next[0] != ' ' && pre_token.find(' ') != pre_token.npos) context |= UnitContext::kFollowed;
    }
    open_word = goes_on;
    // The byte before a pre-token is no longer needed.
    text_[begin - 1] = static_cast<char>(key_byte(bucket, context));
    table.queue(text.substr(begin - 1, ends_[i] - begin + 1), false, 1, text_.data() + text_.size());
  }
  table.flush();
}

WordTable PreTokenUnitCounter::take(bool plain) { return std::exchange(plain ? plain_ : table_, {}); }

}  // namespace piecework

#include "count/unit_counter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "text/byte_scan.hpp"
#include "text/space_marks.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

constexpr size_t kBlock = 64;

}  // namespace

void UnitCounter::add(std::string_view document, uint8_t bucket, std::string_view prefix) {
  text_.assign(1, static_cast<char>(bucket)).append(prefix);
  prefix_end_ = text_.size();
  if (find_invalid_utf8(document) == document.size()) {
    text_.append(document);
  } else {
    uint64_t replaced = 0;
    text_.append(replace_invalid_utf8(document, replaced));
  }
  const bool has_marks = has_space_mark(text_);
  const size_t size = text_.size();
  text_.append(kBlock, '\0');
  pending_.assign(1, static_cast<char>(bucket));

  size_t first = 1, scanned = 1;
  bool open = false;
  uint64_t after_space = 1;  // 1 where the byte before the block is a space, or does not exist
  for (size_t block = 1; block < size; block += kBlock) {
    const uint64_t spaces = find_bytes<' '>(text_.data() + block);
    uint64_t unit_ends = spaces & ~(spaces << 1 | after_space);
    after_space = spaces >> (kBlock - 1);
    for (; unit_ends; unit_ends &= unit_ends - 1) {
      const size_t last = block + static_cast<size_t>(std::countr_zero(unit_ends));
      if (has_marks) {
        open = is_open({text_.data() + scanned, last - scanned}, open);
        scanned = last;
        if (open) continue;
      }
      count(first, last);
      first = last;
    }
  }
  if (first < size) count(first, size);
  if (joining_) end_joined();
  apart_.flush();
  joined_.flush();
  plain_.flush();
}

// Units come from left to right, so the byte before a unit is no longer needed: it is overwritten with the bucket.
void UnitCounter::count(size_t first, size_t last) {
  size_t word = first;
  while (word < last && text_[word] == ' ') ++word;
  const auto begin = text_.begin() + static_cast<ptrdiff_t>(word), end = text_.begin() + static_cast<ptrdiff_t>(last);
  const bool vanishes = word < last && is_ascii_punctuation(*begin) && std::all_of(begin, end, is_ascii_punctuation);
  const bool apart = !vanishes && !joining_ && first >= prefix_end_;
  if (!apart) count_joined(first, last);
  text_[first - 1] = pending_[0];
  (apart ? apart_ : joined_)
      .queue({text_.data() + first - 1, last - first + 1}, first == 1, 1, text_.data() + text_.size());
}

void UnitCounter::count_joined(size_t first, size_t last) {
  if (!joining_) pending_opens_ = first == 1;
  joining_ = true;
  bool complete = false;
  for (size_t i = first; i < last; ++i) {
    if (i >= prefix_end_ && is_ascii_punctuation(text_[i])) continue;
    pending_ += text_[i];
    complete |= text_[i] != ' ';
  }
  if (complete) end_joined();
}

void UnitCounter::end_joined() {
  if (pending_.size() > 1) plain_.queue(pending_, pending_opens_, 1, pending_.data() + pending_.size());
  pending_.resize(1);
  joining_ = false;
}

void UnitCounter::derive() {
  std::string key;
  for (size_t i = 0; i < apart_.size(); ++i) {
    const Word unit = apart_.at(i);
    key.resize(std::max(key.size(), unit.bytes.size() + kBlock));
    key[0] = unit.bytes[0];
    char* end = key.data() + 1;
    for (const char c : unit.bytes.substr(1)) {
      *end = c;
      end += !is_ascii_punctuation(c);
    }
    plain_.queue({key.data(), end}, unit.opens_line, unit.count, key.data() + key.size());
  }
  plain_.flush();
  apart_.merge(joined_);
  joined_ = std::exchange(apart_, {});
}

WordTable UnitCounter::take(bool plain) {
  if (apart_.size()) derive();
  return std::exchange(plain ? plain_ : joined_, {});
}

}  // namespace piecework

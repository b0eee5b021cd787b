#include "evaluate/unit_set.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "system/memory.hpp"
#include "text/sort_by_text.hpp"
#include "text/space_marks.hpp"
#include "text/utf8.hpp"
#include "text/whitespace_words.hpp"

namespace piecework {
namespace {

// Cuts a unit before and after newlines. If its first part starts with a space or opens a document, this part keeps one
// newline as a mark: the token before a newline counts as continued.
template <class Put>
void cut_at_newlines(std::string_view text, bool opens, Put&& put) {
  size_t at = 0;
  if (opens || text.starts_with(' ')) {
    at = std::min(text.find('\n'), text.size());
    put(text.substr(0, at + (at < text.size())), opens);
  }
  while (at < text.size()) {
    const size_t end = text[at] == '\n' ? text.find_first_not_of('\n', at) : text.find('\n', at);
    put(text.substr(at, end - at), false);
    at = std::min(end, text.size());
  }
}

}  // namespace

UnitSet::UnitSet(UnitSet& finer, uint32_t groups, const std::vector<uint32_t>& new_groups)
    : groups_(groups), cut_lines_(finer.cut_lines_), pre_tokens_(finer.pre_tokens_) {
  if (new_groups.size() != finer.groups_) throw std::invalid_argument("every group needs a new group");
  for (const uint32_t group : new_groups) {
    if (group >= groups) throw std::out_of_range("no such group");
  }
  finer.arrange();
  texts_ = finer.texts_;
  rows_ = finer.rows_;
  ends_ = finer.ends_;
  large_counts_ = finer.large_counts_;
  for (Row& row : rows_) row.group = static_cast<uint16_t>(new_groups[row.group]);
  sort_rows();
  std::call_once(arranged_, [] {});
}

void UnitSet::add(uint32_t group, const Columns& columns) {
  if (group >= groups_) throw std::out_of_range("no such group");
  if (!texts_->units.empty()) throw std::logic_error("units are added before they are arranged");
  std::vector<std::string_view> texts;
  std::vector<uint8_t> opens;
  std::vector<Added> rows;
  texts.reserve(columns.units.size());
  opens.reserve(columns.units.size());
  rows.reserve(columns.units.size());
  std::string keys;  // of pre-tokens
  std::deque<std::string> spaced;
  if (pre_tokens_) {
    size_t bytes = 0;
    for (const std::string_view unit : columns.units) bytes += unit.size() + 1;
    keys.reserve(bytes);
  }
  for (size_t i = 0; i < columns.units.size(); ++i) {
    check(columns.units[i], columns.buckets[i], columns.contexts[i], columns.counts[i]);
    const auto put_times = [&](std::string_view text, bool opening, uint64_t count) {
      texts.push_back(text);
      opens.push_back(opening);
      rows.push_back({0, {0, static_cast<uint16_t>(group), columns.buckets[i], false}});
      set_count(rows.back().row, count);
    };
    const auto put = [&](std::string_view text, bool opening) { put_times(text, opening, columns.counts[i]); };
    if (pre_tokens_) {
      const size_t begin = keys.size();
      keys += static_cast<char>(columns.contexts[i]);
      keys += columns.units[i];
      put({keys.data() + begin, keys.size() - begin}, false);
    } else if (has_space_mark(columns.units[i])) {
      if (!cut_lines_) put(columns.units[i], columns.contexts[i]);
      spaced.push_back(replace_marks(columns.units[i]));
      for_each_unit(spaced.back(), [&](std::string_view text, size_t at) {
        const bool opening = at == 0 && columns.contexts[i];
        if (cut_lines_) {
          cut_at_newlines(text, opening, put);
        } else {
          put_times(text, opening, 0);  // for its word
        }
      });
    } else if (cut_lines_) {
      cut_at_newlines(columns.units[i], columns.contexts[i], put);
    } else {
      put(columns.units[i], columns.contexts[i]);
    }
  }
  std::vector<uint32_t> indices(texts.size());
  table_.find_indices(texts, opens.data(), indices.data());
  for (size_t i = 0; i < indices.size(); ++i) rows[i].index = indices[i];
  // One array for each call: growing one long array took more time than the rest of this function.
  added_.push_back(std::move(rows));
}

void UnitSet::check(std::string_view text, uint8_t bucket, uint8_t context, uint64_t count) {
  if (bucket >= kBuckets) throw std::invalid_argument("bucket " + std::to_string(bucket) + " is not 0 to 31");
  if (text.empty()) throw std::invalid_argument("a unit is empty");
  if (find_invalid_utf8(text) != text.size()) throw std::invalid_argument("a unit is not valid UTF-8");
  if (context > UnitContext::kAll || (context & UnitContext::kOpens && pre_tokens_) ||
      (context > UnitContext::kOpens && !pre_tokens_)) {
    throw std::invalid_argument("the context " + std::to_string(context) + " of a unit is none");
  }
  const size_t word = pre_tokens_ ? text.npos : text.find_first_not_of(' ');
  if (word != text.npos && text.find(' ', word) != text.npos && !has_space_mark(text)) {
    throw std::invalid_argument("the unit \"" + std::string(text) + "\" has a space after its text");
  }
  // A byte gives at most one token, and a space three; one space can be added. So no total overflows.
  most_tokens_ = add_counts(most_tokens_, multiply_counts(count, 3 * (text.size() + 1)));
  if (most_tokens_ > INT64_MAX) throw CountOverflow("the counts of units add up to more than 64 bits hold");
}

void UnitSet::arrange() {
  std::call_once(arranged_, [this] {
    place_rows(number_units());
    sort_rows();
    return_freed_memory();
  });
}

void UnitSet::set_count(Row& row, uint64_t count) {
  row.large = count > UINT32_MAX;
  row.count = static_cast<uint32_t>(row.large ? large_counts_.size() : count);
  if (row.large) large_counts_.push_back(count);
}

// Numbers the units in the order of their bytes, and returns the number of each entry of the table. Units lie side by
// side in memory, because each tokenizer reads all of them.
std::vector<uint32_t> UnitSet::number_units() {
  std::vector<uint32_t> order(table_.size());
  std::iota(order.begin(), order.end(), 0);
  sort_by_text(order, [&](uint32_t i) { return table_.at(i).bytes; });
  size_t bytes = 0;
  for (size_t i = 0; i < table_.size(); ++i) bytes += table_.at(i).bytes.size();
  auto& [text_bytes, units] = *texts_;
  text_bytes.reserve(bytes);
  units.reserve(order.size());
  ends_.reserve(order.size());
  std::vector<uint32_t> numbers(order.size());
  size_t rows = 0;
  std::vector<Range> words;
  table_.visit_each(order, [&](uint32_t index) {
    const Word word = table_.at(index);
    const std::string_view text(text_bytes.data() + text_bytes.size(), word.bytes.size());
    text_bytes += word.bytes;
    numbers[index] = static_cast<uint32_t>(units.size());
    ends_.push_back(rows);
    rows += word.count;
    units.push_back(unit_of(text, word.opens_line, words));
  });
  table_ = {};
  return_freed_memory();
  rows_.resize(rows);
  return numbers;
}

UnitSet::Unit UnitSet::unit_of(std::string_view text, bool opens, std::vector<Range>& words) const {
  uint8_t context = 0;
  bool followed = cut_lines_ && text.ends_with('\n') && (opens || text.front() == ' ');
  if (followed) text.remove_suffix(1);
  if (pre_tokens_) {
    context = static_cast<uint8_t>(text[0]);
    text.remove_prefix(1);
    followed = context & UnitContext::kFollowed;
  }
  const bool marked = !pre_tokens_ && !cut_lines_ && has_space_mark(text);
  find_words(text, words);
  const size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  const bool one_word = words.size() == 1 && !marked && words[0].begin == spaces && words[0].end == text.size();
  // A word that several pre-tokens share counts where it starts.
  const size_t started = words.size() - (context & UnitContext::kJoinedLeft && !words.empty() ? 1 : 0);
  return {text, opens, followed, one_word, marked, static_cast<uint32_t>(started), context};
}

// At first, `ends_` holds where the rows of each unit begin. Each row that is written moves it towards their end.
void UnitSet::place_rows(const std::vector<uint32_t>& numbers) {
  for (std::vector<Added>& added : added_) {
    for (const Added& each : added) rows_[ends_[numbers[each.index]]++] = each.row;
    added = {};
  }
  added_.clear();
}

// Sorts the rows of each unit. Rows of the same unit, group and bucket become one.
void UnitSet::sort_rows() {
  const auto key = [](const Row& row) { return row.group * kBuckets + row.bucket; };
  size_t first = 0, kept = 0;
  for (size_t& end : ends_) {
    const auto unit_rows = std::span(rows_).subspan(first, end - first);
    first = end;
    if (unit_rows.size() > 1) std::ranges::sort(unit_rows, {}, key);
    rows_[kept++] = unit_rows[0];
    for (const Row& row : unit_rows.subspan(1)) {
      if (key(row) == key(rows_[kept - 1])) {
        set_count(rows_[kept - 1], add_counts(count(rows_[kept - 1]), count(row)));
      } else {
        rows_[kept++] = row;
      }
    }
    end = kept;
  }
  rows_.resize(kept);
}

std::vector<UnitSet::TextTotals> UnitSet::text_totals() {
  arrange();
  std::vector<TextTotals> totals(static_cast<size_t>(groups_) * kBuckets);
  for (size_t number = 0; number < texts_->units.size(); ++number) {
    const Unit& unit = texts_->units[number];
    uint64_t characters = 0;
    for (const char c : unit.text) characters += !is_continuation(static_cast<unsigned char>(c));
    for (const Row& row : rows(number)) {
      TextTotals& sum = totals[static_cast<size_t>(row.group) * kBuckets + row.bucket];
      sum.words += unit.words * count(row);
      sum.characters += characters * count(row);
      sum.bytes += unit.text.size() * count(row);
    }
  }
  return totals;
}

}  // namespace piecework

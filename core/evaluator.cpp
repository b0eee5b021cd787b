#include "evaluator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <numeric>

#include "threads.hpp"
#include "utf8.hpp"

namespace piecework {
namespace {

constexpr uint32_t kNever = UINT32_MAX;

// As Python's str.split() sees it.
bool is_whitespace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Maximal runs of what is not whitespace, as byte ranges.
struct Range {
  uint32_t begin, end;
};

// Bytes of ASCII whitespace, and those that start the UTF-8 of other whitespace.
constexpr std::array<bool, 256> kMayBeWhitespace = [] {
  std::array<bool, 256> found{};
  for (const unsigned byte : {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1C, 0x1D, 0x1E, 0x1F, 0x20, 0xC2, 0xE1, 0xE2, 0xE3}) {
    found[byte] = true;
  }
  return found;
}();

void find_words(std::string_view text, std::vector<Range>& words) {
  words.clear();
  // Most units are spaces and then one word.
  const size_t spaces = std::min(text.find_first_not_of(' '), text.size());
  if (std::none_of(text.begin() + static_cast<ptrdiff_t>(spaces), text.end(),
                   [](char c) { return kMayBeWhitespace[static_cast<unsigned char>(c)]; })) {
    if (spaces < text.size()) words.push_back({static_cast<uint32_t>(spaces), static_cast<uint32_t>(text.size())});
    return;
  }
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Decoded c = decode_utf8(text.data() + at, text.data() + text.size());
    if (is_whitespace(c.code)) {
      inside = false;
    } else {
      if (!inside) words.push_back({static_cast<uint32_t>(at), 0});
      inside = true;
      words.back().end = static_cast<uint32_t>(at + c.length);
    }
    at += c.length;
  }
}

// Evaluates the units of one thread.
class Worker {
 public:
  // `is_lines`: the units are those of UnitSet::lines.
  Worker(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request, bool is_lines)
      : encoder_(encoder), model_(encoder.model()), units_(units), request_(request), is_lines_(is_lines) {
    const size_t groups = units.groups(), cells = groups * UnitSet::kBuckets;
    result.totals.resize(cells);
    result.frequencies.resize(std::min<size_t>(groups, request.frequency_groups) * model_.size());
    if (!request.merges.empty()) {
      result.sizes.resize(cells * request.sizes.size());
      result.curve.resize(groups * (request.merges.size() + 1));
      merge_numbers_.assign(model_.size(), kNever);
      for (uint32_t i = 0; i < request.merges.size(); ++i) merge_numbers_[request.merges[i]] = i;
    }
  }

  // A unit with its rows; it is evaluated with others, at the latest by `finish`.
  void add(size_t unit, const UnitSet::Row* first, const UnitSet::Row* last) {
    const Word word = units_.unit(unit);
    std::string_view text = word.bytes;
    const bool followed = is_lines_ && text.ends_with('\n') && (word.opens_line || text.front() == ' ');
    if (followed) text.remove_suffix(1);
    if (word.opens_line && model_.add_dummy_prefix) text = prefixed_.emplace_back(" ").append(text);
    const auto part = static_cast<uint32_t>(parts_.size());
    encoder_.cut(text, parts_, batch_);
    waiting_.push_back({text, followed, first, last, part, static_cast<uint32_t>(parts_.size())});
    if (waiting_.size() == kTogether) finish();
  }

  void finish() {
    const bool with_sizes = !request_.merges.empty();
    encoder_.merge(batch_, workspace_, with_sizes);
    for (const Waiting& each : waiting_) {
      text_ = each.text;
      followed_ = each.followed;
      const std::span<const TracePart> parts(parts_.data() + each.part, each.part_end - each.part);
      encoder_.trace(text_, parts, batch_, trace_, with_sizes ? &merge_numbers_ : nullptr);
      evaluate(each.first, each.last);
    }
    waiting_.clear();
    prefixed_.clear();
    parts_.clear();
    batch_.clear();
  }

  Evaluation result;

 private:
  void evaluate(const UnitSet::Row* first, const UnitSet::Row* last) {
    find_words(text_, words_);
    const TokenTotals totals = as_it_is();
    if (!request_.merges.empty()) by_size();
    uint64_t in_group = 0;
    for (const UnitSet::Row* row = first; row < last; ++row) {
      const size_t group = row->group, cell = group * UnitSet::kBuckets + row->bucket;
      TokenTotals& sum = result.totals[cell];
      sum.tokens += totals.tokens * row->count;
      sum.starts += totals.starts * row->count;
      sum.continued += totals.continued * row->count;
      sum.split_words += totals.split_words * row->count;
      sum.unknown += totals.unknown * row->count;
      sum.bytes += totals.bytes * row->count;
      if (!request_.merges.empty()) add_to_sizes(cell, static_cast<int64_t>(row->count));
      in_group += row->count;
      if (row + 1 < last && row[1].group == row->group) continue;
      // Once a group, as these touch memory far apart.
      if (group < request_.frequency_groups) {
        for (const TracedToken& token : trace_.tokens) result.frequencies[group * model_.size() + token.id] += in_group;
      }
      if (!request_.merges.empty()) add_to_curve(group, static_cast<int64_t>(in_group));
      in_group = 0;
    }
  }

  // The figures with the whole vocabulary, from the tokens.
  TokenTotals as_it_is() const {
    TokenTotals totals;
    const auto& tokens = trace_.tokens;
    totals.tokens = tokens.size();
    for (size_t i = 0; i < tokens.size(); ++i) {
      totals.unknown += model_.types[tokens[i].id] == PieceType::unknown;
      totals.bytes += model_.types[tokens[i].id] == PieceType::byte;
      if (!tokens[i].starts) continue;
      ++totals.starts;
      totals.continued += i + 1 < tokens.size() ? !tokens[i + 1].starts : followed_;
    }
    size_t token = 0;
    for (const Range& word : words_) {
      while (token < tokens.size() && tokens[token].end <= word.begin) ++token;
      // Split if the token that holds its first byte is not the one that holds its last. The bytes of one character all
      // have its range, so those are told apart by the next token.
      const bool one = token < tokens.size() && tokens[token].end >= word.end &&
                       (token + 1 == tokens.size() || tokens[token + 1].begin >= word.end);
      totals.split_words += !one;
    }
    return totals;
  }

  // The same for every size: what holds without any merge, and what each merge changes.
  //
  // Let r₁, r₂, … be the numbers of the merges that encoding performs, in order. With only the first k merges, encoding
  // performs exactly those before the first rᵢ ≥ k: at that moment no lower pair is at hand, or it would have been
  // taken. So merge i is performed if and only if max(r₁…rᵢ) < k. Whitespace runs merge after all others, in every
  // size.
  void by_size() {
    changes_.clear();
    const auto spaces = static_cast<uint32_t>(std::min(text_.find_first_not_of(' '), text_.size()));
    const bool has_text = spaces < text_.size();
    base_ = {};
    base_.tokens = static_cast<int64_t>(trace_.text_tokens + run_tokens(spaces));
    base_.starts = static_cast<int64_t>(run_tokens(spaces));
    base_.continued = spaces > 0 && (has_text || followed_);
    word_done_.assign(words_.size(), false);
    for (size_t i = 0; i < words_.size(); ++i) {
      // Without merges a word is one token if it is one character that is one token, or lies in a symbol.
      for (const TracedRange& token : trace_.whole) {
        word_done_[i] = word_done_[i] || covers({token.begin, token.end}, words_[i]);
      }
      base_.split_words += !word_done_[i];
    }
    bool joined = false;
    for (const TracedMerge& merge : trace_.merges) {
      SizeTotals change;
      change.tokens = -1;
      if (!joined && spaces > 0 && merge.begin < spaces) {
        // The last space leaves the run and starts a word.
        joined = true;
        change.tokens = static_cast<int64_t>(run_tokens(spaces - 1)) - static_cast<int64_t>(run_tokens(spaces));
        change.starts = change.tokens + 1;
      }
      if (base_.continued && !followed_ && merge.begin < spaces && merge.end == text_.size()) change.continued = -1;
      for (size_t w = 0; w < words_.size(); ++w) {
        if (!word_done_[w] && covers({merge.begin, merge.end}, words_[w])) {
          word_done_[w] = true;
          --change.split_words;
        }
      }
      changes_.push_back({merge.number, change});
    }
    at_sizes_.assign(request_.sizes.size(), base_);
    for (size_t s = 0; s < request_.sizes.size(); ++s) {
      for (const Change& change : changes_) {
        if (change.number < request_.sizes[s]) at_sizes_[s] += change.totals;
      }
    }
  }

  static bool covers(const Range& token, const Range& word) {
    return token.begin <= word.begin && token.end >= word.end;
  }

  static SizeTotals scaled(const SizeTotals& t, int64_t count) {
    return {t.tokens * count, t.starts * count, t.continued * count, t.split_words * count};
  }

  // A change at merge number r is in force from r + 1 merges on.
  void add_to_curve(size_t group, int64_t count) {
    SizeTotals* const curve = &result.curve[group * (request_.merges.size() + 1)];
    curve[0] += scaled(base_, count);
    for (const Change& change : changes_) curve[change.number + 1] += scaled(change.totals, count);
  }

  void add_to_sizes(size_t cell, int64_t count) {
    SizeTotals* const sums = &result.sizes[cell * request_.sizes.size()];
    for (size_t s = 0; s < request_.sizes.size(); ++s) sums[s] += scaled(at_sizes_[s], count);
  }

  // Into how many tokens a run of spaces falls that no word takes from.
  size_t run_tokens(uint32_t spaces) {
    while (run_tokens_.size() <= spaces && run_tokens_.size() < kMemorised) {
      run_tokens_.push_back(encoder_.count_tokens(std::string(run_tokens_.size(), ' ')));
    }
    return spaces < run_tokens_.size() ? run_tokens_[spaces] : encoder_.count_tokens(std::string(spaces, ' '));
  }
  static constexpr size_t kMemorised = 1024;

  struct Change {
    uint32_t number;
    SizeTotals totals;
  };

  const Encoder& encoder_;
  const Model& model_;
  UnitSet& units_;
  const EvaluationRequest& request_;
  const bool is_lines_;
  std::vector<uint32_t> merge_numbers_;  // by piece

  static constexpr size_t kTogether = 64;
  struct Waiting {
    std::string_view text;
    bool followed;
    const UnitSet::Row *first, *last;
    uint32_t part, part_end;  // in parts_
  };
  std::vector<Waiting> waiting_;
  std::deque<std::string> prefixed_;  // the texts of units that open a document
  std::vector<TracePart> parts_;
  MergeBatch batch_;
  Merger::Workspace workspace_;

  // Of the unit at hand.
  std::string_view text_;
  bool followed_ = false;  // a newline comes after it, which starts nothing
  Trace trace_;
  std::vector<Range> words_;
  std::vector<bool> word_done_;
  SizeTotals base_;
  std::vector<Change> changes_;
  std::vector<SizeTotals> at_sizes_;  // of the unit, for each size asked for
  std::vector<size_t> run_tokens_;
};

void add_up(Evaluation& sum, const Evaluation& part) {
  for (size_t i = 0; i < sum.totals.size(); ++i) {
    sum.totals[i].tokens += part.totals[i].tokens;
    sum.totals[i].starts += part.totals[i].starts;
    sum.totals[i].continued += part.totals[i].continued;
    sum.totals[i].split_words += part.totals[i].split_words;
    sum.totals[i].unknown += part.totals[i].unknown;
    sum.totals[i].bytes += part.totals[i].bytes;
  }
  for (size_t i = 0; i < sum.frequencies.size(); ++i) sum.frequencies[i] += part.frequencies[i];
  for (size_t i = 0; i < sum.sizes.size(); ++i) sum.sizes[i] += part.sizes[i];
  for (size_t i = 0; i < sum.curve.size(); ++i) sum.curve[i] += part.curve[i];
}

}  // namespace

void UnitSet::add(uint32_t group, const Columns& columns) {
  if (group >= groups_) throw std::out_of_range("no such group");
  const size_t before = rows_.size(), count = columns.units.size();
  std::vector<uint32_t> indices(count);
  table_.find_indices(columns.units, columns.opens, indices.data());
  rows_.resize(before + count);
  for (size_t i = 0; i < count; ++i) {
    if (columns.buckets[i] >= kBuckets) throw std::out_of_range("no such bucket");
    rows_[before + i] = {indices[i], static_cast<uint16_t>(group), columns.buckets[i], columns.counts[i]};
  }
  sorted_ = false;
  lines_.reset();
}

const std::vector<UnitSet::Row>& UnitSet::rows() {
  const std::lock_guard lock(sorting_);
  if (sorted_) return rows_;
  // By counting, as rows are many and units are numbered.
  std::vector<size_t> places(table_.size() + 1);
  for (const Row& row : rows_) ++places[row.unit + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<Row> sorted(rows_.size());
  for (const Row& row : rows_) sorted[places[row.unit]++] = row;
  const auto key = [](const Row& row) { return row.group * kBuckets + row.bucket; };
  // Now places[u] is where unit u ends. Rows of the same unit, group and bucket become one.
  size_t kept = 0, first = 0;
  for (size_t unit = 0; unit < table_.size(); ++unit) {
    const size_t last = places[unit];
    std::sort(&sorted[first], sorted.data() + last, [&](const Row& a, const Row& b) { return key(a) < key(b); });
    for (size_t i = first; i < last; ++i) {
      if (i > first && key(sorted[i]) == key(sorted[kept - 1])) {
        sorted[kept - 1].count = add_counts(sorted[kept - 1].count, sorted[i].count);
      } else {
        sorted[kept++] = sorted[i];
      }
    }
    first = last;
  }
  sorted.resize(kept);
  rows_ = std::move(sorted);
  sorted_ = true;
  return rows_;
}

UnitSet& UnitSet::lines() {
  const std::lock_guard lock(cutting_);
  if (lines_) return *lines_;
  auto lines = std::make_unique<UnitSet>(groups_);
  // Each unit is cut once; its parts are numbered, and its rows are copied for each of them.
  std::vector<uint32_t> parts, ends;
  std::vector<std::string_view> texts;
  std::vector<uint8_t> opens;
  const auto put = [&](std::string_view text, bool opening) {
    texts.push_back(text);
    opens.push_back(opening);
  };
  for (size_t i = 0; i < size(); ++i) {
    const Word word = unit(i);
    const std::string_view text = word.bytes;
    size_t at = 0;
    if (word.opens_line || text.starts_with(' ')) {
      at = std::min(text.find('\n'), text.size());
      put(text.substr(0, at + (at < text.size())), word.opens_line);
    }
    while (at < text.size()) {
      const size_t end = text[at] == '\n' ? text.find_first_not_of('\n', at) : text.find('\n', at);
      put(text.substr(at, end - at), false);
      at = std::min(end, text.size());
    }
    ends.push_back(static_cast<uint32_t>(texts.size()));
  }
  parts.resize(texts.size());
  lines->table_.find_indices(texts, opens.data(), parts.data());
  for (const Row& row : rows()) {
    for (size_t part = row.unit ? ends[row.unit - 1] : 0; part < ends[row.unit]; ++part) {
      lines->rows_.push_back({parts[part], row.group, row.bucket, row.count});
    }
  }
  lines->sorted_ = false;
  lines_ = std::move(lines);
  return *lines_;
}

std::vector<UnitSet::TextTotals> UnitSet::text_totals() {
  std::vector<TextTotals> totals(static_cast<size_t>(groups_) * kBuckets);
  std::vector<Range> words;
  uint32_t known = kNever;
  TextTotals of_unit;
  for (const Row& row : rows()) {
    if (row.unit != known) {
      known = row.unit;
      const std::string_view text = unit(row.unit).bytes;
      find_words(text, words);
      of_unit = {words.size(), 0, text.size()};
      for (const char c : text) of_unit.characters += !is_continuation(static_cast<unsigned char>(c));
    }
    TextTotals& sum = totals[static_cast<size_t>(row.group) * kBuckets + row.bucket];
    sum.words += of_unit.words * row.count;
    sum.characters += of_unit.characters * row.count;
    sum.bytes += of_unit.bytes * row.count;
  }
  return totals;
}

Evaluation evaluate_units(const Encoder& encoder, UnitSet& all_units, const EvaluationRequest& request) {
  encoder.require_independent_units();
  const bool is_lines = encoder.newlines_stand_alone();
  UnitSet& units = is_lines ? all_units.lines() : all_units;
  const std::vector<UnitSet::Row>& rows = units.rows();
  constexpr size_t kRows = 1 << 14;
  std::atomic<size_t> next{0};
  const auto work = [&](Worker& worker) {
    for (size_t from; (from = next.fetch_add(kRows)) < rows.size();) {
      // A unit belongs to the stretch in which its first row lies.
      size_t first = from;
      while (first > 0 && first < rows.size() && rows[first].unit == rows[first - 1].unit) ++first;
      while (first < std::min(from + kRows, rows.size())) {
        size_t last = first;
        while (last < rows.size() && rows[last].unit == rows[first].unit) ++last;
        worker.add(rows[first].unit, &rows[first], rows.data() + last);
        first = last;
      }
    }
    worker.finish();
  };
  const size_t threads = std::clamp<size_t>(rows.size() / kRows, 1, std::max(request.threads, 1U));
  std::vector<std::unique_ptr<Worker>> workers;
  for (size_t t = 0; t < threads; ++t) workers.push_back(std::make_unique<Worker>(encoder, units, request, is_lines));
  run_on_threads(threads, [&](size_t t) { work(*workers[t]); });
  Evaluation result = std::move(workers[0]->result);
  for (size_t t = 1; t < threads; ++t) add_up(result, workers[t]->result);
  if (!request.merges.empty()) {
    const size_t points = request.merges.size() + 1;
    for (size_t group = 0; group < units.groups(); ++group) {
      SizeTotals* const curve = &result.curve[group * points];
      for (size_t k = 1; k < points; ++k) curve[k] += curve[k - 1];
    }
  }
  return result;
}

}  // namespace piecework

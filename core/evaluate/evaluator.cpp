#include "evaluate/evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "evaluate/smaller_sizes.hpp"
#include "system/threads.hpp"
#include "text/whitespace_words.hpp"

namespace piecework {
namespace {

// The table, group and block of each group of the core.
class Layout {
 public:
  Layout(size_t groups, const std::vector<uint32_t>& blocks)
      : tables_(blocks.size()), most_blocks_(*std::max_element(blocks.begin(), blocks.end())) {
    const size_t blocks_per_group = std::accumulate(blocks.begin(), blocks.end(), size_t{0});
    if (groups % blocks_per_group)
      throw std::invalid_argument("the groups are not a multiple of the blocks of all tables");
    groups_ = groups / blocks_per_group;
    for (size_t table = 0; table < blocks.size(); ++table) {
      for (size_t group = 0; group < groups_; ++group) {
        for (uint32_t block = 0; block < blocks[table]; ++block) positions_.push_back({table, group, block});
      }
    }
  }

  struct Position {
    size_t table, group;
    uint32_t block;
  };
  const Position& operator[](size_t group) const { return positions_[group]; }
  size_t tables() const { return tables_; }
  // Of a table.
  size_t groups() const { return groups_; }
  // Of the table that has most of them.
  uint32_t blocks() const { return most_blocks_; }
  size_t curves() const { return tables_ * groups_; }
  size_t curve_index(size_t group) const { return positions_[group].table * groups_ + positions_[group].group; }

 private:
  size_t tables_, groups_;
  uint32_t most_blocks_;
  std::vector<Position> positions_;
};

// Evaluates the units of one thread.
class Worker {
 public:
  // `smaller` is null where no sizes are asked for.
  Worker(const Encoder& encoder, const UnitSet& units, const EvaluationRequest& request, const Layout& layout,
         const SmallerSizes* smaller)
      : encoder_(encoder),
        model_(encoder.model()),
        units_(units),
        request_(request),
        layout_(layout),
        smaller_(smaller),
        frequency_groups_(std::min(units.groups(), request.frequency_groups)),
        prefixes_(encoder.prefix_encoder()) {
    const size_t groups = units.groups(), cells = groups * UnitSet::kBuckets;
    result.totals.resize(cells);
    result.frequencies = FrequencyTable(frequency_groups_, model_.size());
    if (smaller) {
      result.sizes.resize(cells * request.sizes.size());
      result.curve.resize(layout.curves() * (request.merges.size() + 1));
      text_tokens_.assign(layout.curves(), std::vector<int64_t>(model_.size()));
    }
    if (layout.blocks() > 1) {
      result.types.resize(layout.tables() * (layout.groups() + 1) * (layout.blocks() + 1));
      result.single_types.resize(result.types.size() * (1 + request.sizes.size()));
    }
  }

  void add(size_t number) {
    const UnitSet::Unit& unit = units_.unit(number);
    const std::span<const UnitSet::Row> rows = units_.rows(number);
    const bool word_type = unit.one_word && !unit.opens && !unit.followed && unit.text[0] == ' ' && unit.text[1] != ' ';
    bool single = true;
    followed_ = unit.followed;
    if (encoder_.normalizes()) {
      encoder_.normalize_unit(unit.text, unit.opens, normalized_);
      // Rules can make spaces. Each run of spaces starts a unit of its own.
      const std::string_view text = normalized_;
      single = !text.empty();
      for (size_t begin = 0, end; begin < text.size(); begin = end) {
        const size_t word = text.find_first_not_of(' ', begin);
        end = word == text.npos ? text.size() : std::min(text.find(' ', word), text.size());
        add_text(text.substr(begin, end - begin), rows, false);
        single = single && end - begin == text.size();
      }
    } else if (unit.opens && model_.add_dummy_prefix) {
      add_text(normalized_.assign(" ").append(unit.text), rows, unit.one_word);
    } else {
      add_text(unit.text, rows, unit.one_word);
    }
    if (word_type && !result.types.empty())
      add_type(rows.data(), rows.data() + rows.size(), single && tokens_.size() == 1);
  }

  void finish() {
    for (size_t group = 0; group < text_tokens_.size(); ++group) {
      SizeTotals* const curve = &result.curve[group * (request_.merges.size() + 1)];
      smaller_->take_apart(text_tokens_[group].data(), 0,
                           [&](uint32_t from, int64_t count) { curve[from].tokens -= count; });
      for (const int64_t count : text_tokens_[group]) curve[0].tokens += count;
    }
    for (const auto& [key, count] : detached_) {
      const auto [group, spaces, from] = key;
      result.detached.push_back({group, spaces, from, count});
    }
  }

  Evaluation result;

 private:
  // Adds the tokens of a normalised unit to all totals. `one_word`: its text is one whitespace word.
  void add_text(std::string_view text, std::span<const UnitSet::Row> rows, bool one_word) {
    const UnitSet::Row *const first = rows.data(), *const last = first + rows.size();
    text_ = text;
    encoder_.trace(text_, prefixes_, tokens_);
    if (first->group < frequency_groups_) {
      // These are far apart in memory, and needed soon.
      for (const TracedToken& token : tokens_) result.frequencies.prefetch(token.id, first->group);
    }
    if (one_word) {
      words_.assign(1, {static_cast<uint32_t>(text_.find_first_not_of(' ')), static_cast<uint32_t>(text_.size())});
    } else {
      find_words(text_, words_);
    }
    const TokenTotals totals = full_totals();
    if (smaller_) {
      by_size();
      fetch_curve(layout_.curve_index(first->group));
    }
    uint64_t in_group = 0, in_curve = 0;
    for (const UnitSet::Row* row = first; row < last; ++row) {
      const size_t group = row->group, cell = group * UnitSet::kBuckets + row->bucket;
      const uint64_t count = units_.count(*row);
      TokenTotals& sum = result.totals[cell];
      sum.tokens += totals.tokens * count;
      sum.starts += totals.starts * count;
      sum.continued += totals.continued * count;
      sum.split_words += totals.split_words * count;
      sum.unknown += totals.unknown * count;
      sum.byte_tokens += totals.byte_tokens * count;
      if (smaller_) add_to_sizes(cell, static_cast<int64_t>(count));
      in_group += count;
      if (row + 1 < last && row[1].group == row->group) continue;
      // Once per group, and once per curve, because these access memory far apart.
      if (group < frequency_groups_) {
        for (const TracedToken& token : tokens_) result.frequencies.add(token.id, group, in_group);
      }
      if (smaller_ && joined_from_ && spaces_ > 1 && group < frequency_groups_) {
        detached_[{group, spaces_, joined_from_}] += in_group;
      }
      in_curve += in_group;
      in_group = 0;
      if (row + 1 < last && layout_.curve_index(row[1].group) == layout_.curve_index(group)) continue;
      if (smaller_) add_to_curve(layout_.curve_index(group), static_cast<int64_t>(in_curve));
      in_curve = 0;
    }
  }

  // The totals with the full vocabulary.
  TokenTotals full_totals() const {
    TokenTotals totals;
    totals.tokens = tokens_.size();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      totals.unknown += model_.types[tokens_[i].id] == PieceType::unknown;
      totals.byte_tokens += model_.types[tokens_[i].id] == PieceType::byte;
      if (!tokens_[i].starts) continue;
      ++totals.starts;
      totals.continued += i + 1 < tokens_.size() ? !tokens_[i + 1].starts : followed_;
    }
    for_each_word([&](const Range&, const TracedToken* token) { totals.split_words += !token; });
    return totals;
  }

  // Calls `use` with each word and the token that holds all of it, if there is one.
  template <class Use>
  void for_each_word(Use&& use) const {
    size_t token = 0;
    for (const Range& word : words_) {
      while (token < tokens_.size() && tokens_[token].end <= word.begin) ++token;
      // Split if the token that holds its first byte is not the one that holds its last. The bytes of one character all
      // have its range, so those are told apart by the next token.
      const bool one = token < tokens_.size() && tokens_[token].end >= word.end &&
                       (token + 1 == tokens_.size() || tokens_[token + 1].begin >= word.end);
      use(word, one ? &tokens_[token] : nullptr);
    }
  }

  // The same for every size: what holds without any merge, and what changes from a number of merges on. Tokens of text
  // are left to their frequencies.
  void by_size() {
    changes_.clear();
    const auto spaces = static_cast<uint32_t>(std::min(text_.find_first_not_of(' '), text_.size()));
    const bool has_text = spaces < text_.size();
    const auto run = static_cast<int64_t>(run_tokens(spaces));
    base_ = {run, run, spaces > 0 && (has_text || followed_), 0};
    spaces_ = spaces;
    joined_from_ = 0;
    at_sizes_.assign(request_.sizes.size(), {});
    first_of_text_ = 0;
    while (first_of_text_ < tokens_.size() && tokens_[first_of_text_].end <= spaces) ++first_of_text_;
    for (size_t i = first_of_text_; i < tokens_.size(); ++i) {
      const uint32_t* const tokens = smaller_->tokens(tokens_[i].id);
      for (size_t s = 0; s < at_sizes_.size(); ++s) at_sizes_[s].tokens += tokens[s];
    }
    if (has_text && tokens_[first_of_text_].begin < spaces) {
      // A token starts with the last space. It does so from some merge on; before that the space is part of the run,
      // and none of the tokens that this one is made of.
      const TracedToken& token = tokens_[first_of_text_];
      const auto shorter = static_cast<int64_t>(run_tokens(spaces - 1));
      --base_.tokens;
      joined_from_ = smaller_->from(token.id, spaces - 1 - token.begin, spaces + 1 - token.begin);
      change(joined_from_, {shorter - run + 1, shorter - run + 1, 0, 0});
      if (!followed_ && token.end == text_.size()) change(smaller_->from(token.id), {0, 0, -1, 0});
    }
    for_each_word([&](const Range& word, const TracedToken* token) {
      ++base_.split_words;
      if (token) change(smaller_->from(token->id, word.begin - token->begin, word.end - token->begin), {0, 0, 0, -1});
    });
    for (size_t s = 0; s < at_sizes_.size(); ++s) {
      at_sizes_[s] += base_;
      for (const Change& change : changes_) {
        if (change.from <= request_.sizes[s]) at_sizes_[s] += change.totals;
      }
    }
  }

  void change(uint32_t from, const SizeTotals& totals) {
    if (from == 0) {
      base_ += totals;
    } else {
      changes_.push_back({from, totals});
    }
  }

  static SizeTotals scaled(const SizeTotals& t, int64_t count) {
    return {t.tokens * count, t.starts * count, t.continued * count, t.split_words * count};
  }

  // What `add_to_curve` needs in a moment, far apart in memory.
  void fetch_curve(size_t number) {
    for (const Change& change : changes_) {
      __builtin_prefetch(&result.curve[number * (request_.merges.size() + 1) + change.from], 1);
    }
    for (size_t i = first_of_text_; i < tokens_.size(); ++i) {
      __builtin_prefetch(&text_tokens_[number][tokens_[i].id], 1);
    }
  }

  void add_to_curve(size_t number, int64_t count) {
    SizeTotals* const curve = &result.curve[number * (request_.merges.size() + 1)];
    curve[0] += scaled(base_, count);
    for (const Change& change : changes_) curve[change.from] += scaled(change.totals, count);
    for (size_t i = first_of_text_; i < tokens_.size(); ++i) text_tokens_[number][tokens_[i].id] += count;
  }

  void add_to_sizes(size_t cell, int64_t count) {
    SizeTotals* const sums = &result.sizes[cell * request_.sizes.size()];
    for (size_t s = 0; s < request_.sizes.size(); ++s) sums[s] += scaled(at_sizes_[s], count);
  }

  // A distinct word: once in each table and group that has it, and once in all groups of the table.
  void add_type(const UnitSet::Row* first, const UnitSet::Row* last, bool single) {
    const size_t stride = layout_.blocks() + 1;
    const auto add = [&](size_t table, size_t group, uint32_t from_block, uint32_t to_block) {
      const uint32_t only_in = from_block == to_block ? from_block : layout_.blocks();
      const size_t at = (table * (layout_.groups() + 1) + group) * stride + only_in;
      ++result.types[at];
      if (!single) return;
      ++result.single_types[at];
      for (size_t s = 0; s < request_.sizes.size(); ++s) {
        result.single_types[(1 + s) * result.types.size() + at] += smaller_->from(tokens_[0].id) <= request_.sizes[s];
      }
    };
    for (const UnitSet::Row* row = first; row < last;) {
      const size_t table = layout_[row->group].table;
      uint32_t first_block = layout_.blocks(), last_block = 0;
      while (row < last && layout_[row->group].table == table) {
        const size_t group = layout_[row->group].group;
        const uint32_t from_block = layout_[row->group].block;
        uint32_t to_block = from_block;
        for (; row < last && layout_[row->group].table == table && layout_[row->group].group == group; ++row) {
          to_block = layout_[row->group].block;
        }
        add(table, group, from_block, to_block);
        first_block = std::min(first_block, from_block);
        last_block = std::max(last_block, to_block);
      }
      add(table, layout_.groups(), first_block, last_block);
    }
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
    uint32_t from;  // so many merges
    SizeTotals totals;
  };

  const Encoder& encoder_;
  const Model& model_;
  const UnitSet& units_;
  const EvaluationRequest& request_;
  const Layout& layout_;
  const SmallerSizes* const smaller_;
  const size_t frequency_groups_;
  PrefixEncoder prefixes_;

  // Of the unit at hand.
  std::string_view text_;
  std::string normalized_;
  bool followed_ = false;  // a newline comes after it, which starts nothing
  std::vector<TracedToken> tokens_;
  std::vector<Range> words_;
  size_t first_of_text_ = 0;               // of the tokens, those before it are all of spaces
  uint32_t spaces_ = 0, joined_from_ = 0;  // from how many merges on a token starts with the last of them; 0: none does
  SizeTotals base_;
  std::vector<Change> changes_;
  std::vector<SizeTotals> at_sizes_;  // of the unit, for each size asked for

  std::vector<size_t> run_tokens_;
  // By group, spaces and from: see Detached.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> detached_;
  // [curve][piece]: how often each is a token, those of spaces left out.
  std::vector<std::vector<int64_t>> text_tokens_;
};

void add_up(Evaluation& sum, const Evaluation& part) {
  for (size_t i = 0; i < sum.totals.size(); ++i) {
    sum.totals[i].tokens += part.totals[i].tokens;
    sum.totals[i].starts += part.totals[i].starts;
    sum.totals[i].continued += part.totals[i].continued;
    sum.totals[i].split_words += part.totals[i].split_words;
    sum.totals[i].unknown += part.totals[i].unknown;
    sum.totals[i].byte_tokens += part.totals[i].byte_tokens;
  }
  sum.frequencies.add(part.frequencies);
  for (size_t i = 0; i < sum.sizes.size(); ++i) sum.sizes[i] += part.sizes[i];
  for (size_t i = 0; i < sum.curve.size(); ++i) sum.curve[i] += part.curve[i];
  for (size_t i = 0; i < sum.types.size(); ++i) sum.types[i] += part.types[i];
  for (size_t i = 0; i < sum.single_types.size(); ++i) sum.single_types[i] += part.single_types[i];
  sum.detached.insert(sum.detached.end(), part.detached.begin(), part.detached.end());
}

}  // namespace

Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request) {
  encoder.require_independent_units();
  if (request.merges.empty() && !request.sizes.empty()) throw std::invalid_argument("sizes need merges");
  if (units.cuts_lines() && !encoder.newlines_stand_alone()) {
    throw std::invalid_argument("units were cut at newlines, which do not stand alone in this model");
  }
  units.arrange();
  const Layout layout(units.groups(), request.blocks);
  constexpr size_t kUnits = 1 << 12;
  std::atomic<size_t> next{0};
  const auto work = [&](Worker& worker) {
    for (size_t from; (from = next.fetch_add(kUnits)) < units.size();) {
      const size_t to = std::min(from + kUnits, units.size());
      for (size_t unit = from; unit < to; ++unit) worker.add(unit);
    }
    worker.finish();
  };
  const size_t threads = std::clamp<size_t>(units.size() / kUnits, 1, std::max(request.threads, 1U));
  std::vector<std::unique_ptr<Worker>> workers;
  std::unique_ptr<const SmallerSizes> smaller;
  if (!request.merges.empty()) smaller = std::make_unique<const SmallerSizes>(encoder, request.merges, request.sizes);
  for (size_t t = 0; t < threads; ++t) {
    workers.push_back(std::make_unique<Worker>(encoder, units, request, layout, smaller.get()));
  }
  run_on_threads(threads, [&](size_t t) { work(*workers[t]); });
  Evaluation result = std::move(workers[0]->result);
  for (size_t t = 1; t < threads; ++t) add_up(result, workers[t]->result);
  workers.clear();
  if (!request.merges.empty()) {
    const size_t points = request.merges.size() + 1;
    for (size_t group = 0; group < layout.curves(); ++group) {
      SizeTotals* const curve = &result.curve[group * points];
      for (size_t k = 1; k < points; ++k) curve[k] += curve[k - 1];
    }
  }
  return result;
}

template <class Given, class Number>
bool smaller_frequencies(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                         const std::vector<uint32_t>& ids, std::span<const Given> frequencies,
                         std::span<const Detached> detached, Number* out) {
  const size_t pieces = encoder.model().size();
  const SmallerSizes smaller(encoder, merges, {});
  PrefixEncoder prefixes = encoder.prefix_encoder();
  std::vector<TracedToken> tokens;
  std::vector<uint64_t> group_frequencies(pieces);
  const size_t groups = frequencies.size() / pieces;
  std::vector<std::vector<Detached>> by_group(groups);
  for (const Detached& each : detached) by_group.at(each.group).push_back(each);
  uint64_t largest = 0;
  for (size_t group = 0; group < groups; ++group) {
    std::copy_n(frequencies.begin() + static_cast<ptrdiff_t>(group * pieces), pieces, group_frequencies.begin());
    smaller.take_apart(group_frequencies.data(), kept, [](uint32_t, uint64_t) {});
    // Splitting a token that starts with a space leaves the space alone, but it belongs to the spaces before it.
    for (const auto& [_, spaces, from, count] : by_group[group]) {
      if (from <= kept) continue;
      const auto add = [&](uint64_t length, uint64_t times) {
        encoder.trace(std::string(length, ' '), prefixes, tokens);
        for (const TracedToken& token : tokens) group_frequencies.at(token.id) += times;
      };
      add(spaces, count);
      add(spaces - 1, -count);
      add(1, -count);
    }
    for (const uint32_t id : ids) {
      largest = std::max(largest, group_frequencies.at(id));
      *out++ = static_cast<Number>(group_frequencies[id]);
    }
  }
  return largest <= static_cast<uint64_t>(std::numeric_limits<Number>::max());
}

#define PIECEWORK_SMALLER_FREQUENCIES(Given, Number)                                                                 \
  template bool smaller_frequencies(const Encoder&, const std::vector<uint32_t>&, uint32_t,                          \
                                    const std::vector<uint32_t>&, std::span<const Given>, std::span<const Detached>, \
                                    Number*)
PIECEWORK_SMALLER_FREQUENCIES(uint32_t, uint32_t);
PIECEWORK_SMALLER_FREQUENCIES(uint32_t, int64_t);
PIECEWORK_SMALLER_FREQUENCIES(int64_t, int64_t);

}  // namespace piecework

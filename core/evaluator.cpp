#include "evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <tuple>

#include "threads.hpp"
#include "whitespace_words.hpp"

namespace piecework {
namespace {

constexpr uint32_t kNever = UINT32_MAX;

// What becomes of tokens in smaller vocabularies.
//
// Let r₁, r₂, … be the numbers of the merges that encoding performs, in order. With only the first k merges, encoding
// performs exactly those before the first rᵢ ≥ k: at that moment no lower pair is at hand, or it would have been taken.
// So a symbol stands from as many merges on as the highest number in its tree says, and below that its two halves
// stand. Whitespace runs merge after all others, in every size.
class SmallerSizes {
 public:
  SmallerSizes(const Encoder& encoder, const std::vector<uint32_t>& merges, const std::vector<uint32_t>& sizes)
      : trees_(encoder.trees()), sizes_(sizes.size()) {
    std::vector<uint32_t> numbers(trees_.size(), kNever);
    for (uint32_t i = 0; i < merges.size(); ++i) numbers[merges[i]] = i;
    from_.assign(trees_.size(), 0);
    tokens_.assign(trees_.size() * sizes_, 1);
    for (const SymbolId symbol : trees_.by_length()) {
      if (numbers[symbol] == kNever) continue;
      const auto [left, right, time, length] = trees_[symbol];
      if (std::max(left, right) >= encoder.model().size()) {
        throw ModelError("\"" + encoder.model().pieces[symbol] +
                         "\" has a character that is no piece, so smaller sizes" + " are not told by it");
      }
      from_[symbol] = std::max({numbers[symbol] + 1, from_[left], from_[right]});
      for (size_t s = 0; s < sizes_; ++s) {
        if (from_[symbol] <= sizes[s]) continue;
        tokens_[symbol * sizes_ + s] = tokens_[left * sizes_ + s] + tokens_[right * sizes_ + s];
      }
    }
  }

  // The least number of merges with which a symbol stands.
  uint32_t from(SymbolId symbol) const { return from_[symbol]; }
  // How many tokens it is at each of the sizes that are asked for.
  const uint32_t* tokens(SymbolId symbol) const { return &tokens_[symbol * sizes_]; }
  // The least number of merges with which one token holds what lies from `begin` to `end` in a symbol.
  uint32_t from(SymbolId symbol, uint32_t begin, uint32_t end) const {
    while (trees_[symbol].left != kNoSymbol) {
      const uint32_t middle = trees_[trees_[symbol].left].length;
      if (end <= middle) {
        symbol = trees_[symbol].left;
      } else if (begin >= middle) {
        symbol = trees_[symbol].right;
        begin -= middle;
        end -= middle;
      } else {
        break;
      }
    }
    return from_[symbol];
  }

  // Given how often each piece is a token with all merges: how often with the first `kept`. `split(from, count)` is
  // called for tokens that become two, which they are with fewer than `from` merges.
  template <class Count, class Split>
  void take_apart(Count* frequencies, uint32_t kept, Split&& split) const {
    for (auto symbol = trees_.by_length().rbegin(); symbol != trees_.by_length().rend(); ++symbol) {
      const Count count = frequencies[*symbol];
      if (!count || from_[*symbol] <= kept) continue;
      frequencies[*symbol] = 0;
      frequencies[trees_[*symbol].left] += count;
      frequencies[trees_[*symbol].right] += count;
      split(from_[*symbol], count);
    }
  }

 private:
  const MergeTrees& trees_;
  const size_t sizes_;
  std::vector<uint32_t> from_, tokens_;
};

size_t number_of_curves(const UnitSet& units, const EvaluationRequest& request) {
  if (request.curve_groups.empty()) return units.groups();
  if (request.curve_groups.size() != units.groups()) throw std::invalid_argument("a curve for each group, or none");
  return *std::max_element(request.curve_groups.begin(), request.curve_groups.end()) + 1;
}

// Evaluates the units of one thread.
class Worker {
 public:
  // `smaller` is null where no sizes are asked for.
  Worker(const Encoder& encoder, const UnitSet& units, const EvaluationRequest& request, const SmallerSizes* smaller)
      : encoder_(encoder),
        model_(encoder.model()),
        units_(units),
        request_(request),
        smaller_(smaller),
        frequency_groups_(std::min(units.groups(), request.frequency_groups)),
        prefixes_(encoder.prefix_encoder()) {
    const size_t groups = units.groups(), cells = groups * UnitSet::kBuckets;
    result.totals.resize(cells);
    // By piece while they are added up: the groups of a unit then lie side by side.
    result.frequencies.resize(frequency_groups_ * model_.size());
    if (smaller) {
      result.sizes.resize(cells * request.sizes.size());
      const size_t curves = number_of_curves(units, request);
      result.curve.resize(curves * (request.merges.size() + 1));
      text_tokens_.assign(curves, std::vector<int64_t>(model_.size()));
    }
  }

  // A unit with its rows.
  void add(size_t unit, const UnitSet::Row* first, const UnitSet::Row* last) {
    const UnitSet::Unit& of = units_.unit(unit);
    text_ = of.text;
    followed_ = of.followed;
    if (of.opens && model_.add_dummy_prefix) text_ = prefixed_.assign(" ").append(text_);
    encoder_.trace(text_, prefixes_, tokens_);
    if (first->group < frequency_groups_) {
      // Far apart in memory, and needed in a moment.
      for (const TracedToken& token : tokens_) {
        __builtin_prefetch(&result.frequencies[token.id * frequency_groups_ + first->group], 1);
      }
    }
    if (of.one_word) {
      words_.assign(1, {static_cast<uint32_t>(text_.find_first_not_of(' ')), static_cast<uint32_t>(text_.size())});
    } else {
      find_words(text_, words_);
    }
    const TokenTotals totals = as_it_is();
    if (smaller_) by_size();
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
      if (smaller_) add_to_sizes(cell, static_cast<int64_t>(row->count));
      in_group += row->count;
      if (row + 1 < last && row[1].group == row->group) continue;
      // Once a group, as these touch memory far apart.
      if (group < frequency_groups_) {
        for (const TracedToken& token : tokens_) result.frequencies[token.id * frequency_groups_ + group] += in_group;
      }
      if (smaller_) add_to_curve(group, static_cast<int64_t>(in_group));
      in_group = 0;
    }
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
  // The figures with the whole vocabulary, from the tokens.
  TokenTotals as_it_is() const {
    TokenTotals totals;
    totals.tokens = tokens_.size();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      totals.unknown += model_.types[tokens_[i].id] == PieceType::unknown;
      totals.bytes += model_.types[tokens_[i].id] == PieceType::byte;
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

  void add_to_curve(size_t group, int64_t count) {
    const size_t number = request_.curve_groups.empty() ? group : request_.curve_groups[group];
    SizeTotals* const curve = &result.curve[number * (request_.merges.size() + 1)];
    curve[0] += scaled(base_, count);
    for (const Change& change : changes_) curve[change.from] += scaled(change.totals, count);
    for (size_t i = first_of_text_; i < tokens_.size(); ++i) text_tokens_[number][tokens_[i].id] += count;
    if (joined_from_ && spaces_ > 1 && group < frequency_groups_) {
      detached_[{group, spaces_, joined_from_}] += static_cast<uint64_t>(count);
    }
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
    uint32_t from;  // so many merges
    SizeTotals totals;
  };

  const Encoder& encoder_;
  const Model& model_;
  const UnitSet& units_;
  const EvaluationRequest& request_;
  const SmallerSizes* const smaller_;
  const size_t frequency_groups_;
  PrefixEncoder prefixes_;

  // Of the unit at hand.
  std::string_view text_;
  std::string prefixed_;
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

// Rows become columns, a square at a time, so that neither side jumps through memory.
std::vector<uint64_t> transposed(const std::vector<uint64_t>& values, size_t columns) {
  constexpr size_t kSquare = 32;
  const size_t rows = columns ? values.size() / columns : 0;
  std::vector<uint64_t> result(values.size());
  for (size_t row = 0; row < rows; row += kSquare) {
    for (size_t column = 0; column < columns; ++column) {
      for (size_t r = row; r < std::min(row + kSquare, rows); ++r)
        result[column * rows + r] = values[r * columns + column];
    }
  }
  return result;
}

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
  sum.detached.insert(sum.detached.end(), part.detached.begin(), part.detached.end());
}

}  // namespace

Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request) {
  encoder.require_independent_units();
  if (units.cuts_lines() && !encoder.newlines_stand_alone()) {
    throw std::invalid_argument("units were cut at newlines, which do not stand alone in this model");
  }
  units.arrange();
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
  std::unique_ptr<const SmallerSizes> smaller;
  if (!request.merges.empty()) smaller = std::make_unique<const SmallerSizes>(encoder, request.merges, request.sizes);
  for (size_t t = 0; t < threads; ++t) {
    workers.push_back(std::make_unique<Worker>(encoder, units, request, smaller.get()));
  }
  run_on_threads(threads, [&](size_t t) { work(*workers[t]); });
  Evaluation result = std::move(workers[0]->result);
  for (size_t t = 1; t < threads; ++t) add_up(result, workers[t]->result);
  workers.clear();
  result.frequencies = transposed(result.frequencies, std::min(units.groups(), request.frequency_groups));
  if (!request.merges.empty()) {
    const size_t points = request.merges.size() + 1;
    for (size_t group = 0; group < number_of_curves(units, request); ++group) {
      SizeTotals* const curve = &result.curve[group * points];
      for (size_t k = 1; k < points; ++k) curve[k] += curve[k - 1];
    }
  }
  return result;
}

std::vector<uint64_t> smaller_frequencies(const Encoder& encoder, const std::vector<uint32_t>& merges, uint32_t kept,
                                          std::vector<uint64_t> frequencies, const std::vector<Detached>& detached) {
  const size_t pieces = encoder.model().size();
  const SmallerSizes smaller(encoder, merges, {});
  for (size_t row = 0; row + pieces <= frequencies.size(); row += pieces) {
    smaller.take_apart(&frequencies[row], kept, [](uint32_t, uint64_t) {});
  }
  // Taken apart, a token that starts with a space leaves it alone; but it belongs to the run before it.
  PrefixEncoder prefixes = encoder.prefix_encoder();
  std::vector<TracedToken> tokens;
  for (const auto& [group, spaces, from, count] : detached) {
    if (from <= kept) continue;
    const auto add = [&](uint64_t length, uint64_t times) {
      encoder.trace(std::string(length, ' '), prefixes, tokens);
      for (const TracedToken& token : tokens) frequencies.at(group * pieces + token.id) += times;
    };
    add(spaces, count);
    add(spaces - 1, -count);
    add(1, -count);
  }
  return frequencies;
}

}  // namespace piecework

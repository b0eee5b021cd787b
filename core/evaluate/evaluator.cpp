#include "evaluate/evaluator.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "evaluate/smaller_sizes.hpp"
#include "evaluate/unit_accumulator.hpp"
#include "text/space_marks.hpp"
#include "text/whitespace_words.hpp"

namespace piecework {
namespace {

// Evaluates the units of one thread.
class Worker : public UnitAccumulator {
 public:
  // `smaller` is null if the request has no sizes.
  Worker(const Encoder& encoder, const UnitSet& units, const EvaluationRequest& request, const Layout& layout,
         const SmallerSizes* smaller)
      : UnitAccumulator(units, request, layout, encoder.model().size()),
        encoder_(encoder),
        model_(encoder.model()),
        smaller_(smaller),
        prefixes_(encoder.prefix_encoder()) {
    if (smaller) text_tokens_.assign(layout.curves(), std::vector<int64_t>(model_.size()));
  }

  void add(size_t number) {
    const UnitSet::Unit& unit = units_.unit(number);
    const std::span<const UnitSet::Row> rows = units_.rows(number);
    const bool word_type = unit.one_word && !unit.opens && !unit.followed && unit.text[0] == ' ' && unit.text[1] != ' ';
    bool single = true;
    followed_ = unit.followed;
    if (encoder_.normalizes() || unit.marked) {
      encoder_.normalize_unit(unit.text, unit.opens, normalized_);
      // Rules can make spaces. Each run of spaces starts a unit of its own.
      single = !normalized_.empty();
      for_each_unit(normalized_, [&](std::string_view text, size_t) {
        add_text(text, rows, false);
        single = single && text.size() == normalized_.size();
      });
    } else if (unit.opens && model_.add_dummy_prefix) {
      add_text(normalized_.assign(" ").append(unit.text), rows, unit.one_word);
    } else {
      add_text(unit.text, rows, unit.one_word);
    }
    if (word_type && !result.types.empty()) {
      single = single && tokens_.size() == 1;
      const uint32_t from = single && smaller_ ? smaller_->from(tokens_[0].id) : 0;
      add_type(rows.data(), rows.data() + rows.size(), single, from);
    }
  }

  void finish() {
    for (size_t group = 0; group < text_tokens_.size(); ++group) {
      SizeTotals* const points = curve(group);
      smaller_->take_apart(text_tokens_[group].data(), 0,
                           [&](uint32_t from, int64_t count) { points[from].tokens -= count; });
      for (const int64_t count : text_tokens_[group]) points[0].tokens += count;
    }
    for (const auto& [key, count] : detached_) {
      const auto [group, spaces, from] = key;
      result.detached.push_back({group, spaces, from, count});
    }
  }

 private:
  // Adds the tokens of a normalised unit to all totals. `one_word`: its text is one whitespace word.
  void add_text(std::string_view text, std::span<const UnitSet::Row> rows, bool one_word) {
    const UnitSet::Row* const first = rows.data();
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
    add_rows(
        rows, totals,
        [&](size_t group, uint64_t count) {
          for (const TracedToken& token : tokens_) result.frequencies.add(token.id, group, count);
          if (smaller_ && joined_from_ && spaces_ > 1) detached_[{group, spaces_, joined_from_}] += count;
        },
        [&](size_t number, int64_t count) {
          add_to_curve(number, count);
          for (size_t i = first_of_text_; i < tokens_.size(); ++i) text_tokens_[number][tokens_[i].id] += count;
        });
  }

  // The totals with the full vocabulary.
  TokenTotals full_totals() const {
    TokenTotals totals;
    totals.tokens = tokens_.size();
    for (size_t i = 0; i < tokens_.size(); ++i) {
      totals.unknown += model_.types[tokens_[i].id] == PieceType::unknown;
      const bool is_byte = model_.types[tokens_[i].id] == PieceType::byte;
      totals.byte_tokens += is_byte;
      totals.partial += is_byte && model_.pieces[tokens_[i].id][3] >= '8';  // from <0x80> on: below it is ASCII
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
      // A word is split if its first and its last byte are in different tokens. All byte tokens of a character have the
      // range of the character, so the next token must be compared too.
      const bool one = token < tokens_.size() && tokens_[token].end >= word.end &&
                       (token + 1 == tokens_.size() || tokens_[token + 1].begin >= word.end);
      use(word, one ? &tokens_[token] : nullptr);
    }
  }

  // The same for every size: the totals without any merge, and changes that hold from a number of merges on. Tokens of
  // text are not counted here: finish() computes their number from their frequencies.
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
      // A token starts with the last space, but only from some merge on. Before that merge, the space is part of the
      // run, and of none of the tokens that this token is made of.
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
    complete_sizes();
  }

  // Prefetches the numbers that `add_to_curve` changes next. They are far apart in memory.
  void fetch_curve(size_t number) {
    for (const Change& change : changes_) {
      __builtin_prefetch(&result.curve[number * (request_.merges.size() + 1) + change.from], 1);
    }
    for (size_t i = first_of_text_; i < tokens_.size(); ++i) {
      __builtin_prefetch(&text_tokens_[number][tokens_[i].id], 1);
    }
  }

  // The number of tokens of a run of spaces, if no word takes a space from the run.
  size_t run_tokens(uint32_t spaces) {
    while (run_tokens_.size() <= spaces && run_tokens_.size() < kMemorised) {
      run_tokens_.push_back(encoder_.count_tokens(std::string(run_tokens_.size(), ' ')));
    }
    return spaces < run_tokens_.size() ? run_tokens_[spaces] : encoder_.count_tokens(std::string(spaces, ' '));
  }
  static constexpr size_t kMemorised = 1024;

  const Encoder& encoder_;
  const Model& model_;
  const SmallerSizes* const smaller_;
  PrefixEncoder prefixes_;

  // Of the current unit.
  std::string_view text_;
  std::string normalized_;
  bool followed_ = false;  // a newline comes after it; its token does not start with a space
  std::vector<TracedToken> tokens_;
  std::vector<Range> words_;
  size_t first_of_text_ = 0;  // index of the first token that has more than spaces
  // Spaces before the text, and from how many merges on a token starts with the last of them; 0: no token does.
  uint32_t spaces_ = 0, joined_from_ = 0;

  std::vector<size_t> run_tokens_;
  // By group, spaces and from: see Detached.
  std::map<std::tuple<uint64_t, uint64_t, uint64_t>, uint64_t> detached_;
  // [curve][piece]: how often each piece is a token. Tokens of spaces are left out.
  std::vector<std::vector<int64_t>> text_tokens_;
};

}  // namespace

Evaluation evaluate_units(const Encoder& encoder, UnitSet& units, const EvaluationRequest& request) {
  encoder.require_independent_units();
  if (units.has_pre_tokens()) throw std::invalid_argument("units of SentencePiece are needed, not pre-tokens");
  if (units.cuts_lines() && !encoder.newlines_stand_alone()) {
    throw std::invalid_argument("units were cut at newlines, which do not stand alone in this model");
  }
  std::unique_ptr<const SmallerSizes> smaller;
  if (!request.merges.empty()) smaller = std::make_unique<const SmallerSizes>(encoder, request.merges, request.sizes);
  return evaluate_on_threads(units, request, [&](const Layout& layout) {
    return std::make_unique<Worker>(encoder, units, request, layout, smaller.get());
  });
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
    // If a token that starts with a space is split, its space becomes a token. But it belongs to the spaces before it.
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

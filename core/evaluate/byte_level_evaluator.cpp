#include "evaluate/byte_level_evaluator.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "encode/byte_level_tracer.hpp"
#include "evaluate/unit_accumulator.hpp"
#include "text/utf8.hpp"
#include "text/whitespace_words.hpp"

namespace piecework {
namespace {

// Evaluates the pre-tokens of one thread.
class Worker : public UnitAccumulator {
 public:
  Worker(const ByteLevelEncoder& encoder, const UnitSet& units, const EvaluationRequest& request, const Layout& layout)
      : UnitAccumulator(units, request, layout, encoder.merger().size()), tracer_(encoder.merger()) {}

  void add(size_t number) {
    unit_ = units_.unit(number);
    text_ = unit_.text;
    tracer_.trace(text_);
    find_words(text_, words_);
    if (has_sizes()) by_size();
    const std::vector<ByteTracedToken>& tokens = tracer_.tokens();
    const std::span<const UnitSet::Row> rows = units_.rows(number);
    add_rows(
        rows, full_totals(),
        [&](size_t group, uint64_t count) {
          for (const ByteTracedToken& token : tokens) result.frequencies.add(token.id, group, count);
        },
        [&](size_t curve, int64_t count) { add_to_curve(curve, count); });
    // A word with a space before it and a space or the end of the document after it.
    const bool word_type = unit_.one_word && text_[0] == ' ' && text_[1] != ' ' && unit_.context == 0;
    if (word_type && !result.types.empty()) {
      add_type(rows.data(), rows.data() + rows.size(), tokens.size() == 1, tokens[0].from);
    }
  }

  void finish() {}

 private:
  bool is_space(uint32_t at) const { return text_[at] == ' '; }
  // Whether a token that ends here is followed by one that does not start with a space.
  bool goes_on(uint32_t end) const { return end == text_.size() ? unit_.followed : !is_space(end); }
  bool is_inside_character(uint32_t at) const {
    return at < text_.size() && is_continuation(static_cast<unsigned char>(text_[at]));
  }

  TokenTotals full_totals() const {
    TokenTotals totals;
    totals.tokens = tracer_.tokens().size();
    for (const ByteTracedToken& token : tracer_.tokens()) {
      totals.partial += is_inside_character(token.begin) || is_inside_character(token.end);
      if (!is_space(token.begin)) continue;
      ++totals.starts;
      totals.continued += goes_on(token.end);
    }
    totals.byte_tokens = totals.partial;
    for_each_word([&](const Range& word, bool shared) {
      const auto token = std::ranges::upper_bound(tracer_.tokens(), word.begin, {}, &ByteTracedToken::end);
      totals.split_words += shared || token->end < word.end;
    });
    return totals;
  }

  // Calls `use(word, shared)` with each word that starts here; `shared`: it goes on in the next pre-token.
  template <class Use>
  void for_each_word(Use&& use) const {
    const bool skips = unit_.context & UnitContext::kJoinedLeft;
    for (size_t i = skips; i < words_.size(); ++i) {
      use(words_[i], i + 1 == words_.size() && unit_.context & UnitContext::kJoinedRight);
    }
  }

  // Computes the totals without any merge, when each byte is a token, and the changes by each merge.
  void by_size() {
    changes_.clear();
    at_sizes_.assign(request_.sizes.size(), {});
    const auto size = static_cast<uint32_t>(text_.size());
    base_ = {size, 0, 0, 0};
    for (uint32_t i = 0; i < size; ++i) {
      if (!is_space(i)) continue;
      ++base_.starts;
      base_.continued += goes_on(i + 1);
    }
    for (const ByteTracedMerge& merge : tracer_.merges()) {
      SizeTotals totals{-1, 0, 0, 0};
      // The left token now ends where the right one did, and the right one is gone.
      if (is_space(merge.begin)) totals.continued += goes_on(merge.end) - goes_on(merge.middle);
      if (is_space(merge.middle)) {
        totals.starts -= 1;
        totals.continued -= goes_on(merge.end);
      }
      change(merge.from, totals);
    }
    for_each_word([&](const Range& word, bool shared) {
      if (!shared && word.end - word.begin == 1) return;
      ++base_.split_words;
      if (shared) return;
      uint32_t from = UINT32_MAX;  // the least number of merges with which one token holds all of the word
      for (const ByteTracedMerge& merge : tracer_.merges()) {
        if (merge.begin <= word.begin && merge.end >= word.end) from = std::min(from, merge.from);
      }
      if (from != UINT32_MAX) change(from, {0, 0, 0, -1});
    });
    complete_sizes();
  }

  ByteLevelTracer tracer_;
  // Of the current pre-token.
  UnitSet::Unit unit_{};
  std::string_view text_;
  std::vector<Range> words_;
};

}  // namespace

Evaluation evaluate_units(const ByteLevelEncoder& encoder, UnitSet& units, const EvaluationRequest& request) {
  if (!units.has_pre_tokens()) throw std::invalid_argument("pre-tokens are needed, not units of SentencePiece");
  return evaluate_on_threads(
      units, request, [&](const Layout& layout) { return std::make_unique<Worker>(encoder, units, request, layout); });
}

}  // namespace piecework

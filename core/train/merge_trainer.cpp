#include "train/merge_trainer.hpp"

#include <utility>

namespace piecework {

Trainer::Trainer(ChunkText text, const std::vector<InitialSymbol>& alphabet, const MergeRule& rule,
                 uint64_t least_frequency, Checkpoint checkpoint)
    : text_(std::move(text)),
      first_size_(text_.size()),
      used_positions_(first_size_),
      rule_(rule),
      least_frequency_(least_frequency),
      checkpoint_(std::move(checkpoint)),
      waiting_(kLevels) {
  for (const InitialSymbol& symbol : alphabet) {
    add_symbol(symbol.text, symbol.length, symbol.script, symbol.has_mark, symbol.all_marks);
  }
  start_round();
}

uint32_t Trainer::add_symbol(std::string_view text, uint32_t length, ScriptSpan script, bool has_mark, bool all_marks) {
  symbols_.push_back({texts_.size(), static_cast<uint32_t>(text.size()), length, length, script, has_mark, all_marks});
  texts_.append(text);
  left_slots_.emplace_back();
  right_slots_.emplace_back();
  return static_cast<uint32_t>(symbols_.size() - 1);
}

bool Trainer::mergeable(uint32_t left, uint32_t right) const {
  const Symbol &l = symbols_[left], &r = symbols_[right];
  const uint64_t length = uint64_t{l.length} + r.length;
  if (length > rule_.max_length && (length > 2 || rule_.limits_first_pairs)) return false;
  if ((l.has_mark || r.has_mark) && !marks_allow(l, r)) return false;
  return share_script(l.script, r.script);
}

// Where a piece may have ▁. With split_by_whitespace: only at its start. Without it: anywhere except at its end.
// treat_whitespace_as_suffix swaps start and end. allow_whitespace_only_pieces allows pieces of ▁ alone.
bool Trainer::marks_allow(const Symbol& left, const Symbol& right) const {
  if (left.all_marks && right.all_marks) return rule_.allow_whitespace_only_pieces;
  const Symbol& outer = rule_.treat_whitespace_as_suffix ? right : left;  // the one that may have ▁
  const Symbol& inner = rule_.treat_whitespace_as_suffix ? left : right;
  if (rule_.split_by_whitespace) return !inner.has_mark && !(outer.all_marks && outer.length > 1);
  return !inner.all_marks;
}

std::vector<Merge> Trainer::run(uint64_t wanted, uint64_t minimum_frequency, const Progress& progress) {
  std::vector<Merge> merges;
  KnownStrings known;
  known.reserve(std::min<uint64_t>(wanted, 1 << 20));
  const auto first_merged = static_cast<uint32_t>(symbols_.size());
  if (rule_.merges_known_strings || rule_.extends) {
    for (uint32_t symbol = 0; symbol < first_merged; ++symbol) known.emplace(text_of(symbol), symbol);
  }
  uint64_t added = 0;
  Candidate best;
  while (added < wanted && next_of_all_rounds(best) && best.frequency >= minimum_frequency) {
    if (progress) progress(added, wanted);
    Pair pair = pairs_[best.pair];
    std::string piece = text_of(pair);
    const bool forbidden = rule_.forbidden.contains(piece, known);
    const auto [entry, is_new] = known.try_emplace(piece, static_cast<uint32_t>(symbols_.size()));
    // Two pairs can make the same string ("aa"+"a", "a"+"aa"). SentencePiece merges only the first.
    if (forbidden) {
      if (is_new) known.erase(entry);
    } else if (is_new || rule_.merges_known_strings) {
      const uint32_t symbol = entry->second;
      if (!is_new && symbol >= first_merged) throw std::logic_error("training made the same string twice: " + piece);
      ++merges_;
      if (is_new) {
        const Symbol &left = symbols_[pair.left], &right = symbols_[pair.right];
        const bool has_mark = left.has_mark || right.has_mark, all_marks = left.all_marks && right.all_marks;
        const uint32_t span = left.span + right.span;
        add_symbol(piece, length_of(pair), joined(left.script, right.script), has_mark, all_marks);
        symbols_.back().span = span;
        ++added;
      }
      if (!is_new) symbols_[symbol].span = symbols_[pair.left].span + symbols_[pair.right].span;
      apply(pair, symbol);
      merges.push_back({std::move(piece), best.frequency, pair.left, pair.right});
    }
    forget(pairs_[best.pair]);
    if (is_sparse()) compact();
  }
  if (progress) progress(added, wanted);
  complete_ = added == wanted;
  return merges;
}

}  // namespace piecework

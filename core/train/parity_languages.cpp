#include "train/parity_languages.hpp"

#include <stdexcept>
#include <utility>

namespace piecework {
namespace {

// Every pair must be listed, since another language may choose it.
MergeRule without_rounds(MergeRule rule) {
  rule.large_text = UINT32_MAX;
  return rule;
}

}  // namespace

ParityText::ParityText(ChunkText text, const std::vector<InitialSymbol>& alphabet, const MergeRule& rule,
                       Checkpoint checkpoint)
    : Trainer(std::move(text), alphabet, without_rounds(rule), 1, std::move(checkpoint)) {}

std::optional<Pair> ParityText::take_best() {
  Candidate best;
  if (!next(best)) return std::nullopt;
  return pairs_[best.pair];
}

uint32_t ParityText::add_merged(uint32_t left, uint32_t right) {
  const Symbol l = symbols_[left], r = symbols_[right];
  return add_symbol(spelled(left, right), l.length + r.length, joined(l.script, r.script), l.has_mark || r.has_mark,
                    l.all_marks && r.all_marks);
}

uint64_t ParityText::merge(uint32_t left, uint32_t right, uint32_t symbol) {
  symbols_[symbol].span = symbols_[left].span + symbols_[right].span;
  const uint32_t found = index_.find(left, right);
  if (found == PairIndex::kNone || !pairs_[found].positions) return 0;
  ++merges_;
  const Pair pair = pairs_[found];
  const uint64_t merged = apply(pair, symbol);
  forget(pairs_[found]);
  pairs_[found].frequency = 0;  // it may wait in the queue
  if (is_sparse()) compact();
  return merged;
}

std::vector<Merge> merge_with_parity(std::vector<ParityLanguage>& languages, const MergeRule& rule, uint64_t wanted,
                                     uint64_t minimum_frequency, const Progress& progress) {
  std::vector<Merge> merges;
  if (languages.empty()) return merges;
  KnownStrings known;
  const ParityText& first = languages.front().training;
  const uint32_t first_merged = first.symbol_count();
  if (rule.merges_known_strings) {
    for (uint32_t symbol = 0; symbol < first_merged; ++symbol) known.emplace(first.symbol_text(symbol), symbol);
  }
  uint64_t added = 0;
  while (added < wanted) {
    if (progress) progress(added, wanted);
    ParityLanguage* worst = nullptr;
    for (ParityLanguage& language : languages) {
      if (!language.exhausted && (!worst || language.length > worst->length)) worst = &language;
    }
    if (!worst) break;
    const std::optional<Pair> best = worst->training.take_best();
    if (!best || best->frequency < minimum_frequency) {
      worst->exhausted = true;
      continue;
    }
    std::string piece = worst->training.spelled(best->left, best->right);
    const auto [entry, is_new] = known.try_emplace(piece, first.symbol_count());
    if (!is_new && !rule.merges_known_strings) continue;  // as in SentencePiece, only the first pair of a string merges
    const uint32_t symbol = entry->second;
    if (!is_new && symbol >= first_merged) throw std::logic_error("training made the same string twice: " + piece);
    for (ParityLanguage& language : languages) {
      for (ParityText* text : {&language.training, &language.development}) {
        if (is_new) text->add_merged(best->left, best->right);
        const uint64_t merged = text->merge(best->left, best->right, symbol);
        if (text == &language.development) language.length -= merged;
      }
    }
    added += is_new;
    merges.push_back({std::move(piece), best->frequency, best->left, best->right});
  }
  if (progress) progress(added, wanted);
  return merges;
}

}  // namespace piecework

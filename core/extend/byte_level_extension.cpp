// Extends a byte-level vocabulary.
#include <algorithm>
#include <string_view>
#include <utility>

#include "extend/extension.hpp"
#include "extend/symbol_rows.hpp"
#include "text/prefix_matcher.hpp"
#include "train/chunk_text.hpp"
#include "train/guessed_training.hpp"

namespace piecework {
namespace {

constexpr size_t kCheckpoint = 1 << 14;

// The tokens that merges never make, split into two parts in every possible way. Only a tokenizer that merges any split
// can make them later.
ForbiddenPieces forbidden_pieces(const ByteLevelEncoder& encoder, const ByteLevelVocabulary& vocabulary) {
  ForbiddenPieces forbidden;
  if (!vocabulary.merges_any_split) return forbidden;
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& token = vocabulary.tokens[id];
    if (token.size() < 2) continue;
    ids.clear();
    encoder.merge(token, ids);
    if (ids.size() == 1) continue;
    for (size_t at = 1; at < token.size(); ++at) forbidden.add_split(token, at);
  }
  return forbidden;
}

}  // namespace

Extension extend_byte_level_bpe(const ByteLevelEncoder& encoder, const ByteLevelVocabulary& vocabulary,
                                const WordTable& pre_tokens, uint64_t wanted, uint64_t minimum_frequency,
                                const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  Extension result;
  if (!wanted) return result;
  const PrefixMatcher cut_out(vocabulary.cut_out);
  SymbolRows rows;
  std::vector<uint32_t> ids;
  const auto add_part = [&](std::string_view part, uint64_t count) {
    if (part.empty()) return;
    ids.clear();
    encoder.encode_pre_token(part, ids);
    for (const uint32_t id : ids) rows.add(id);
    rows.end_row(count);
  };
  for (size_t i = 0; i < pre_tokens.size(); ++i) {
    if (i % kCheckpoint == 0) checkpoint();
    const Word pre_token = pre_tokens.at(i);
    if (!pre_token.count) continue;
    std::string_view rest = pre_token.bytes;
    for (size_t at = 0; at < rest.size();) {
      const size_t length = cut_out.match(rest.substr(at));
      if (!length) {
        ++at;
        continue;
      }
      add_part(rest.substr(0, at), pre_token.count);
      rest.remove_prefix(at + length);
      at = 0;
    }
    add_part(rest, pre_token.count);
  }
  const WordTable& table = rows.finish();
  MergeRule rule;
  rule.extends = rule.ties_by_ids = true;
  rule.forbidden = forbidden_pieces(encoder, vocabulary);
  std::vector<InitialSymbol> symbols;
  std::vector<uint32_t> lengths;
  for (const std::string& token : vocabulary.tokens) {
    lengths.push_back(static_cast<uint32_t>(token.size()));
    symbols.push_back({token, lengths.back(), {}});
  }
  for (const std::string& token : vocabulary.cut_out) rule.forbidden.forbid(token);
  const auto make_text = [&] { return std::pair(ChunkText(table, lengths), table.total()); };
  result.merges =
      run_with_guess(make_text, symbols, rule, wanted, std::max<uint64_t>(minimum_frequency, 1), progress, checkpoint);
  return result;
}

}  // namespace piecework

#include "train/training_setup.hpp"

#include <algorithm>
#include <utility>

#include "text/utf8.hpp"

namespace piecework {

std::vector<InitialSymbol> initial_symbols(const Alphabet& alphabet) {
  std::vector<InitialSymbol> symbols;
  for (uint32_t index = 0; index < alphabet.characters().size(); ++index) {
    std::string utf8;
    append_utf8(utf8, alphabet.characters()[index].code);
    const bool is_mark = utf8 == kSpaceMarkUtf8;
    symbols.push_back({std::move(utf8), 1, alphabet.script_span(index), is_mark, is_mark});
  }
  return symbols;
}

std::vector<InitialSymbol> initial_symbols(const ByteAlphabet& alphabet) {
  std::vector<InitialSymbol> symbols;
  for (const std::string& text : alphabet.symbols) {
    const auto continuations =
        std::count_if(text.begin(), text.end(), [](char c) { return is_continuation(static_cast<unsigned char>(c)); });
    symbols.push_back({text, static_cast<uint32_t>(text.size() - static_cast<size_t>(continuations)), {}});
  }
  return symbols;
}

MergeRule merge_rule(const TrainingOptions& options) {
  MergeRule rule;
  rule.large_text = options.large_text;
  rule.max_length = options.max_sentencepiece_length;
  rule.split_by_whitespace = options.split_by_whitespace;
  rule.allow_whitespace_only_pieces = options.allow_whitespace_only_pieces;
  rule.treat_whitespace_as_suffix = options.treat_whitespace_as_suffix;
  return rule;
}

MergeRule merge_rule(const ByteLevelTrainingOptions& options) {
  MergeRule rule;
  rule.ties_by_ids = rule.merges_known_strings = true;
  rule.limits_first_pairs = false;
  // Hugging Face compares with <.
  if (options.max_token_length) rule.max_length = options.max_token_length - 1;
  return rule;
}

}  // namespace piecework

// Training from counts of pre-tokens, as Hugging Face tokenizers does it.
#include <algorithm>
#include <utility>

#include "text/utf8.hpp"
#include "train/byte_alphabet.hpp"
#include "train/guessed_training.hpp"
#include "train/trainer.hpp"

namespace piecework {

ByteLevelTrainingResult train_byte_level_bpe(const WordTable& pre_tokens, const ByteLevelTrainingOptions& options,
                                             uint64_t vocab_size, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  ByteAlphabet alphabet(options.special_tokens);
  std::vector<InitialSymbol> symbols;
  for (const std::string& text : alphabet.symbols) {
    const auto continuations =
        std::count_if(text.begin(), text.end(), [](char c) { return is_continuation(static_cast<unsigned char>(c)); });
    symbols.push_back({text, static_cast<uint32_t>(text.size() - static_cast<size_t>(continuations)), {}});
  }
  ByteLevelTrainingResult result{{}, std::move(alphabet.symbols)};
  if (result.alphabet.size() >= vocab_size) return result;
  MergeRule rule;
  rule.ties_by_ids = rule.merges_known_strings = true;
  rule.limits_first_pairs = false;
  // Hugging Face compares with <.
  if (options.max_token_length) rule.max_length = options.max_token_length - 1;
  const auto make_text = [&] { return std::pair(ChunkText(pre_tokens, alphabet.byte_symbols), pre_tokens.total()); };
  result.merges = run_with_guess(make_text, symbols, rule, vocab_size - result.alphabet.size(),
                                 std::max<uint64_t>(options.min_frequency, 1), progress, checkpoint);
  return result;
}

}  // namespace piecework

// Training from counts of pre-tokens, as Hugging Face tokenizers does it.
#include <algorithm>
#include <utility>

#include "train/byte_alphabet.hpp"
#include "train/guessed_training.hpp"
#include "train/trainer.hpp"
#include "train/training_setup.hpp"

namespace piecework {

ByteLevelTrainingResult train_byte_level_bpe(const WordTable& pre_tokens, const ByteLevelTrainingOptions& options,
                                             uint64_t vocab_size, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  ByteAlphabet alphabet(options.special_tokens);
  const std::vector<InitialSymbol> symbols = initial_symbols(alphabet);
  ByteLevelTrainingResult result{{}, std::move(alphabet.symbols)};
  if (result.alphabet.size() >= vocab_size) return result;
  const MergeRule rule = merge_rule(options);
  const auto make_text = [&] { return std::pair(ChunkText(pre_tokens, alphabet.byte_symbols), pre_tokens.total()); };
  result.merges = run_with_guess(make_text, symbols, rule, vocab_size - result.alphabet.size(),
                                 std::max<uint64_t>(options.min_frequency, 1), progress, checkpoint);
  return result;
}

}  // namespace piecework

// Training from counts of words, as SentencePiece does it.
#include <utility>

#include "text/utf8.hpp"
#include "train/auto_coverage.hpp"
#include "train/chunk_text.hpp"
#include "train/guessed_training.hpp"
#include "train/trainer.hpp"

namespace piecework {

TrainingResult train_bpe(const WordTable& words, const TrainingOptions& options, uint64_t vocab_size,
                         uint64_t minimum_frequency, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  const Alphabet alphabet(words, options, checkpoint);
  TrainingResult result;
  result.characters = alphabet.characters();
  result.character_count = alphabet.total();
  const bool selects = options.auto_character_coverage;
  const uint64_t taken = options.meta_pieces.size() + (selects ? 0 : alphabet.characters().size());
  if (taken >= vocab_size) return result;
  std::vector<InitialSymbol> symbols;
  for (uint32_t index = 0; index < alphabet.characters().size(); ++index) {
    std::string utf8;
    append_utf8(utf8, alphabet.characters()[index].code);
    const bool is_mark = utf8 == kSpaceMarkUtf8;
    symbols.push_back({std::move(utf8), 1, alphabet.script_span(index), is_mark, is_mark});
  }
  MergeRule rule;
  rule.max_length = options.max_sentencepiece_length;
  rule.split_by_whitespace = options.split_by_whitespace;
  rule.allow_whitespace_only_pieces = options.allow_whitespace_only_pieces;
  rule.treat_whitespace_as_suffix = options.treat_whitespace_as_suffix;
  const auto make_text = [&] {
    const WordTable chunks = split_into_chunks(words, alphabet, options, checkpoint);
    return std::pair(ChunkText(chunks, alphabet), chunks.total());
  };
  const uint64_t wanted = vocab_size - taken;
  result.merges = run_with_guess(make_text, symbols, rule, wanted, minimum_frequency, progress, checkpoint);
  if (selects) select_characters(result, wanted);
  return result;
}

}  // namespace piecework

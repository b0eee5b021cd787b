// Training from counts of words, as SentencePiece does it.
#include <utility>

#include "system/memory.hpp"
#include "train/auto_coverage.hpp"
#include "train/chunk_text.hpp"
#include "train/chunks.hpp"
#include "train/guessed_training.hpp"
#include "train/trainer.hpp"
#include "train/training_setup.hpp"

namespace piecework {

TrainingResult train_bpe(const WordTables& tables, const TrainingOptions& options, uint64_t vocab_size,
                         uint64_t minimum_frequency, const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  ChunkedWords found = split_into_chunks(tables, options, checkpoint);
  const Alphabet alphabet(std::move(found.characters), options);
  TrainingResult result;
  result.characters = alphabet.characters();
  result.character_count = alphabet.total();
  const bool selects = options.auto_character_coverage;
  const uint64_t taken = options.meta_pieces.size() + (selects ? 0 : alphabet.characters().size());
  if (taken >= vocab_size) return result;
  const std::vector<InitialSymbol> symbols = initial_symbols(alphabet);
  const MergeRule rule = merge_rule(options);
  bool is_first = true;
  const auto make_text = [&] {
    return_freed_memory();
    // The chunks take memory that training needs, so another attempt finds them again.
    WordTable chunks = std::exchange(is_first, false) ? std::move(found.chunks)
                                                      : split_into_chunks(tables, options, checkpoint).chunks;
    keep_within(alphabet, chunks);
    return std::pair(ChunkText(chunks, alphabet), chunks.total());
  };
  const uint64_t wanted = vocab_size - taken;
  result.merges = run_with_guess(make_text, symbols, rule, wanted, minimum_frequency, progress, checkpoint);
  if (selects) select_characters(result, wanted);
  return result;
}

}  // namespace piecework

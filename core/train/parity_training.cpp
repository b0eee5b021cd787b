#include "train/parity_training.hpp"

#include <algorithm>
#include <utility>

#include "text/utf8.hpp"
#include "train/chunks.hpp"
#include "train/guessed_training.hpp"
#include "train/parity_languages.hpp"
#include "train/training_setup.hpp"

namespace piecework {
namespace {

// The tokens of a table before any merge: its characters, and the bytes of those outside the alphabet.
uint64_t initial_tokens(const WordTable& words, const Alphabet& alphabet, const TrainingOptions& options) {
  FormMaker forms(options);
  const uint64_t tokens_of_mark = alphabet.contains(kSpaceMark) ? 1 : kSpaceMarkUtf8.size();
  uint64_t total = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const Word word = words.at(i);
    const TrainingForm form = forms.form(word);
    uint64_t tokens = form.marked ? tokens_of_mark : 0;
    for (const char *p = form.text.data(), *last = p + form.text.size(); p < last;) {
      const Decoded c = decode_utf8(p, last);
      if (c.code == ' ') {
        tokens += tokens_of_mark;
      } else {
        tokens += c.code == options.boundary || alphabet.contains(c.code) ? 1 : c.length;
      }
      p += c.length;
    }
    total = add_counts(total, multiply_counts(tokens, word.count));
  }
  return total;
}

}  // namespace

TrainingResult train_parity_bpe(const WordTable& all_words, const std::vector<ParityTables>& languages,
                                const TrainingOptions& options, uint64_t vocab_size, uint64_t minimum_frequency,
                                const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  const Alphabet alphabet(all_words, options, checkpoint);
  TrainingResult result;
  result.characters = alphabet.characters();
  result.character_count = alphabet.total();
  const uint64_t taken = options.meta_pieces.size() + alphabet.characters().size();
  if (taken >= vocab_size) return result;
  const std::vector<InitialSymbol> symbols = initial_symbols(alphabet);
  const MergeRule rule = merge_rule(options);
  std::vector<ParityLanguage> parts;
  for (const ParityTables& tables : languages) {
    const auto text_of = [&](const WordTable& words) {
      WordTable chunks = split_into_chunks(one_table(words), options, checkpoint).chunks;
      keep_within(alphabet, chunks);
      return ParityText(ChunkText(chunks, alphabet), symbols, rule, checkpoint);
    };
    parts.push_back({text_of(*tables.training), text_of(*tables.development),
                     initial_tokens(*tables.development, alphabet, options)});
  }
  result.merges =
      merge_with_parity(parts, rule, vocab_size - taken, std::max<uint64_t>(minimum_frequency, 1), progress);
  return result;
}

ByteLevelTrainingResult train_parity_byte_level_bpe(const std::vector<ParityTables>& languages,
                                                    const ByteLevelTrainingOptions& options, uint64_t vocab_size,
                                                    const Progress& progress) {
  const Checkpoint checkpoint = checkpoint_of(progress);
  ByteAlphabet alphabet(options.special_tokens);
  const std::vector<InitialSymbol> symbols = initial_symbols(alphabet);
  MergeRule rule = merge_rule(options);
  rule.ties_by_ids = false;
  rule.ties_by_greater_strings = true;
  std::vector<ParityLanguage> parts;
  for (const ParityTables& tables : languages) {
    const auto text_of = [&](const WordTable& pre_tokens) {
      return ParityText(ChunkText(pre_tokens, alphabet.byte_symbols), symbols, rule, checkpoint);
    };
    uint64_t length = 0;
    for (size_t i = 0; i < tables.development->size(); ++i) {
      const Word pre_token = tables.development->at(i);
      length = add_counts(length, multiply_counts(pre_token.bytes.size(), pre_token.count));
    }
    parts.push_back({text_of(*tables.training), text_of(*tables.development), length});
  }
  ByteLevelTrainingResult result{{}, std::move(alphabet.symbols)};
  if (result.alphabet.size() >= vocab_size) return result;
  result.merges = merge_with_parity(parts, rule, vocab_size - result.alphabet.size(),
                                    std::max<uint64_t>(options.min_frequency, 1), progress);
  return result;
}

}  // namespace piecework

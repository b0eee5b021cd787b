// Continues BPE training from the vocabulary of a tokenizer, on the counts of new text.
//
// The text is encoded with the old tokenizer, and its tokens are the symbols that training starts with. So at every
// step the symbols are the encoding of the text with the pieces so far, and encoding can produce each new piece.
// docs/extend.md has the definition and the proof.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/byte_level_encoder.hpp"
#include "encode/encoder.hpp"
#include "train/trainer.hpp"

namespace piecework {

struct Extension {
  // New characters, the most frequent first; byte-level vocabularies have all bytes already.
  std::vector<Character> characters;
  // In the order of training. `left` and `right` are ids: old ids first, then the new characters, then the new merges.
  std::vector<Merge> merges;
};

// `options` are those that the model was trained with; its meta pieces are boundaries. `wanted` is the number of new
// characters and merges. There are fewer only if no pair is left that occurs `minimum_frequency` times (at least 1).
Extension extend_bpe(const Encoder& encoder, const WordTable& words, const TrainingOptions& options, uint64_t wanted,
                     uint64_t minimum_frequency, const Progress& progress);

struct ByteLevelVocabulary {
  std::vector<std::string> tokens;   // by id, as bytes; empty if text is never encoded as this id
  std::vector<std::string> cut_out;  // special and added tokens, which never merge with text
  bool merges_any_split = false;     // the tokenizer has ranks and no merges, like tiktoken
};

Extension extend_byte_level_bpe(const ByteLevelEncoder& encoder, const ByteLevelVocabulary& vocabulary,
                                const WordTable& pre_tokens, uint64_t wanted, uint64_t minimum_frequency,
                                const Progress& progress);

}  // namespace piecework

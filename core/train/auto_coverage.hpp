// auto_character_coverage: decides how many merges and which characters share a vocabulary.
#pragma once

#include <cstdint>

#include "train/trainer.hpp"

namespace piecework {

// Keeps a prefix of the merges and some of the characters, `budget` pieces at most, as SentencePiece 0.2.3 does.
//
// A character that is no piece is encoded as its UTF-8 bytes. So a character of b bytes that occurs n times saves
// (b - 1) * n tokens, and a merge saves as many tokens as its frequency. With k merges, every character of their pieces
// must be in the vocabulary; the rest of the budget goes to the characters that save most. The k that saves most wins;
// if several k save the same, the largest wins.
//
// At the start, `result.characters` has all characters. At the end, it has those of the vocabulary: first the
// characters of the pieces, by code point, then the others, by the tokens that they save.
void select_characters(TrainingResult& result, uint64_t budget);

}  // namespace piecework

// Splits words into chunks: what is between two places that no merge crosses.
#pragma once

#include "count/word_table.hpp"
#include "train/alphabet.hpp"

namespace piecework {

// What one pass over the words of a text gives. The chunks follow from the rules of merges alone, since which
// characters are in the alphabet is known only after the pass. The opens_line flag of a chunk is set when it does NOT
// start with ▁. On 100 MB of text 1.2 million words become 0.5 million chunks.
struct ChunkedWords {
  WordTable chunks;
  CharacterCounts characters;
};
ChunkedWords split_into_chunks(const WordTables& tables, const TrainingOptions& options,
                               const Checkpoint& checkpoint = {});

// Takes the characters outside the alphabet out of the chunks: nothing merges across them. Chunks that had some have
// the count 0.
void keep_within(const Alphabet& alphabet, WordTable& chunks);

}  // namespace piecework

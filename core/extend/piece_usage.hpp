// How often each piece is a token of counted text.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/byte_level_encoder.hpp"
#include "encode/encoder.hpp"
#include "train/alphabet.hpp"

namespace piecework {

// Counts by id. `options` tell how words are marked. Their meta pieces should be pieces that no text spells, or none.
std::vector<uint64_t> piece_usage(const Encoder& encoder, const WordTable& words, const TrainingOptions& options,
                                  const Checkpoint& checkpoint);
std::vector<uint64_t> piece_usage(const ByteLevelEncoder& encoder, size_t vocab_size, const WordTable& pre_tokens,
                                  const Checkpoint& checkpoint);

}  // namespace piecework

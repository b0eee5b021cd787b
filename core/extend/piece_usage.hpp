// How often each piece is a token of counted text.
#pragma once

#include <cstdint>
#include <vector>

#include "encode/byte_level_encoder.hpp"
#include "encode/encoder.hpp"
#include "train/alphabet.hpp"

namespace piecework {

// By id. `options` say how words are marked; their meta pieces should be those that text never spells, or none.
std::vector<uint64_t> piece_usage(const Encoder& encoder, const WordTable& words, const TrainingOptions& options,
                                  const Checkpoint& checkpoint);
std::vector<uint64_t> piece_usage(const ByteLevelEncoder& encoder, size_t vocab_size, const WordTable& pre_tokens,
                                  const Checkpoint& checkpoint);

}  // namespace piecework

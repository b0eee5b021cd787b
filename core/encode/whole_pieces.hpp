// Which pieces stay one token between given texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "encode/encoder.hpp"

namespace piecework {

// The texts around a piece, and the ids that these texts have there.
struct Frame {
  std::string before, after;
  std::vector<uint32_t> ids_before, ids_after;
  bool plain_spaces;  // write the piece with a space for each ▁
};

// For each piece, 1 if it is one token in the frame, else 0.
std::vector<uint8_t> whole_pieces(const Encoder& encoder, const Frame& frame);

}  // namespace piecework

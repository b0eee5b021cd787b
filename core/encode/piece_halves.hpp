// The two pieces that the last merge of each piece joins.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/encoder.hpp"

namespace piecework {

// For each piece, the ids of its halves; -1 and -1 for a piece that no merge makes. `border` is a character that is in
// no piece.
std::vector<std::array<int64_t, 2>> piece_halves(const Encoder& encoder, std::string_view border);

}  // namespace piecework

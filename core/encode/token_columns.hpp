// The tokens of texts with their offsets, in columns.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/encoder.hpp"

namespace piecework {

// Token i is piece `ids[i]` and covers the characters from `starts[i]` to `ends[i]` of its text, as encode_spans()
// gives them.
struct TokenColumns {
  std::vector<uint32_t> ids, starts, ends;
};

// Appends the tokens of a text.
void append_tokens(const Encoder& encoder, std::string_view text, TokenColumns& columns);

}  // namespace piecework

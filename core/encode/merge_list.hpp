// The list of merges that other runtimes read.
#pragma once

#include <string>

#include "encode/encoder.hpp"

namespace piecework {

// A JSON list of pairs of texts: every split of a normal piece into two. The highest score comes first; if scores are
// equal, the longest left part. A piece with a plain space has no splits: no normalised text contains it.
std::string merges_json(const Encoder& encoder);

}  // namespace piecework

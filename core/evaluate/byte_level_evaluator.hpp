// Totals of a byte-level tokenizer from counted pre-tokens, for all groups and all vocabulary sizes.
#pragma once

#include "encode/byte_level_encoder.hpp"
#include "evaluate/evaluator.hpp"

namespace piecework {

// Like the function of the same name for SentencePiece. `units` are pre-tokens with their context. Only the number of
// `request.merges` is used. A space (Ġ) at the start of a token has the role that ▁ has in SentencePiece.
Evaluation evaluate_units(const ByteLevelEncoder& encoder, UnitSet& units, const EvaluationRequest& request);

}  // namespace piecework

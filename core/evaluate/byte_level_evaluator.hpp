// Totals of a byte-level tokenizer from counted pre-tokens, for all groups and all vocabulary sizes.
#pragma once

#include "encode/byte_level_encoder.hpp"
#include "evaluate/evaluator.hpp"

namespace piecework {

// As the function of the same name for SentencePiece. `units` are pre-tokens with their context. Of `request.merges`
// only the number counts. A token starts with a space (Ġ) where a token of SentencePiece starts with ▁.
Evaluation evaluate_units(const ByteLevelEncoder& encoder, UnitSet& units, const EvaluationRequest& request);

}  // namespace piecework

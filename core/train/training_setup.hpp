// The start of training on words and on pre-tokens: the first symbols and the rule of merges.
#pragma once

#include <vector>

#include "train/byte_alphabet.hpp"
#include "train/merge_trainer.hpp"

namespace piecework {

std::vector<InitialSymbol> initial_symbols(const Alphabet& alphabet);
std::vector<InitialSymbol> initial_symbols(const ByteAlphabet& alphabet);

MergeRule merge_rule(const TrainingOptions& options);
MergeRule merge_rule(const ByteLevelTrainingOptions& options);

}  // namespace piecework

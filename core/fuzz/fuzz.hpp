// What the fuzz targets share: a check that throws, texts from random choices, and the list of targets.
//
// A target takes its choices from a Random. For the random driver that is a generator with a seed; for a
// coverage-guided fuzzer it is the input, so that a mutation of the input is a mutation of the choices
// (core/tests/words.hpp).
#pragma once

#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "text/utf8.hpp"
#include "train/alphabet.hpp"
#include "words.hpp"

namespace piecework::tests {

[[noreturn]] inline void fail(const char* what, const char* file, int line) {
  std::ostringstream out;
  out << file << ":" << line << ": " << what;
  throw std::logic_error(out.str());
}
#define REQUIRE(condition) ((condition) ? void() : fail(#condition, __FILE__, __LINE__))

struct Target {
  std::string_view name;
  void (*run)(Random& random);
};

void fuzz_counting(Random& random);
void fuzz_training(Random& random);
void fuzz_encoding(Random& random);
void fuzz_strange_model(Random& random);
void fuzz_model_file(Random& random);
void fuzz_normalizing(Random& random);
void fuzz_spill_files(Random& random);
void fuzz_evaluating(Random& random);
void fuzz_pre_tokenizing(Random& random);
void fuzz_extending(Random& random);
void fuzz_byte_level_training(Random& random);
void fuzz_byte_level_encoding(Random& random);
void fuzz_parity_training(Random& random);

inline constexpr Target kTargets[] = {
    {"counting", fuzz_counting},
    {"training", fuzz_training},
    {"encoding", fuzz_encoding},
    {"strange_model", fuzz_strange_model},
    {"model_file", fuzz_model_file},
    {"normalizing", fuzz_normalizing},
    {"spill_files", fuzz_spill_files},
    {"evaluating", fuzz_evaluating},
    {"pre_tokenizing", fuzz_pre_tokenizing},
    {"extending", fuzz_extending},
    {"byte_level_training", fuzz_byte_level_training},
    {"byte_level_encoding", fuzz_byte_level_encoding},
    {"parity_training", fuzz_parity_training},
};

inline std::string any_text(Random& random) {
  return random.chance(2) ? random.bytes(random.below(200)) : random.text(random.below(200));
}

inline std::string repaired(std::string_view text) {
  uint64_t replaced = 0;
  return replace_invalid_utf8(text, replaced);
}

inline std::string with_spaces_for_marks(std::string text) {
  for (size_t at = 0; (at = text.find(kSpaceMarkUtf8, at)) != text.npos;) text.replace(at, 3, " ");
  return text;
}

// Random words, counted.
WordTable any_words(Random& random);
// A few short words, for definitions that are slow.
WordTable few_words(Random& random);
// Options of training that the slow definition knows (core/tests/slow_trainer.hpp).
TrainingOptions any_plain_options(Random& random);
// Merges and characters of a vocabulary that is trained on random words.
std::vector<std::string> any_pieces(Random& random, const WordTable& words, bool add_dummy_prefix);

}  // namespace piecework::tests

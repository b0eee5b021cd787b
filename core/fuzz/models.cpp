// Files of models: vocabularies and normalisation rules, as written and damaged.
#include "models.hpp"

#include <algorithm>
#include <vector>

#include "encode/encoder.hpp"
#include "encode/merge_list.hpp"
#include "fuzz.hpp"
#include "model/vocabulary.hpp"

namespace piecework::tests {
namespace {

// A written file is read back with the same contents. A damaged file is read without harm.
void check_vocabulary(Random& random, const Model& model) {
  const Vocabulary vocabulary{model.pieces, model.scores, model.types};
  std::string file = write_pieces(vocabulary);
  const Vocabulary again = read_pieces(file);
  REQUIRE(again.texts == model.pieces && again.scores == model.scores && again.types == model.types);
  for (uint64_t changes = 1 + random.below(8); changes > 0; --changes) {
    file[random.below(file.size())] = static_cast<char>(random.below(256));
  }
  if (random.chance(2)) file.resize(random.below(file.size()));
  try {
    const Vocabulary damaged = read_pieces(file);
    REQUIRE(damaged.scores.size() == damaged.size() && damaged.types.size() == damaged.size());
    vocab_text(damaged);
    ids_json(damaged);
    tied_pieces(damaged);
    merges_json(Encoder({damaged.texts, damaged.scores, damaged.types}));
  } catch (const ModelError&) {
  }
}

// Any bytes at all.
void check_any_file(Random& random) {
  try {
    const Vocabulary vocabulary = read_pieces(random.bytes(random.below(400)));
    REQUIRE(vocabulary.scores.size() == vocabulary.size() && vocabulary.types.size() == vocabulary.size());
  } catch (const ModelError&) {
  }
}

}  // namespace

void fuzz_model_file(Random& random) {
  check_any_file(random);
  std::vector<std::string> pieces;
  for (uint64_t i = 0, count = 1 + random.below(20); i < count; ++i) pieces.push_back(repaired(any_text(random)));
  check_vocabulary(random, model_of(pieces, random.chance(2), {"ab"}));
}

void fuzz_normalizing(Random& random) {
  static const std::string good = charsmap_of(
      {{"A", "a"}, {"AB", "x y"}, {"\xC3\x84", "\xC3\xA4"}, {" ", ""}, {"\t", " "}, {"\xE2\x96\x81", "_"}, {"", "!"}});
  Model model;
  model.charsmap = good;
  for (uint64_t changes = random.below(12); changes > 0; --changes) {
    // Half of the changes hit the few units that are in use.
    size_t at = random.below(model.charsmap.size());
    while (random.chance(2) && good[at] == 0) at = random.below(model.charsmap.size());
    model.charsmap[at] = static_cast<char>(random.below(256));
  }
  if (random.chance(20)) model.charsmap.resize(random.below(model.charsmap.size()));
  model.add_dummy_prefix = random.chance(2);
  model.remove_extra_whitespaces = random.chance(2);
  model.escape_whitespaces = random.chance(2);
  model.treat_whitespace_as_suffix = random.chance(2);
  try {
    const Normalizer normalizer = make_normalizer(model);
    for (int i = 0; i < 3; ++i) {
      std::string text = any_text(random);
      for (char& c : text) c = random.chance(4) ? "AB\xC3\x84\t "[random.below(6)] : c;
      std::string with_origins, without;
      std::vector<size_t> origins;
      normalizer.normalize(text, with_origins, &origins);
      normalizer.normalize(text, without);
      REQUIRE(with_origins == without);
      REQUIRE(origins.size() == with_origins.size() + 1);
      REQUIRE(std::is_sorted(origins.begin(), origins.end()) && origins.back() <= text.size());
    }
  } catch (const ModelError&) {
  }
}

}  // namespace piecework::tests

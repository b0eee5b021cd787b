// Extending: each new piece joins two earlier symbols, and is as frequent in the encoded text as training said.
#include <algorithm>
#include <set>
#include <vector>

#include "encode/encoder.hpp"
#include "extend/extension.hpp"
#include "extend/piece_usage.hpp"
#include "fuzz.hpp"
#include "models.hpp"

namespace piecework::tests {
namespace {

struct Start {
  TrainingOptions options;
  Model model;
};

// A model that is trained on a few random words.
Start any_start(Random& random) {
  Start start;
  start.options.add_dummy_prefix = random.chance(2);
  start.options.split_digits = random.chance(2);
  start.options.character_coverage = random.chance(2) ? 1.0F : 0.98F;
  start.options.meta_pieces = {"<unk>", "<s>"};
  const TrainingResult trained = train_bpe(any_words(random), start.options, 10 + random.below(120), 0, {});
  std::vector<std::string> pieces;
  for (const Merge& merge : trained.merges) pieces.push_back(merge.piece);
  for (const Character& c : trained.characters) append_utf8(pieces.emplace_back(), c.code);
  start.model = model_of(pieces, random.chance(2));
  start.model.add_dummy_prefix = start.options.add_dummy_prefix;
  return start;
}

void add_piece(Model& model, const std::string& piece) {
  model.scores.push_back(-static_cast<float>(model.size()) - 1);
  model.types.push_back(PieceType::normal);
  model.pieces.push_back(piece);
}

}  // namespace

void fuzz_extending(Random& random) {
  const Start start = any_start(random);
  const Encoder encoder(start.model);
  const WordTable words = any_words(random);
  const uint64_t wanted = random.below(60), minimum_frequency = 1 + random.below(3);
  const Extension extension = extend_bpe(encoder, words, start.options, wanted, minimum_frequency, {});
  REQUIRE(extension.characters.size() + extension.merges.size() <= wanted);

  Model larger = start.model;
  for (const Character& c : extension.characters) {
    std::string piece;
    append_utf8(piece, c.code);
    add_piece(larger, piece);
  }
  const uint64_t shown = extension.merges.empty() ? 0 : random.below(extension.merges.size());
  uint64_t previous = UINT64_MAX;
  for (size_t i = 0; i < extension.merges.size(); ++i) {
    const Merge& merge = extension.merges[i];
    REQUIRE(merge.left < larger.size() && merge.right < larger.size());
    REQUIRE(merge.piece == larger.pieces[merge.left] + larger.pieces[merge.right]);
    REQUIRE(merge.frequency >= minimum_frequency && merge.frequency <= previous);
    previous = merge.frequency;
    add_piece(larger, merge.piece);
    if (i == shown) {
      const std::vector<uint64_t> usage = piece_usage(Encoder(larger), words, start.options, {});
      REQUIRE(usage.back() >= 1);
      // Occurrences of a pair of two different symbols never overlap.
      REQUIRE(merge.left == merge.right || usage.back() == merge.frequency);
    }
  }
  REQUIRE((std::set<std::string>(larger.pieces.begin(), larger.pieces.end()).size() == larger.pieces.size()));
  // If ▁ is no piece, it is encoded as bytes, and decoding gives ▁ instead of a space.
  const bool has_mark = std::count(larger.pieces.begin(), larger.pieces.end(), kSpaceMarkUtf8) > 0;
  const Encoder extended(larger);
  for (int i = 0; i < 3; ++i) {
    const std::string text = any_text(random);
    std::vector<uint32_t> ids;
    extended.encode(text, ids);
    if (larger.byte_fallback && has_mark) REQUIRE(extended.decode(ids) == with_spaces_for_marks(repaired(text)));
  }
}

}  // namespace piecework::tests

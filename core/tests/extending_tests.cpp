// Extending a vocabulary: worked examples, and random models. Encoding must reach every new piece.
#include <random>

#include "check.hpp"
#include "extend/extension.hpp"
#include "extend/piece_usage.hpp"
#include "models.hpp"
#include "words.hpp"

namespace piecework {
namespace {

using namespace tests;
using Pieces = std::vector<std::string>;

Pieces pieces_of(const Extension& extension) {
  Pieces out;
  for (const Character& c : extension.characters) append_utf8(out.emplace_back(), c.code);
  for (const Merge& merge : extension.merges) out.push_back(merge.piece);
  return out;
}

TEST(extending_merges_old_tokens_and_adds_characters_first) {
  const Encoder encoder(model_of({"ha", "▁ha", "a", "h", "▁"}));
  const WordTable words = table_of({{"▁haha", 3}, {"▁hax", 1}});
  TrainingOptions options;
  options.character_coverage = 1;
  const Extension extension = extend_bpe(encoder, words, options, 9, 1, {});
  CHECK_EQUAL(pieces_of(extension), (Pieces{"x", "▁haha", "▁hax"}));
  CHECK_EQUAL(extension.merges[0].frequency, uint64_t{3});
  CHECK_EQUAL(extension.merges[0].left, uint32_t{3});  // ▁ha
}

TEST(extending_does_not_complete_an_unreachable_piece) {
  // "abc" is never reached, as neither "ab" nor "bc" is a piece. "ab" is not made, because then "abc" would be reached.
  const Encoder encoder(model_of({"abc", "a", "b", "c", "▁"}));
  TrainingOptions options;
  options.character_coverage = 1;
  const Extension extension = extend_bpe(encoder, table_of({{"▁cab", 5}}), options, 9, 1, {});
  CHECK_EQUAL(pieces_of(extension), (Pieces{"ca", "cab", "▁cab"}));
}

TEST(extending_random_models_reaches_every_new_piece) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto word = [&] {
      std::string text;
      for (size_t n = 1 + random() % 9; n > 0; --n) text += "abc"[random() % 3];
      return text;
    };
    Counts counts;
    for (size_t n = 1 + random() % 8; n > 0; --n) counts[std::string(kSpaceMarkUtf8) + word()] += 1 + random() % 5;
    Pieces pieces;
    for (size_t n = random() % 6; n > 0; --n) {
      const std::string piece = word();
      if (piece.size() > 1 && std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) pieces.push_back(piece);
    }
    for (const char* character : {"a", "b", "▁"}) pieces.push_back(character);
    const Model model = model_of(pieces, random() % 2);
    TrainingOptions options;
    options.character_coverage = 1;
    const Pieces added = pieces_of(extend_bpe(Encoder(model), table_of(counts), options, 6, 1, {}));
    Model extended = model;
    for (const std::string& piece : added) {
      extended.pieces.push_back(piece);
      extended.scores.push_back(-100 - static_cast<float>(extended.size()));
      extended.types.push_back(PieceType::normal);
    }
    const Encoder encoder(extended);
    for (size_t id = model.size(); id < extended.size(); ++id) {
      if (extended.pieces[id].size() > 3) CHECK(encoder.trees()[static_cast<uint32_t>(id)].time != MergeTrees::kNever);
    }
    const std::vector<uint64_t> usage = piece_usage(encoder, table_of(counts), options, {});
    CHECK_EQUAL(usage.size(), extended.size());
  }
}

TEST(extending_bytes_merges_tokens) {
  ByteLevelVocabulary vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte) vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  vocabulary.tokens.push_back("ab");
  vocabulary.cut_out = {"<x>"};
  vocabulary.merges_any_split = true;
  const ByteLevelEncoder encoder({vocabulary.tokens, std::nullopt, true}, std::nullopt);
  WordTable words;
  words.add("abab", true, 3);
  words.add("ab<x>c", true, 2);
  words.add(std::string(60, 'a'), true, 1);
  const Extension extension = extend_byte_level_bpe(encoder, vocabulary, words, 2, 2, {});
  CHECK_EQUAL(pieces_of(extension), (Pieces{"aa", "aaaa"}));
  CHECK_EQUAL(piece_usage(encoder, 257, words, {})[256], uint64_t{8});
}

}  // namespace
}  // namespace piecework

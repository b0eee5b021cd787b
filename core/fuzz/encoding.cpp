// Encoding: models of trained pieces are compared with a slow encoder. Models that no training makes must do no harm.
#include <algorithm>
#include <vector>

#include "encode/encoder.hpp"
#include "encode/whole_pieces.hpp"
#include "fuzz.hpp"
#include "models.hpp"
#include "slow_encoder.hpp"

namespace piecework::tests {
namespace {

// A model that can spell everything, so that decoding gives back the text.
Model any_model(Random& random, std::vector<std::string> pieces, bool add_dummy_prefix) {
  std::vector<std::string> symbols;
  for (const char* symbol : {"<|x|>", "ab",
                             "\xE2\x96\x81"
                             "a"}) {
    if (random.chance(3)) symbols.push_back(symbol);
  }
  symbols.push_back(std::string(kSpaceMarkUtf8));
  if (random.chance(2)) symbols.pop_back();
  std::erase_if(pieces, [&](const std::string& piece) {
    return std::find(symbols.begin(), symbols.end(), piece) != symbols.end() || piece == kSpaceMarkUtf8;
  });
  if (symbols.empty() || symbols.back() != kSpaceMarkUtf8) pieces.emplace_back(kSpaceMarkUtf8);
  for (const std::string& run : {"\xE2\x96\x81\xE2\x96\x81", "\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81"}) {
    if (random.chance(2)) pieces.push_back(run);
  }
  Model model = model_of(pieces, true, symbols);
  model.add_dummy_prefix = add_dummy_prefix;
  if (random.chance(3)) {
    for (float& score : model.scores) score = -static_cast<float>(random.below(8));
  }
  return model;
}

void check_encoding(Random& random, const Encoder& encoder, const SlowEncoder& slow) {
  const Model& model = encoder.model();
  std::vector<std::string> texts{any_text(random), any_text(random), std::string(random.below(60), 'a')};
  for (std::string& text : texts) {
    if (random.chance(8)) text += random.pick(model.pieces);
  }
  std::vector<uint32_t> one_by_one;
  for (const std::string& text : texts) {
    std::vector<uint32_t> ids;
    encoder.encode(text, ids);
    one_by_one.insert(one_by_one.end(), ids.begin(), ids.end());
    REQUIRE(encoder.decode(ids) == with_spaces_for_marks(repaired(text)));
    if (random.chance(3)) REQUIRE(ids == slow.encode(text));

    const std::vector<TokenSpan> spans = encoder.encode_spans(text);
    REQUIRE(spans.size() == ids.size());
    size_t end = 0;
    for (size_t token = 0; token < spans.size(); ++token) {
      REQUIRE(spans[token].id == ids[token]);
      REQUIRE(spans[token].begin == end && spans[token].end >= end);
      end = spans[token].end;
    }
    REQUIRE(end == text.size());
  }
  if (random.chance(20)) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const std::vector<IdBatch> batches = encoder.encode_batch(TextViews(views, false), 3);
    REQUIRE(batches.size() == 1 && batches[0].ends.size() == texts.size());
    REQUIRE(batches[0].ids == one_by_one);
  }
  std::vector<uint32_t> ids(random.below(30));
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random.below(model.size()));
  const std::string decoded = encoder.decode(ids);
  REQUIRE(find_invalid_utf8(decoded) == decoded.size());
}

// whole_pieces() gives the same result as encoding each piece in its frame.
void check_whole_pieces(Random& random, const Encoder& encoder) {
  const Model& model = encoder.model();
  const std::string border = "\xF4\x8F\xBC\x80";
  Frame frame{random.chance(2) ? border : random.pick(model.pieces), random.chance(2) ? border : "", {}, {}, false};
  frame.plain_spaces = random.chance(2);
  encoder.encode(frame.before, frame.ids_before);
  if (!frame.after.empty()) {
    encoder.encode(border, frame.ids_after);
    const size_t tokens = std::min(frame.ids_after.size(), model.byte_fallback ? border.size() : 1);
    frame.ids_after.erase(frame.ids_after.begin(), frame.ids_after.end() - static_cast<std::ptrdiff_t>(tokens));
  }
  const std::vector<uint8_t> whole = whole_pieces(encoder, frame);
  REQUIRE(whole.size() == model.size());
  for (uint32_t id = 0; id < model.size(); ++id) {
    const std::string piece = frame.plain_spaces ? with_spaces_for_marks(model.pieces[id]) : model.pieces[id];
    std::vector<uint32_t> ids, expected = frame.ids_before;
    encoder.encode(frame.before + piece + frame.after, ids);
    expected.push_back(id);
    expected.insert(expected.end(), frame.ids_after.begin(), frame.ids_after.end());
    REQUIRE(whole[id] == (ids == expected));
  }
}

// A model with random contents: it is refused, or it works without harm.
void check_strange_model(Random& random, const std::vector<std::string>& pieces) {
  Model model = model_of(pieces, random.chance(2), {"ab", " ", "a b", "\xE2\x96\x81\xE2\x96\x81"});
  for (uint64_t changes = random.below(4); changes > 0; --changes) {
    const size_t id = random.below(model.size());
    if (random.chance(2)) model.types[id] = static_cast<PieceType>(1 + random.below(6));
    if (random.chance(8)) model.pieces[id] = random.bytes(random.below(9));
  }
  for (size_t id = 0; id < model.size(); ++id) {
    if (model.types[id] == PieceType::normal && random.chance(4)) model.types[id] = PieceType::unused;
  }
  model.add_dummy_prefix = random.chance(2);
  model.remove_extra_whitespaces = random.chance(2);
  model.escape_whitespaces = !random.chance(4);
  model.treat_whitespace_as_suffix = random.chance(4);
  if (random.chance(2)) model.charsmap = charsmap_of({{"a", "b"}, {"b", "  "}, {" ", ""}, {"\xC3\xA5", "\xFF"}});
  try {
    const Encoder encoder(model);
    check_whole_pieces(random, encoder);
    for (int i = 0; i < 5; ++i) {
      const std::string text = any_text(random);
      std::vector<uint32_t> ids;
      encoder.encode(text, ids);
      const std::vector<TokenSpan> spans = encoder.encode_spans(text);
      REQUIRE(spans.size() == ids.size());
      for (size_t token = 0; token < spans.size(); ++token) {
        REQUIRE(spans[token].id == ids[token] && spans[token].begin <= spans[token].end);
        REQUIRE(spans[token].end <= text.size());
      }
      encoder.decode(ids);
    }
  } catch (const ModelError&) {
  }
}

}  // namespace

void fuzz_encoding(Random& random) {
  const bool prefix = random.chance(2);
  const Encoder encoder(any_model(random, any_pieces(random, any_words(random), prefix), prefix));
  const SlowEncoder slow(encoder.model());
  check_whole_pieces(random, encoder);
  for (int i = 0; i < 30; ++i) check_encoding(random, encoder, slow);
}

void fuzz_strange_model(Random& random) {
  check_strange_model(random, any_pieces(random, any_words(random), random.chance(2)));
}

}  // namespace piecework::tests

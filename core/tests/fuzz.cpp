// Random bytes into every part of the core, under the sanitizers, with what must hold whatever the bytes are.
// core_fuzz [iterations] [seed]: the same seed gives the same inputs; a failure names the iteration.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "count/word_counter.hpp"
#include "encode/encoder.hpp"
#include "encode/merge_list.hpp"
#include "encode/whole_pieces.hpp"
#include "model/vocabulary.hpp"
#include "models.hpp"
#include "slow_encoder.hpp"
#include "train/trainer.hpp"
#include "words.hpp"

namespace piecework::tests {
namespace {

// A trainer or an encoder takes milliseconds to build under the sanitizers: one serves this many iterations.
constexpr uint64_t kBuildEvery = 400;

[[noreturn]] void fail(const char* what, int line) {
  std::ostringstream out;
  out << "fuzz.cpp:" << line << ": " << what;
  throw std::runtime_error(out.str());
}
#define REQUIRE(condition) ((condition) ? void() : fail(#condition, __LINE__))

std::string any_text(Random& random) {
  return random.chance(2) ? random.bytes(random.below(200)) : random.text(random.below(200));
}

std::string repaired(std::string_view text) {
  uint64_t replaced = 0;
  return replace_invalid_utf8(text, replaced);
}

std::string with_spaces_for_marks(std::string text) {
  for (size_t at = 0; (at = text.find(kSpaceMarkUtf8, at)) != text.npos;) text.replace(at, 3, " ");
  return text;
}

// How many words the lines of a text have: one more than it has spaces and marks, in each line that counts.
uint64_t words_in(std::string_view document) {
  const std::string text = repaired(document);
  std::istringstream lines(text);
  uint64_t words = 0;
  for (std::string line; std::getline(lines, line, '\n');) {
    if (line.empty() || line.find(kUnknownMarkUtf8) != line.npos) continue;
    const std::string spaced = with_spaces_for_marks(line);
    words += 1 + static_cast<uint64_t>(std::count(spaced.begin(), spaced.end(), ' '));
  }
  return words;
}

WordTable fuzz_counting(Random& random) {
  std::vector<std::string> documents(1 + random.below(6));
  for (std::string& document : documents) document = any_text(random);
  if (random.chance(400)) {  // past the size at which a document is shared among threads
    while (documents[0].size() < 300'000) documents[0] += documents[0] + any_text(random) + "\n";
  }
  const std::vector<std::string_view> views(documents.begin(), documents.end());
  uint64_t words = 0, bytes = 0;
  for (const std::string& document : documents) {
    words += words_in(document);
    bytes += document.size();
  }
  WordCounter one(1, 0), three(3, 0);
  one.add(views, false);
  for (const std::string_view view : views) three.add({view}, false);
  REQUIRE(one.statistics().bytes == bytes);
  REQUIRE(one.statistics().lines == three.statistics().lines);
  REQUIRE(one.statistics().marked_lines == three.statistics().marked_lines);
  REQUIRE(one.statistics().invalid_bytes == three.statistics().invalid_bytes);
  WordTable table = one.finish();
  REQUIRE(table.total() == words);
  REQUIRE(counts_of(table) == counts_of(three.finish()));

  WordTable limited;
  CountStatistics statistics;
  for (const std::string_view view : views) count_document(view, false, 1 + random.below(50), limited, statistics);
  REQUIRE(limited.total() <= words);

  const std::vector<uint32_t> order = table.sorted();
  std::set<uint32_t> distinct(order.begin(), order.end());
  REQUIRE(distinct.size() == table.size());
  return table;
}

TrainingOptions any_options(Random& random) {
  TrainingOptions options;
  static constexpr float kCoverages[] = {0.5F, 0.98F, 0.9995F, 1.0F};
  static constexpr uint32_t kLengths[] = {1, 2, 3, 5, 16, 40};
  options.character_coverage = random.pick(kCoverages);
  options.max_sentencepiece_length = random.pick(kLengths);
  options.split_by_unicode_script = random.chance(2);
  options.split_by_number = random.chance(2);
  options.split_digits = random.chance(2);
  options.add_dummy_prefix = random.chance(2);
  options.meta_pieces = {"<unk>", "<s>"};
  if (random.chance(2))
    options.meta_pieces.insert(options.meta_pieces.end(), {"ab", "a",
                                                           "\xE2\x96\x81"
                                                           "b"});
  if (random.chance(4)) options.required_chars = U"x\u5B57";
  return options;
}

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

std::vector<std::string> fuzz_training(Random& random, const WordTable& table, const TrainingOptions& options) {
  const TrainingResult all = train_bpe(table, options, 300 + random.below(1'000), 0, {});
  std::vector<std::string> pieces;
  uint64_t previous = UINT64_MAX;
  for (const Merge& merge : all.merges) {
    REQUIRE(find_invalid_utf8(merge.piece) == merge.piece.size());
    REQUIRE(merge.piece.find(kSpaceMarkUtf8, 1) == std::string::npos);
    REQUIRE(characters_in(merge.piece) >= 2 && characters_in(merge.piece) <= options.max_sentencepiece_length);
    REQUIRE(merge.frequency <= previous);
    previous = merge.frequency;
    pieces.push_back(merge.piece);
  }
  const uint64_t wanted = random.below(all.merges.size() + 1);
  const TrainingResult some =
      train_bpe(table, options, options.meta_pieces.size() + all.characters.size() + wanted, 0, {});
  REQUIRE(some.merges.size() == wanted);
  for (size_t i = 0; i < wanted; ++i) {
    REQUIRE(some.merges[i].piece == all.merges[i].piece && some.merges[i].frequency == all.merges[i].frequency);
  }
  for (const Character& c : all.characters) append_utf8(pieces.emplace_back(), c.code);
  REQUIRE((std::set<std::string>(pieces.begin(), pieces.end()).size() == pieces.size()));
  return pieces;
}

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

void fuzz_encoding(Random& random, const Encoder& encoder, const SlowEncoder& slow) {
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
    const std::vector<Encoder::Batch> batches = encoder.encode_batch(views, 3);
    REQUIRE(batches.size() == 1 && batches[0].ends.size() == texts.size());
    REQUIRE(batches[0].ids == one_by_one);
  }
  std::vector<uint32_t> ids(random.below(30));
  for (uint32_t& id : ids) id = static_cast<uint32_t>(random.below(model.size()));
  const std::string decoded = encoder.decode(ids);
  REQUIRE(find_invalid_utf8(decoded) == decoded.size());
}

// What is known of a piece without encoding it is what encoding it gives.
void fuzz_whole_pieces(Random& random, const Encoder& encoder) {
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

// A model with anything allowed: it is refused, or works without harm.
void fuzz_strange_model(Random& random, const std::vector<std::string>& pieces) {
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
    fuzz_whole_pieces(random, encoder);
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

// The bytes of a file are read as they were written, and whatever they are, without harm.
void fuzz_vocabulary(Random& random, const Model& model) {
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
    const Normalizer normalizer(model);
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

void fuzz(uint64_t iterations, uint64_t seed) {
  std::vector<std::string> pieces;
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<SlowEncoder> slow;
  for (uint64_t i = 0; i < iterations; ++i) {
    Random random(seed * 1'000'003 + i / kBuildEvery * kBuildEvery);  // to run one iteration, run from its encoder on
    try {
      if (i % kBuildEvery == 0) {
        WordTable words = fuzz_counting(random);
        for (int more = 0; more < 4; ++more) words.merge(fuzz_counting(random));
        const TrainingOptions options = any_options(random);
        pieces = fuzz_training(random, words, options);
        encoder = std::make_unique<Encoder>(any_model(random, pieces, options.add_dummy_prefix));
        slow = std::make_unique<SlowEncoder>(encoder->model());
        fuzz_whole_pieces(random, *encoder);
        fuzz_strange_model(random, pieces);
      }
      Random own(seed * 1'000'003 + i);
      fuzz_counting(own);
      fuzz_encoding(own, *encoder, *slow);
      fuzz_normalizing(own);
      if (own.chance(10)) fuzz_vocabulary(own, encoder->model());
    } catch (const std::exception& error) {
      std::cerr << "iteration " << i << " of seed " << seed << ": " << error.what() << "\n";
      std::exit(1);
    }
  }
  std::cout << iterations << " iterations of seed " << seed << ", all well\n";
}

}  // namespace
}  // namespace piecework::tests

int main(int argc, char** argv) {
  const uint64_t iterations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  piecework::tests::fuzz(iterations, seed);
}

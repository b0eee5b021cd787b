// Byte-level BPE: pre-tokenizers cover every text, training follows its rule, and both ways to merge agree.
#include <map>
#include <random>

#include "check.hpp"
#include "count/pre_token_counter.hpp"
#include "encode/byte_level_encoder.hpp"
#include "model/model.hpp"
#include "pretokenize/pre_tokenizer.hpp"
#include "slow_byte_level_encoder.hpp"
#include "text/utf8.hpp"
#include "train/trainer.hpp"

namespace piecework {
namespace {

using namespace tests;
using Pieces = std::vector<std::string>;
using Rules = PreTokenizerRules;

constexpr Rules kGpt2{};
constexpr Rules kLlama3{Rules::Family::cl100k, Rules::Contractions::any_case, Rules::Digits::threes};
constexpr Rules kO200k{Rules::Family::o200k, Rules::Contractions::any_case, Rules::Digits::threes};
constexpr Rules kDeepseek{Rules::Family::deepseek, Rules::Contractions::none, Rules::Digits::right};

Pieces split(const Rules& rules, std::string_view text) {
  Pieces out;
  // An exact copy on the heap, so that reading past its end is seen.
  const std::vector<char> copy(text.begin(), text.end());
  PreTokenizer(rules).for_each({copy.data(), copy.size()}, [&](std::string_view part) { out.emplace_back(part); });
  return out;
}

std::string random_text(std::mt19937& random, size_t most) {
  static const std::vector<char32_t> kCodes{
      'a',   'B',   ' ',    ' ', '\n',   '\r',   '\'',   's',   'L',     '7',    '9',      '!',    '/',  0xE5, 0x1C5,
      0x301, 0x663, 0x3000, 0,   0x30FB, 0x3042, 0x6F22, 0x17F, 0x1F600, 0x200D, 0x10FFFF, 0x2028, 0x85, 'v',  'e'};
  std::string text;
  for (size_t n = random() % (most + 1); n > 0; --n) append_utf8(text, kCodes[random() % kCodes.size()]);
  return text;
}

TEST(pre_tokenizers_worked_examples) {
  CHECK_EQUAL(split(kGpt2, "It's  12 \n"), {"It", "'s", " ", " 12", " \n"});
  CHECK_EQUAL(split(kLlama3, "IT'S 1234\n\n x"), {"IT", "'S", " ", "123", "4", "\n\n", " x"});
  CHECK_EQUAL(split(kO200k, "HelloWORLD's //\n"), {"Hello", "WORLD's", " //\n"});
  CHECK_EQUAL(split(kDeepseek, "a1234.b漢字!"), {"a", "1", "234", ".b", "漢字", "!"});
}

TEST(pre_tokens_are_the_text) {
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    const std::string text = random_text(random, 12);
    for (Rules rules : {kGpt2, kLlama3, kO200k, kDeepseek}) {
      rules.whole_end = random() % 2;
      rules.marks_in_words = random() % 2;
      std::string joined;
      for (const std::string& part : split(rules, text)) {
        CHECK(!part.empty());
        joined += part;
      }
      CHECK_EQUAL(joined, text);
    }
  }
}

// Texts of fragments that patterns treat unlike each other, some of them many times in a row: longer than the 64 bytes
// that are looked at together.
std::string text_of_fragments(std::mt19937& random) {
  static const std::vector<std::string> kFragments{
      "a",  "B",  "foo", "Bar", "ABC", "s", "T",  "LL",  "re", "'",  "'s", "'VE", "ſ", "'ſ", " ",
      "  ", "\n", "\r",  "\t",  "\v",  "1", "23", "456", "/",  ".",  "(",  "å",   "Ö", "́",   "中",
      "あ", "ั",   "ع",   " ",   "　",  "٣", "²",  "“",   "–",  "😀", "𐐀",  "𐐨",   "ǅ", "ʰ",  "\x01"};
  std::string text;
  for (size_t n = random() % 50; n > 0; --n) {
    const std::string& fragment = kFragments[random() % (random() % 2 ? kFragments.size() : 30)];
    for (size_t times = random() % 12 ? 1 : random() % 70; times > 0; --times) text += fragment;
  }
  return text;
}

TEST(pre_tokens_found_together_are_those_found_one_by_one) {
  std::mt19937 random(5);
  for (unsigned all_rules = 0; all_rules < 4 * 4 * 4 * 2 * 2; ++all_rules) {
    const Rules rules{static_cast<Rules::Family>(all_rules % 4), static_cast<Rules::Contractions>(all_rules / 4 % 4),
                      static_cast<Rules::Digits>(all_rules / 16 % 4), all_rules / 64 % 2 == 0, all_rules / 128 == 0};
    const PreTokenizer pre_tokenizer(rules);
    for (int i = 0; i < 60; ++i) {
      const std::string text = text_of_fragments(random);
      Pieces one_by_one;
      for (size_t at = 0, end; at < text.size(); at = end) {
        end = pre_tokenizer.next_end(text, at);
        one_by_one.push_back(text.substr(at, end - at));
      }
      CHECK_EQUAL(split(rules, text), one_by_one);
      Pieces of_lines, together;
      for (size_t at = 0, end; at < text.size(); at = end) {
        end = std::min(text.find('\n', at), text.size() - 1) + 1;
        for (const std::string& part : split(rules, text.substr(at, end - at))) of_lines.push_back(part);
      }
      pre_tokenizer.for_each_block(
          text,
          [&](size_t begin, const size_t* ends, size_t count) {
            for (size_t k = 0; k < count; begin = ends[k++]) together.push_back(text.substr(begin, ends[k] - begin));
          },
          PreTokenizer::Unit::line);
      CHECK_EQUAL(together, of_lines);
    }
  }
}

TEST(pre_token_counts_do_not_depend_on_threads) {
  std::mt19937 random(2);
  Pieces texts;
  for (int i = 0; i < 500; ++i) texts.push_back(random_text(random, 30));
  texts.emplace_back("bad \xFF\xC3");
  const auto counts = [&](unsigned threads) {
    PreTokenCounter counter(PreTokenizer(kLlama3), threads);
    counter.add({texts.begin(), texts.end()}, false);
    CHECK_EQUAL(counter.invalid_bytes(), 2U);
    std::map<std::string, uint64_t> out;
    const WordTable table = counter.finish();
    for (size_t i = 0; i < table.size(); ++i) out[std::string(table.at(i).bytes)] = table.at(i).count;
    return out;
  };
  CHECK(counts(1) == counts(3));
}

WordTable words(const std::map<std::string, uint64_t>& counts) {
  WordTable table;
  for (const auto& [word, count] : counts) table.add(word, true, count);
  return table;
}

Pieces trained(const std::map<std::string, uint64_t>& counts, const ByteLevelTrainingOptions& options, uint64_t size) {
  Pieces out;
  for (const Merge& merge : train_byte_level_bpe(words(counts), options, size, {}).merges) out.push_back(merge.piece);
  return out;
}

TEST(byte_level_training_worked_example) {
  // (a, b) 5 times, (b, c) 4 times; then (ab, c) 4 times. The other pairs occur once; the smallest ids come first.
  const std::map<std::string, uint64_t> counts{{"abc", 4}, {"ab", 1}, {" z!", 1}};
  CHECK_EQUAL(trained(counts, {}, 260), {"ab", "abc", "z!", "Ġz!"});
  CHECK_EQUAL(trained(counts, {{}, 2, 0}, 260), {"ab", "abc"});
  CHECK_EQUAL(trained(counts, {{}, 0, 3}, 260), {"ab", "z!"});
  // A special token takes an id, and a pair that spells one is merged into it without a new piece.
  CHECK_EQUAL(trained(counts, {{"ab"}, 0, 0}, 258), {"ab", "abc"});
  const ByteLevelTrainingResult result = train_byte_level_bpe(words(counts), {{"ab"}, 0, 0}, 258, {});
  CHECK_EQUAL(result.merges[1].left, 0U);
  CHECK_EQUAL(result.merges[1].frequency, 4U);
}

ByteLevelModel random_model(std::mt19937& random, bool with_merges) {
  ByteLevelModel model;
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  model.merges.emplace();
  std::map<std::string, uint32_t> ids;
  for (uint32_t id = 0; id < 256; ++id) ids[model.tokens[id]] = id;
  for (int i = 0; i < 60; ++i) {
    const auto pick = [&] {
      return random() % 2 ? static_cast<uint32_t>('a' + random() % 3)
                          : static_cast<uint32_t>(random() % 2 ? model.tokens.size() - 1 : 'a');
    };
    const uint32_t left = pick(), right = pick();
    const std::string token = model.tokens[left] + model.tokens[right];
    if (token.size() > 12 || !ids.emplace(token, model.tokens.size()).second) continue;
    model.merges->push_back({left, right, static_cast<uint32_t>(model.tokens.size())});
    model.tokens.push_back(token);
  }
  if (!with_merges) model.merges.reset();
  return model;
}

TEST(byte_level_encoding_is_merging_the_best_pair) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const ByteLevelModel model = random_model(random, i % 2);
    const ByteLevelEncoder encoder(model, {});
    Pieces texts;
    for (const size_t most : {3, 12, 40, 48, 49, 90}) {
      std::string text;
      for (size_t n = random() % (most + 1); n > 0; --n) text += "aaabcd"[random() % 6];
      texts.push_back(text);
    }
    const auto batches = encoder.encode_batch(TextViews({texts.begin(), texts.end()}, true), 2);
    CHECK_EQUAL(batches.size(), 1U);
    size_t begin = 0;
    for (size_t t = 0; t < texts.size(); ++t) {
      const auto& ids = batches[0].ids;
      const size_t end = batches[0].ends[t];
      CHECK_EQUAL(std::vector<uint32_t>(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                        ids.begin() + static_cast<std::ptrdiff_t>(end)),
                  slow_byte_level_encode(model, texts[t]));
      begin = end;
    }
  }
}

TEST(byte_level_encoding_from_the_cache) {
  std::mt19937 random(4);
  const ByteLevelModel model = random_model(random, true);
  const ByteLevelEncoder encoder(model, PreTokenizer(kGpt2));
  std::string text;
  while (text.size() < 1 << 18) text += random_text(random, 30);
  const auto ids = [&](std::string_view one) { return encoder.encode_batch(TextViews({one}, true), 1)[0].ids; };
  const std::vector<uint32_t> cold = ids(text);
  CHECK(cold == ids(text));
  std::string decoded;
  for (const uint32_t id : cold) decoded += model.tokens[id];
  CHECK(decoded == text);
}

TEST(byte_level_models_that_are_refused) {
  std::mt19937 random(5);
  const auto refused = [](const ByteLevelModel& model) {
    try {
      const ByteLevelEncoder encoder(model, {});
    } catch (const ModelError&) {
      return true;
    }
    return false;
  };
  ByteLevelModel model = random_model(random, true);
  CHECK(!refused(model));
  model.merges->push_back({'a', 'b', 'c'});
  CHECK(refused(model));
  model = random_model(random, true);
  model.merges->push_back({'a', 1u << 20, 'c'});
  CHECK(refused(model));
  model = random_model(random, false);
  model.tokens['x'].clear();
  CHECK(refused(model));
  model = random_model(random, false);
  model.tokens.push_back("a");
  CHECK(refused(model));
}

}  // namespace
}  // namespace piecework

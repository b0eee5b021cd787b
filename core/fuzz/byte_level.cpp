// Byte-level training and encoding: compares any pre-tokens, options and vocabularies with slow definitions.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "encode/byte_level_encoder.hpp"
#include "encode/byte_level_tracer.hpp"
#include "fuzz.hpp"
#include "model/model.hpp"
#include "slow_byte_level_encoder.hpp"
#include "slow_trainer.hpp"
#include "train/parity_training.hpp"

namespace piecework::tests {
namespace {

std::string any_pre_token(Random& random) {
  static constexpr std::string_view kRepeated[] = {"a", "ab", "aab", " ", "\xC3\xA5"};
  if (random.chance(8)) return random.bytes(1 + random.below(12));
  if (random.chance(3)) return random.text(1 + random.below(12));
  std::string text;
  for (uint64_t parts = 1 + random.below(6); parts > 0; --parts) text += random.pick(kRepeated);
  return text;
}

WordTable any_pre_tokens(Random& random) {
  WordTable table;
  for (uint64_t rows = random.below(12); rows > 0; --rows) {
    table.add(any_pre_token(random), true, 1 + (random.chance(4) ? random.below(100'000) : random.below(4)));
  }
  return table;
}

ByteLevelTrainingOptions any_options(Random& random) {
  ByteLevelTrainingOptions options;
  for (const char* special : {"ab", "<s>", "a", "aab",
                              "\xC4\xA0"
                              "a"}) {
    if (random.chance(5)) options.special_tokens.emplace_back(special);
  }
  options.min_frequency = random.below(4);
  options.max_token_length = random.chance(2) ? 0 : static_cast<uint32_t>(1 + random.below(6));
  return options;
}

void require_same(const std::vector<Merge>& merges, const std::vector<Merge>& expected) {
  REQUIRE(merges.size() == expected.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    REQUIRE(merges[i].piece == expected[i].piece && merges[i].frequency == expected[i].frequency);
    REQUIRE(merges[i].left == expected[i].left && merges[i].right == expected[i].right);
  }
}

PreTokenizer any_pre_tokenizer(Random& random) {
  PreTokenizerRules rules;
  rules.family = static_cast<PreTokenizerRules::Family>(random.below(4));
  return PreTokenizer(rules);
}

// Bytes in any order, and tokens that join two earlier ones: with merges, or with ids as ranks.
ByteLevelModel any_model(Random& random) {
  static constexpr std::string_view kCommon = "aab \xC3\xA5";
  ByteLevelModel model;
  const auto turned = static_cast<unsigned>(random.below(256));
  for (unsigned byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte ^ turned));
  model.merges.emplace();
  std::map<std::string, uint32_t> ids;
  for (uint32_t id = 0; id < 256; ++id) ids[model.tokens[id]] = id;
  const bool has_empty = random.chance(4), repeats = random.chance(4);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (uint64_t more = random.below(60); more > 0; --more) {
    const auto any_token = [&] {
      if (random.chance(2)) return ids[std::string(1, random.pick(kCommon))];
      const uint64_t back = random.below(std::min<uint64_t>(model.tokens.size(), 40));
      return static_cast<uint32_t>(model.tokens.size() - 1 - back);
    };
    const uint32_t left = any_token(), right = any_token();
    const std::string token = model.tokens[left] + model.tokens[right];
    if (model.tokens[left].empty() || model.tokens[right].empty() || token.size() > 20) continue;
    if (!pairs.emplace(left, right).second && !repeats) continue;
    const auto [entry, is_new] = ids.emplace(token, model.tokens.size());
    if (is_new) model.tokens.push_back(token);
    // The same token may be made in several ways.
    model.merges->push_back({left, right, entry->second});
    if (has_empty && random.chance(8)) model.tokens.emplace_back();
  }
  model.whole_pre_tokens = random.chance(3);
  if (random.chance(3)) model.merges.reset();
  return model;
}

// With only the first merges, encoding gives the tokens that the trace of all merges predicts.
void check_trace(Random& random, const ByteLevelModel& model, const ByteLevelMerger& merger,
                 const std::vector<std::string>& pre_tokens) {
  if (!model.merges) return;
  // If a merge is listed twice, the later one counts. With fewer merges it would have another rank.
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (const ByteMerge& merge : *model.merges) pairs.emplace(merge.left, merge.right);
  if (pairs.size() < model.merges->size()) return;
  ByteLevelModel fewer = model;
  fewer.whole_pre_tokens = false;
  fewer.merges->resize(random.below(model.merges->size() + 1));
  ByteLevelTracer tracer(merger);
  for (const std::string& pre_token : pre_tokens) {
    if (merger.whole_pre_token(pre_token)) continue;
    tracer.trace(pre_token);
    std::map<uint32_t, uint32_t> tokens;  // ids by the offset of their first byte
    for (uint32_t at = 0; at < pre_token.size(); ++at) {
      tokens[at] = merger.byte_id(static_cast<unsigned char>(pre_token[at]));
    }
    for (const ByteTracedMerge& merge : tracer.merges()) {
      if (merge.from > fewer.merges->size()) continue;
      REQUIRE(tokens.contains(merge.begin) && tokens.erase(merge.middle) == 1);
      tokens[merge.begin] = merge.id;
    }
    std::vector<uint32_t> ids;
    for (const auto& [begin, id] : tokens) ids.push_back(id);
    REQUIRE(ids == slow_byte_level_encode(fewer, pre_token));
  }
}

void check_damaged(Random& random, ByteLevelModel model) {
  const auto any_id = [&] { return static_cast<uint32_t>(random.below(model.tokens.size() + 2)); };
  for (uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
    if (random.chance(2)) {
      model.tokens[random.below(model.tokens.size())] = random.bytes(random.below(4));
    } else if (model.merges) {
      model.merges->push_back({any_id(), any_id(), any_id()});
    }
  }
  try {
    const ByteLevelEncoder encoder(model, any_pre_tokenizer(random));
    const std::string text = any_text(random);
    encoder.encode_batch(TextViews({text}, false), 1);
  } catch (const ModelError&) {
  }
}

}  // namespace

void fuzz_byte_level_training(Random& random) {
  const WordTable pre_tokens = any_pre_tokens(random);
  const ByteLevelTrainingOptions options = any_options(random);
  SlowBytes slow(options, false);
  slow.add(pre_tokens, {});
  const std::vector<std::string> alphabet = slow.trainer.texts;
  const uint64_t wanted = random.below(40);
  const ByteLevelTrainingResult result = train_byte_level_bpe(pre_tokens, options, alphabet.size() + wanted, {});
  REQUIRE(result.alphabet == alphabet);
  require_same(result.merges, slow.trainer.run(wanted, options.min_frequency));
}

void fuzz_parity_training(Random& random) {
  std::vector<WordTable> tables(2 * (1 + random.below(3)));
  std::vector<ParityTables> languages;
  if (random.chance(2)) {
    const ByteLevelTrainingOptions options = any_options(random);
    SlowBytes slow(options, true);
    for (WordTable& table : tables) table = any_pre_tokens(random);
    for (size_t i = 0; i < tables.size(); i += 2) {
      languages.push_back({&tables[i], &tables[i + 1]});
      slow.add(tables[i], tables[i + 1]);
    }
    const uint64_t wanted = random.below(40), size = slow.trainer.texts.size() + wanted;
    require_same(train_parity_byte_level_bpe(languages, options, size, {}).merges,
                 slow.trainer.run(wanted, options.min_frequency));
    return;
  }
  TrainingOptions options = any_plain_options(random);
  WordTable all;
  for (WordTable& table : tables) table = few_words(random);
  for (size_t i = 0; i < tables.size(); i += 2) {
    languages.push_back({&tables[i], &tables[i + 1]});
    all.merge(tables[i]);
  }
  SlowWords slow(all, options);
  for (const ParityTables& language : languages) slow.add(*language.training, *language.development);
  const uint64_t wanted = random.below(30), least = random.below(4);
  const uint64_t size = options.meta_pieces.size() + slow.alphabet_size() + wanted;
  require_same(train_parity_bpe(all, languages, options, size, least, {}).merges, slow.trainer.run(wanted, least));
}

void fuzz_byte_level_encoding(Random& random) {
  const ByteLevelModel model = any_model(random);
  const PreTokenizer pre_tokenizer = any_pre_tokenizer(random);
  const ByteLevelEncoder encoder(model, pre_tokenizer), uncut(model, {});
  std::vector<std::string> texts{any_text(random), any_text(random), std::string(random.below(150), 'a')};
  // Sometimes a text is so long that its pre-tokens are remembered.
  if (random.chance(4)) texts.insert(texts.begin(), std::string(9'000, 'b') + any_text(random));
  std::vector<std::string> pre_tokens;
  std::vector<uint32_t> expected;
  for (const std::string& text : texts) {
    const std::string valid = repaired(text);
    pre_tokenizer.for_each(valid, [&](std::string_view pre_token) {
      if (pre_token.size() < 1'000) pre_tokens.emplace_back(pre_token);
    });
  }
  REQUIRE(encoder.encode_batch(TextViews({}, false), 2).empty());
  for (int round = 0; round < 2; ++round) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const auto batches = encoder.encode_batch(TextViews(views, false), 2);
    REQUIRE(batches.size() == 1 && batches[0].ends.size() == texts.size());
    size_t begin = 0;
    for (size_t i = 0; i < texts.size(); begin = batches[0].ends[i++]) {
      std::vector<uint32_t> ids(batches[0].ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                batches[0].ids.begin() + static_cast<std::ptrdiff_t>(batches[0].ends[i]));
      const std::string valid = repaired(texts[i]);
      std::vector<uint32_t> one_by_one;
      std::string decoded;
      pre_tokenizer.for_each(valid, [&](std::string_view part) { encoder.encode_pre_token(part, one_by_one); });
      for (const uint32_t id : ids) decoded += model.tokens[id];
      REQUIRE(ids == one_by_one && decoded == valid);
    }
  }
  for (const std::string& pre_token : pre_tokens) {
    std::vector<uint32_t> ids;
    encoder.encode_pre_token(pre_token, ids);
    REQUIRE(ids == slow_byte_level_encode(model, pre_token));
    const auto uncut_ids = uncut.encode_batch(TextViews({pre_token}, true), 1);
    REQUIRE(uncut_ids[0].ids == ids);
  }
  check_trace(random, model, encoder.merger(), pre_tokens);
  check_damaged(random, model);
}

}  // namespace piecework::tests

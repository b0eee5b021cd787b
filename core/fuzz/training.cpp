// Training on any words with any options: merges are valid and in order, sizes nest, and the slow definition gives the
// same merges.
#include <algorithm>
#include <set>
#include <vector>

#include "fuzz.hpp"
#include "slow_trainer.hpp"
#include "train/trainer.hpp"

namespace piecework::tests {

TrainingOptions any_plain_options(Random& random) {
  TrainingOptions options;
  static constexpr float kCoverages[] = {0.5F, 0.98F, 0.9995F, 1.0F};
  static constexpr uint32_t kLengths[] = {1, 2, 3, 5, 16, 40};
  options.character_coverage = random.pick(kCoverages);
  options.max_sentencepiece_length = random.pick(kLengths);
  options.split_by_unicode_script = random.chance(2);
  options.split_by_number = random.chance(2);
  options.split_digits = random.chance(2);
  options.add_dummy_prefix = random.chance(2);
  if (random.chance(4)) options.pretokenization_delimiter = "b";
  if (random.chance(2)) options.boundary = '\t';
  options.meta_pieces = {"<unk>", "<s>"};
  if (random.chance(2))
    options.meta_pieces.insert(options.meta_pieces.end(), {"ab", "a",
                                                           "\xE2\x96\x81"
                                                           "b"});
  if (random.chance(4)) options.required_chars = U"x\u5B57";
  return options;
}

WordTable few_words(Random& random) {
  WordTable table;
  for (uint64_t rows = random.below(10); rows > 0; --rows) {
    std::string word =
        repaired(random.chance(8) ? random.bytes(1 + random.below(8)) : random.text(1 + random.below(10)));
    // A word of a line never has these characters.
    std::erase(word, ' ');
    std::erase(word, '\n');
    if (word.find(kSpaceMarkUtf8) != word.npos || word.find(kUnknownMarkUtf8) != word.npos) continue;
    table.add(word, random.chance(3), 1 + (random.chance(4) ? random.below(100'000) : random.below(4)));
  }
  return table;
}

namespace {

TrainingOptions any_options(Random& random) {
  TrainingOptions options = any_plain_options(random);
  options.allow_whitespace_only_pieces = random.chance(4);
  options.treat_whitespace_as_suffix = random.chance(4);
  return options;
}

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

std::vector<std::string> check_training(Random& random, const WordTable& table, const TrainingOptions& options) {
  const TrainingResult all = train_bpe(table, options, 300 + random.below(1'000), 0, {});
  std::vector<std::string> pieces;
  uint64_t previous = UINT64_MAX;
  for (const Merge& merge : all.merges) {
    REQUIRE(find_invalid_utf8(merge.piece) == merge.piece.size());
    const size_t mark =
        options.treat_whitespace_as_suffix ? merge.piece.find(kSpaceMarkUtf8) : merge.piece.find(kSpaceMarkUtf8, 1);
    const size_t allowed =
        options.treat_whitespace_as_suffix ? merge.piece.size() - kSpaceMarkUtf8.size() : std::string::npos;
    const bool only_marks = merge.piece.find_first_not_of(kSpaceMarkUtf8) == std::string::npos;
    REQUIRE(mark == std::string::npos || mark == allowed || (options.allow_whitespace_only_pieces && only_marks));
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

// Compares training on a few words with its slow definition, in one round and in several.
void check_definition(Random& random) {
  TrainingOptions options = any_plain_options(random);
  const WordTable words = few_words(random);
  SlowWords slow(words, options);
  slow.add(words, {});
  const uint64_t wanted = random.below(40), least = 1 + random.below(3);
  const uint64_t size = options.meta_pieces.size() + slow.alphabet_size() + wanted;
  const std::vector<Merge> expected = slow.trainer.run(wanted, least);
  for (const uint32_t large_text : {kLargeText, static_cast<uint32_t>(1 + random.below(50))}) {
    options.large_text = large_text;
    const std::vector<Merge> merges = train_bpe(words, options, size, least, {}).merges;
    REQUIRE(merges.size() == expected.size());
    for (size_t i = 0; i < merges.size(); ++i) {
      REQUIRE(merges[i].piece == expected[i].piece && merges[i].frequency == expected[i].frequency);
    }
  }
}

}  // namespace

std::vector<std::string> any_pieces(Random& random, const WordTable& words, bool add_dummy_prefix) {
  TrainingOptions options = any_options(random);
  options.add_dummy_prefix = add_dummy_prefix;
  return check_training(random, words, options);
}

void fuzz_training(Random& random) {
  WordTable words = any_words(random);
  for (uint64_t more = random.below(3); more > 0; --more) words.merge(any_words(random));
  any_pieces(random, words, random.chance(2));
  check_definition(random);
}

}  // namespace piecework::tests

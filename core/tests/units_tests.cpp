// Counting the units of documents, with and without punctuation.
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "count/character_counter.hpp"
#include "count/document_counter.hpp"
#include "text/space_marks.hpp"
#include "text/utf8.hpp"
#include "words.hpp"

namespace piecework {
namespace {

using namespace tests;

using Units = std::map<std::tuple<int, bool, std::string>, uint64_t>;

Units units_of(const WordTable& table) {
  Units units;
  for (size_t i = 0; i < table.size(); ++i) {
    const CountedUnit unit = DocumentCounter::unit_at(table, i);
    units[{unit.bucket, unit.context == UnitContext::kOpens, std::string(unit.bytes)}] += unit.count;
  }
  return units;
}

void count_slowly(const std::string& text, uint8_t bucket, Units& units) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    bool open = true;
    while (open && end < text.size()) {
      while (end < text.size() && text[end] == ' ') ++end;
      while (end < text.size() && text[end] != ' ') ++end;
      open = is_open(text.substr(at, end - at));
    }
    ++units[{bucket, at == 0, text.substr(at, end - at)}];
    at = end;
  }
}

TEST(units_join_where_punctuation_goes) {
  UnitCounter counter;
  counter.add("a - b-c  . ", 3, "");
  CHECK(units_of(counter.take(false)) == (Units{{{3, true, "a"}, 1},
                                                {{3, false, " -"}, 1},
                                                {{3, false, " b-c"}, 1},
                                                {{3, false, "  ."}, 1},
                                                {{3, false, " "}, 1}}));
  CHECK(units_of(counter.take(true)) == (Units{{{3, true, "a"}, 1}, {{3, false, "  bc"}, 1}, {{3, false, "   "}, 1}}));
  CHECK_EQUAL(counter.take(true).size(), 0);
}

TEST(pre_tokens_that_are_cut_outside_count_as_those_of_the_core) {
  const PreTokenizer pre_tokenizer(PreTokenizerRules{});
  DocumentCounter native(pre_tokenizer);
  DocumentCounter given([&](std::string_view text, std::vector<size_t>& ends) {
    size_t end = 0;
    pre_tokenizer.for_each(text, [&](std::string_view pre_token) { ends.push_back(end += pre_token.size()); });
  });
  const std::vector<std::string_view> documents = {"it's a  b\xFF 12", "", " ",
                                                   "a long word: "
                                                   "abcdefghijklmnopqrstuvwxyz\n"};
  for (DocumentCounter* counter : {&native, &given}) {
    counter->add_training(documents, false, 2);
    counter->add_evaluation(documents, {0, 1, 2, 31}, "");
  }
  CHECK_EQUAL(given.statistics().invalid_bytes, 1);
  CHECK(counts_of(native.take_training()) == counts_of(given.take_training()));
  for (const bool plain : {false, true}) {
    CHECK(counts_of(native.take_evaluation(plain)) == counts_of(given.take_evaluation(plain)));
  }
  CHECK_EQUAL(given.take_training().size(), 0);
}

TEST(units_with_a_literal_mark_end_after_a_letter_or_digit) {
  UnitCounter counter;
  counter.add("a b▁ - c d ▁ é ▁", 0, "");
  CHECK(units_of(counter.take(false)) ==
        (Units{{{0, true, "a"}, 1}, {{0, false, " b▁ - c"}, 1}, {{0, false, " d"}, 1}, {{0, false, " ▁ é ▁"}, 1}}));
  CHECK(units_of(counter.take(true)) ==
        (Units{{{0, true, "a"}, 1}, {{0, false, " b▁  c"}, 1}, {{0, false, " d"}, 1}, {{0, false, " ▁ é ▁"}, 1}}));
}

TEST(units_equal_those_of_the_text_without_punctuation) {
  const std::string parts[] = {" ",  " ", "-", "+!", "a", "bcd", "é", "\n", "▁", "\xFF", std::string(30, 'x'),
                               "..", "."};
  Random random(5);
  for (int round = 0; round < 2'000; ++round) {
    UnitCounter counter;
    Units expected, expected_plain;
    for (size_t documents = 1 + random.below(4); documents > 0; --documents) {
      const std::string prefix = std::string(std::array{"", "", "<|x|>", " -", "- -", "a b"}[random.below(6)]);
      const auto bucket = static_cast<uint8_t>(random.below(2) * 31);
      std::string document, text, plain;
      for (size_t n = random.below(round % 10 ? 12 : 200); n > 0; --n) {
        const std::string& part = parts[random.below(std::size(parts))];
        document += part;
        text += part == "\xFF" ? std::string(kReplacementUtf8) : part;
      }
      for (const char c : text) {
        if (std::string_view("-+!.").find(c) == std::string_view::npos) plain += c;
      }
      counter.add(document, bucket, prefix);
      count_slowly(prefix + text, bucket, expected);
      count_slowly(prefix + plain, bucket, expected_plain);
    }
    const bool first = random.chance(2);  // the order of the two calls does not matter
    const Units one = units_of(counter.take(first)), other = units_of(counter.take(!first));
    CHECK((first ? other : one) == expected);
    CHECK((first ? one : other) == expected_plain);
  }
}

TEST(characters_and_runs) {
  CharacterCounter counter;
  counter.add("\n\nå\t\n\n", 3);
  counter.add("a\n", 2);
  CHECK(counter.codes() == (std::vector<char32_t>{U'\n', U'å', U'\t', U'a'}));
  CHECK_EQUAL(counter.total(U'\n'), 14);
  CHECK_EQUAL(counter.total(U'å'), 3);
  using Runs = std::map<std::pair<char32_t, uint64_t>, uint64_t>;
  CHECK(counter.runs() == (Runs{{{U'\n', 1}, 2}, {{U'\n', 2}, 6}, {{U'\t', 1}, 3}}));
  CHECK_THROWS(CountOverflow, counter.add("å", UINT64_MAX));
}

}  // namespace
}  // namespace piecework

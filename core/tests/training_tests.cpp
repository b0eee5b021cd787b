// Training from word counts: the alphabet, the chunks, and worked examples.
#include <algorithm>
#include <unordered_set>

#include "check.hpp"
#include "train/chunk_text.hpp"
#include "train/chunks.hpp"
#include "train/parity_training.hpp"
#include "train/trainer.hpp"
#include "words.hpp"

namespace piecework {
namespace {

using namespace tests;
using namespace std::string_literals;
using Pieces = std::vector<std::string>;

TrainingOptions plain() {
  TrainingOptions options;
  options.character_coverage = 1.0F;
  options.add_dummy_prefix = false;
  return options;
}

Pieces characters(const Counts& counts, const TrainingOptions& options) {
  const WordTable table = table_of(counts);
  const Alphabet alphabet(table, options);
  Pieces out;
  for (const Character& c : alphabet.characters()) append_utf8(out.emplace_back(), c.code);
  return out;
}

Counts chunks(const Counts& counts, const TrainingOptions& options) {
  const WordTable table = table_of(counts);
  ChunkedWords found = split_into_chunks(one_table(table), options);
  keep_within(Alphabet(std::move(found.characters), options), found.chunks);
  Counts out = counts_of(found.chunks);
  std::erase_if(out, [](const auto& chunk) { return chunk.second == 0; });
  return out;
}

TEST(characters_of_chunked_words) {
  const WordTable words =
      table_of({{"", 3}, {"▁", 5}, {"a<b>c", 2}, {"▁\u0301a\u0431", 7}, {"▁a\tb\0c"s, 1}, {"x1y", 4}});
  for (const Pieces& meta : {Pieces{}, {"▁"}, {"<b>", "c"}}) {
    for (const std::string& delimiter : {""s, "a"s}) {
      TrainingOptions options;
      options.meta_pieces = meta;
      options.pretokenization_delimiter = delimiter;
      for (const bool suffix : {false, true}) {
        options.treat_whitespace_as_suffix = suffix;
        CharacterCounts one_pass = split_into_chunks(one_table(words), options).characters;
        CharacterCounts alone = count_characters(words, options, {});
        CHECK_EQUAL(one_pass.total(), alone.total());
        CHECK(one_pass.by_code() == alone.by_code());
      }
    }
  }
}

TEST(alphabet_by_count_then_code_point) {
  CHECK_EQUAL(characters({{"bca", 2}, {"\u00E5", 9}, {"c", 1}}, plain()), {"\u00E5", "c", "a", "b"});
}

TEST(alphabet_counts_the_mark) {
  TrainingOptions options = plain();
  CHECK_EQUAL(characters({{"ab", 1}, {"▁b", 1}}, options), {"b", "a", "▁"});
  options.add_dummy_prefix = true;
  CHECK_EQUAL(characters({{"ab", 1}, {"▁b", 1}}, options), {"b", "▁", "a"});
}

TEST(alphabet_nul_and_boundary) {
  CHECK_EQUAL(characters({{"a\tb\0c"s, 1}, {"\t\t", 5}}, plain()), {"\t", "a", "b", "c"});
  CHECK_EQUAL(characters({{"a\x1F"
                           "b",
                           1}},
                         plain()),
              {"a", "b"});
  TrainingOptions options = plain();
  options.boundary = '\t';
  CHECK_EQUAL(characters({{"a\tb\0c"s, 1}, {"\t\t", 5}}, options), {"a", "b", "c"});
  // Tabs count: 3 of 4 characters are covered before b. If tabs did not count, 1 of 2 would be.
  options.character_coverage = 0.75F;
  CHECK_EQUAL(characters({{"a\t\tb", 1}}, options), {"a"});
  CHECK_EQUAL(characters({{"a\0\0b"s, 1}}, options), {"a", "b"});
}

TEST(alphabet_coverage_is_tested_before_a_character_is_added) {
  const Counts counts{{"a", 90}, {"b", 9}, {"c", 1}};
  TrainingOptions options = plain();
  for (const auto& [coverage, expected] : std::vector<std::pair<float, Pieces>>{
           {0.5F, {"a"}}, {0.9F, {"a"}}, {0.91F, {"a", "b"}}, {0.99F, {"a", "b"}}, {0.995F, {"a", "b", "c"}}}) {
    options.character_coverage = coverage;
    CHECK_EQUAL(characters(counts, options), expected);
  }
}

TEST(alphabet_required_characters) {
  TrainingOptions options = plain();
  options.required_chars = U"xb\0";
  options.character_coverage = 0.9F;
  CHECK_EQUAL(characters({{"a", 90}, {"b", 9}, {"c", 1}}, options), {"a", "b", "x"});
}

TEST(alphabet_of_nothing) {
  CHECK_EQUAL(characters({}, plain()), Pieces{});
  CHECK_EQUAL(characters({{"", 3}, {"\0"s, 2}}, plain()), Pieces{});
}

TEST(alphabet_overflow_is_an_error) {
  CHECK_THROWS(CountOverflow, characters({{"ab", UINT64_MAX}}, plain()));
  CHECK_THROWS(CountOverflow, characters({{"a", UINT64_MAX}, {"b", 1}}, plain()));
  CHECK_EQUAL(characters({{"a", UINT64_MAX}}, plain()), {"a"});
}

std::string form_of(const TrainingForm& form) { return (form.marked ? "▁" : "") + std::string(form.text); }

TEST(training_form_marks_and_replaces) {
  const auto form = [](const TrainingOptions& options, const Word& word) {
    return form_of(FormMaker(options).form(word));
  };
  TrainingOptions options = plain();
  CHECK_EQUAL(form(options, {"ab", true, 1}), "ab");
  CHECK_EQUAL(form(options, {"ab", false, 1}), "▁ab");
  options.add_dummy_prefix = true;
  CHECK_EQUAL(form(options, {"ab", true, 1}), "▁ab");
  options.treat_whitespace_as_suffix = true;
  CHECK_EQUAL(form(options, {"ab c", true, 1}), "ab▁c▁");
  options = plain();
  options.meta_pieces = {"<s>", "<s>x", "▁b", "d▁e"};
  CHECK_EQUAL(form(options, {"a<s><s>xy<s", true, 1}), "a\x1F\x1Fy<s");
  CHECK_EQUAL(form(options, {"bc", false, 1}),
              "\x1F"
              "c");
  CHECK_EQUAL(form(options, {"bc", true, 1}), "bc");
  CHECK_EQUAL(form(options, {"d e bc", true, 1}),
              "\x1F\x1F"
              "c");
  CHECK_EQUAL(form(options, {"", true, 1}), "");
  options.boundary = '\t';
  CHECK_EQUAL(form(options, {"a<s>b", true, 1}), "a\tb");
  options.pretokenization_delimiter = "||";
  CHECK_EQUAL(form(options, {"a||b", true, 1}), "a\tb");
}

// The flag of a chunk is set if the chunk does not start with ▁. So counts_of() reads a chunk like a word.
TEST(chunks_of_one_character_are_left_out) {
  CHECK_EQUAL(chunks({{"ab", 2}, {"a", 5}, {"▁ab", 1}, {"▁", 7}}, plain()), {{"ab", 2}, {"▁ab", 1}});
}

TEST(chunks_end_where_nothing_merges) {
  CHECK_EQUAL(chunks({{"ab\x1F"
                       "cd\0ef"s,
                       1},
                      {"ab", 1}},
                     plain()),
              {{"ab", 2}, {"cd", 1}, {"ef", 1}});
  TrainingOptions options = plain();
  options.meta_pieces = {"<s>"};
  CHECK_EQUAL(chunks({{"ab<s>ab", 1}}, options), {{"ab", 2}});
  options.character_coverage = 0.9F;
  CHECK_EQUAL(chunks({{"abxba", 3}, {"ab", 100}}, options), {{"ab", 103}, {"ba", 3}});  // x is rare
}

TEST(chunks_of_one_script) {
  CHECK_EQUAL(chunks({{"ab\u03B1\u03B2\u0416\u0436", 1}}, plain()),
              {{"ab", 1}, {"\u03B1\u03B2", 1}, {"\u0416\u0436", 1}});
  // Kana, the long vowel mark and Han count as one script; a combining mark takes the script before it.
  CHECK_EQUAL(chunks({{"\u5B57\u304B\u30AB\u30FC", 1}, {"a\u0301b", 1}}, plain()),
              {{"\u5B57\u304B\u30AB\u30FC", 1}, {"a\u0301b", 1}});
  CHECK_EQUAL(chunks({{"ab,.1", 1}}, plain()), {{"ab", 1}, {",.1", 1}});
  TrainingOptions options = plain();
  options.split_by_number = false;
  CHECK_EQUAL(chunks({{"ab1c", 1}}, options), {{"ab1c", 1}});
  options.split_by_unicode_script = false;
  CHECK_EQUAL(chunks({{"ab,\u03B1", 1}}, options), {{"ab,\u03B1", 1}});
}

TEST(chunks_without_digits) {
  TrainingOptions options = plain();
  options.split_by_unicode_script = false;
  options.split_digits = true;
  CHECK_EQUAL(chunks({{"ab12cd\uFF13ef", 1}}, options), {{"ab", 1}, {"cd", 1}, {"ef", 1}});
}

TEST(chunk_text_counts_at_each_position) {
  Counts counts;
  Random random(6);
  for (int i = 0; i < 400; ++i) {
    std::string word(2 + random.below(9), 'a');
    for (char& c : word) c = "abc"[random.below(3)];
    counts[(random.chance(2) ? "▁" : "") + word] = random.chance(3) ? 1 + random.below(3) : 1 + random.below(9'000);
  }
  const WordTable table = table_of(counts);
  const TrainingOptions options = plain();
  const Alphabet alphabet(table, options);
  const ChunkText text(table, alphabet);
  uint64_t previous = UINT64_MAX;
  size_t words = 0;
  CHECK_EQUAL(text[0], ChunkText::kSeparator);
  for (uint32_t start = 1; start < text.size(); ++words) {
    std::string word;
    uint32_t p = start;
    for (; text[p] != ChunkText::kSeparator; ++p) append_utf8(word, alphabet.characters()[text[p]].code);
    for (uint32_t q = start; q < p; ++q) CHECK_EQUAL(text.count_at(q), counts[word]);
    CHECK_EQUAL(text.before(start), ChunkText::kNoPosition);
    CHECK_EQUAL(text.before(start + 1), start);
    CHECK(counts[word] <= previous);
    previous = counts[word];
    start = p + 1;
  }
  CHECK_EQUAL(words, counts.size());
}

TEST(chunk_text_merges_in_place) {
  const WordTable table = table_of({{"abcde", 1}});
  const TrainingOptions options = plain();
  ChunkText text(table, Alphabet(table, options));
  text.merge(2, 1, 2, 77);  // bc
  CHECK_EQUAL(text[2], 77);
  CHECK_EQUAL(text.before(4), 2);
  CHECK_EQUAL(text.before(2), 1);
  text.merge(2, 2, 3, 78);  // bcd
  CHECK_EQUAL(text[2], 78);
  CHECK(text[3] >= ChunkText::kBack && text[4] >= ChunkText::kBack);
  CHECK_EQUAL(text.before(5), 2);
}

using Merges = std::vector<std::pair<std::string, uint64_t>>;

Merges merges(const Counts& counts, uint64_t wanted, const TrainingOptions& options = plain(),
              uint64_t minimum_frequency = 0) {
  const WordTable table = table_of(counts);
  const uint64_t taken = options.meta_pieces.size() + Alphabet(table, options).characters().size();
  Merges out;
  for (const Merge& merge : train_bpe(table, options, taken + wanted, minimum_frequency, {}).merges) {
    out.emplace_back(merge.piece, merge.frequency);
  }
  return out;
}

TEST(training_by_hand) {
  // "abab ab" with the dummy prefix: ab 3 times; then ▁ab twice; then ▁abab once.
  TrainingOptions options = plain();
  options.add_dummy_prefix = true;
  CHECK_EQUAL(merges({{"abab", 1}, {"▁ab", 1}}, 3, options), {{"ab", 3}, {"▁ab", 2}, {"▁abab", 1}});
  CHECK_EQUAL(merges({{"abab", 1}, {"▁ab", 1}}, 0, options), Merges{});
}

TEST(training_counts_overlapping_pairs) {
  // aaa has (a, a) twice, and merges once, from the left.
  CHECK_EQUAL(merges({{"aaa", 1}, {"bc", 1}}, 3), {{"aa", 2}, {"bc", 1}, {"aaa", 1}});
  // aaaaa becomes [aa][aa][a]. Two pairs are left: the one with fewer characters is merged first.
  CHECK_EQUAL(merges({{"aaaaa", 1}}, 9), {{"aa", 4}, {"aaa", 1}, {"aaaaa", 1}, {"aaaa", 0}});
}

TEST(training_ties) {
  // Equal frequencies: fewer characters first, then the smaller string in bytes.
  CHECK_EQUAL(merges({{"zy", 1}, {"ab", 1}, {"\u00E5\u00E4", 1}}, 3), {{"ab", 1}, {"zy", 1}, {"\u00E5\u00E4", 1}});
  // Merging ab leaves bc with no occurrence.
  CHECK_EQUAL(merges({{"abc", 2}, {"xy", 2}}, 9), {{"ab", 2}, {"xy", 2}, {"abc", 2}, {"bc", 0}});
}

TEST(training_a_string_reached_twice_is_one_piece) {
  // abc is a+bc in one word and ab+c in another.
  const Merges found = merges({{"abc", 5}, {"ab", 9}, {"bcx", 9}, {"xbc", 9}}, 99);
  std::unordered_set<std::string> pieces;
  for (const auto& merge : found) CHECK(pieces.insert(merge.first).second);
  CHECK_EQUAL(found.front(), {"bc", 23});
}

TEST(training_pairs_of_frequency_zero) {
  // abab becomes [ab][a][b], then [ab][ab]: the pair (ab, a) exists for a moment, and is merged at the end.
  CHECK_EQUAL(merges({{"abab", 1}}, 9), {{"ab", 2}, {"abab", 1}, {"ba", 0}, {"aba", 0}});
}

TEST(training_stops_at_the_minimum_frequency) {
  CHECK_EQUAL(merges({{"abab", 1}}, 9, plain(), 1), {{"ab", 2}, {"abab", 1}});
  CHECK_EQUAL(merges({{"abab", 1}}, 9, plain(), 2), {{"ab", 2}});
  CHECK_EQUAL(merges({{"abab", 1}}, 9, plain(), 3), Merges{});
}

TEST(training_max_sentencepiece_length) {
  TrainingOptions options = plain();
  options.max_sentencepiece_length = 2;
  CHECK_EQUAL(merges({{"abcd", 1}}, 9, options), {{"ab", 1}, {"cd", 1}, {"bc", 0}});
  options.max_sentencepiece_length = 1;
  CHECK_EQUAL(merges({{"abcd", 1}}, 9, options), Merges{});
}

TEST(training_nothing_to_merge) {
  CHECK_EQUAL(merges({}, 9), Merges{});
  CHECK_EQUAL(merges({{"a", 5}, {"▁", 3}, {"", 2}}, 9), Merges{});
}

TEST(training_words_with_count_zero) {
  // A word with count 0 has no occurrence; the other words contain both letters.
  CHECK(merges({{"a", 5}, {"b", 5}, {"ba", 0}}, 1).size() <= 1);
  CHECK_EQUAL(merges({{"a", 5}, {"b", 5}, {"ab", 1}, {"ba", 0}}, 1), {{"ab", 1}});
}

TEST(training_no_room_for_a_merge) {
  const WordTable table = table_of({{"abc", 1}});
  for (const uint64_t size : {0, 1, 3}) {
    const TrainingResult result = train_bpe(table, plain(), size, 0, {});
    CHECK(result.merges.empty());
    CHECK_EQUAL(result.characters.size(), 3);
  }
}

TEST(training_large_counts) {
  const uint64_t huge = UINT64_MAX / 8;
  CHECK_EQUAL(merges({{"abab", huge}}, 2), {{"ab", 2 * huge}, {"abab", huge}});
  CHECK_THROWS(CountOverflow, merges({{"abab", UINT64_MAX / 3}}, 2));
}

TEST(training_long_words) {
  // SentencePiece aborts the process at 65,536 characters.
  const Merges found = merges({{std::string(200'000, 'a'), 1}, {"▁" + std::string(70'000, 'b'), 1}}, 3);
  CHECK_EQUAL(found, {{"aa", 199'999}, {"aaaa", 99'999}, {"bb", 69'999}});
}

TEST(training_sizes_nest) {
  // The trainer forgets pairs below a guessed frequency. Each size has another guess; the merges are the same.
  Random random(7);
  for (int round = 0; round < 4; ++round) {
    Counts counts;
    for (int i = 0; i < 40; ++i) {
      std::string word(1 + random.below(12), 'a');
      for (char& c : word) c = "aabc"[random.below(4)];
      counts[(random.chance(2) ? "▁" : "") + word] += 1 + random.below(random.chance(9) ? 1'000 : 5);
    }
    const Merges all = merges(counts, 10'000);
    for (size_t i = 1; i < all.size(); ++i) CHECK(all[i].second <= all[i - 1].second);
    for (const size_t wanted : {size_t{1}, size_t{3}, all.size() / 4, all.size() / 2, all.size() - 1}) {
      const Merges some = merges(counts, wanted);
      CHECK_EQUAL(some.size(), wanted);
      CHECK(std::equal(some.begin(), some.end(), all.begin()));
    }
  }
}

TEST(training_reports_progress_and_can_be_stopped) {
  const WordTable table = table_of({{"abcdefgh", 1}});
  std::vector<std::pair<uint64_t, uint64_t>> calls;
  const auto note = [&](uint64_t done, uint64_t wanted) {
    if (wanted != UINT64_MAX) calls.emplace_back(done, wanted);
  };
  train_bpe(table, plain(), 8 + 4, 0, note);
  CHECK(!calls.empty() && calls.back() == std::pair<uint64_t, uint64_t>(4, 4));
  struct Stop {};
  const auto stop = [](uint64_t done, uint64_t wanted) {
    if (wanted != UINT64_MAX && done == 2) throw Stop();
  };
  CHECK_THROWS(Stop, train_bpe(table, plain(), 8 + 4, 0, stop));
  CHECK_THROWS(Stop, train_bpe(table, plain(), 8 + 4, 0, [](uint64_t, uint64_t) { throw Stop(); }));
}

// If no training word has a ▁, each ▁ in the development text counts as three bytes, as it does in an encoded text.
TEST(parity_training_counts_the_bytes_of_a_mark_outside_the_alphabet) {
  TrainingOptions options = plain();
  options.character_coverage = 1;
  options.add_dummy_prefix = false;
  const WordTable first = table_of({{"ab", 9}}), second = table_of({{"ba", 9}});
  const WordTable all = table_of({{"ab", 9}, {"ba", 9}});
  const WordTable four_tokens =
      table_of({{"\xE2\x96\x81"
                 "a",
                 1}});
  const WordTable three_tokens = table_of({{"bbb", 1}});
  const TrainingResult result =
      train_parity_bpe(all, {{&first, &four_tokens}, {&second, &three_tokens}}, options, 3, 0, {});
  CHECK_EQUAL(result.merges.size(), 1U);
  CHECK_EQUAL(result.merges[0].piece, "ab");
}

}  // namespace
}  // namespace piecework

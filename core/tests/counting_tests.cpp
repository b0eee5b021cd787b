// The word table, and counting the words of documents.
#include <algorithm>

#include "check.hpp"
#include "count/word_counter.hpp"
#include "text/byte_scan.hpp"
#include "words.hpp"

namespace piecework {
namespace {

using namespace tests;

TEST(table_keeps_words_that_open_a_line_apart) {
  WordTable table;
  table.add("hus", true, 2);
  table.add("hus", false, 3);
  table.add("hus", true, 5);
  table.add("", true, 1);
  table.add("", false, 1);
  CHECK_EQUAL(counts_of(table), {{"hus", 7}, {"▁hus", 3}, {"", 1}, {"▁", 1}});
  CHECK_EQUAL(table.size(), 4);
  CHECK_EQUAL(table.total(), 12);
}

TEST(table_empty_views) {
  WordTable table;
  CHECK_EQUAL(table.size(), 0);
  CHECK_EQUAL(table.total(), 0);
  CHECK(table.sorted().empty());
  table.flush();
  table.add(std::string_view(), true, 4);
  CHECK_EQUAL(counts_of(table), {{"", 4}});
}

TEST(table_grows) {
  WordTable table;
  const size_t before = table.memory_bytes();
  Counts expected;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 60'000; ++i) {
      const std::string word = "word" + std::to_string(i * 7919 % 60'000);
      table.queue(word, true, i % 3 + 1, word.data() + word.size());
      expected[word] += i % 3 + 1;
    }
  }
  table.flush();
  CHECK_EQUAL(table.size(), 60'000);
  CHECK(counts_of(table) == expected);
  CHECK(table.memory_bytes() > before + 60'000 * 32);
}

TEST(table_long_words) {
  WordTable table;
  Counts expected;
  for (const size_t length : {22, 23, 24, 25, 100, 65'535, 65'536, 65'537, 1'000'000}) {
    for (const char last : {'a', 'b'}) {
      const Exact word(std::string(length - 1, 'x') + last);
      for (int times = 0; times < 2; ++times) table.add(word.view(), false, 10);
      table.add(word.view(), true, 1);
      expected["▁" + std::string(word.view())] = 20;
      expected[std::string(word.view())] = 1;
    }
  }
  CHECK(counts_of(table) == expected);
}

TEST(table_many_long_words) {
  WordTable table;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20'000; ++i) table.add("a word of more than 23 bytes, " + std::to_string(i), i % 2, 1);
  }
  CHECK_EQUAL(table.size(), 20'000);
  CHECK_EQUAL(table.total(), 40'000);
}

TEST(table_reads_no_further_than_the_limit) {
  const Exact text("one two three");
  const std::string_view view = text.view();
  WordTable table;
  table.queue(view.substr(0, 3), true, 1, view.data() + view.size());
  table.queue(view.substr(8), false, 1, view.data() + view.size());
  table.flush();
  CHECK_EQUAL(counts_of(table), {{"one", 1}, {"▁three", 1}});
}

TEST(table_merges) {
  const std::string long_word(500, 'z');
  WordTable all = table_of({{"a", 1}, {"▁" + long_word, 2}});
  const WordTable other = table_of({{"a", 10}, {"b", 20}, {"▁" + long_word, 30}, {long_word, 40}});
  all.merge(other);
  all.merge(WordTable());
  CHECK_EQUAL(counts_of(all), {{"a", 11}, {"b", 20}, {"▁" + long_word, 32}, {long_word, 40}});
  WordTable empty;
  empty.merge(other);
  CHECK(counts_of(empty) == counts_of(other));
}

// The entries of a table that is merged are taken, not copied. Words that both tables have leave gaps, which are
// filled.
TEST(table_merges_with_the_memory_of_another) {
  const auto word_of = [](uint64_t i) {
    return i % 7 ? std::to_string(i) : "a word of more than 23 bytes " + std::to_string(i);
  };
  const auto fill = [&](uint64_t begin, uint64_t end, Counts& counts) {
    WordTable table;
    for (uint64_t i = begin; i < end; ++i) {
      const std::string word = word_of(i);
      table.queue(word, i % 2, i, word.data() + word.size());
      counts[(i % 2 ? "" : "▁") + word] += i;
    }
    table.flush();
    return table;
  };
  struct Range {
    uint64_t begin, end;
  };
  // Parts that are equal, apart, nested or empty; in one block of entries and in several.
  const std::vector<std::vector<Range>> cases{{{0, 5}, {5, 7}},
                                              {{0, 1000}, {0, 1000}},
                                              {{0, 9}, {5, 5}, {3, 400}},
                                              {{0, 140'000}, {70'000, 150'000}},
                                              {{10'000, 20'000}, {0, 140'000}, {139'999, 280'000}}};
  for (const std::vector<Range>& ranges : cases) {
    WordTable all;
    Counts expected;
    for (const auto& [begin, end] : ranges) all.merge(fill(begin, end, expected));
    CHECK(counts_of(all) == expected);
    CHECK_EQUAL(all.size(), expected.size());
    for (const auto& [word, count] : std::vector(expected.begin(), expected.end())) {  // every word is still found
      const bool marked = word.starts_with("▁");
      all.add(std::string_view(word).substr(marked ? 3 : 0), !marked, 1);
      ++expected[word];
    }
    CHECK(counts_of(all) == expected);
  }
}

TEST(table_moves_without_loss) {
  WordTable table = table_of({{"a", 1}, {std::string(100, 'b'), 2}});
  WordTable moved = std::move(table);
  moved.add("a", true, 1);
  CHECK_EQUAL(counts_of(moved), {{"a", 2}, {std::string(100, 'b'), 2}});
}

TEST(table_overflow_is_an_error) {
  for (const std::string& word : {std::string("short"), std::string(50, 'l')}) {
    WordTable table;
    table.add(word, true, UINT64_MAX - 1);
    table.add(word, true, 1);
    CHECK_THROWS(CountOverflow, table.add(word, true, 1));
    WordTable other;
    other.add(word, true, 1);
    CHECK_THROWS(CountOverflow, other.merge(table));
    CHECK_THROWS(CountOverflow, other.merge(std::move(table)));
  }
  CHECK_THROWS(CountOverflow, table_of({{"a", UINT64_MAX}, {"b", 1}}).total());
}

TEST(table_scales_all_or_nothing) {
  WordTable table = table_of({{"a", 3}, {"b", UINT64_MAX / 2}});
  CHECK_THROWS(CountOverflow, table.scale(3));
  CHECK_EQUAL(counts_of(table), {{"a", 3}, {"b", UINT64_MAX / 2}});
  table.scale(2);
  CHECK_EQUAL(counts_of(table), {{"a", 6}, {"b", UINT64_MAX - 1}});
}

TEST(table_order_is_that_of_the_marked_bytes) {
  Random random(1);
  Counts counts{{"", 1}, {"▁", 1}, {"▂", 1}, {"▀", 1}, {"\xE2\x96\x80z", 1}, {"\u00E5", 1}, {"\U0001F600", 1}};
  for (int i = 0; i < 500; ++i) {
    std::string word(random.below(3) * 8, 'a');
    for (size_t n = random.below(20); n > 0; --n) word += "ab\x7F"[random.below(4)];  // the last is NUL
    counts[(random.chance(2) ? "▁" : "") + word] = 1;
  }
  const WordTable table = table_of(counts);
  std::vector<std::string> ours, expected;
  for (const uint32_t index : table.sorted()) {
    const Word word = table.at(index);
    ours.push_back((word.opens_line ? "" : "▁") + std::string(word.bytes));
  }
  for (const auto& item : counts) expected.push_back(item.first);  // a map of std::string is in the order of bytes
  CHECK_EQUAL(ours, expected);
}

TEST(separators_are_the_same_on_every_path) {
  Random random(2);
  for (int round = 0; round < 5'000; ++round) {
    const Exact block(random.bytes(80).substr(0, 64));
    uint64_t expected = 0;
    for (size_t i = 0; i < 64; ++i) {
      const char c = block.view()[i];
      expected |= static_cast<uint64_t>(c == ' ' || c == '\n' || c == '\xE2') << i;
    }
    CHECK_EQUAL(separators_baseline(block.view().data()), expected);
#if defined(__x86_64__)
    if (has_avx2()) CHECK_EQUAL(separators_avx2(block.view().data()), expected);
#endif
  }
}

struct Counted {
  Counts counts;
  CountStatistics statistics;
};

Counted count(std::string_view text, size_t max_line_bytes = 0, bool known_valid = false) {
  const Exact exact(text);
  CachedWords words;
  Counted counted;
  count_document(exact.view(), known_valid, {max_line_bytes, nullptr}, words, counted.statistics);
  counted.counts = counts_of(words.take());
  return counted;
}

TEST(counting_words_of_lines) {
  CHECK_EQUAL(count("ett tv\u00E5\ntre ett").counts, {{"ett", 1}, {"▁tv\u00E5", 1}, {"tre", 1}, {"▁ett", 1}});
  CHECK_EQUAL(count("").counts, Counts{});
  CHECK_EQUAL(count("\n\n\n").counts, Counts{});
  CHECK_EQUAL(count("\na\n\nb").statistics.lines, 2);
  CHECK_EQUAL(count("a\n").counts, {{"a", 1}});
}

TEST(counting_each_space_starts_a_word) {
  CHECK_EQUAL(count("a  b").counts, {{"a", 1}, {"▁", 1}, {"▁b", 1}});
  CHECK_EQUAL(count(" a ").counts, {{"", 1}, {"▁a", 1}, {"▁", 1}});
  CHECK_EQUAL(count(" ").counts, {{"", 1}, {"▁", 1}});
  CHECK_EQUAL(count(std::string(1'000, ' ')).counts, {{"", 1}, {"▁", 1'000}});
}

TEST(counting_a_mark_is_a_space) {
  for (const std::string_view text : {"a b", "  a", " ", "a  b ", "\n a b\nc  "}) {
    std::string marked;
    for (const char c : text) marked += c == ' ' ? std::string(kSpaceMarkUtf8) : std::string(1, c);
    CHECK(count(marked).counts == count(text).counts);
  }
}

TEST(counting_other_separators_are_characters) {
  CHECK_EQUAL(count("a\tb\rc\r\nd\u00A0e\u2028f\x85").counts, {{"a\tb\rc\r", 1}, {"d\u00A0e\u2028f\uFFFD", 1}});
  CHECK_EQUAL(count(std::string_view("a\0b", 3)).counts, {{std::string("a\0b", 3), 1}});
  CHECK_EQUAL(count("▂▀a").counts, {{"▂▀a", 1}});
}

TEST(counting_marked_lines_are_dropped) {
  const Counted counted = count("a b\nc ▅ d\n▅\ne");
  CHECK_EQUAL(counted.counts, {{"a", 1}, {"▁b", 1}, {"e", 1}});
  CHECK_EQUAL(counted.statistics.marked_lines, 2);
  CHECK_EQUAL(counted.statistics.lines, 2);
  CHECK_EQUAL(count("\x96\x85").statistics.marked_lines, 0);
  CHECK_EQUAL(count("\xE2\x96").statistics.marked_lines, 0);
}

TEST(counting_invalid_bytes) {
  const Counted counted = count("a\xFF b\n\xE2\x96 \xED\xA0\x80");
  CHECK_EQUAL(counted.counts, {{"a\uFFFD", 1}, {"▁b", 1}, {"\uFFFD\uFFFD", 1}, {"▁\uFFFD\uFFFD\uFFFD", 1}});
  CHECK_EQUAL(counted.statistics.invalid_bytes, 6);
  CHECK_EQUAL(counted.statistics.bytes, 11);
  CHECK_EQUAL(count("\xFF▅\nok\xFF").counts, {{"ok\uFFFD", 1}});
}

TEST(counting_long_lines_are_dropped_where_a_limit_is_given) {
  const Counted counted = count("12345\n123456\n1 3\n\xFF\xFF\xFF\xFF\xFF\n▅\n", 5);
  CHECK_EQUAL(counted.counts, {{"12345", 1}, {"1", 1}, {"▁3", 1}, {"\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD", 1}});
  CHECK_EQUAL(counted.statistics.long_lines, 1);
  CHECK_EQUAL(counted.statistics.marked_lines, 1);
  CHECK_EQUAL(counted.statistics.lines, 3);
  CHECK_EQUAL(counted.statistics.invalid_bytes, 5);
}

// The same rules, applied character by character.
Counted count_slowly(std::string_view text) {
  Counted counted;
  uint64_t replaced = 0;
  const std::string repaired = replace_invalid_utf8(text, replaced);
  counted.statistics.invalid_bytes = replaced;
  counted.statistics.bytes = text.size();
  for (size_t at = 0; at < repaired.size();) {
    const size_t end = std::min(repaired.find('\n', at), repaired.size());
    const std::string line = repaired.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    if (line.find(kUnknownMarkUtf8) != line.npos) {
      ++counted.statistics.marked_lines;
      continue;
    }
    ++counted.statistics.lines;
    std::string word;
    for (size_t i = 0; i < line.size();) {
      const bool mark = line.compare(i, 3, kSpaceMarkUtf8) == 0;
      if (mark || line[i] == ' ') {
        ++counted.counts[word];
        word = kSpaceMarkUtf8;
        i += mark ? 3 : 1;
      } else {
        word += line[i++];
      }
    }
    ++counted.counts[word];
  }
  return counted;
}

bool same(const CountStatistics& a, const CountStatistics& b) {
  return a.bytes == b.bytes && a.lines == b.lines && a.marked_lines == b.marked_lines && a.long_lines == b.long_lines &&
         a.invalid_bytes == b.invalid_bytes;
}

TEST(counting_random_bytes) {
  Random random(3);
  for (int round = 0; round < 1'500; ++round) {
    const std::string text = random.bytes(random.below(400));
    const Counted ours = count(text), expected = count_slowly(text);
    CHECK(ours.counts == expected.counts);
    CHECK(same(ours.statistics, expected.statistics));
    const Counted limited = count(text, 1'000'000);  // a limit that no line reaches
    CHECK(limited.counts == expected.counts);
    CHECK_EQUAL(limited.statistics.marked_lines, expected.statistics.marked_lines);
    CHECK(limited.statistics.long_lines == 0 && limited.statistics.lines == expected.statistics.lines);
  }
}

TEST(counting_valid_text_needs_no_check) {
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    const std::string text = random.text(random.below(300));
    CHECK(count(text, 0, true).counts == count_slowly(text).counts);
  }
}

Counted count_on(unsigned threads, const std::vector<std::string>& documents, size_t batch) {
  WordCounter counter(threads);
  std::vector<Exact> kept;
  for (const std::string& document : documents) kept.emplace_back(document);
  for (size_t at = 0; at < kept.size(); at += batch) {
    std::vector<std::string_view> views;
    for (size_t i = at; i < std::min(at + batch, kept.size()); ++i) views.push_back(kept[i].view());
    counter.add(views, false);
  }
  Counted counted;
  counted.statistics = counter.statistics();
  CHECK(documents.empty() || counter.memory_bytes() > 0);
  counted.counts = counts_of(counter.finish());
  return counted;
}

TEST(counting_on_any_number_of_threads) {
  Random random(5);
  std::vector<std::string> documents{"", "\n", "a b"};
  for (int i = 0; i < 100; ++i) documents.push_back(random.bytes(random.below(2'000)));
  std::string lines, one_line;
  while (lines.size() < 600'000) lines += random.text(1 + random.below(200)) + "\n";  // several spans of 256 KB
  while (one_line.size() < 400'000) one_line += "ord " + std::to_string(random.below(50)) + " ";
  documents.push_back(lines);
  documents.push_back(one_line);
  documents.push_back(one_line + "\n" + lines + "tail without a newline");
  std::string all;
  for (const std::string& document : documents) all += document + "\n";
  const Counted expected = count_slowly(all);
  for (const unsigned threads : {0U, 1U, 2U, 7U}) {
    for (const size_t batch : {size_t{1} << 20, size_t{40}}) {
      const Counted counted = count_on(threads, documents, batch);
      CHECK(counted.counts == expected.counts);
      CHECK_EQUAL(counted.statistics.lines, expected.statistics.lines);
      CHECK_EQUAL(counted.statistics.marked_lines, expected.statistics.marked_lines);
      CHECK_EQUAL(counted.statistics.invalid_bytes, expected.statistics.invalid_bytes);
      CHECK_EQUAL(counted.statistics.bytes, all.size() - documents.size());
    }
  }
}

TEST(counting_spans_are_cut_at_newlines_only) {
  // A span ends at the first newline past 256 KB: put one just before, at, and after that offset.
  for (const size_t newline : {(1U << 18) - 1, 1U << 18, (1U << 18) + 1}) {
    std::string text(600'000, 'x');
    for (size_t i = 50; i < text.size(); i += 100) text[i] = ' ';
    text[newline] = '\n';
    CHECK(count_on(3, {text}, 1).counts == count_slowly(text).counts);
  }
}

TEST(counting_nothing) {
  WordCounter counter(3);
  counter.add({}, false);
  counter.add({std::string_view()}, true);
  CHECK_EQUAL(counter.statistics().bytes, 0);
  CHECK_EQUAL(counter.finish().size(), 0);
}

}  // namespace
}  // namespace piecework

// Counting of any bytes, on one thread and on three. The totals must be those of the definition in plain code.
#include <algorithm>
#include <set>
#include <vector>

#include "count/word_counter.hpp"
#include "fuzz.hpp"

namespace piecework::tests {
namespace {

// The number of words in a text. Each counted line has one word more than it has spaces and marks.
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

}  // namespace

WordTable any_words(Random& random) {
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
  WordCounter one(1), three(3);
  one.add(views, false);
  for (const std::string_view view : views) three.add({view}, false);
  REQUIRE(one.statistics().bytes == bytes);
  REQUIRE(one.statistics().lines == three.statistics().lines);
  REQUIRE(one.statistics().marked_lines == three.statistics().marked_lines);
  REQUIRE(one.statistics().invalid_bytes == three.statistics().invalid_bytes);
  WordTable table = one.finish();
  REQUIRE(table.total() == words);
  REQUIRE(counts_of(table) == counts_of(three.finish()));

  CachedWords limited;
  CountStatistics statistics;
  for (const std::string_view view : views)
    count_document(view, false, {1 + random.below(50), nullptr}, limited, statistics);
  REQUIRE(limited.take().total() <= words);

  const std::vector<uint32_t> order = table.sorted();
  std::set<uint32_t> distinct(order.begin(), order.end());
  REQUIRE(distinct.size() == table.size());
  return table;
}

void fuzz_counting(Random& random) { any_words(random); }

}  // namespace piecework::tests

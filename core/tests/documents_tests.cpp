// Documents before they are counted: hashes side by side, and the texts of JSONL.
#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "text/blake2b.hpp"
#include "text/json_documents.hpp"
#include "text/utf8.hpp"

namespace piecework {
namespace {

using tests::Exact;
using namespace std::string_view_literals;

TEST(documents_hashed_side_by_side) {
  const KeyedBlake2b hash(7);
  std::mt19937 draw(1);
  std::vector<std::string> texts;
  for (size_t length = 0; length < 400; ++length) texts.emplace_back(length, static_cast<char>('a' + length % 26));
  texts.emplace_back(5000, 'x');
  for (int round = 0; round < 20; ++round) {
    std::shuffle(texts.begin(), texts.end(), draw);
    const size_t count = round < 6 ? static_cast<size_t>(round) : texts.size();
    const std::vector<std::string_view> some(texts.begin(), texts.begin() + static_cast<ptrdiff_t>(count));
    const std::vector<KeyedBlake2b::Digest> digests = hash.digests(some);
    CHECK_EQUAL(digests.size(), some.size());
    for (size_t i = 0; i < some.size(); ++i) {
      const KeyedBlake2b::Digest alone = hash.digest(some[i]);
      CHECK(digests[i].low == alone.low && digests[i].high == alone.high);
    }
  }
}

std::optional<std::vector<std::string>> texts_of(std::string_view block, size_t longest = 1000) {
  const Exact exact(block);
  const std::optional<LineDocuments> found = find_json_documents(exact.view(), "text", longest);
  if (!found) return std::nullopt;
  std::vector<std::string> texts;
  for (size_t i = 0; i + 1 < found->offsets.size(); ++i) {
    const auto start = static_cast<size_t>(found->offsets[i]);
    texts.push_back(found->data.substr(start, static_cast<size_t>(found->offsets[i + 1]) - start));
  }
  return texts;
}

constexpr std::string_view kLines =
    "{\"text\": \"hej\"}\n"
    "\n \t\r\n"
    " {\"id\": -1.5e+3, \"a\": [null, true, {\"text\": {}}, []], \"text\": \"tv\xC3\xA5 rader\\noch mer \xE2\x96\x81 "
    "\\u00e5\\uD83D\\uDE42\\\"\", \"z\": false}\r\n"
    "{\"te\\u0078t\":\"sexton byte, och n\xC3\xA5gra till i samma rad\"}";

TEST(documents_of_json) {
  const std::vector<std::string> expected = {"hej", "tv\xC3\xA5 rader\noch mer \xE2\x96\x81 \xC3\xA5\xF0\x9F\x99\x82\"",
                                             "sexton byte, och n\xC3\xA5gra till i samma rad"};
  CHECK(texts_of(kLines) == expected);
  CHECK(!texts_of(kLines, 10));
  CHECK(texts_of("") == std::vector<std::string>{});
  for (const std::string_view line :
       {"{}"sv, "[]"sv, "{\"text\": \"\"}"sv, "{\"text\": 1}"sv, "{\"text\": \"a\", \"text\": \"b\"}"sv,
        "{\"text\": \"\\ud83d\"}"sv, "{\"text\": \"a\nb\"}"sv, "{\"text\": \"a\"} x"sv,
        "{\"text\": \"a\", \"b\": 01}"sv}) {
    CHECK(!texts_of(line));
  }
}

// Whatever is changed or cut, nothing outside the block is read, and what is found is valid UTF-8.
TEST(documents_of_damaged_json) {
  std::mt19937 draw(2);
  constexpr std::string_view kBytes = "\"\\{}[]:,u0d8aE+-. \n\x01x";
  for (int round = 0; round < 20000; ++round) {
    std::string block(kLines.substr(0, draw() % (kLines.size() + 1)));
    for (size_t changes = draw() % 4; changes && !block.empty(); --changes) {
      block[draw() % block.size()] = kBytes[draw() % kBytes.size()];
    }
    if (find_invalid_utf8(block) != block.size()) continue;
    if (const auto texts = texts_of(block)) {
      for (const std::string& text : *texts) CHECK(!text.empty() && find_invalid_utf8(text) == text.size());
    }
  }
}

}  // namespace
}  // namespace piecework

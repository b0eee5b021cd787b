// Totals from counted units. Tokens found without merging equal those of merging; text that is cut at newlines gives
// the totals of whole documents.
#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "check.hpp"
#include "encode/merge_trees.hpp"
#include "encode/merger.hpp"
#include "encode/prefix_encoder.hpp"
#include "evaluate/evaluator.hpp"
#include "models.hpp"

namespace piecework {
namespace {

using namespace tests;

const std::vector<std::string> kPieces{"ab", "▁ab", "▁abab", "bä", "abba", "▁b", "a", "b", "▁", "ä", "▁▁"};

std::string random_text(std::mt19937& random, size_t length, std::string_view letters) {
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    const char c = letters[random() % letters.size()];
    c == '@' ? text += "ä" : text += c;
  }
  return text;
}

std::string show(const Segment& segment) {
  return std::to_string(segment.symbol) + ":" + std::to_string(segment.begin) + "+" + std::to_string(segment.length) +
         " ";
}

// Texts in the order of their bytes, and some in another order. Last tokens and merging must give the same encoding.
void check_prefixes(const Model& model, std::mt19937& random) {
  const Merger merger(model);
  const MergeTrees trees(merger, model);
  const SuffixIndex suffixes(trees);
  PrefixEncoder prefixes(merger, trees, suffixes);
  std::vector<std::string> texts;
  for (size_t i = 0; i < 300; ++i) texts.push_back(random_text(random, 1 + random() % (i % 9 ? 12 : 400), "aabb@ c"));
  std::sort(texts.begin(), texts.begin() + 250);
  Merger::Workspace workspace;
  for (const std::string& text : texts) {
    std::string found, expected;
    prefixes.encode(text, 0, [&](const Segment& segment) { found += show(segment); });
    merger.segment(text, workspace);
    for (const Segment& segment : workspace.segments) expected += show(segment);
    CHECK_EQUAL(found, expected);
  }
}

TEST(encoding_from_last_tokens) {
  std::mt19937 random(7);
  check_prefixes(model_of(kPieces), random);
  check_prefixes(model_of({"a"}), random);
  Model equal = model_of(kPieces);
  std::fill(equal.scores.begin(), equal.scores.end(), -1.0F);
  check_prefixes(equal, random);
  // Pieces and scores that no training gives: halves that merge after their wholes, pieces that nothing makes, ties.
  for (size_t round = 0; round < 200; ++round) {
    std::set<std::string> pieces{"a", "b"};
    const size_t count = 3 + random() % 30;
    while (pieces.size() < count) pieces.insert(random_text(random, 1 + random() % 5, "aab@c"));
    Model model = model_of({pieces.begin(), pieces.end()});
    for (float& score : model.scores) score = -static_cast<float>(random() % (round % 2 ? 1000 : 5));
    check_prefixes(model, random);
  }
}

// Totals of documents, each encoded as a whole.
TokenTotals count_whole(const Encoder& encoder, const std::vector<std::string>& documents) {
  TokenTotals totals;
  for (const std::string& document : documents) {
    std::vector<uint32_t> ids;
    encoder.encode(document, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto starts = [&](size_t at) { return encoder.model().pieces[ids[at]].starts_with("▁"); };
      ++totals.tokens;
      totals.byte_tokens += encoder.model().types[ids[i]] == PieceType::byte;
      totals.unknown += encoder.model().types[ids[i]] == PieceType::unknown;
      if (!starts(i)) continue;
      ++totals.starts;
      totals.continued += i + 1 < ids.size() && !starts(i + 1);
    }
  }
  return totals;
}

void check_documents(const Model& model, bool cut) {
  const Encoder encoder(model);
  CHECK_EQUAL(encoder.newlines_stand_alone(), cut);
  std::mt19937 random(11);
  std::vector<std::string> documents{"\n", "\n\nab", "ab\n", " \n ", "a\n\n  b\nab ab\n"};
  for (size_t i = 0; i < 200; ++i) documents.push_back(random_text(random, 1 + random() % 20, "aabb@  \n\nc"));
  UnitSet units(1, cut);
  for (const std::string& document : documents) {
    std::vector<std::string_view> parts;
    for (size_t at = 0; at < document.size();) {
      const size_t text = std::min(document.find_first_not_of(' ', at), document.size());
      const size_t end = std::min(document.find(' ', text), document.size());
      parts.push_back(std::string_view(document).substr(at, end - at));
      at = end;
    }
    std::vector<uint8_t> opens(parts.size(), 0), buckets(parts.size(), 3);
    const std::vector<uint64_t> counts(parts.size(), 1);
    opens[0] = 1;
    units.add(0, {parts, buckets.data(), opens.data(), counts.data()});
  }
  const Evaluation found = evaluate_units(encoder, units, {});
  const TokenTotals expected = count_whole(encoder, documents);
  const TokenTotals& totals = found.totals[3];
  CHECK_EQUAL(totals.tokens, expected.tokens);
  CHECK_EQUAL(totals.starts, expected.starts);
  CHECK_EQUAL(totals.continued, expected.continued);
  CHECK_EQUAL(totals.byte_tokens, expected.byte_tokens);
  CHECK_EQUAL(totals.unknown, expected.unknown);
}

// Counts that fit into 32 bits, counts that do not, and counts whose sum does not.
TEST(counts_of_units_past_32_bits) {
  constexpr uint64_t kLimit = UINT32_MAX;
  UnitSet units(2, true);
  const std::vector<std::string_view> texts{" b", " a", " b", " a", " a"};
  const std::vector<uint8_t> buckets{5, 1, 5, 1, 0}, opens(texts.size(), 0);
  const std::vector<uint64_t> first{kLimit + 7, kLimit, 1, 1, kLimit}, second{3, 1000 * kLimit, 4, kLimit + 1, 2};
  units.add(1, {texts, buckets.data(), opens.data(), first.data()});
  units.add(0, {texts, buckets.data(), opens.data(), second.data()});
  using Found = std::vector<std::tuple<int, int, uint64_t>>;
  const auto found = [&](size_t unit) {
    Found rows;
    for (const UnitSet::Row& row : units.rows(unit)) rows.emplace_back(row.group, row.bucket, units.count(row));
    return rows;
  };
  CHECK_EQUAL(units.size(), 2);
  CHECK(found(0) == (Found{{0, 0, 2}, {0, 1, 1000 * kLimit + kLimit + 1}, {1, 0, kLimit}, {1, 1, kLimit + 1}}));
  CHECK(found(1) == (Found{{0, 5, 7}, {1, 5, kLimit + 8}}));
  const std::vector<UnitSet::TextTotals> totals = units.text_totals();
  CHECK_EQUAL(totals[UnitSet::kBuckets + 1].words, kLimit + 1);
  CHECK_EQUAL(totals[UnitSet::kBuckets + 5].bytes, 2 * (kLimit + 8));
  const Evaluation evaluated = evaluate_units(Encoder(model_of(kPieces, true, {})), units, {});
  CHECK_EQUAL(evaluated.totals[UnitSet::kBuckets + 5].tokens, kLimit + 8);
  // The same units with both groups as one.
  UnitSet together(units, 1, {0, 0});
  Found sums;
  for (const UnitSet::Row& row : together.rows(0)) sums.emplace_back(row.group, row.bucket, together.count(row));
  CHECK(sums == (Found{{0, 0, kLimit + 2}, {0, 1, 1002 * kLimit + 2}}));
  CHECK(together.unit(1).text == units.unit(1).text);
  CHECK_EQUAL(together.text_totals()[5].words, totals[5].words + totals[UnitSet::kBuckets + 5].words);
  CHECK_THROWS(std::out_of_range, UnitSet(units, 1, {0, 1}));
  // Totals of more than 64 bits are refused.
  const std::vector<uint64_t> huge(texts.size(), UINT64_MAX / 20);
  UnitSet other(2, true);
  CHECK_THROWS(CountOverflow, other.add(0, {texts, buckets.data(), opens.data(), huge.data()}));
}

TEST(evaluating_units_as_documents) {
  for (const bool prefix : {true, false}) {
    for (const bool bytes : {true, false}) {
      for (const std::vector<std::string>& symbols :
           std::vector<std::vector<std::string>>{{}, {"\n"}, {"\n\n"}, {"b\na"}}) {
        Model model = model_of(kPieces, bytes, symbols);
        model.add_dummy_prefix = prefix;
        const bool known = bytes || (!symbols.empty() && symbols[0] == "\n");
        check_documents(model, known && (symbols.empty() || symbols[0] != "b\na"));
      }
    }
  }
}

TEST(frequencies_of_any_size_are_exact) {
  std::mt19937_64 random(4);
  constexpr size_t kGroups = 3, kPieces = 70;
  for (const unsigned bits : {12U, 20U, 40U}) {
    FrequencyTable first(kGroups, kPieces), second(kGroups, kPieces);
    std::vector<uint64_t> wanted(kGroups * kPieces), found(wanted.size());
    for (size_t i = 0; i < 5000; ++i) {
      const size_t group = random() % kGroups, piece = random() % kPieces;
      const uint64_t count = random() >> (64 - bits);
      (i % 2 ? first : second).add(piece, group, count);
      wanted[group * kPieces + piece] += count;
    }
    first.add(second);
    first.write_by_group(found.data());
    CHECK(found == wanted);
    CHECK(first.is_small() == (*std::max_element(wanted.begin(), wanted.end()) <= UINT32_MAX));
    if (!first.is_small()) continue;
    std::vector<uint32_t> narrow(wanted.size());
    first.write_by_group(narrow.data());
    CHECK(std::equal(narrow.begin(), narrow.end(), wanted.begin(), wanted.end()));
  }
}

}  // namespace
}  // namespace piecework

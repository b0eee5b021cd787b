// Figures from counted units: many merged at once as one by one, and text cut at newlines as whole documents.
#include <random>

#include "check.hpp"
#include "evaluator.hpp"
#include "merger.hpp"
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

std::string show_segments(const Segment* begin, const Segment* end) {
  std::string text;
  for (; begin < end; ++begin) {
    text +=
        std::to_string(begin->symbol) + ":" + std::to_string(begin->begin) + "+" + std::to_string(begin->length) + " ";
  }
  return text;
}

std::string show_events(const MergeEvent* begin, const MergeEvent* end) {
  std::string text;
  for (; begin < end; ++begin) {
    text += std::to_string(begin->piece) + ":" + std::to_string(begin->begin) + "-" + std::to_string(begin->end) + " ";
  }
  return text;
}

void check_batch(const Model& model) {
  const Merger merger(model);
  std::mt19937 random(7);
  std::vector<std::string> texts;
  for (size_t i = 0; i < 300; ++i) texts.push_back(random_text(random, 1 + random() % (i % 7 ? 12 : 60), "aabb@ c"));
  MergeBatch batch;
  batch.units.assign(texts.begin(), texts.end());
  Merger::Workspace workspace;
  merger.segment_all(batch, workspace, true);
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<MergeEvent> events;
    merger.segment(texts[i], workspace, &events);
    const MergeBatch::Result& result = batch.results[i];
    CHECK_EQUAL(show_segments(&batch.segments[result.segment], batch.segments.data() + result.segment_end),
                show_segments(workspace.segments.data(), workspace.segments.data() + workspace.segments.size()));
    CHECK_EQUAL(show_events(&batch.events[result.event], batch.events.data() + result.event_end),
                show_events(events.data(), events.data() + events.size()));
  }
}

TEST(merging_many_units_at_once) {
  check_batch(model_of(kPieces));
  Model equal = model_of(kPieces);
  std::fill(equal.scores.begin(), equal.scores.end(), -1.0F);
  check_batch(equal);
  Model unused = model_of(kPieces);
  unused.types[2] = PieceType::unused;
  check_batch(unused);
  check_batch(model_of({"a"}));
}

// Tokens, starts and continued words of documents, by encoding each whole.
TokenTotals count_whole(const Encoder& encoder, const std::vector<std::string>& documents) {
  TokenTotals totals;
  for (const std::string& document : documents) {
    std::vector<uint32_t> ids;
    encoder.encode(document, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto starts = [&](size_t at) { return encoder.model().pieces[ids[at]].starts_with("▁"); };
      ++totals.tokens;
      totals.bytes += encoder.model().types[ids[i]] == PieceType::byte;
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
  UnitSet units(1);
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
  CHECK_EQUAL(totals.bytes, expected.bytes);
  CHECK_EQUAL(totals.unknown, expected.unknown);
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

}  // namespace
}  // namespace piecework
